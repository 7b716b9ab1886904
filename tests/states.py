"""Graphs with variables: drawn as lists of actions, built, and carried out by NumPy, which knows no graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tests.building import cond_if, while_loop
from tests.oracle.drawing import Chooser
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, FP16, FP32, INT8, INT32
from tosajit.graph import Graph
from tosajit.operators import (
    BITWISE_AND,
    BITWISE_XOR,
    CONCAT,
    GREATER,
    IDENTITY,
    MAXIMUM,
    MINIMUM,
    REVERSE,
    SLICE,
    SUB,
)
from tosajit.tracing.builder import GraphBuilder

TYPES = (INT8, FP32, FP16)
ACTIONS = ("read", "write", "mix", "meet", "identity", "constant", "shift", "reverse", "if", "while")
SHAPES = ((3, 5), (2, 1), (6,), (4, 2, 3), (1, 40), ())


@dataclass(frozen=True)
class Action:
    """One step of a block: what it does, with the names of a variable, of operands, and of a result."""

    kind: str
    variable: str = ""
    operands: tuple[str, ...] = ()
    result: str = ""
    bodies: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Block:
    """Actions in order, and the values that leave them."""

    inputs: tuple[str, ...]
    actions: tuple[Action, ...]
    outputs: tuple[str, ...]

    @property
    def kinds(self) -> list[str]:
        """What the actions are, with those inside of others."""
        inner = [kind for action in self.actions for body in action.bodies for kind in body.kinds]
        return [*(action.kind for action in self.actions), *inner]


@dataclass(frozen=True)
class Drawn:
    """A block whose values and variables are of one type and shape; how variables begin, None for none."""

    block: Block
    type: int
    shape: tuple[int, ...]
    initial: Mapping[str, Array | None]

    @property
    def kinds(self) -> list[str]:
        """What is done, once for each time."""
        return self.block.kinds

    def inputs(self, step: int) -> list[Array]:
        """A condition, a number of rounds, and values."""
        numbers = np.random.default_rng([step, 7])
        values = [numbers.integers(-99, 99, self.shape) for _ in self.block.inputs]
        storage = TYPES[self.type].storage
        first = np.array([step % 3 == 0]), np.array([step * 5 % 7], np.int32)
        return [*first, *(np.asarray(one, storage) for one in values)]


@dataclass
class Drawing:
    """What is drawn so far of a block, and which variables may be read."""

    choose: Chooser
    shape: tuple[int, ...]
    ready: set[str]
    names: list[str] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)

    def value(self) -> str:
        """One of the values that are there, most simply the last."""
        return self.choose.pick(self.names[::-1])


def draw_states(choose: Chooser, most: int = 14) -> Drawn:
    """Draw a graph with up to four variables."""
    kind, shape = choose.integer(0, len(TYPES) - 1), choose.pick(SHAPES)
    numbers = np.random.default_rng(choose.integer(0, 1000))
    initial: dict[str, Array | None] = {}
    for number in range(choose.integer(1, 4)):
        array = np.asarray(numbers.integers(-99, 99, shape), TYPES[kind].storage)
        initial[f"v{number}"] = array if choose.integer(0, 3) else None
    ready = {name for name, array in initial.items() if array is not None}
    inputs = tuple(f"x{number}" for number in range(choose.integer(1, 2)))
    drawing = Drawing(choose, shape, ready, [*inputs])
    block = _block(drawing, inputs, tuple(initial), choose.integer(1, most), depth=0)
    return Drawn(block, kind, shape, initial)


def _block(
    drawing: Drawing, inputs: tuple[str, ...], variables: Sequence[str], count: int, depth: int
) -> Block:
    for _ in range(count):
        _act(drawing, variables, depth)
    leaving = 1 if depth else drawing.choose.integer(1, 3)
    return Block(inputs, tuple(drawing.actions), tuple(drawing.value() for _ in range(leaving)))


def _act(drawing: Drawing, variables: Sequence[str], depth: int) -> None:
    choose = drawing.choose
    kinds = ["write", "write", "mix", "meet", "identity", "constant"]
    kinds += ["shift", "shift", "reverse"] if drawing.shape else []
    kinds += ["read"] * 3 if drawing.ready else []
    kinds += [] if depth else ["if", "while"]
    kind = choose.pick(kinds)
    result = f"{'r' * (depth + 1)}{len(drawing.actions)}"
    match kind:
        case "read":
            action = Action(kind, choose.pick(sorted(drawing.ready)), (), result)
        case "write":
            action, result = Action(kind, choose.pick(variables), (drawing.value(),)), ""
            drawing.ready.add(action.variable)
        case "if" | "while":
            action = Action(
                kind, "", (drawing.value(),), result, _bodies(drawing, variables, 2 if kind == "if" else 1)
            )
        case _:
            action = Action(kind, "", (drawing.value(), drawing.value()), result)
    drawing.actions.append(action)
    drawing.names += [result] if result else []


def _bodies(drawing: Drawing, variables: Sequence[str], count: int) -> tuple[Block, ...]:
    """Bodies of one value each; what they write may never be written."""
    found = []
    for _ in range(count):
        inner = Drawing(drawing.choose, drawing.shape, {*drawing.ready}, ["y"])
        found.append(_block(inner, ("y",), variables, drawing.choose.integer(1, 4), depth=1))
    return tuple(found)


def carried_out(drawn: Drawn, state: dict[str, Array], inputs: Sequence[Array]) -> list[Array]:
    """What the outputs are; the state changes."""
    for name, array in drawn.initial.items():
        if array is not None:
            state.setdefault(name, array)
    return _run(drawn.block, state, inputs)


def _run(block: Block, state: dict[str, Array], inputs: Sequence[Array]) -> list[Array]:
    condition, rounds, *given = inputs
    values = dict(zip(block.inputs, given, strict=True))
    for action in block.actions:
        operands = [values[name] for name in action.operands]
        match action.kind:
            case "read":
                values[action.result] = state[action.variable]
            case "write":
                state[action.variable] = operands[0]
            case "if":
                body = action.bodies[0 if condition[0] else 1]
                (values[action.result],) = _run(body, state, [condition, rounds, *operands])
            case "constant":
                values[action.result] = constant(operands[0])
            case "while":
                for _ in range(int(rounds[0])):
                    operands = _run(action.bodies[0], state, [condition, rounds, *operands])
                values[action.result] = operands[0]
            case _:
                values[action.result] = _computed(action.kind, *operands)
    return [values[name] for name in block.outputs]


def constant(like: Array) -> Array:
    """The constant that all graphs of a type and shape have."""
    return np.asarray(np.arange(like.size).reshape(like.shape), like.dtype)


def _computed(kind: str, x: Array, y: Array) -> Array:
    match kind:
        case "mix":
            return x ^ y if x.dtype == np.int8 else np.maximum(x, y)
        case "meet":
            return x & y if x.dtype == np.int8 else np.minimum(x, y)
        case "reverse":
            return x[::-1]
        case "shift":
            return np.concatenate([x[1:], y[:1]])
    return x


def graph_of(drawn: Drawn) -> Graph:
    """The graph that does the same."""
    builder = GraphBuilder()
    fixed = [builder.input("condition", BOOL, (1,)), builder.input("rounds", INT32, (1,))]
    values = [builder.input(name, TYPES[drawn.type], drawn.shape) for name in drawn.block.inputs]
    for name, array in drawn.initial.items():
        builder.variable(name, TYPES[drawn.type], drawn.shape, array)
    builder.output(*_write(drawn, drawn.block, builder, *fixed, *values))
    return builder.build()


def _write(drawn: Drawn, block: Block, builder: GraphBuilder, *inputs: str) -> list[str]:
    condition, rounds, *given = inputs
    names = dict(zip(block.inputs, given, strict=True))
    for action in block.actions:
        operands = [names[name] for name in action.operands]
        match action.kind:
            case "read":
                made = builder.read(action.variable, TYPES[drawn.type], drawn.shape)
            case "write":
                builder.write(action.variable, operands[0])
                continue
            case "if":
                bodies = [partial(_body, drawn, body) for body in action.bodies]
                *_, made = cond_if(builder, condition, [condition, rounds, *operands], *bodies)
            case "constant":
                array = constant(np.empty(drawn.shape, TYPES[drawn.type].storage))
                made = builder.const(array, TYPES[drawn.type])
            case "while":
                body = partial(_round, drawn, action.bodies[0])
                *_, made = while_loop(builder, [condition, rounds, rounds, *operands], _goes_on, body)
            case _:
                made = _operator(builder, action.kind, operands)
        names[action.result] = made
    return [names[name] for name in block.outputs]


def _body(drawn: Drawn, block: Block, builder: GraphBuilder, *inputs: str) -> list[str]:
    return [*inputs[:2], *_write(drawn, block, builder, *inputs)]


def _goes_on(builder: GraphBuilder, *inputs: str) -> str:
    return builder.add(GREATER(), [inputs[2], builder.const(np.zeros(1, np.int32), INT32)])


def _round(drawn: Drawn, block: Block, builder: GraphBuilder, *inputs: str) -> list[str]:
    condition, rounds, left, *given = inputs
    less = builder.add(SUB(), [left, builder.const(np.ones(1, np.int32), INT32)])
    return [condition, rounds, less, *_write(drawn, block, builder, condition, rounds, *given)]


def _operator(builder: GraphBuilder, kind: str, operands: Sequence[str]) -> str:
    x, y = operands
    is_byte = builder.value(x).dtype is INT8
    match kind:
        case "mix":
            return builder.add(BITWISE_XOR() if is_byte else MAXIMUM(), [x, y])
        case "meet":
            return builder.add(BITWISE_AND() if is_byte else MINIMUM(), [x, y])
        case "reverse":
            return builder.add(REVERSE(axis=0), [x])
        case "shift":
            return _shifted(builder, x, y)
    return builder.add(IDENTITY(), [x])


def _shifted(builder: GraphBuilder, x: str, y: str) -> str:
    """All but the first of x, and then the first of y."""
    first, *others = builder.value(x).shape or ()
    zeros = (0,) * len(others)
    new = _sliced(builder, y, (0, *zeros), (1, *others))
    if first == 1:
        return new
    return builder.add(CONCAT(axis=0), [_sliced(builder, x, (1, *zeros), (first - 1, *others)), new])


def _sliced(builder: GraphBuilder, x: str, start: Sequence[int], size: Sequence[int]) -> str:
    return builder.add(SLICE(), [x, builder.shape(start), builder.shape(size)])
