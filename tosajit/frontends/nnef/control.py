"""Branches and loops of a model: as COND_IF and WHILE_LOOP, or one step behind the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from tosajit import ops
from tosajit.frontends.common.layout import constant_of, reshaped
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.model import Body, Branches, Repeat, Tensor, tensors_of
from tosajit.frontends.nnef.node import shape_of
from tosajit.tracing import tensor as tracing

_MOST_UNROLLED = 64
"""Steps of a loop that are written one behind the other."""


class Bodies(Protocol):
    """What writes bodies."""

    def operand(self, tensor: Tensor, /) -> tracing.Tensor:
        """A tensor in the trace that is being recorded."""

    def region(self, body: Body, given: Mapping[Tensor, tracing.Tensor], /) -> tuple[tracing.Tensor, ...]:
        """The results of a body that may run more than once, or never."""


def branched(walk: Bodies, step: Branches) -> tuple[tracing.Tensor, ...]:
    """What the first body gives whose condition holds."""
    for argument in step.outputs:
        for one in tensors_of(argument):
            shape_of(one)  # both branches give the same extents
    return _chosen(walk, step.cases, step.otherwise)


def _chosen(walk: Bodies, cases: Sequence[tuple[Body, Body]], otherwise: Body) -> tuple[tracing.Tensor, ...]:
    if not cases:
        return walk.region(otherwise, {})
    (condition, body), *rest = cases
    (truth,) = walk.region(condition, {})
    known = constant_of(truth)
    if known is not None:
        return walk.region(body, {}) if known.reshape(-1)[0] else _chosen(walk, rest, otherwise)
    found: tuple[tracing.Tensor, ...] = ops.cond_if(
        reshaped(truth, ()), lambda: walk.region(body, {}), lambda: _chosen(walk, rest, otherwise)
    )
    return found


def repeated(walk: Bodies, step: Repeat) -> tuple[tracing.Tensor, ...]:
    """What a loop gives behind its last step."""
    if step.condition is None and isinstance(step.count, int) and step.count <= _MOST_UNROLLED:
        return _unrolled(walk, step, step.count)
    if step.scanned or any(isinstance(one, tuple) for one in step.outputs):
        raise Refused("data decide how many items its packs have, and TOSA's tensors are known before a run")
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
    """A loop whose steps are known only when the model runs."""
    start = [walk.operand(one.initial) for one in step.carried]
    for one, value in zip(step.carried, start, strict=True):
        if shape_of(one.tensor) != value.shape:
            raise Refused(f"{one.tensor.name} has other extents in each step, and TOSA's do not change")
    number: tracing.Tensor = ops.const(np.array(0, np.int32))
    if not step.tested_first:
        start = list(walk.region(step.body, _given(step, start, number)))
        number = ops.const(np.array(1, np.int32))

    def goes_on(index: tracing.Tensor, *state: tracing.Tensor) -> tracing.Tensor:
        truths = []
        if step.condition is not None:
            (truth,) = walk.region(step.condition, _given(step, state, index))
            truths.append(reshaped(truth, ()))
        limit = _limit(walk, step)
        if limit is not None:
            truths.append(ops.greater(limit, index))
        if not truths:
            raise Refused("nothing ends it")
        return truths[0] if len(truths) == 1 else ops.logical_and(*truths)

    def body(index: tracing.Tensor, *state: tracing.Tensor) -> tuple[tracing.Tensor, ...]:
        return ops.add(index, np.array(1, np.int32)), *walk.region(step.body, _given(step, state, index))

    return tuple(ops.while_loop(goes_on, body, number, *start)[1:])


def _limit(walk: Bodies, step: Repeat) -> tracing.Tensor | None:
    """How many steps there are, if a number says so."""
    count = step.most if step.count is None else step.count
    if isinstance(count, Tensor):
        return reshaped(walk.operand(count), ())
    found: tracing.Tensor | None = None if count is None else ops.const(np.array(count, np.int32))
    return found
