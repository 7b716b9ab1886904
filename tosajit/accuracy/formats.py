"""What the accuracy rules ask of a floating-point format (TOSA 1.0.1 section 4.5.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tosajit.dtypes import BF16, DTYPES, FP8E4M3, FP8E5M2, FP16, FP32, DType, dtype_of

TypeLike = DType | str | npt.DTypeLike
"""A type: one of tosajit's, its name (`"FP16"`), or NumPy's."""


@dataclass(frozen=True, slots=True)
class Format:
    """The numbers of a floating-point format that bounds are made of."""

    dtype: DType
    fraction: int
    """How many bits of the mantissa are stored."""
    normal_min: float
    """The least positive normal number."""
    normal_max: float
    """The greatest finite number."""
    flushes: bool
    """Whether subnormal numbers may become zero."""

    @property
    def name(self) -> str:
        """The name of the type."""
        return self.dtype.name

    @property
    def epsilon(self) -> float:
        """The distance from one to the next number."""
        return float(2.0**-self.fraction)

    def rounded(self, values: npt.ArrayLike) -> np.ndarray:
        """Round to nearest even, once; what is too large becomes infinity, or NaN where there is none."""
        wide = np.asarray(values, np.float64)
        with np.errstate(all="ignore"):
            _, exponent = np.frexp(wide)
            least = int(np.log2(self.normal_min)) - self.fraction
            step = np.exp2(np.maximum(exponent - 1 - self.fraction, least).astype(np.float64))
            even = np.where(np.isfinite(wide), np.rint(wide / step) * step, wide)
        over = np.nan if self.dtype is FP8E4M3 else np.inf
        return np.where(np.abs(even) > self.normal_max, np.copysign(over, wide), even)


FORMATS: dict[DType, Format] = {
    FP32: Format(FP32, 23, 2.0**-126, 2.0**128 - 2.0 ** (127 - 23), True),
    BF16: Format(BF16, 7, 2.0**-126, 2.0**128 - 2.0 ** (127 - 7), True),
    FP16: Format(FP16, 10, 2.0**-14, 2.0**16 - 2.0 ** (15 - 10), True),
    FP8E4M3: Format(FP8E4M3, 3, 2.0**-6, 2.0**9 - 2.0 ** (8 - 2), False),
    FP8E5M2: Format(FP8E5M2, 2, 2.0**-14, 2.0**16 - 2.0 ** (15 - 2), False),
}
"""Every floating-point type."""


def format_of(kind: TypeLike) -> Format:
    """Find a format by its type."""
    match kind:
        case DType():
            dtype = kind
        case str() if kind in DTYPES:
            dtype = DTYPES[kind]
        case _:
            dtype = dtype_of(kind)
    if dtype not in FORMATS:
        raise TypeError(f"{dtype} is not a floating-point type")
    return FORMATS[dtype]
