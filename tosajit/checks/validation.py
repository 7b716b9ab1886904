"""Validation: everything in a graph that breaks the specification."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from enum import IntEnum
from math import prod

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.checks.variables import variable_faults
from tosajit.errors import GraphError, RuleKind, Violation
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.binding import Binder, Use, constants_of, is_well_formed, likeness
from tosajit.graph.given import as_graph
from tosajit.graph.operator import Operator, shown
from tosajit.graph.order import cycle
from tosajit.profiles import EXTENSIONS, LEVELS, PROFILES, Level, LevelName, supported

_SEVERE = frozenset({"error_if", "type", "structure"})


@dataclass(frozen=True, slots=True)
class Scope:
    """What a graph is held against, and where in it we are."""

    graph: Graph
    available: frozenset[str]
    level: Level
    where: str = ""
    """Goes before the names of nodes that are not in the main region."""

    def fault(self, kind: RuleKind, name: str, rule: str, message: str, section: str) -> Violation:
        """A violation by a tensor, a block or a region."""
        return Violation(kind, self.where + name, "", "", rule, message, section)


def validate(
    graph: Graph,
    profiles: Collection[str] = PROFILES,
    extensions: Collection[str] | None = None,
    level: LevelName = "8K",
) -> tuple[Violation, ...]:
    """All violations of a graph, in the order of its nodes; empty if it is legal.

    `profiles` and `extensions` are what it may use, by default everything; `level` is `8K`, or `none` for
    the limits of files alone. Raises `ValueError` for a level that does not exist.
    """
    chosen = EXTENSIONS if extensions is None else extensions
    if level not in LEVELS:
        raise ValueError(f"level is {level!r}, but must be one of {', '.join(LEVELS)}")
    scope = Scope(as_graph(graph), supported(profiles, chosen), LEVELS[level])
    faults = list(_structure(scope))
    for region in graph.regions:
        where = "" if region.name == "main" or len(graph.regions) == 1 else f"{region.name}/"
        inner = Scope(graph, scope.available, scope.level, where)
        for block in region.blocks:
            faults += _block(block, inner)
    faults += variable_faults(graph)
    return tuple(faults)


def check(
    graph: Graph,
    profiles: Collection[str] = PROFILES,
    extensions: Collection[str] | None = None,
    level: LevelName = "8K",
) -> Graph:
    """The graph itself; raises `GraphError` with all violations if there are any."""
    faults = validate(graph, profiles, extensions, level)
    if faults:
        raise GraphError(faults)
    return graph


def late_operands(node: Node, constants: Collection[str]) -> tuple[str, ...]:
    """Tensors that EXT-DYNAMIC lets come from elsewhere than a constant: checks of them have to wait."""
    pairs = zip(node.operator.operands_read, node.inputs, strict=False)
    return tuple(name for operand, name in pairs if operand.constant_in and name not in constants)


def late_faults(
    node: Node, block: Block, constants: Mapping[str, Array], where: str = ""
) -> tuple[Violation, ...]:
    """What is wrong with a node once `constants` has the late operands as well; for when a graph runs."""
    binder = Binder(node, block.values, constants, where)
    binder.bind()
    binder.check_rules()
    return tuple(binder.faults)


def _structure(scope: Scope) -> Iterator[Violation]:
    graph = scope.graph
    if not any(region.blocks for region in graph.regions):
        yield scope.fault("structure", "graph", "no_blocks", "it has no block to run", "2.2")
        return
    seen: set[str] = set()
    for region in graph.regions:
        if region.name in seen:
            yield scope.fault(
                "structure", region.name, "repeated_region", "two regions have this name", "2.2"
            )
        seen.add(region.name)
        if len(region.blocks) != 1:
            text = f"it has {len(region.blocks)} blocks, but must have 1"
            yield scope.fault("structure", region.name, "block_count", text, "2.2")
    yield from _nesting(scope)


def _nesting(scope: Scope) -> Iterator[Violation]:
    """Walk down from the main region, level by level; a region that reaches itself never ends."""
    called = {region.name: _called(region) for region in scope.graph.regions}
    main = scope.graph.region("main") or scope.graph.regions[0]
    reached = {main.name}
    for _ in range(scope.level.MAX_NESTING):
        reached = {name for one in reached for _, name in called.get(one, ())}
    for name in sorted(reached):
        if called.get(name):
            node = called[name][0][0]
            text = f"its nesting is deeper than MAX_NESTING, which is {scope.level.MAX_NESTING}"
            yield Violation(
                "error_if", node.name, node.operator.opcode, "", "nesting", text, node.operator.section
            )


def _called(region: Region) -> list[tuple[Node, str]]:
    return [(node, name) for block in region.blocks for node in block.nodes for name in node.runs]


def _block(block: Block, scope: Scope) -> list[Violation]:
    faults: list[Violation] = []
    producers: dict[str, Node | None] = dict.fromkeys(block.inputs)
    if len(producers) != len(block.inputs):
        faults.append(
            scope.fault("structure", block.name, "repeated_input", "an input is listed twice", "2.2")
        )
    for node in block.nodes:
        for name in node.outputs:
            if name in producers:
                faults.append(scope.fault("structure", name, "written_twice", "is written twice", "2.2"))
            producers[name] = node
    faults += _interface(block, producers, scope)
    faults += _tensors(block, producers, scope)
    constants = constants_of(block)
    legal: set[Hashable] = set()
    for node in block.nodes:
        kind = _kind(node, block, constants, producers)
        found = [] if kind in legal else _node(node, block, constants, producers, scope)
        if kind is not None and not found:
            legal.add(kind)
        faults += found
    names = cycle(block.nodes, producers)
    if names:
        text = f"needs its own result: {' → '.join(names)}"
        faults.append(scope.fault("structure", names[0], "cycle", text, "2.2"))
    return faults


def _interface(block: Block, producers: Mapping[str, Node | None], scope: Scope) -> Iterator[Violation]:
    for what, names in (("input", block.inputs), ("output", block.outputs)):
        for name in names:
            value = block.values.get(name)
            if value is None:
                text = f"is an {what} of the graph, but is not declared"
                yield scope.fault("structure", name, "undeclared_tensor", text, "2.2")
            elif value.dtype.kind == "shape":
                text = f"is an {what} of the graph, but has the type SHAPE"
                yield scope.fault("structure", name, "shape_at_the_border", text, "2.2")
            elif name not in producers:
                yield scope.fault("structure", name, "never_written", "is never written", "2.2")


def _tensors(block: Block, producers: Mapping[str, Node | None], scope: Scope) -> Iterator[Violation]:
    """Extents, sizes and data of the tensors that are in use."""
    limit = 1 << scope.level.MAX_LOG2_SIZE
    for name, producer in producers.items():
        value = block.values.get(name)
        if value is None or value.shape is None:
            continue
        shape = value.shape
        if shape and min(shape) < 1 and value.dtype.kind != "shape":
            text = f"its shape is {shown(shape)}, but extents must be at least 1"
            yield scope.fault("error_if", name, "extent", text, "1.11.1")
        elif (size := prod(shape) * value.dtype.bytes) >= limit:
            text = f"it takes {size} bytes, but must take less than {limit}"
            yield scope.fault("level", name, "tensor_size", text, "1.11.1")
        if producer is not None and producer.operator.holds_data:
            yield from _data(value, scope)


def _data(value: Value, scope: Scope) -> Iterator[Violation]:
    data, dtype = value.data, value.dtype
    if data is None:
        yield scope.fault("structure", value.name, "no_data", "is a constant without data", "2.14.1")
    elif not is_well_formed(value):
        text = f"is {value.type}, but its data are {data.dtype}{shown(data.shape)}"
        yield scope.fault("structure", value.name, "data_type", text, "2.14.1")
    elif dtype.name in ("INT4", "INT48") and data.size:
        low, high, half = int(data.min()), int(data.max()), 1 << (dtype.bits - 1)
        if low < -half or high >= half:
            text = f"its data are from {low} to {high}, which {dtype} cannot hold"
            yield scope.fault("structure", value.name, "data_range", text, "1.9")


def _kind(
    node: Node, block: Block, constants: Mapping[str, Array], producers: Mapping[str, Node | None]
) -> Hashable | None:
    """What checks of a node can see but for names; None if it uses what is not there."""
    values = block.values
    if not all(name in producers for name in node.inputs):
        return None
    if not all(name in values for name in (*node.inputs, *node.outputs)):
        return None
    made = [producers[name] for name in node.inputs]
    holds = tuple([one is not None and one.operator.holds_data for one in made])
    inputs, outputs = ([values[name] for name in names] for names in (node.inputs, node.outputs))
    return likeness(node.operator, inputs, constants, outputs), holds


def _node(
    node: Node,
    block: Block,
    constants: Mapping[str, Array],
    producers: Mapping[str, Node | None],
    scope: Scope,
) -> list[Violation]:
    binder = Binder(node, block.values, constants, scope.where)
    use = binder.bind()
    for name in node.inputs:
        if name not in producers and name in block.values:
            binder.fault("structure", name, "never_written", "is never written", "2.2")
    _check_rules(binder, scope)
    _check_limits(binder, use, scope.level)
    _check_constants(binder, use, producers, scope)
    _check_profile(binder, use, scope.available)
    return binder.faults


def _check_rules(binder: Binder, scope: Scope) -> None:
    operator, known = binder.operator, binder.known
    known["graph"], known["level"] = scope.graph, scope.level
    shapes_follow = not binder.faults
    for rule in binder.check_rules():
        shapes_follow &= rule.kind not in _SEVERE or _is_data(operator, rule.operand)
    _check_enumerations(binder, operator)
    if shapes_follow:
        _check_outputs(binder)


def _is_data(operator: Operator, name: str) -> bool:
    """Whether shapes do not depend on this operand: a bias, a zero point, a multiplier."""
    named = (operand for operand in operator.operands_read if operand.name == name)
    return any(operand.dims is not None and operand.type != "shape_t" for operand in named)


def _check_enumerations(binder: Binder, operator: Operator) -> None:
    for attribute in operator.attributes:
        if attribute.enum is not None:
            value: IntEnum = getattr(operator, attribute.name)
            if value.name == "UNKNOWN":
                known = ", ".join(member.name for member in attribute.enum if member)
                binder.fault(
                    "error_if", attribute.name, "unknown", f"it is UNKNOWN, but must be one of {known}"
                )


def _check_limits(binder: Binder, use: Use, level: Level) -> None:
    """Ranks and lengths of lists, which are limited for every operator alike."""
    operator = use.operator
    for declared, bound in ((operator.operands_read, use.inputs), (operator.operands_written, use.outputs)):
        for number, value in enumerate(bound):
            operand = declared[min(number, len(declared) - 1)] if declared else None
            if operand is None or operand.holds_anything:
                continue
            if value.shape is not None and len(value.shape) > level.MAX_RANK:
                text = f"its rank is {len(value.shape)}, but MAX_RANK is {level.MAX_RANK}"
                binder.fault("level", operand.name, "MAX_RANK", text)
        if declared and declared[-1].is_list:
            length = len(bound) - len(declared) + 1
            if length > level.MAX_TENSOR_LIST_SIZE:
                text = f"there are {length} tensors, but MAX_TENSOR_LIST_SIZE is {level.MAX_TENSOR_LIST_SIZE}"
                binder.fault("level", declared[-1].name, "MAX_TENSOR_LIST_SIZE", text)


def _check_outputs(binder: Binder) -> None:
    operator, known = binder.operator, binder.known
    for name, wanted in (binder.infer() or {}).items():
        declared = known.get(name, wanted)
        if declared != wanted:
            operand = _operand_with(operator, name)
            what = "its shape" if isinstance(wanted, tuple) else name
            text = f"{what} is {shown(declared)}, but {operator.because} {shown(wanted)}"
            binder.fault("error_if", operand, "output_shape", text)


def _operand_with(operator: Operator, name: str) -> str:
    for operand in operator.operands_written:
        if name == operand.shape or name in (operand.dims or ()):
            return operand.name
    return ""


def _check_constants(binder: Binder, use: Use, producers: Mapping[str, Node | None], scope: Scope) -> None:
    dynamic = "EXT-DYNAMIC" in scope.available
    for operand, value in zip(use.operator.operands_read, use.inputs, strict=False):
        if not operand.constant_in:
            continue
        is_shape = value.dtype.kind == "shape"
        if dynamic and not is_shape:
            continue
        producer = producers.get(value.name)
        if producer is not None and producer.operator.holds_data:
            continue
        if is_shape or scope.available.intersection(operand.constant_in):
            wanted = "CONST_SHAPE" if is_shape else "CONST, or the graph needs EXT-DYNAMIC"
            binder.fault(
                "constant", operand.name, "compile_time_constant", f"must come from a {wanted}", "2.1"
            )


def _check_profile(binder: Binder, use: Use, available: frozenset[str]) -> None:
    mode = use.mode
    if mode is None:
        return
    if not mode.is_in(available):
        binder.fault("profile", "", "profile", f"{mode.name} needs {mode.requires}", "1.6")
    for name in sorted(use.operator.needs() - available):
        binder.fault("profile", "", "profile", f"its attributes need {name}", "1.6")
