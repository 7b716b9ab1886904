"""From a graph to the bytes of a file."""

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import SHAPE
from tosajit.errors import FileError
from tosajit.files import schema
from tosajit.files.attributes import write_attributes
from tosajit.files.builder import Builder
from tosajit.files.constants import out_of_range, pack
from tosajit.files.variables import VARIABLES, store_variables
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.operators import IDENTITY

_ALIGNMENT = 8
_INLINE_LIMIT = 1 << 30  # a flatbuffer ends at 2 GiB: larger graphs keep their constants behind it


def write_graph(graph: Graph, inline_limit: int = _INLINE_LIMIT) -> bytes:
    """Encode a graph; the same graph always gives the same bytes."""
    return b"".join(graph_parts(graph, inline_limit))


def graph_parts(graph: Graph, inline_limit: int = _INLINE_LIMIT) -> list[bytes | memoryview]:
    """The bytes of a graph in parts: large constants are not copied."""
    try:
        return _written(graph, inline_limit)
    except (TypeError, ValueError) as error:
        raise FileError(f"the graph does not fit in a file: {error}") from error


def _written(graph: Graph, inline_limit: int) -> list[bytes | memoryview]:
    _check_names(graph)
    graph, identities = store_variables(graph)
    if _constant_bytes(graph) <= inline_limit:
        return _Writer(None, identities).file(graph)
    # Offsets count from the beginning of the file: a first pass finds out how long the flatbuffer is.
    length = sum(map(len, _Writer(_External(1 << 40), identities).file(graph)))
    external = _External(length + -length % _ALIGNMENT)
    flatbuffer = _Writer(external, identities).file(graph)
    return [*flatbuffer, bytes(-length % _ALIGNMENT), *external.parts]


def _check_names(graph: Graph) -> None:
    for block in (block for region in graph.regions for block in region.blocks):
        if "" in block.values:
            raise FileError(f"block {block.name!r}: a tensor has an empty name, which no file can hold")
        for name in (name for node in block.nodes for name in node.inputs + node.outputs):
            if name not in block.values:
                raise FileError(f"block {block.name!r}: {name!r} is not a value of the block")


def _constant_bytes(graph: Graph) -> int:
    blocks = (block for region in graph.regions for block in region.blocks)
    return sum(
        value.data.nbytes for block in blocks for value in block.values.values() if value.data is not None
    )


class _External:
    """Constant data behind the flatbuffer."""

    def __init__(self, start: int) -> None:
        self.end = start
        self.parts: list[bytes | memoryview] = []

    def add(self, data: bytes | memoryview) -> tuple[int, int]:
        """Append a constant; its offset and size."""
        start = self.end
        self.parts += [data, bytes(-len(data) % _ALIGNMENT)]
        self.end += len(data) + len(self.parts[-1])
        return start, len(data)


class _Writer:
    """Builds the flatbuffer back to front, in one order for the same graph."""

    def __init__(self, external: _External | None, identities: bool) -> None:
        self.builder = Builder()
        self.external = external
        self.identities = identities

    def file(self, graph: Graph) -> list[bytes | memoryview]:
        regions = self.tables([self.region(region) for region in graph.regions])
        version = self.version(graph.version)
        root = self.builder.table([("offset", version), ("offset", regions)])
        return self.builder.parts(root, schema.IDENTIFIER)

    def version(self, version: tuple[int, int, int, bool]) -> int:
        major, minor, patch, draft = version if version[:2] == schema.VERSION[:2] else schema.VERSION
        unset = -1  # the schema's default, so that 0 is stored
        numbers = [("int32", number, unset) for number in (major, minor, patch)]
        return self.builder.table([*numbers, ("bool", draft, True)])

    def region(self, region: Region) -> int:
        blocks = self.tables([self.block(block) for block in region.blocks])
        return self.builder.table([("offset", self.text(region.name)), ("offset", blocks)])

    def block(self, block: Block) -> int:
        operators = self.tables([self.node(node, block) for node in block.nodes])
        values = _with_stored_data(block)
        fields = [
            self.text(block.name),
            operators,
            self.tables([self.tensor(value) for value in values if value.dtype is not SHAPE]),
            self.texts(block.inputs),
            self.texts(block.outputs),
            self.tables([self.shape(value) for value in values if value.dtype is SHAPE]),
        ]
        return self.builder.table([("offset", field) for field in fields])

    def node(self, node: Node, block: Block) -> int:
        dtype = block.values[node.inputs[0]].dtype if node.inputs else None
        attribute = type(node.operator).number
        number = IDENTITY.number if self.identities and isinstance(node.operator, VARIABLES) else attribute
        attributes = write_attributes(self.builder, node.operator, dtype)
        inputs, outputs = self.texts(node.inputs), self.texts(node.outputs)
        fields = [
            ("uint32", number),
            ("uint8", attribute),
            ("offset", attributes),
            ("offset", inputs),
            ("offset", outputs),
        ]
        if node.location:
            text = self.text(node.location)
            fields.append(("offset", self.builder.table([("offset", text)])))
        return self.builder.table(fields)

    def tensor(self, value: Value) -> int:
        name, variable = self.text(value.name), self.text(value.variable_name) if value.variable_name else 0
        shape = self.builder.ints(value.shape or ())
        data, offset, size = self.data(value)
        return self.builder.table(
            [
                ("offset", name),
                ("offset", shape),
                ("uint32", value.dtype.number),
                ("offset", data),
                ("bool", bool(value.variable_name)),
                ("bool", value.shape is None),
                ("offset", variable),
                ("uint64", offset),
                ("uint64", size),
            ],
        )

    def shape(self, value: Value) -> int:
        name = self.text(value.name)
        data = self.builder.blob(_bytes(value, value.data)) if value.data is not None else 0
        (rank,) = value.shape or (0,)
        return self.builder.table([("offset", name), ("uint32", rank), ("offset", data)])

    def data(self, value: Value) -> tuple[int, int, int]:
        """Offset of a constant in the flatbuffer, or its offset and size in the file."""
        if value.data is None:
            return 0, 0, 0
        data = _bytes(value, value.data)
        if self.external is None:
            return self.builder.blob(data), 0, 0
        return 0, *self.external.add(data)

    def text(self, text: str) -> int:
        return self.builder.text(text)

    def texts(self, texts: tuple[str, ...]) -> int:
        return self.builder.offsets([self.text(text) for text in texts])

    def tables(self, offsets: list[int]) -> int:
        return self.builder.offsets(offsets)


def _with_stored_data(block: Block) -> list[Value]:
    """The values as a file holds them: constants must have data, and only they and variables have."""
    nodes = [node for node in block.nodes if node.operator.holds_data]
    constants = {name for node in nodes for name in node.outputs}
    for name in constants:
        if block.values[name].data is None:
            raise FileError(f"{name}: a constant needs data")
    return [
        value if value.name in constants or value.variable_name else replace(value, data=None)
        for value in block.values.values()
    ]


def _bytes(value: Value, data: Array) -> bytes | memoryview:
    """What a file holds of a constant, if the array is what the value says."""
    if data.dtype != value.dtype.storage or data.shape != value.shape:
        raise FileError(
            f"{value.name}: expected {value.type}, found an array of {data.dtype}{list(data.shape)}"
        )
    wrong = out_of_range(data, value.dtype)
    if wrong is not None:
        raise FileError(f"{value.name}: element {wrong} does not fit in {value.dtype.name}")
    return pack(data, value.dtype)
