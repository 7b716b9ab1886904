"""Elements in another type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import BF16, BOOL, FP16, FP32, INT8, INT32
from tosajit.frontends.common.numbers import is_not_zero, towards_zero, typed
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.frame.narrow import low_bits
from tosajit.frontends.jax.node import Node, dtype_of, type_of
from tosajit.frontends.jax.operators import MOVED, REAL, operator
from tosajit.frontends.jax.schema import Type
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class ConvertAttributes(Attributes):
    """The type of the result."""

    new_dtype: str


def _converted(node: Node) -> Array:
    kind = node.kind
    if node[0].raw.dtype.kind == "V" or kind.storage.kind == "V":  # NumPy converts these by way of others
        return node[0].raw.astype(np.float32).astype(kind.storage)
    return node[0].raw.astype(kind.storage)


@operator(
    "convert_element_type", ConvertAttributes, types=f"{MOVED} float64 float8_e4m3fn float8_e5m2",
    fold=_converted,
)  # fmt: skip
def convert_element_type(node: Node, options: ConvertAttributes) -> Tensor:
    """Elements in another type: real numbers towards zero, integers by their low bits, truths as 0 and 1."""
    return cast(node[0].tensor, type_of(options.new_dtype))


def cast(value: Tensor, wanted: Type) -> Tensor:
    """Numbers in a type, as JAX converts them."""
    dtype = dtype_of(wanted)
    if dtype is BOOL:
        return value if value.dtype is BOOL else is_not_zero(_wide(value))
    if value.dtype.is_float and not dtype.is_float:
        return low_bits(typed(towards_zero(typed(value, FP32)), dtype), wanted)
    if dtype.is_float and value.dtype is BOOL:
        value = ops.cast(value, dtype=INT8)
    elif dtype.is_float and value.dtype.is_float and value.dtype is not dtype:
        value = typed(value, FP32)
    return low_bits(typed(value, dtype), wanted)


def _wide(value: Tensor) -> Tensor:
    return value if value.dtype.is_float else typed(value, INT32)


@dataclass(frozen=True, slots=True)
class PrecisionAttributes(Attributes):
    """How many bits exponents and fractions keep."""

    exponent_bits: int
    mantissa_bits: int


@operator("reduce_precision", PrecisionAttributes, types=REAL)
def reduce_precision(node: Node, options: PrecisionAttributes) -> Tensor:
    """Real numbers as near as a narrower type has them."""
    value = node[0].tensor
    kinds = {(8, 23): FP32, (5, 10): FP16, (8, 7): BF16}
    through = kinds.get((options.exponent_bits, options.mantissa_bits))
    if through is None:
        raise Refused(
            f"TOSA has no numbers of {options.exponent_bits} and {options.mantissa_bits} bits",
            "use those of float32, float16 or bfloat16",
        )
    if through is FP32 or through is value.dtype:
        return value
    return typed(typed(typed(typed(value, FP32), through), FP32), value.dtype)


@operator("bitcast_convert_type", ConvertAttributes)
def bitcast_convert_type(node: Node, options: ConvertAttributes) -> Tensor:
    """The same bits as another type: of integers of one width alone."""
    kind = type_of(options.new_dtype)
    if kind.storage.itemsize == node[0].type.storage.itemsize and not {
        kind.storage.kind, node[0].type.storage.kind
    } - set("iu"):  # fmt: skip
        return cast(node[0].tensor, kind)
    raise Refused("TOSA cannot read the bits of numbers as those of others", "convert the numbers")
