"""Elementwise operators: tables of bytes and words, sums, products, and bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tiling.records import replace
from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import INT8, INT16
from tosajit.frontends.common import elementary
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.quantized import centred
from tosajit.frontends.common.tables import interpolated, sampled
from tosajit.frontends.scaled import Held, Scaled, Sum
from tosajit.frontends.scaled.affine import clamped
from tosajit.frontends.scaled.sums import added, multiplied, plus
from tosajit.frontends.scaled.value import Finish, function_of
from tosajit.quantization.grids import Range, constant, grid_of, onto
from tosajit.quantization.step import Rule, Step
from tosajit.tracing.tensor import Tensor

Function = Callable[..., Array]

FUNCTIONS: Mapping[str, Function] = {
    "ABS": np.abs,
    "ADD": np.add,
    "CEIL": np.ceil,
    "COS": np.cos,
    "EXP": np.exp,
    "FLOOR": np.floor,
    "LOG": np.log,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "MUL": np.multiply,
    "NEGATE": np.negative,
    "POW": np.power,
    "RECIPROCAL": np.reciprocal,
    "RSQRT": lambda value: 1 / np.sqrt(value),
    "SIGMOID": elementary.sigmoid,
    "SIN": np.sin,
    "SUB": np.subtract,
    "TANH": np.tanh,
}  # fmt: skip
"""What elementwise operators compute, of float64."""
_OPERANDS = ("input1", "input2", "input")


def _computed(step: Step) -> Function | None:
    """The function of a node."""
    opcode = step.node.operator.opcode
    if opcode == "CLAMP":
        low, high = bounds_of(step)
        return lambda value: np.clip(value, low, high)
    if opcode == "ERF":
        return _erf
    return FUNCTIONS.get(opcode)


def _erf(value: Array) -> Array:
    found = elementary.erf(value)
    assert found is not None
    return found


def bounds_of(step: Step) -> Range:
    """What a CLAMP leaves."""
    return float(step.attributes["min_val"]), float(step.attributes["max_val"])


def elementwise(step: Step) -> Scaled | None:
    """The result of an elementwise operator on integers."""
    opcode = step.node.operator.opcode
    for form in (_SUMS.get(opcode), _function, _FORMS.get(opcode)):
        found = None if form is None else form(step)
        if found is not None:
            return found
    return None


def _names(step: Step) -> list[str]:
    """The operands that are real numbers."""
    return [one.name for operand in _OPERANDS for one in _values(step, operand)]


def _values(step: Step, operand: str) -> tuple[Any, ...]:
    return (
        step.use.values(operand) if operand in {one.name for one in step.node.operator.operands_read} else ()
    )


def _function(step: Step) -> Scaled | None:
    """A function of one tensor: bytes are looked up, words too, with lines between samples."""
    compute = _computed(step)
    values: list[Scaled | Array] = []
    for name in _names(step):
        known = step.to.elements(name)
        values.append(step.to.settled(name) if known is None else known)
    if compute is None or any(isinstance(one, np.ndarray) and one.size > 1 for one in values):
        return None

    def of_reals(arrays: list[Any]) -> Array:
        found: Array = compute(*(np.asarray(one, np.float64) for one in arrays))
        return np.nan_to_num(found, nan=0.0, posinf=3e38, neginf=-3e38)

    found = function_of(values, of_reals, step.to.plainly(step))
    return found if found is not None else _of_words(step, values, of_reals)


def _of_words(
    step: Step, values: list[Scaled | Array], compute: Callable[[list[Any]], Array]
) -> Scaled | None:
    """A function of 16 bits, bounded where no sample was."""
    held = [one for one in values if isinstance(one, Held)]
    if len(held) != 1 or len(held) + sum(isinstance(one, np.ndarray) for one in values) != len(values):
        return None
    (only,), result = held, step.affine
    if only.dtype is not INT16 or result.dtype is INT8 or only.zero_point:
        return None if only.dtype is not INT16 else _narrowed(step, only, values, compute)
    low, high = step.to.range(next(name for name in _names(step) if step.to.elements(name) is None))

    def bounded(place: float) -> float:
        near = min(max(float(place), low), high)
        with np.errstate(all="ignore"):
            return float(compute([near if isinstance(one, Held) else one for one in values]).reshape(()))

    table = sampled(bounded, only.scale, 0, result.scale)
    return Held.of(interpolated(only.tensor, table, INT16), result)


def _narrowed(
    step: Step, held: Held, values: list[Scaled | Array], compute: Callable[[list[Any]], Array]
) -> Scaled | None:
    """A function of words for those who need bytes: the words of the result first, then their bytes."""
    name = step.name
    words = grid_of(step.to.range(name), INT16)
    wide = _of_words(replace(step, to=step.to.giving(name, words)), values, compute)
    return None if wide is None else Held.of(onto(wide, step.affine), step.affine)


def _plus(step: Step) -> Scaled | None:
    return _terms(step, 1)


def _minus(step: Step) -> Scaled | None:
    return _terms(step, -1)


def _terms(step: Step, sign: int) -> Scaled | None:
    """Sums of products with known terms: a bias."""
    first, second = _names(step)
    total, known = step.to.sum(first), step.to.elements(second)
    if total is None and sign > 0:
        total, known = step.to.sum(second), step.to.elements(first)
    if total is None or known is None or total.shape != step.shape:
        return None
    return plus(total, sign * known)


def _times(step: Step) -> Scaled | None:
    """Sums and integers times known numbers: other scales."""
    for one, other in (_names(step), _names(step)[::-1]):
        factors, total = step.to.elements(other), step.to.sum(one)
        if factors is None or (factors <= 1e-30).any() or (factors > 1e30).any():
            continue
        if total is not None and _is_by_channel(factors, total) and total.shape == step.shape:
            scales = total.scales * factors.astype(np.float64).reshape(-1)
            plain = None if total.plain is None else step.to.plainly(step)
            return replace(total, scales=scales, plain=plain)
        if factors.size == 1 and total is None and step.to.elements(one) is None:
            held = step.to.settled(one)
            if isinstance(held, Held) and held.shape == step.shape:
                return Held.of(
                    held.tensor, replace(held.affine, scale=held.scale * float(factors.reshape(())))
                )
    return None


def _is_by_channel(factors: Array, total: Sum) -> bool:
    """Whether each channel of sums has one factor."""
    if total.is_clipped or (total.point and factors.size > 1):
        return False
    return factors.size == 1 or (factors.size == factors.shape[-1] == total.shape[-1])


def _clip(step: Step) -> Scaled | None:
    """Sums inside of bounds."""
    total, bounds = step.to.sum(_names(step)[0]), bounds_of(step)
    return None if total is None or bounds[0] > bounds[1] else total.clipped(*bounds)


def _clamp(step: Step) -> Scaled | None:
    """Words inside of bounds, on the grid that they have."""
    value = step.to.held(_names(step)[0])
    return Held.of(clamped(value.tensor, value.affine, *bounds_of(step)), value.affine)


def _larger(combine: Callable[[Tensor, Tensor], Tensor]) -> Rule:
    """Numbers of one grid are compared as integers; TOSA does so in 32 bits."""

    def rule(step: Step) -> Scaled | None:
        operands = _operands(step)
        affine = max(operands, key=lambda one: one.scale).affine
        same = [Held.of(onto(one, affine), affine) for one in operands]

        def write(finish: Finish) -> Tensor:
            return finish(combine(*aligned(*map(centred, same))), slice(None))

        return Sum(step.shape, write, np.array([affine.scale]), same[0].farthest)

    return rule


def _operands(step: Step) -> list[Held]:
    """Both operands as integers; those that are known have 16 bits."""
    return [
        step.to.held(name) if known is None else constant(_near(known, step), name)
        for name in _names(step)
        for known in [step.to.elements(name)]
    ]


def _near(known: Array, step: Step) -> Array:
    """Known terms, but for masks: these need be no lower than makes softmax leave an element out."""
    if step.node.operator.opcode != "ADD" or step.name not in step.to.uses.softmaxes_of:
        return known
    low, high = step.to.range(step.name)
    found: Array = np.maximum(known, min(low - high, float(known.max())))
    return found


def _sum_of(is_less: bool) -> Rule:
    def rule(step: Step) -> Scaled | None:
        first, second = _operands(step)
        return added(first, second, step.shape, step.to.plainly(step), is_less)

    return rule


def _product(step: Step) -> Scaled | None:
    first, second = _operands(step)
    return multiplied(first, second, step.shape)


_SUMS: dict[str, Rule] = {"ADD": _plus, "SUB": _minus, "MUL": _times, "CLAMP": _clip}
"""What sums are before they are written."""
_FORMS: dict[str, Rule] = {
    "ADD": _sum_of(False),
    "SUB": _sum_of(True),
    "MUL": _product,
    "CLAMP": _clamp,
    "MAXIMUM": _larger(lambda one, other: ops.maximum(one, other)),
    "MINIMUM": _larger(lambda one, other: ops.minimum(one, other)),
}
OPCODES = frozenset({*FUNCTIONS, "CLAMP", "ERF"})
