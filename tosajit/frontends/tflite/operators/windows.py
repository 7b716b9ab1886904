"""Windows along any dimensions, and elements with gaps between them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tosajit import ops
from tosajit.dtypes import BOOL, INT8, INT16, INT32
from tosajit.frontends.common.borders import spread
from tosajit.frontends.common.layout import reshaped, small
from tosajit.frontends.common.scale import number_like, wide
from tosajit.frontends.common.taps import windowed
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite.fields import ReduceFunction
from tosajit.frontends.tflite.node import Node
from tosajit.frontends.tflite.operators import operator
from tosajit.frontends.tflite.options import ReduceWindowOptions
from tosajit.frontends.tflite.schema import Type
from tosajit.tracing.tensor import Tensor

Combine = Callable[[Tensor, Tensor], Tensor]

_FUNCTIONS: dict[ReduceFunction, Combine] = {
    ReduceFunction.ADD: ops.add, ReduceFunction.MUL: ops.mul,
    ReduceFunction.MINIMUM: ops.minimum, ReduceFunction.MAXIMUM: ops.maximum,
}  # fmt: skip
_OF_TRUTHS: dict[ReduceFunction, Combine] = {
    ReduceFunction.ALL: ops.logical_and, ReduceFunction.ANY: ops.logical_or,
}  # fmt: skip


@operator("DILATE", types="float32 float16 int8 uint8 int16 int32 int64 bool")
def dilate(node: Node) -> Tensor:
    """Elements with as many of another value between them along each dimension."""
    value, steps, between = node[0].tensor, node[1].ints, node[2].array.reshape(-1)[0]
    if len(steps) != value.ndim or any(step < 1 for step in steps):
        raise Refused(f"its distances {list(steps)} are not one from 1 for each of {value.ndim} dimensions")
    for axis, step in enumerate(steps):
        value = spread(value, axis, step, between)
    return value


@operator("REDUCE_WINDOW", ReduceWindowOptions, types="float32 int8 uint8 int16 int32 int64 bool")
def reduce_window(node: Node, options: ReduceWindowOptions) -> Tensor:
    """The sum, product, least or greatest element of each window and a first value; bytes keep low bits."""
    value, first, kind = node[0], node[1].tensor, node[0].type
    combine = (_OF_TRUTHS if value.dtype is BOOL else _FUNCTIONS).get(options.reduce_function)
    if combine is None:
        raise Refused(f"it reduces {kind.label} by {options.reduce_function.name}")
    if node[0].is_constant and not small((prod(value.shape), prod(node[2].ints))):
        raise Refused("its operand is a large constant", "reduce it when the model is converted")
    zero = -128 if kind is Type.UINT8 else 0
    narrow = value.dtype in (INT8, INT16)
    result, start = (wide(one, zero) if narrow else one for one in (value.tensor, first))
    wrapped = _wrapping(combine, kind) if narrow else combine
    windows = zip(*(node[number].ints for number in (2, 3, 4)), strict=True)
    result = windowed(result, wrapped, list(windows))
    result = wrapped(result, reshaped(start, (1,) * value.rank))
    if not narrow:
        return result
    return ops.cast(ops.add(result, number_like(result, zero)), dtype=value.dtype)


def _wrapping(combine: Combine, kind: Type) -> Combine:
    """A function of narrow integers in 32 bits that keeps no more bits than they have."""

    def combined(one: Tensor, other: Tensor) -> Tensor:
        found = combine(one, other)
        if kind is Type.UINT8:
            return ops.bitwise_and(found, number_like(found, 255))
        return ops.cast(ops.cast(found, dtype=INT8 if kind is Type.INT8 else INT16), dtype=INT32)

    return combined
