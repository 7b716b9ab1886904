"""Branches and loops of a model: as COND_IF and WHILE_LOOP, or one step behind the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Protocol

import numpy as np

from tosajit import ops
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.layout import constant_of, joined, part, reshaped
from tosajit.frontends.common.scatter import placed
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.model import Body, Branches, Repeat, Tensor, tensors_of, tensors_told
from tosajit.frontends.nnef.node import dtype_of, shape_of
from tosajit.tracing import tensor as tracing

_MOST_UNROLLED = 64
"""Steps of a loop that are written one behind the other."""


class Bodies(Protocol):
    """What writes bodies."""

    def operand(self, tensor: Tensor, /) -> tracing.Tensor:
        """A tensor in the trace that is being recorded."""

    def region(
        self, body: Body, given: Mapping[Tensor, tracing.Tensor], outputs: Sequence[Tensor] = (), /
    ) -> tuple[tracing.Tensor, ...]:
        """The results of a body that may run more than once, or never; in the form of outputs, if given."""


def branched(walk: Bodies, step: Branches) -> tuple[tracing.Tensor, ...]:
    """What the first body gives whose condition holds; all give it as large as it can be."""
    outputs = tensors_told(step.outputs)

    def chosen(cases: Sequence[tuple[Body, Body]]) -> tuple[tracing.Tensor, ...]:
        if not cases:
            return walk.region(step.otherwise, {}, outputs)
        (condition, body), *rest = cases
        (truth,) = walk.region(condition, {})
        known = constant_of(truth)
        if known is not None:
            return walk.region(body, {}, outputs) if known.reshape(-1)[0] else chosen(rest)
        found: tuple[tracing.Tensor, ...] = ops.cond_if(
            reshaped(truth, ()), lambda: walk.region(body, {}, outputs), lambda: chosen(rest)
        )
        return found

    return chosen(step.cases)


def repeated(walk: Bodies, step: Repeat) -> tuple[tracing.Tensor, ...]:
    """What a loop gives behind its last step."""
    for argument in step.outputs:
        for one in tensors_of(argument):
            shape_of(one)  # loops carry no extents
    if step.condition is None and isinstance(step.count, int) and step.count <= _MOST_UNROLLED:
        return _unrolled(walk, step, step.count)
    return _looped(walk, step)


def _unrolled(walk: Bodies, step: Repeat, count: int) -> tuple[tracing.Tensor, ...]:
    """Each step behind the one before."""
    state = [walk.operand(one.initial) for one in step.carried]
    packed: list[list[tracing.Tensor]] = []
    for number in range(count):
        given = _given(step, state, ops.const(np.array(number, np.int32)))
        for one in step.scanned:
            given[one.tensor] = walk.operand(one.pack[number])
        results = walk.region(step.body, given)
        state = list(results[: len(state)])
        packed.append(list(results[len(state) :]))
    columns = zip(*packed, strict=True)
    return (*state, *(item for column in columns for item in column))


def _given(
    step: Repeat, state: Sequence[tracing.Tensor], number: tracing.Tensor
) -> dict[Tensor, tracing.Tensor]:
    """What the tensors of a step stand for."""
    given = {one.tensor: value for one, value in zip(step.carried, state, strict=True)}
    if step.index is not None:
        given[step.index] = number
    return given


def _looped(walk: Bodies, step: Repeat) -> tuple[tracing.Tensor, ...]:
    """A loop whose steps are known only when the model runs: packs are matrices with a row for each item."""
    start = [walk.operand(one.initial) for one in step.carried]
    for one, value in zip(step.carried, start, strict=True):
        if shape_of(one.tensor) != value.shape:
            raise Refused(f"{one.tensor.name} has other extents in each step, and TOSA's do not change")
    if step.condition is None and step.count is None and step.most is None:
        raise Refused("nothing ends it")
    packs = [one for one in step.outputs[len(start) :] if isinstance(one, tuple)]
    loop = _Loop(
        walk, step, len(start), [place for place, one in enumerate(step.outputs[len(start) :]) if one]
    )
    rows = [_nothing(pack) for pack in packs]
    first = [ops.const(np.array(0, np.int32)), ops.const(np.array(True))]
    _, _, *found = ops.while_loop(loop.goes_on, loop.body, *first, *start, *rows)
    items = [
        one for pack, matrix in zip(packs, found[len(start) :], strict=True) for one in _items(pack, matrix)
    ]
    return (*found[: len(start)], *items)


class _Loop:
    """The two regions of a loop. It carries its index, whether it goes on, its state, and its packs."""

    def __init__(self, walk: Bodies, step: Repeat, width: int, packed: Sequence[int]) -> None:
        self.walk, self.step, self.width, self.packed = walk, step, width, packed
        self._scanned = {one.tensor: _stacked(walk, one.pack) for one in step.scanned}

    def goes_on(
        self, index: tracing.Tensor, going: tracing.Tensor, *carried: tracing.Tensor
    ) -> tracing.Tensor:
        """Whether there is another step."""
        step, truths = self.step, [going]
        if step.condition is not None and step.tested_first:
            truths = [self._condition(index, carried)]
        limit = _limit(self.walk, step)
        if limit is not None:
            truths.append(ops.greater(limit, index))
        return truths[0] if len(truths) == 1 else ops.logical_and(*truths)

    def body(
        self, index: tracing.Tensor, going: tracing.Tensor, *carried: tracing.Tensor
    ) -> tuple[tracing.Tensor, ...]:
        """What a step leaves behind."""
        step, width = self.step, self.width
        results = self.walk.region(step.body, self._given(index, carried))
        state, items = results[:width], results[width:]
        following = ops.add(index, np.array(1, np.int32))
        if step.condition is not None and not step.tested_first:
            going = self._condition(following, state)
        row = reshaped(index, (1,))
        matrices = [
            placed(matrix, row, reshaped(items[place], (1, matrix.shape[1])))
            for matrix, place in zip(carried[width:], self.packed, strict=True)
        ]
        return following, going, *state, *matrices

    def _condition(self, index: tracing.Tensor, carried: Sequence[tracing.Tensor]) -> tracing.Tensor:
        assert self.step.condition is not None
        (truth,) = self.walk.region(self.step.condition, self._given(index, carried))
        return reshaped(truth, ())

    def _given(
        self, index: tracing.Tensor, carried: Sequence[tracing.Tensor]
    ) -> dict[Tensor, tracing.Tensor]:
        given = _given(self.step, carried[: self.width], index)
        for tensor, matrix in self._scanned.items():
            place = ops.minimum(index, np.array(matrix.shape[0] - 1, np.int32))
            given[tensor] = reshaped(gathered(matrix, reshaped(place, (1,)), 0), shape_of(tensor))
        return given


def _stacked(walk: Bodies, pack: Sequence[Tensor]) -> tracing.Tensor:
    """The items of a pack as the rows of a matrix."""
    if len({shape_of(one) for one in pack}) > 1:
        raise Refused(f"{pack[0].name} and others of its pack have other extents, and TOSA's do not change")
    rows = [reshaped(walk.operand(one), (1, prod(shape_of(one)))) for one in pack]
    return joined(rows, 0)


def _nothing(pack: Sequence[Tensor]) -> tracing.Tensor:
    """A matrix of zeros for a pack: what stands in items that no step computes."""
    shape = len(pack), prod(shape_of(pack[0]))
    single = ops.const(np.zeros((1, 1), dtype_of(pack[0].type).storage))
    return expanded(single, shape)


def _items(pack: Sequence[Tensor], matrix: tracing.Tensor) -> list[tracing.Tensor]:
    """The rows of a matrix as the items of a pack."""
    return [reshaped(part(matrix, 0, place, 1), shape_of(one)) for place, one in enumerate(pack)]


def _limit(walk: Bodies, step: Repeat) -> tracing.Tensor | None:
    """How many steps there are, if a number says so; no more than packs have items."""
    if isinstance(step.count, Tensor):
        found = reshaped(walk.operand(step.count), ())
        return found if step.most is None else ops.minimum(found, np.array(step.most, np.int32))
    count = step.most if step.count is None else step.count
    return None if count is None else ops.const(np.array(count, np.int32))
