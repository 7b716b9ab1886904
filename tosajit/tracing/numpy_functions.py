"""NumPy's functions that TOSA has: what they do with traced tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np

from tosajit.errors import TraceError
from tosajit.graph.operator import Operator
from tosajit.operators import (
    CEIL,
    COS,
    EXP,
    FLOOR,
    LOG,
    PAD,
    RECIPROCAL,
    REVERSE,
    SELECT,
    SIN,
    TANH,
    TILE,
)
from tosajit.tracing.reducing import Reducing
from tosajit.tracing.traced import rank_of

Function = Callable[..., Any]


def tensors_in(values: object) -> Iterator[Reducing]:
    """The traced tensors among arguments, which may be in lists."""
    match values:
        case Reducing():
            yield values
        case list() | tuple():
            for value in values:
                yield from tensors_in(value)
        case dict():
            yield from tensors_in(list(values.values()))


def _lifted(*values: Any) -> list[Reducing]:
    """Operands as tensors, those that are none beside the first that is one."""
    like = next(tensors_in(values))
    return [like._of(value) for value in values]


def _between(symbol: str) -> Function:
    def function(left: Any, right: Any) -> Reducing:
        return next(tensors_in([left, right]))._binary(symbol, left, right)

    return function


def _python(name: str) -> Function:
    """One of Python's operators, whichever side the tensor is on."""

    def function(left: Any, right: Any) -> Reducing:
        if isinstance(left, Reducing):
            return cast("Reducing", getattr(left, f"__{name}__")(right))
        return cast("Reducing", getattr(right, f"__r{name}__")(left))

    return function


def _unary(operator: type[Operator]) -> Function:
    return lambda x: x._apply(operator())


def _logical(symbol: str) -> Function:
    def function(left: Any, right: Any) -> Reducing:
        first, second = (one.astype(bool) for one in _lifted(left, right))
        return first._binary(symbol, first, second)

    return function


def _method(name: str) -> Function:
    def function(x: Any, *arguments: Any, **options: Any) -> Any:
        return getattr(next(tensors_in([x])), name)(*arguments, **options)

    return function


UFUNCS: Mapping[np.ufunc, Function] = {
    np.add: _between("+"), np.subtract: _between("-"), np.multiply: _between("*"),
    np.bitwise_and: _between("&"), np.bitwise_or: _between("|"), np.bitwise_xor: _between("^"),
    np.left_shift: _between("<<"), np.right_shift: _between(">>"),
    np.equal: _between("=="), np.not_equal: _between("!="), np.greater: _between(">"),
    np.greater_equal: _between(">="), np.less: _between("<"), np.less_equal: _between("<="),
    np.maximum: _between("maximum"), np.minimum: _between("minimum"),
    np.logical_and: _logical("&"), np.logical_or: _logical("|"), np.logical_xor: _logical("^"),
    np.logical_not: lambda x: ~x.astype(bool), np.invert: lambda x: ~x,
    np.true_divide: _python("truediv"), np.floor_divide: _python("floordiv"), np.remainder: _python("mod"),
    np.power: _python("pow"), np.matmul: _python("matmul"),
    np.negative: lambda x: -x, np.positive: lambda x: x, np.absolute: abs, np.fabs: abs,
    np.square: lambda x: x * x, np.sqrt: lambda x: x.sqrt(), np.isnan: lambda x: x != x,
    np.exp: _unary(EXP), np.log: _unary(LOG), np.tanh: _unary(TANH), np.sin: _unary(SIN), np.cos: _unary(COS),
    np.floor: _unary(FLOOR), np.ceil: _unary(CEIL), np.reciprocal: _unary(RECIPROCAL),
}  # fmt: skip
"""NumPy calls these for Python's operators too, if an array stands on the left."""


def where(condition: Any, yes: Any, no: Any) -> Reducing:
    """Elements of one operand where a condition holds, else of the other."""
    like = next(tensors_in([yes, no, condition]))
    operands = condition, yes, no
    if not list(tensors_in([yes, no])):  # numbers, or arrays
        kind = np.float32 if "f" in (np.asarray(yes).dtype.kind, np.asarray(no).dtype.kind) else np.int32
        operands = condition, *(np.asarray(one, kind) for one in (yes, no))
    rank = max(map(rank_of, operands))
    chosen, first, second = (like._of(one, rank) for one in operands)
    like._alike("beside", first, second)
    return chosen.astype(bool)._apply(SELECT(), first, second)


def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Reducing:
    """Tensors behind each other along an axis."""
    first, *others = _lifted(*arrays)
    if axis is None:
        first, others, axis = first.flatten(), [one.flatten() for one in others], 0
    return first._joined(others, axis)


def stack(arrays: Sequence[Any], axis: int = 0) -> Reducing:
    """Tensors beside each other along a new axis."""
    parts = [one.expand_dims(axis) for one in _lifted(*arrays)]
    return parts[0]._joined(parts[1:], axis)


def split(x: Reducing, sections: int | Sequence[int], axis: int = 0) -> list[Reducing]:
    """Parts of a tensor along an axis: so many equal ones, or as they begin."""
    axis = x._axis(axis)
    extent = x.shape[axis]
    if isinstance(sections, int):
        if sections < 1 or extent % sections:
            raise TraceError(f"{x!r}: axis {axis} has {extent} elements, not {sections} equal parts")
        sections = range(extent // sections, extent, extent // sections)
    ends = [0, *sections, extent]
    return [x._sliced(axis, slice(*pair)) for pair in pairwise(ends)]


def pad(x: Reducing, width: Any, mode: str = "constant", constant_values: float = 0) -> Reducing:
    """A tensor with numbers before and behind each axis."""
    if mode != "constant":
        raise TraceError(f"np.pad of {x!r}: TOSA pads by constants, not by mode {mode!r}")
    sides = np.broadcast_to(np.asarray(width), (x.ndim, 2)).reshape(-1).tolist()
    return x._apply(PAD(), x._extents(sides), x._of(constant_values, 1))


def tile(x: Reducing, reps: int | Sequence[int]) -> Reducing:
    """A tensor repeated along its last axes."""
    times = (reps,) if isinstance(reps, int) else tuple(reps)
    whole = x._reshaped((1,) * (len(times) - x.ndim) + x.shape)
    return whole._apply(TILE(), x._extents((1,) * (whole.ndim - len(times)) + times))


def flip(x: Reducing, axis: int | Sequence[int] | None = None) -> Reducing:
    """A tensor with axes turned round."""
    for one in x._axes(axis):
        x = x._apply(REVERSE(axis=one))
    return x


def moveaxis(x: Reducing, source: int, destination: int) -> Reducing:
    """A tensor with an axis at another place."""
    order = [axis for axis in range(x.ndim) if axis != x._axis(source)]
    order.insert(x._axis(destination), x._axis(source))
    return x.transpose(order)


def _filled(value: float) -> Function:
    return lambda x, dtype=None: x._constant(np.full(x.shape, value, x.dtype.storage)).astype(dtype)


METHODS = (
    "sum", "prod", "mean", "var", "std", "any", "all", "max", "min", "argmax", "clip", "reshape", "ravel",
    "squeeze", "transpose", "swapaxes", "expand_dims", "broadcast_to", "take",
)  # fmt: skip
"""Functions that tensors have as methods."""

FUNCTIONS: dict[Function, Function] = {getattr(np, name): _method(name) for name in METHODS}
FUNCTIONS |= {
    np.concatenate: concatenate, np.stack: stack, np.split: split, np.where: where, np.pad: pad,
    np.tile: tile, np.flip: flip, np.moveaxis: moveaxis, np.dot: UFUNCS[np.matmul],
    np.zeros_like: _filled(0), np.ones_like: _filled(1),
    np.shape: lambda x: x.shape, np.ndim: lambda x: x.ndim, np.size: lambda x: x.size,
}  # fmt: skip
