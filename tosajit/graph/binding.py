"""Binding a node to its operator's declaration: extents, shapes, types and constants by name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.dtypes import DTYPES, SHAPE, DType
from tosajit.errors import GraphError, RuleKind, Violation
from tosajit.graph import Block, Graph, Node, Value
from tosajit.graph.operator import TYPES, Mode, Operand, Operator, Rule, ShapeFault, parameters_of, shown

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """A node with all that its operator's declaration names."""

    operator: Operator
    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    mode: Mode | None
    dims: Mapping[str, Any]
    """Everything that the declaration names: extents, shapes, types, lists of operands, constants."""
    constants: Mapping[str, Array] = field(default_factory=dict)

    def value(self, operand: str) -> Value:
        """The tensor that is bound to an operand."""
        return self.values(operand)[0]

    def values(self, operand: str) -> tuple[Value, ...]:
        """The tensors that are bound to an operand; more than one for a list."""
        for declared, bound in (
            (self.operator.operands_read, self.inputs),
            (self.operator.operands_written, self.outputs),
        ):
            for position, one in enumerate(declared):
                if one.name == operand:
                    return bound[position:] if one.is_list else bound[position : position + 1]
        raise KeyError(f"{self.operator.opcode} has no operand {operand}")

    def dtype(self, variable: str) -> DType:
        """The type that a type variable such as `in_t` or `acc_t` stands for."""
        bound = self.dims.get(variable)
        if isinstance(bound, DType):
            return bound
        if self.mode is None:
            raise KeyError(f"{self.name} has no mode, so {variable} is not known")
        return self.mode[variable]

    def const(self, operand: str) -> Array | None:
        """The value of an operand that is a constant of the graph."""
        return self.constants.get(self.value(operand).name)


def constants_of(block: Block) -> dict[str, Array]:
    """The well-formed constants of a block by name."""
    found: dict[str, Array] = {}
    for node in block.nodes:
        if node.operator.holds_data:
            for name in node.outputs:
                value = block.values.get(name)
                if value is not None and value.data is not None and is_well_formed(value):
                    found[name] = value.data
    return found


def is_well_formed(value: Value) -> bool:
    """Whether a value's data have its type and shape."""
    return (
        value.data is not None and value.data.shape == value.shape and value.data.dtype == value.dtype.storage
    )


def use_of(node: Node, block: Block, constants: Mapping[str, Array] | None = None) -> Use:
    """The use of an operator by a node of a legal block."""
    known = constants_of(block) if constants is None else constants
    return Binder(node, block.values, known).bind()


def likeness(
    operator: Operator, inputs: Sequence[Value], constants: Mapping[str, Array], outputs: Sequence[Value] = ()
) -> Hashable:
    """All that an operator's declaration can see of a node: equal for those that differ in names alone.

    Constants are told apart by where they are, so it is of use as long as these exist.
    """
    looks_at = looked_at(type(operator))  # type: ignore[arg-type]
    data = [
        id(constants.get(one.name)) if looks else None for one, looks in zip(inputs, looks_at, strict=False)
    ]
    bound = [(one.dtype.name, one.shape, one.variable_name) for one in (*inputs, *outputs)]
    return operator, tuple(data), len(inputs), tuple(bound)


@cache
def looked_at(operator: type[Operator]) -> tuple[bool, ...]:
    """Whether rules or shapes depend on the elements of each operand that is read; of lists they never do."""
    asked = {name for rule in operator.rules for name in rule.parameters}
    for hook in ("infer", "results"):
        function = getattr(operator, hook, None)
        asked.update(parameters_of(function) if function is not None else ())
    for operand in operator.operands_written:
        asked.update((operand.shape, *(operand.dims or ())))  # type: ignore[arg-type]
    return tuple(one.name in asked and not one.is_list for one in operator.operands_read)


class Binder:
    """Binds one node, and collects what does not fit."""

    __slots__ = ("_node", "_owners", "_values", "constants", "faults", "known", "operator", "where")

    def __init__(
        self, node: Node, values: Mapping[str, Value], constants: Mapping[str, Array], where: str = ""
    ) -> None:
        self._node, self._values = node, values
        self.constants = constants
        self.operator = node.operator
        self.where = where
        self.known: dict[str, Any] = {}
        self.faults: list[Violation] = []
        self._owners: dict[str, str] = {}

    def bind(self) -> Use:
        """The use, as far as it can be bound."""
        operator, node = self.operator, self._node
        inputs, outputs = self.bind_inputs(), self._look_up(node.outputs)
        if self._count("outputs", operator.operands_written, outputs):
            self._bind_operands(operator.operands_written, outputs)
        mode = self._mode() if not self.faults else None
        return Use(operator, self.where + node.name, inputs, outputs, mode, self.known, self.constants)

    def bind_inputs(self) -> tuple[Value, ...]:
        """Bind what the node reads."""
        inputs = self._look_up(self._node.inputs)
        if self._count("inputs", self.operator.operands_read, inputs):
            self._bind_operands(self.operator.operands_read, inputs)
        return inputs

    def fault(self, kind: RuleKind, operand: str, rule: str, message: str, section: str = "") -> None:
        """Note a violation of this node."""
        name, operator = self.where + self._node.name, self.operator
        self.faults.append(
            Violation(kind, name, operator.opcode, operand, rule, message, section or operator.section)
        )

    def check_rules(self) -> tuple[Rule, ...]:
        """Note what the operator's rules find; the rules that found something."""
        broken = []
        for rule in self.operator.rules:
            if self._breaks(rule):
                broken.append(rule)
                if rule.kind == "type":  # later rules would judge elements of a wrong type
                    self.known.pop(rule.operand, None)
        return tuple(broken)

    def infer(self) -> Mapping[str, Any] | None:
        """Extents and shapes of outputs that follow from what is known; None if the inputs allow none."""
        try:
            return _call(self.operator, "infer", self.known) or {}
        except ShapeFault as fault:
            self.fault("error_if", fault.operand, "output_shape", fault.message)
        except Exception as error:
            self._fault_of_ours("infer", "", error)
        return None

    def _breaks(self, rule: Rule) -> bool:
        before = len(self.faults)
        try:
            for message in rule.faults(self.operator, self.known):
                self.fault(rule.kind, rule.operand, rule.name, message)
        except Exception as error:
            self._fault_of_ours(rule.name, rule.operand, error)
        return len(self.faults) > before

    def _fault_of_ours(self, rule: str, operand: str, error: Exception) -> None:
        """The last net: what a rule could not judge is not legal, and the other rules still speak."""
        text = f"the rule {rule} failed ({type(error).__name__}: {error})"
        self.fault("internal", operand, rule, f"{text}; this is a bug in tosajit: please report it")

    def _look_up(self, names: Iterable[str]) -> tuple[Value, ...]:
        values = self._values
        found = []
        for name in names:
            value = values.get(name)
            if value is None:
                self.fault("structure", name, "undeclared_tensor", "is not declared in the block", "2.2")
            else:
                found.append(value)
        return tuple(found)

    def _count(self, what: str, declared: Sequence[Operand], bound: Sequence[Value]) -> bool:
        if self.faults:
            return False
        has_list = bool(declared) and declared[-1].is_list
        least = len(declared) - has_list
        if len(bound) == least or (has_list and len(bound) > least):
            return True
        wanted = f"at least {least}" if has_list else str(least)
        self.fault("structure", what, "operand_count", f"there are {len(bound)}, but must be {wanted}", "2.2")
        return False

    def _bind_operands(self, declared: Sequence[Operand], bound: Sequence[Value]) -> None:
        for position, operand in enumerate(declared):
            if operand.is_list:
                self._bind_list(operand, tuple(bound[position:]))
            else:
                self._bind_one(operand, bound[position])

    def _bind_one(self, operand: Operand, value: Value) -> None:
        has_type = self._bind_type(operand, value)
        if self._bind_shape(operand, value) and has_type and not operand.is_output:
            self._bind_data(operand, value)

    def _bind_data(self, operand: Operand, value: Value) -> None:
        """Rules see the elements of an operand only if it may have its type at all."""
        data = self.constants.get(value.name)
        if data is None:
            return
        if operand.type == "shape_t":
            self.known[operand.name] = tuple(data.tolist())
        elif value.dtype in types_of(type(self.operator), operand.type):  # type: ignore[arg-type]
            self.known[operand.name] = data

    def _bind_list(self, operand: Operand, values: tuple[Value, ...]) -> None:
        for value in values:
            self._bind_type(operand, value)
            if self._has_shape(operand, value):
                self._check_rank(operand, value.shape or ())
        self.known[operand.name] = values
        if operand.shape and all(value.shape is not None for value in values):
            self.known[operand.shape] = tuple(value.shape for value in values)

    def _bind_type(self, operand: Operand, value: Value) -> bool:
        variable, dtype = operand.type, value.dtype
        if not variable:
            return True
        wanted = TYPES.get(variable) or self.known.get(variable)
        if wanted is None:
            self.known[variable] = dtype
            self._owners[variable] = operand.name
        elif wanted is not dtype:
            owner = self._owners.get(variable)
            reason = f"{owner} is {wanted}" if owner and owner != operand.name else f"must be {wanted}"
            self.fault("type", operand.name, "operand_type", f"is {dtype}, but {reason}")
        return wanted in (None, dtype)

    def _bind_shape(self, operand: Operand, value: Value) -> bool:
        shape = value.shape or ()
        if not self._has_shape(operand, value) or not self._check_rank(operand, shape):
            return False
        if operand.dims is None:
            return not operand.shape or self._bind_name(operand, operand.shape, shape)
        # Every extent is bound, even if an earlier one does not fit.
        return all(
            [self._bind_name(operand, dim, size) for dim, size in zip(operand.dims, shape, strict=True)]
        )

    def _has_shape(self, operand: Operand, value: Value) -> bool:
        if value.shape is None:
            self.fault("structure", operand.name, "unranked", "has no shape", "1.11.1")
        return value.shape is not None

    def _check_rank(self, operand: Operand, shape: Shape) -> bool:
        least, most = operand.rank
        rank = len(shape)
        if least <= rank and (most is None or rank <= most):
            return True
        limits = f"{least}" if least == most else f"at least {least}" if rank < least else f"at most {most}"
        self.fault("error_if", operand.name, "rank", f"its rank is {rank}, but must be {limits}")
        return False

    def _bind_name(self, operand: Operand, name: str | int, extent: int | Shape) -> bool:
        if isinstance(name, int):
            if name != extent:
                self.fault("error_if", operand.name, "extent", f"its length is {extent}, but must be {name}")
            return name == extent
        bound = self.known.setdefault(name, extent)
        if bound == extent:
            self._owners.setdefault(name, operand.name)
            return True
        owner = self._owners.get(name, "the operator")
        what = "its shape" if operand.dims is None else name
        self.fault(
            "error_if", operand.name, "shape", f"{what} is {shown(extent)}, but {shown(bound)} in {owner}"
        )
        return False

    def _mode(self) -> Mode | None:
        operator = self.operator
        candidates = rows_for(type(operator), self.known)
        for mode in candidates:
            if operator.selects(mode):
                self.known.update(mode.extents)
                return mode
        self.fault("type", "", "mode", no_mode(operator, self.known))
        return None


@cache
def types_of(operator: type[Operator], variable: str) -> frozenset[DType]:
    """The types that a type, or a type variable in some mode, stands for."""
    if variable in TYPES:
        return frozenset({TYPES[variable]})
    found = frozenset(mode.types[variable] for mode in operator.modes if variable in mode.types)
    return found or frozenset(DTYPES.values()) - {SHAPE}  # a rule says which: RESCALE's mul_t


def rows_for(operator: type[Operator], known: Mapping[str, Any]) -> Sequence[Mode]:
    """The rows of the type table that agree with all types that are known."""
    columns = tuple(column for column in operator.modes[0].types if column in known)
    key = (operator, columns, tuple(known[column] for column in columns))
    found = _ROWS.get(key)
    if found is None:
        wanted = key[2]
        found = tuple(mode for mode in operator.modes if tuple(map(mode.types.get, columns)) == wanted)
        _ROWS[key] = found
    return found


_ROWS: dict[tuple[type[Operator], tuple[str, ...], tuple[DType, ...]], tuple[Mode, ...]] = {}


def no_mode(operator: Operator, known: Mapping[str, Any]) -> str:
    """What to say of types (or attributes) that no row of the type table has."""
    columns = [column for column in operator.modes[0].types if column in known]
    given = ", ".join(f"{column} {known[column]}" for column in columns)
    fits = [mode for mode in rows_for(type(operator), known)]
    if fits:
        chosen = [
            f"{attribute.name} {shown(getattr(operator, attribute.name))}"
            for attribute in operator.attributes
        ]
        return f"no mode has {given} with {', '.join(chosen)}; there are {_listed(fits)}"

    def distance(mode: Mode) -> int:
        return sum(mode[column] is not known[column] for column in columns)

    nearest = sorted(operator.modes, key=distance)
    least = distance(nearest[0])
    closest = [mode for mode in nearest if distance(mode) == least]
    return f"no mode has {given}; the nearest are {_listed(closest)}"


def _listed(modes: Sequence[Mode], most: int = 4) -> str:
    text = " / ".join(map(str, modes[:most]))
    return text if len(modes) <= most else f"{text} / and {len(modes) - most} more"


def _call(operator: Operator, hook: str, known: Mapping[str, Any]) -> Any:
    """What a hook of the operator gives; None without one, or if it needs what is not known."""
    function = getattr(type(operator), hook, None)
    if function is None:
        return None
    names = _PARAMETERS.get(function)
    if names is None:
        names = _PARAMETERS[function] = parameters_of(function)
    try:
        arguments = [known[name] for name in names]
    except KeyError:
        return None
    return function(operator, *arguments)


_PARAMETERS: dict[Callable[..., Any], tuple[str, ...]] = {}


def infer_outputs(
    operator: Operator,
    inputs: Sequence[Value],
    constants: Mapping[str, Array],
    *,
    dtype: DType | None = None,
    graph: Graph | None = None,
) -> tuple[tuple[DType, Shape], ...]:
    """Types and shapes of the outputs that follow from the inputs; raises `GraphError` with what is wrong.

    `dtype` chooses between modes that differ in their outputs only. `graph` has the regions of control flow.
    """
    node = Node(operator, tuple(value.name for value in inputs), ())
    binder = Binder(node, {value.name: value for value in inputs}, constants)
    binder.bind_inputs()
    known = binder.known
    known.update({} if graph is None else {"graph": graph})
    if not binder.faults:
        binder.check_rules()
    if not binder.faults:
        results = _call(operator, "results", known)
        if results is not None:
            return tuple((value.dtype, value.shape or ()) for value in results)
        types, shapes = _output_types(binder, dtype), _output_shapes(binder)
        if not binder.faults:
            return tuple(zip(types, shapes, strict=True))
    raise GraphError(binder.faults)


def _output_types(binder: Binder, dtype: DType | None) -> list[DType]:
    operator, known = binder.operator, binder.known
    written = operator.operands_written
    rows = [mode for mode in rows_for(type(operator), known) if operator.selects(mode)]
    if dtype is not None:
        rows = [mode for mode in rows if mode[written[0].type] is dtype]
    if not rows:
        wanted = {} if dtype is None else {written[0].type: dtype}
        binder.fault("type", "", "mode", no_mode(operator, {**known, **wanted}))
        return []
    found = {tuple(mode[operand.type] for operand in written) for mode in rows}
    if len(found) > 1:
        types = ", ".join(sorted(types[0].name for types in found))
        binder.fault("type", "output", "output_type", f"the output can be {types}: choose one with dtype")
    return list(found.pop())


def _output_shapes(binder: Binder) -> list[Shape]:
    shapes: list[Shape] = []
    inferred = binder.infer()
    if inferred is None:
        return []
    found = {**binder.known, **inferred}
    for operand in binder.operator.operands_written:
        if operand.dims is None:
            shape = found.get(operand.shape)
        else:
            extents = [dim if isinstance(dim, int) else found.get(dim) for dim in operand.dims]
            shape = None if None in extents else tuple(extents)
        if shape is None:
            binder.fault(
                "structure", operand.name, "output_shape", "its shape does not follow from the inputs"
            )
        else:
            shapes.append(shape)
    return shapes
