"""What intrinsics do, in plain Python on NumPy scalars and arrays, so that scalars run there too."""

from typing import Any

import ml_dtypes
import numpy as np

from tosajit.kernels.sets.registry import cpu


def fuses() -> bool:
    """Whether the CPU multiplies and adds with one rounding."""
    return "fma" in cpu().features or cpu().is_arm


def multiply_high(a: Any, b: Any) -> Any:
    """The upper half of the product of two uint32."""
    return np.uint32((np.uint64(a) * np.uint64(b)) >> np.uint64(32))


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """One of two values."""
    found = np.where(condition, yes, no)
    return found if found.ndim else found[()]


def bits_of(value: Any) -> Any:
    """The bits of a float32 as an int32."""
    return np.float32(value).view(np.int32)


def float_of(bits: Any) -> Any:
    """The float32 with the bits of an int32."""
    return np.int32(bits).view(np.float32)


def round_f16(value: Any) -> Any:
    """What half precision holds of a float32."""
    return np.float32(np.float32(value).astype(np.float16))


def round_bf16(value: Any) -> Any:
    """What bfloat16 holds of a float32 that was computed from such numbers."""
    return np.float32(value).astype(ml_dtypes.bfloat16).astype(np.float32)


def near_bf16(value: Any) -> Any:
    """The same with halves away from zero."""
    bits = np.float32(value).view(np.uint32).astype(np.uint64) + np.uint64(0x8000)
    return (bits & np.uint64(0xFFFF0000)).astype(np.uint32).view(np.float32)


def nearest_bf16(value: Any) -> Any:
    """As `round_bf16` of any float32, NaN too."""
    return round_bf16(value)


def round_f8e4m3(value: Any) -> Any:
    """What E4M3 holds of a float32."""
    return np.float32(value).astype(ml_dtypes.float8_e4m3fn).astype(np.float32)


def round_f8e5m2(value: Any) -> Any:
    """What E5M2 holds of a float32."""
    return np.float32(value).astype(ml_dtypes.float8_e5m2).astype(np.float32)


def float_floor(value: Any) -> Any:
    """Round down."""
    return np.floor(np.float32(value))


def float_ceil(value: Any) -> Any:
    """Round up."""
    return np.ceil(np.float32(value))


def float_even(value: Any) -> Any:
    """Round to the nearest integer, halves to the even one."""
    return np.rint(np.float32(value))


def float_root(value: Any) -> Any:
    """The square root."""
    return np.sqrt(np.float32(value))


def float_abs(value: Any) -> Any:
    """The magnitude."""
    return np.abs(np.float32(value))


def float_fused(first: Any, second: Any, third: Any) -> Any:
    """A product and a sum, rounded as this core does it."""
    if not fuses():
        return np.float32(np.float32(first * second) + third)
    product, added = np.float64(first) * np.float64(second), np.float64(third)
    total = product + added
    back = total - product
    rest = (product - (total - back)) + (added - back)
    # The sum to an odd last bit, if it is not exact, so that rounding it once more is rounding it once.
    odd = np.asarray(total).view(np.int64) & 1
    inexact = np.isfinite(total) & (rest != 0) & (odd == 0)
    return np.float32(np.where(inexact, np.nextafter(total, np.copysign(np.inf, rest)), total))


NAMES = {name: item for name, item in globals().items() if callable(item) and name != "Any"}
