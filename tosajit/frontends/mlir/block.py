"""From the operations of a block to nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np

from tiling.records import replace
from tiling.words import plain
from tosajit.arrays import Array
from tosajit.dtypes import SHAPE, DType
from tosajit.frontends.mlir.attributes import AttributeFault, read_attributes
from tosajit.frontends.mlir.context import Context, Refused
from tosajit.frontends.mlir.kinds import Kind
from tosajit.frontends.mlir.syntax.records import (
    Argument,
    Many,
    Operand,
    Operation,
    Region,
    Span,
    Text,
    Type,
)
from tosajit.graph import Block, Node, Value
from tosajit.graph import Region as GraphRegion
from tosajit.graph.attributes import AttributeFaults
from tosajit.graph.operator import OPERATORS, Operator
from tosajit.operators import (
    CAST,
    COND_IF,
    CONST,
    CONST_SHAPE,
    IDENTITY,
    VARIABLE,
    VARIABLE_READ,
    VARIABLE_WRITE,
    WHILE_LOOP,
)

_OTHER_NAMES = {"arith.constant": "tosa.const"}
"""Operations of other dialects that say the same."""
_ENDINGS = ("tosa.yield",)
_MOVING = frozenset(
    "ARGMAX CAST CONCAT EQUAL GATHER GREATER GREATER_EQUAL IDENTITY MAXIMUM MINIMUM REDUCE_MAX REDUCE_MIN "
    "RESHAPE REVERSE SCATTER SELECT SLICE TILE TRANSPOSE".split()
)
"""Operators whose results are elements of their inputs, or comparisons: narrower types make no difference."""
_UNSIGNED = frozenset(
    "CONCAT CUSTOM EQUAL GATHER IDENTITY PAD RESCALE RESHAPE REVERSE SCATTER SELECT SLICE TILE "
    "TRANSPOSE".split()
)
"""Operators that look at no sign, but for RESCALE, whose attributes say it."""


class Building:
    """A block that is being filled; values of the block around it become inputs, or constants of its own."""

    def __init__(self, context: Context, name: str, parent: Building | None = None) -> None:
        self.context, self.name, self._parent = context, name, parent
        self.values: dict[str, Value] = {}
        self.inputs: list[str] = []
        self.captured: dict[tuple[str, int], str] = {}
        """Inputs that are values of the block around, by their names in the text."""
        self._nodes: list[Node] = []
        self._known: dict[tuple[str, int], str] = {}
        self._kinds: dict[str, Kind] = {}
        self._types: dict[str, Type] = {}
        """The types that values are declared with: mostly those that their uses say."""
        self._wide: dict[str, Array] = {}
        """Constants that no type of TOSA holds."""

    def take(self, argument: Argument, name: str = "") -> None:
        """Add an input."""
        value, kind = self._declare(argument.name, 0, argument.type, argument.span, name)
        if kind.wide and not kind.outside and not self.context.narrows(kind):
            self.context.faults.add(
                argument.span, f"%{plain(argument.name)}: TOSA 1.0.1 has no type {kind.wide}"
            )
        self.inputs.append(value.name)

    def variables(self) -> None:
        """Declare the variables of the module."""
        for operation, value in self.context.variables:
            name = self._free(_names(operation)[0] or value.name)
            self.values[name] = replace(value, name=name)
            self._nodes.append(Node(VARIABLE(name=value.name), (), (name,), self.context.location(operation)))

    def run(self, region: Region, endings: Sequence[str] = _ENDINGS) -> list[str]:
        """Add the operations of a region; the values that it ends with."""
        faults = self.context.faults
        if len(region.blocks) != 1:
            faults.add(region.blocks[1].operations[0].span if region.blocks[1].operations else Span(0, 1),
                       f"there are {len(region.blocks)} blocks, but a region of TOSA has one")  # fmt: skip
            faults.settle()
        for operation in region.blocks[0].operations:
            try:
                if operation.name in endings:
                    return [self._use(operand) for operand in operation.operands]
                self._add(operation)
            except Refused as fault:
                where = f"{_called(operation)} ({plain(operation.name)})"
                faults.add(fault.span, f"{where} {fault.message}", fault.remedy)
                self._stand_in(operation)
        return []

    def call(self, value: str, name: str) -> str:
        """Give a value another name, if it is free and the value is no input."""
        if not name or name in self.values or value in self.inputs or value not in self.values:
            return value
        self.values[name] = replace(self.values.pop(value), name=name)
        self._nodes = [_renamed(node, value, name) for node in self._nodes]
        return name

    def finished(self, outputs: Sequence[str]) -> Block:
        """The block, as soon as everything is in it."""
        used = {name for node in self._nodes for name in node.inputs} | set(outputs)
        for name in self._wide.keys() & used:
            self.context.faults.add(
                Span(0, 1), f"%{plain(name)}: its elements are more than TOSA 1.0.1 can hold"
            )
        nodes = tuple(node for node in self._nodes if not (node.outputs and node.outputs[0] in self._wide))
        values = {name: value for name, value in self.values.items() if name not in self._wide}
        return Block(self.name, nodes, values, tuple(self.inputs), tuple(outputs))

    def _add(self, operation: Operation) -> None:
        if operation.name == "tensor.cast":
            self._same(operation)
            return
        dialect, _, name = _OTHER_NAMES.get(operation.name, operation.name).partition(".")
        cls = OPERATORS.get(name.upper()) if dialect == "tosa" and name.islower() else None
        if cls is None:
            raise Refused(operation.span, "is not an operator of TOSA 1.0.1", _remedy(operation.name))
        if cls is VARIABLE:
            raise Refused(operation.span, "stands in a function", "declare variables in the module")
        inputs = self._operands(operation)
        if issubclass(cls, COND_IF | WHILE_LOOP):
            self._add_control(cls, operation, inputs)
            return
        if cls is CAST and self._folds(operation, inputs):
            return
        if cls in (CONST, CONST_SHAPE):
            self._add_constant(cls, operation)
            return
        self._check_wide(cls, operation, inputs)
        dtype = self.values[inputs[0]].dtype if inputs else None
        made = self._made(cls, operation, dtype)
        if isinstance(made, VARIABLE_READ | VARIABLE_WRITE) and not self.context.declares(made.name):
            raise Refused(operation.span, f"@{plain(made.name)}: the module declares no such variable")
        outputs = self._outputs(operation)
        if cls is CAST and self.values[outputs[0]].dtype is dtype:
            made = IDENTITY()
        self._nodes.append(Node(made, tuple(inputs), outputs, self.context.location(operation)))

    def _made(
        self, cls: type[Operator], operation: Operation, dtype: DType | None, **regions: str
    ) -> Operator:
        try:
            if regions:
                return cls(**read_attributes(cls, operation.attributes, None), **regions)
            return self.context.operator(cls, operation.attributes, dtype)
        except AttributeFault as fault:
            raise Refused(operation.span, str(fault)) from None
        except AttributeFaults as faults:
            raise Refused(operation.span, str(faults.faults[0])) from None

    def _operands(self, operation: Operation) -> list[str]:
        types = operation.type.inputs
        if len(types) != len(operation.operands):
            raise Refused(
                operation.span, f"has {len(operation.operands)} operands, but {len(types)} types of them"
            )
        names = [self._use(operand) for operand in operation.operands]
        for name, operand, type in zip(names, operation.operands, types, strict=True):
            if self._types.get(name) is type:
                continue
            expected, _ = self.context.value(name, type, operand.span)
            found = self.values[name]
            if found.dtype is not expected.dtype or not _alike(found.shape, expected.shape):
                raise Refused(
                    operand.span,
                    f"%{plain(operand.name)}: its type is {found.type}, but here it is {expected.type}",
                )
        return names

    def _outputs(self, operation: Operation) -> tuple[str, ...]:
        """The results of an operation, declared."""
        types, given = operation.type.results, sum(number for _, number in operation.results)
        if operation.results and given != len(types):
            raise Refused(operation.span, f"gives {len(types)} values, but {given} are named")
        keys = [(name, number) for name, many in operation.results for number in range(min(many, len(types)))]
        keys = keys or [("", number) for number in range(len(types))]
        names = _names(operation)
        outputs = []
        for place, ((name, number), type) in enumerate(zip(keys, types, strict=True)):
            chosen = names[place] if place < len(names) else ""
            value, _ = self._declare(name, number, type, operation.span, chosen)
            outputs.append(value.name)
        return tuple(outputs)

    def _add_constant(self, cls: type[Operator], operation: Operation) -> None:
        others = [
            name for name in operation.attributes if name not in ("values", "value") and "." not in name
        ]
        if others or operation.operands or len(operation.type.results) != 1:
            raise Refused(operation.span, "has one result, and nothing but values")
        given = operation.attributes.get("values", operation.attributes.get("value"))
        value, kind = self.context.value("", operation.type.results[0], operation.span)
        if (value.dtype is SHAPE) is not (cls is CONST_SHAPE):
            raise Refused(operation.span, f"gives {value.type}")
        data = self.context.constant(value, kind, given, operation.span)
        (output,) = self._outputs(operation)
        exact = _narrowed(data, value.dtype) if kind.wide else data
        is_exact = exact is data or np.array_equal(
            exact.astype(data.dtype), data, equal_nan=kind.dtype.is_float
        )
        if not is_exact and not self.context.narrows(kind):
            self._wide[output] = data
        self.values[output] = replace(self.values[output], data=exact)
        self._nodes.append(Node(cls(), (), (output,), self.context.location(operation)))

    def _folds(self, operation: Operation, inputs: Sequence[str]) -> bool:
        """Round a constant that TOSA cannot hold, which is cast to a type that it can be rounded to once."""
        wide = self._wide.get(inputs[0]) if inputs else None
        if wide is None:
            return False
        (output,) = self._outputs(operation)
        value, kind = self.values[output], self._kinds[output]
        if kind.wide or wide.dtype.kind != "f" or value.dtype.name not in ("FP32", "FP16"):
            raise Refused(
                operation.span, f"takes {self._kinds[inputs[0]].wide}, and its elements need all bits of that"
            )
        with np.errstate(over="ignore"):
            data = wide.astype(value.dtype.storage)
        self.values[output] = replace(value, data=data)
        self._nodes.append(Node(CONST(), (), (output,), self.context.location(operation)))
        return True

    def _check_wide(self, cls: type[Operator], operation: Operation, inputs: Sequence[str]) -> None:
        """Refuse to compute in narrower types what may give other results."""
        kinds = [self._kinds[name] for name in inputs]
        results = [self.context.value("", type, operation.span)[1] for type in operation.type.results]
        if any(kind.unsigned for kind in (*kinds, *results)) and cls.opcode not in _UNSIGNED:
            raise Refused(
                operation.span,
                "computes with integers without a sign, which TOSA 1.0.1 has only in RESCALE",
                "rescale them first, or use tosa-convert-integer-type-to-signless",
            )
        wide = next(
            (one.wide for one in (*kinds, *results) if one.wide and not self.context.narrows(one)), ""
        )
        if not wide:
            return
        to_wide = cls is CAST and not kinds[0].wide
        exact = not to_wide or kinds[0].dtype.kind == results[0].dtype.kind or kinds[0].dtype.name == "BOOL"
        if cls.opcode not in _MOVING or not exact or any(name in self._wide for name in inputs):
            raise Refused(
                operation.span,
                f"computes in {wide}, which TOSA 1.0.1 lacks",
                f"give narrow=True to compute in {'f32' if wide == 'f64' else 'i32'}",
            )

    def _same(self, operation: Operation) -> None:
        """`tensor.cast` only says more, or less, of the shape."""
        names = [self._use(operand) for operand in operation.operands]
        outputs = self._outputs(operation)
        if len(names) != 1 or len(outputs) != 1:
            raise Refused(operation.span, "has one operand and one result")
        self._nodes.append(Node(IDENTITY(), tuple(names), outputs, self.context.location(operation)))

    def _add_control(self, cls: type[Operator], operation: Operation, inputs: list[str]) -> None:
        if len(operation.regions) != 2:
            raise Refused(operation.span, f"has {len(operation.regions)} regions, but must have 2")
        results = operation.results[0][0] if operation.results else cls.opcode.lower()
        names = [
            self.context.region_name(f"{self.name}.{results}.{attribute.removesuffix('_graph')}")
            for attribute in cls.regions
        ]
        blocks = [Building(self.context, name, self) for name in names]
        ends = []
        for block, region in zip(blocks, operation.regions, strict=True):
            for argument in region.blocks[0].arguments:
                block.take(argument)
            ends.append(block.run(region))
        captured = list(dict.fromkeys(key for block in blocks for key in block.captured))
        is_loop = cls is WHILE_LOOP
        for place, block in enumerate(blocks):
            more = [block.capture(key) for key in captured]
            block.inputs += more
            ends[place] += more if is_loop and place == 1 else []
        made = self._made(cls, operation, None, **dict(zip(cls.regions, names, strict=True)))
        outputs = self._outputs(operation)
        around = [self._known[key] for key in captured]
        if is_loop:
            outputs += tuple(self._copy(name) for name in around)
        self._nodes.append(Node(made, (*inputs, *around), outputs, self.context.location(operation)))
        for block, name, end in zip(blocks, names, ends, strict=True):
            self.context.regions.append(GraphRegion(name, (block.finished(end),)))

    def _copy(self, name: str) -> str:
        """A value like another one, which a loop gives back."""
        found = self._free(name)
        self.values[found] = replace(self.values[name], name=found, data=None)
        self._kinds[found] = self._kinds[name]
        return found

    def _use(self, operand: Operand) -> str:
        """The value that an operand means."""
        name = self._find((operand.name, operand.number))
        if name is None:
            number = f"#{operand.number}" if operand.number else ""
            raise Refused(operand.span, f"%{plain(operand.name)}{number}: there is no such value before this")
        return name

    def _find(self, key: tuple[str, int]) -> str | None:
        if key in self._known or self._parent is None:
            return self._known.get(key)
        around = self._parent._find(key)
        return None if around is None else self._fetch(key, around)

    def _fetch(self, key: tuple[str, int], around: str) -> str:
        """A value of the block around this one: a constant of its own, or an input."""
        assert self._parent is not None
        name, value = self._free(around), self._parent.values[around]
        self.values[name] = replace(value, name=name)
        self._known[key], self._kinds[name] = name, self._parent._kinds[around]
        if around in self._parent._wide:
            self._wide[name] = self._parent._wide[around]
        if value.data is None:
            self.captured[key] = name
        else:
            self._nodes.append(Node(CONST_SHAPE() if value.dtype is SHAPE else CONST(), (), (name,)))
        return name

    def capture(self, key: tuple[str, int]) -> str:
        """The input for a value of the block around, which this block may not even use."""
        name = self._find(key)
        assert name is not None
        return name

    def _declare(self, name: str, number: int, type: Type, span: Span, chosen: str) -> tuple[Value, Kind]:
        wanted = chosen or (f"{name}#{number}" if number else name) or "unused"
        value, kind = self.context.value(self._free(wanted), type, span)
        self.values[value.name], self._kinds[value.name], self._types[value.name] = value, kind, type
        if name:
            if (name, number) in self._known:
                raise Refused(span, f"%{plain(name)} is defined twice")
            self._known[name, number] = value.name
        return value, kind

    def _stand_in(self, operation: Operation) -> None:
        """Declare the results of what was refused, so that what follows is judged for itself."""
        types = iter(operation.type.results)
        for name, many in operation.results:
            for number, type in zip(range(many), types, strict=False):
                if (name, number) not in self._known:
                    self._stand_in_for(name, number, type, operation.span)

    def _stand_in_for(self, name: str, number: int, type: Type, span: Span) -> None:
        try:
            self._declare(name, number, type, span, "")
        except Refused:
            self.context.faults.settle()

    def _free(self, name: str) -> str:
        if name not in self.values:
            return name
        return next(other for number in count(1) if (other := f"{name}.{number}") not in self.values)


def _narrowed(data: Array, dtype: DType) -> Array:
    """The nearest numbers that a type has."""
    if not dtype.is_float:
        return np.clip(data, -(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1).astype(dtype.storage)
    with np.errstate(over="ignore"):
        return data.astype(dtype.storage)


def _alike(found: tuple[int, ...] | None, expected: tuple[int, ...] | None) -> bool:
    if found == expected or found is None or expected is None:
        return True
    return len(found) == len(expected) and all(
        one == other or -1 in (one, other) for one, other in zip(found, expected, strict=True)
    )


def _names(operation: Operation) -> list[str]:
    """The names that our own writer keeps in `tosa.tensor_name`."""
    match operation.attributes.get("tosa.tensor_name"):
        case Text() as name:
            return [name.text]
        case Many(items):
            return [one.text if isinstance(one, Text) else "" for one in items]
    return [""]


def _called(operation: Operation) -> str:
    return f"%{plain(operation.results[0][0])}" if operation.results else plain(operation.name)


def _renamed(node: Node, old: str, new: str) -> Node:
    if old not in node.inputs and old not in node.outputs:
        return node
    inputs = tuple(new if name == old else name for name in node.inputs)
    return replace(node, inputs=inputs, outputs=tuple(new if name == old else name for name in node.outputs))


def _remedy(name: str) -> str:
    from tosajit.files.schema import NEWER_OPERATORS

    if name.removeprefix("tosa.").upper() in NEWER_OPERATORS:
        return "it is of a draft of TOSA 1.1: write the model for TOSA 1.0"
    return "" if name.startswith("tosa.") else "convert the model to the TOSA dialect alone"
