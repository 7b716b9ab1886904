"""Branches and loops; loops of a known length are unrolled where they are short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.dtypes import BOOL, INT32
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.layout import joined, part, reshaped
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.scatter import placed
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.jax.node import Node, Operand, dtype_of, type_of
from tosajit.frontends.jax.operators import operator
from tosajit.frontends.jax.records import Jaxpr
from tosajit.frontends.jax.schema import Type
from tosajit.tracing.recorder import Trace, current_trace
from tosajit.tracing.tensor import Tensor

_UNROLLED = 1024
"""How many equations the turns of a loop may have together that is unrolled."""


@dataclass(frozen=True, slots=True)
class CondAttributes(Attributes):
    """What is done for each number."""

    branches: tuple[Jaxpr, ...]


@operator("cond", CondAttributes)
def cond(node: Node, options: CondAttributes) -> tuple[Operand, ...]:
    """One of several functions, by a number or a truth."""
    which, operands = node[0], node.operands[1:]
    last = len(options.branches) - 1
    if which.is_constant:
        return node.jaxprs.inside(options.branches[min(max(int(which.number), 0), last)], operands)
    return _branch(node, which, options.branches, 0, operands)


def _branch(
    node: Node, which: Operand, branches: Sequence[Jaxpr], first: int, operands: Sequence[Operand]
) -> tuple[Operand, ...]:
    """The first of some branches, or one behind it."""
    if len(branches) == 1:
        return node.jaxprs.inside(branches[0], operands, f"branch_{first}")
    index = reshaped(which.tensor, ())
    truth = index if index.dtype is BOOL else ops.greater(index, number(index, first))
    given: list[tuple[Operand, ...]] = []

    def here() -> tuple[Tensor, ...]:
        given.append(node.jaxprs.inside(branches[0], operands, f"branch_{first}"))
        return tuple(one.tensor for one in given[-1])

    def behind() -> tuple[Tensor, ...]:
        own = replace(which, value=_here(which.tensor), trace=_recorded())
        found = _branch(node, own, branches[1:], first + 1, operands)
        return tuple(one.tensor for one in found)

    return _with(given, _several(ops.cond_if(truth, behind, here)))


def _several(found: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return found if isinstance(found, tuple) else (found,)


def _with(given: Sequence[Sequence[Operand]], tensors: Sequence[Tensor]) -> tuple[Operand, ...]:
    pairs = zip(given[0], tensors, strict=True)
    return tuple(Operand(_recorded(), tensor, one.type, "") for one, tensor in pairs)


@dataclass(frozen=True, slots=True)
class WhileAttributes(Attributes):
    """The condition, the turn, and how many operands are constants of each."""

    cond_jaxpr: Jaxpr
    body_jaxpr: Jaxpr
    cond_nconsts: int = 0
    body_nconsts: int = 0


@operator("while")
def while_(node: Node) -> tuple[Operand, ...]:
    """A function again and again, as long as a condition holds."""
    options = node.attributes(WhileAttributes)
    ends = options.cond_nconsts, options.cond_nconsts + options.body_nconsts
    judged, used, start = node.operands[: ends[0]], node.operands[ends[0] : ends[1]], node.operands[ends[1] :]

    def goes_on(*tensors: Tensor) -> Tensor:
        (found,) = node.jaxprs.inside(options.cond_jaxpr, (*judged, *_like(start, tensors)), "condition")
        return reshaped(found.tensor, ())

    def turn(*tensors: Tensor) -> tuple[Tensor, ...]:
        found = node.jaxprs.inside(options.body_jaxpr, (*used, *_like(start, tensors)), "turn")
        return tuple(one.tensor for one in found)

    results = _several(ops.while_loop(goes_on, turn, *(one.tensor for one in start)))
    return _with([start], results)


def _like(operands: Sequence[Operand], tensors: Sequence[Tensor]) -> tuple[Operand, ...]:
    pairs = zip(operands, tensors, strict=True)
    return tuple(Operand(_recorded(), tensor, one.type, tensor.name) for one, tensor in pairs)


@dataclass(frozen=True, slots=True)
class ScanAttributes(Attributes):
    """The turn, how many there are, and how many operands are constants and state."""

    jaxpr: Jaxpr
    length: int
    num_consts: int
    num_carry: int
    reverse: bool = False


@operator("scan", ScanAttributes)
def scan(node: Node, options: ScanAttributes) -> tuple[Operand, ...]:
    """A function of a state and of each element of sequences, whose other results are collected."""
    if not options.length:
        raise Refused("its sequences have no elements, and TOSA's tensors have some")
    if options.length * len(options.jaxpr.equations) <= _UNROLLED:
        return _unrolled(node, options)
    return _looped(node, options)


def _apart(node: Node, options: ScanAttributes) -> tuple[Sequence[Operand], ...]:
    """Constants, the state, and sequences."""
    ends = options.num_consts, options.num_consts + options.num_carry
    return node.operands[: ends[0]], node.operands[ends[0] : ends[1]], node.operands[ends[1] :]


def _unrolled(node: Node, options: ScanAttributes) -> tuple[Operand, ...]:
    constants, state, sequences = _apart(node, options)
    turns = range(options.length)
    columns: list[tuple[Operand, ...]] = []
    for turn in reversed(turns) if options.reverse else turns:
        elements = (_element(one, turn) for one in sequences)
        found = node.jaxprs.inside(options.jaxpr, (*constants, *state, *elements), f"turn_{turn}")
        state, rest = found[: options.num_carry], found[options.num_carry :]
        columns.append(rest)
    rows = columns[::-1] if options.reverse else columns
    collected = (_stacked(node, column) for column in zip(*rows, strict=True))
    return (*(replace(one, name="") for one in state), *collected)


def _element(operand: Operand, place: int) -> Operand:
    if operand.is_foldable:
        return replace(operand, value=np.asarray(operand.raw[place]), name=f"{operand.name}/{place}")
    value = part(operand.tensor, 0, place, 1)
    return replace(operand, value=reshaped(value, value.shape[1:]), name=f"{operand.name}/{place}")


def _stacked(node: Node, parts: Sequence[Operand]) -> Operand:
    """Results of turns behind each other."""
    tensors = [reshaped(one.tensor, (1, *one.shape)) for one in parts]
    return Operand(node.trace, joined(tensors, 0), parts[0].type, "")


def _looped(node: Node, options: ScanAttributes) -> tuple[Operand, ...]:
    """The same with one turn in the graph, which takes rows of sequences and puts rows into results."""
    constants, state, sequences = _apart(node, options)
    carried, length = options.num_carry, options.length
    kinds = [(type_of(one.type), one.shape) for one in node.record.outputs[carried:]]
    rows = [reshaped(one.tensor, (length, -1)) for one in sequences]
    empty = [_zeros(node, kind, (length, prod(shape[1:]))) for kind, shape in kinds]
    first = node.trace.constant(np.array(length - 1 if options.reverse else 0, np.int32), INT32)

    def goes_on(place: Tensor, *_: Tensor) -> Tensor:
        if options.reverse:
            return ops.greater_equal(place, np.array(0, np.int32))
        found: Tensor = ops.greater(ops.const(np.array(length, np.int32)), place)
        return found

    def turn(place: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        index = reshaped(place, (1,))
        elements = [
            Operand(_recorded(), reshaped(gathered(_here(row), index, 0), one.shape[1:]), one.type, one.name)
            for one, row in zip(sequences, rows, strict=True)
        ]
        own = _like(state, tensors[:carried])
        found = node.jaxprs.inside(options.jaxpr, (*constants, *own, *elements), "turn")
        written = (
            placed(whole, index, reshaped(one.tensor, (1, -1)))
            for whole, one in zip(tensors[carried:], found[carried:], strict=True)
        )
        step = ops.add(place, np.array(-1 if options.reverse else 1, np.int32))
        return (step, *(one.tensor for one in found[:carried]), *written)

    results = ops.while_loop(goes_on, turn, first, *(one.tensor for one in state), *empty)
    after = _with([state], results[1 : 1 + carried])
    pairs = zip(results[1 + carried :], kinds, strict=True)
    return (*after, *(Operand(node.trace, reshaped(one, shape), kind, "") for one, (kind, shape) in pairs))


def _here(value: Tensor) -> Tensor:
    """A tensor in the region that is being recorded."""
    return _recorded().own(value)


def _recorded() -> Trace:
    trace = current_trace()
    assert trace is not None
    return trace


def _zeros(node: Node, kind: Type, shape: tuple[int, ...]) -> Tensor:
    dtype = dtype_of(kind)
    zero = node.trace.constant(np.zeros((1,) * len(shape), dtype.storage), dtype)
    return expanded(zero, shape)
