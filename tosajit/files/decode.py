"""From the bytes of a file to a graph."""

from collections.abc import Iterable

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import SHAPE, DType
from tosajit.files import schema
from tosajit.files.attributes import called_regions, construct, field_names, read_attributes
from tosajit.files.closing import closed_graph
from tosajit.files.constants import repeats, stored_size, unpack
from tosajit.files.cursor import Bytes, Source, Table, root
from tosajit.files.variables import VARIABLES, access, declare_variables
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.extents import Shapes
from tosajit.graph.operator import Operator
from tosajit.operators import IDENTITY, OPERATORS

_HIGHEST_RANK = 64  # that of NumPy; PAD takes two numbers for each dimension
_PADDING = 8  # some writers fill constants up to a multiple of this with zeros, others repeat one element


def read_graph(data: Bytes, shapes: Shapes | None = None) -> Graph:
    """Decode a file; whatever is wrong with its structure is a FileError."""
    table = root(Source.of(data), schema.IDENTIFIER, schema.GRAPH)
    version = _version(table)
    _refuse_newer_features(table)
    regions = tuple(_region(region) for region in table.tables("regions", schema.REGION))
    if not regions:
        table.fail("regions", "expected at least one region")
    _check_calls(regions, table)
    return closed_graph(declare_variables(Graph(regions, version)), shapes)


def _check_calls(regions: tuple[Region, ...], table: Table) -> None:
    names = _distinct((region.name for region in regions), table, "regions")
    for node in (node for region in regions for block in region.blocks for node in block.nodes):
        for name in called_regions(node.operator):
            if name not in names:
                table.fail(
                    "regions", f"{node.name} ({node.operator.opcode}) runs {name!r}, which is not a region"
                )


def _version(graph: Table) -> tuple[int, int, int, bool]:
    table = graph.table("version", schema.VERSION_FIELDS)
    if table is None:
        graph.fail("version", "expected a version")
    major, minor, patch = (table.i32(name, -1) for name in ("major", "minor", "patch"))
    if major != 1:
        table.fail("major", f"expected TOSA 1.x, found version {major}.{minor}.{patch}")
    if minor < 0 or patch < 0:
        table.fail("minor", f"expected a version of TOSA, found {major}.{minor}.{patch}")
    return major, minor, patch, table.boolean("draft", True)


def _refuse_newer_features(graph: Table) -> None:
    table = graph.table("compatibility", schema.COMPATIBILITY)
    features = table.u64("features") if table else 0
    if table and features:
        bits = [bit for bit in range(64) if features >> bit & 1]
        names = ", ".join(schema.NEWER_FEATURES.get(bit, f"number {bit}") for bit in bits)
        table.fail("features", f"the file needs the feature {names}, which is not part of TOSA 1.0.1")


def _region(table: Table) -> Region:
    name = table.string("name")
    blocks = tuple(_block(block) for block in table.tables("blocks", schema.BLOCK))
    if not blocks:
        table.fail("blocks", f"expected region {name!r} to have a block")
    return Region(name, blocks)


def _block(table: Table) -> Block:
    found = [(_tensor(tensor), tensor) for tensor in table.tables("tensors", schema.TENSOR)]
    found += [(_shape(shape), shape) for shape in table.tables("shapes", schema.SHAPE)]
    _distinct((value.name for value, _ in found), table, "tensors")
    values = {value.name: value for value, _ in found}
    sources = {value.name: source for value, source in found}
    nodes = tuple(_node(operator, values) for operator in table.tables("operators", schema.OPERATOR))
    for node in nodes:
        if node.operator.holds_data:
            for name in node.outputs:
                values[name] = replace(values[name], data=_constant(values[name], sources[name]))
    for value, source in found:
        if value.variable_name and _data(source)[1]:
            values[value.name] = replace(value, data=_constant(value, source))
    inputs, outputs = (_known(table, name, values) for name in ("inputs", "outputs"))
    if any(values[name].variable_name for name in inputs + outputs):
        table.fail("inputs", "expected tensors as inputs and outputs, found a variable")
    return Block(table.string("name"), nodes, values, inputs, outputs)


def _distinct(names: Iterable[str], table: Table, field: str) -> set[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            table.fail(field, f"expected distinct names, found {name!r} twice")
        seen.add(name)
    return seen


def _known(table: Table, field: str, values: dict[str, Value]) -> tuple[str, ...]:
    names = table.strings(field)
    for name in names:
        if name not in values:
            table.fail(field, f"{name!r} is not a tensor or shape of the block")
    return names


def _tensor(table: Table) -> Value:
    newer = schema.NEWER_TENSOR_FIELDS
    if (
        any(table.u32(name) for name in newer[:2])
        or any(table.u64(name) for name in newer[2:])
        or table.blob("scale_data")[1]
    ):
        table.fail("scale_data", "block scaling is not part of TOSA 1.0.1")
    shape = None if table.boolean("is_unranked") else table.ints("shape")
    if shape is not None and min(shape, default=0) < -1:
        table.fail("shape", f"expected extents from 0, or -1 for open ones, found {list(shape)}")
    if shape is not None and len(shape) > _HIGHEST_RANK:
        table.fail("shape", f"expected at most {_HIGHEST_RANK} dimensions, found {len(shape)}")
    variable = table.string("variable_name")
    if table.boolean("variable") != bool(variable):
        table.fail("variable_name", "expected a variable to have a name, and no other tensor")
    return Value(_name(table), _dtype(table), shape, None, variable)


def _shape(table: Table) -> Value:
    rank = table.u32("rank")
    if rank > 2 * _HIGHEST_RANK:
        table.fail("rank", f"expected at most {2 * _HIGHEST_RANK} components, found {rank}")
    return Value(_name(table), SHAPE, (rank,))


def _name(table: Table) -> str:
    name = table.string("name")
    if not name:
        table.fail("name", "expected a name")
    return name


def _dtype(table: Table) -> DType:
    number = table.u32("type")
    dtype = schema.TYPES.get(number)
    if dtype is None:
        table.fail("type", f"type {schema.newer_type(number)} is not part of TOSA 1.0.1")
    if dtype is SHAPE:
        table.fail("type", "expected the type of a tensor, found SHAPE")
    return dtype


def _node(table: Table, values: dict[str, Value]) -> Node:
    operator = _operator(table)
    inputs, outputs = (_known(table, field, values) for field in ("inputs", "outputs"))
    on_variable = any(values[name].variable_name for name in inputs + outputs)
    attribute = _attribute_table(table, operator, on_variable)
    location = table.table("location", schema.LOCATION)
    text = location.string("text") if location else ""
    if operator in VARIABLES or on_variable:
        node = access(operator, inputs, outputs, values)
        if node is None:
            table.fail("op", f"expected a variable to be declared, read or written, found {operator.opcode}")
        return replace(node, location=text)
    first = values[inputs[0]].dtype if inputs else None
    fields = read_attributes(operator, attribute, first)
    return Node(construct(operator, fields, table), inputs, outputs, text)


def _operator(table: Table) -> type[Operator]:
    number = table.u32("op")
    operators = tuple(OPERATORS.values())
    if not 1 <= number <= len(operators):
        table.fail("op", f"operator {schema.newer_operator(number)} is not part of TOSA 1.0.1")
    return operators[number - 1]


def _attribute_table(table: Table, operator: type[Operator], on_variable: bool) -> Table | None:
    number = table.u8("attribute_type")
    expected = {operator.number} | (set() if operator.attributes else {0})
    if operator is IDENTITY and on_variable:
        expected |= {variable.number for variable in VARIABLES}
    if number not in expected:
        message = f"expected {operator.number}, the attributes of {operator.opcode}, found {number}"
        table.fail("attribute_type", message)
    attribute = table.table("attribute", field_names(operator), f"attribute ({operator.opcode})")
    if attribute is None and operator.attributes:
        table.fail("attribute", f"expected the attributes of {operator.opcode}")
    return attribute


def _constant(value: Value, table: Table) -> Array:
    if value.shape is None:
        table.fail("is_unranked", "expected a constant to have a shape")
    if min(value.shape, default=0) < 0:
        table.fail("shape", f"expected a constant to have extents from 0, found {list(value.shape)}")
    size = stored_size(value.dtype, value.shape)
    start, count = _data(table)
    padded = max(size + -size % _PADDING, _PADDING)
    data = table.source.data[start : start + count]
    if count > padded:
        table.charge(count, "data")
    if 0 < size < count and repeats(data, value.dtype):
        data = data[:size]
    elif not size <= count <= padded:
        table.fail("data", f"expected {size} bytes for {value.type}, found {count}")
    if any(data[size:]):
        table.fail_at(start + size, "data", "expected zeros after the last element")
    if value.dtype.name in ("INT4", "INT48"):
        table.charge(size, "data")
    try:
        return unpack(data[:size], value.dtype, value.shape)
    except ValueError as error:
        table.fail_at(start, "data", str(error))


def _data(table: Table) -> tuple[int, int]:
    """First byte and count of a constant, which may lie behind the flatbuffer."""
    start, count = table.blob("data")
    if count or "offset" not in table.names:
        return start, count
    offset, size = table.u64("offset"), table.u64("size")
    if offset > 1 or size:
        if offset + size > len(table.source.data):
            table.fail(
                "offset", f"expected {size} bytes at {offset}, but the file ends at {len(table.source.data)}"
            )
        return offset, size
    return start, count
