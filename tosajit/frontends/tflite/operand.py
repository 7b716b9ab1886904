"""The tensors that the lowering of a TFLite operator sees, in the words of TOSA.

Two types are said otherwise than the file says them, so that no lowering needs to: uint8 is int8 with zero
points and constants moved by 128, and int64 is int32 where its numbers allow it.
"""

from __future__ import annotations

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.dtypes import BF16, BOOL, FP8E4M3, FP8E5M2, FP16, FP32, INT4, INT8, INT16, INT32, DType
from tosajit.frontends.frame import Refused
from tosajit.frontends.tflite import records
from tosajit.frontends.tflite.schema import Type
from tosajit.operators import RoundingMode
from tosajit.tracing.recorder import Trace
from tosajit.tracing.tensor import Tensor

DTYPES = {
    Type.FLOAT32: FP32, Type.FLOAT16: FP16, Type.BFLOAT16: BF16, Type.INT8: INT8, Type.UINT8: INT8,
    Type.INT16: INT16, Type.INT32: INT32, Type.INT64: INT32, Type.UINT32: INT32, Type.BOOL: BOOL,
    Type.INT2: INT4, Type.INT4: INT4, Type.FLOAT8_E4M3FN: FP8E4M3, Type.FLOAT8_E5M2: FP8E5M2,
    Type.COMPLEX64: FP32,
}  # fmt: skip
"""The types of TOSA that stand for those of TFLite; complex numbers have a dimension of two more."""

_INT32 = np.iinfo(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """A tensor as the file describes it."""

    record: records.Tensor

    @property
    def type(self) -> Type:
        """Its type in the file."""
        return self.record.type

    @property
    def dtype(self) -> DType:
        """The type of TOSA that stands for it."""
        found = DTYPES.get(self.record.type)
        if found is None:
            raise Refused(f"{self.record.name} is {self.record.type.label}, which TOSA has no type for")
        return found

    @property
    def quantized(self) -> bool:
        """Whether its integers stand for real numbers."""
        return self.record.quantization is not None and self.record.type in _INTEGERS

    @property
    def scales(self) -> tuple[float, ...]:
        """Its scales: one, or one for each index along `axis`."""
        return self._quantization.scale

    @property
    def scale(self) -> float:
        """Its only scale."""
        if len(self.scales) != 1:
            raise Refused(f"{self.record.name} has {len(self.scales)} scales, but must have one")
        return self.scales[0]

    @property
    def zero_points(self) -> tuple[int, ...]:
        """Its zero points: those of uint8 are moved with the numbers."""
        offset = 128 if self.record.type is Type.UINT8 else 0
        points, (least, most) = self._quantization.zero_point, _RANGE[self.record.type]
        if not least <= min(points) <= max(points) <= most:
            raise Refused(f"{self.record.name} has a zero point outside of {self.record.type.label}")
        return tuple([point - offset for point in points]) if offset else points

    @property
    def zero_point(self) -> int:
        """Its only zero point."""
        points = self.zero_points
        if points.count(points[0]) != len(points):
            raise Refused(f"{self.record.name} has different zero points along a dimension")
        return points[0]

    @property
    def axis(self) -> int:
        """The dimension along which the scales are."""
        return self._quantization.axis

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest of its integers, as TOSA has them."""
        least, most = _RANGE[self.record.type]
        return (least - 128, most - 128) if self.record.type is Type.UINT8 else (least, most)

    @property
    def stands_for(self) -> tuple[float, int] | None:
        """Its scale and its zero point in the type of the file, if it has one of each."""
        found = self.record.quantization if self.quantized else None
        if found is None or found.details or len(found.scale) != 1 or len(found.zero_point) != 1:
            return None
        return float(found.scale[0]), int(found.zero_point[0])

    @property
    def rounding(self) -> RoundingMode:
        """How numbers are rounded to its integers."""
        return RoundingMode.DOUBLE_ROUND

    @property
    def outside(self) -> tuple[int, ...]:
        """The shape of an input of the graph: complex numbers are pairs of real ones."""
        return (*self.record.shape, 2) if self.record.type is Type.COMPLEX64 else self.record.shape

    @property
    def _quantization(self) -> records.Quantization:
        found = self.record.quantization
        if found is None:
            raise Refused(f"{self.record.name} is {self.record.type.label} without scales")
        if found.details:
            raise Refused(f"{self.record.name} has {found.details} quantisation")
        return found


_RANGE = {
    Type.INT2: (-2, 1), Type.INT4: (-8, 7), Type.INT8: (-128, 127), Type.UINT8: (0, 255),
    Type.INT16: (-32768, 32767),
    Type.INT32: (_INT32.min, _INT32.max), Type.INT64: (_INT32.min, _INT32.max),
}  # fmt: skip
_INTEGERS = frozenset(_RANGE)


@dataclass(frozen=True, slots=True, eq=False)
class Operand(Described):
    """A tensor with its value: traced, or a constant of the file or folded from such."""

    trace: Trace
    value: Tensor | Array
    """A traced tensor, or an array with numbers as the file has them."""
    name: str
    """What it is called in the graph."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        halves = self.record.type is Type.COMPLEX64 and isinstance(self.value, Tensor)
        return self.value.shape[1:] if halves else self.value.shape

    @property
    def rank(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def is_constant(self) -> bool:
        """Whether its elements are known."""
        return not isinstance(self.value, Tensor)

    @property
    def raw(self) -> Array:
        """The elements of a constant as the file has them."""
        if isinstance(self.value, Tensor):
            raise Refused(
                f"{self.name} is computed when the model runs, but must be a constant",
                "make it one when the model is converted",
            )
        return self.value

    @property
    def array(self) -> Array:
        """The elements of a constant as TOSA has them."""
        return stored(self.raw, self.record, self.dtype)

    @property
    def tensor(self) -> Tensor:
        """The tensor in the graph."""
        if isinstance(self.value, Tensor):
            return self.trace.own(self.value)
        return self.trace.constant(self.array, self.dtype, self.name)

    @property
    def ints(self) -> tuple[int, ...]:
        """The elements of a constant as Python integers, such as a shape or axes."""
        return tuple(int(one) for one in self.raw.reshape(-1))

    @property
    def real(self) -> Array:
        """The real numbers that a constant stands for, as float32."""
        if not self.quantized:
            return self.raw.astype(np.float32)
        shape = [1] * self.rank
        if len(self.scales) > 1:
            shape[self.axis] = -1
        found = self._quantization
        points = np.array(found.zero_point, np.int64).reshape(shape if self.rank else ())
        scales = np.array(found.scale, np.float32).reshape(shape if self.rank else ())
        return ((self.raw.astype(np.int64) - points).astype(np.float32) * scales).astype(np.float32)


def stored(raw: Array, record: records.Tensor, dtype: DType) -> Array:
    """Elements as the file has them in the storage of a type of TOSA."""
    if raw.dtype == np.uint8:
        return (raw ^ 0x80).view(np.int8)
    if (dtype is INT32 and raw.dtype.itemsize > 4) or raw.dtype == np.uint32:
        if raw.size and not (_INT32.min <= raw.min() and raw.max() <= _INT32.max):
            raise Refused(f"{record.name} has numbers beyond 32 bits: TOSA has no int64")
        return raw.astype(np.int32)
    return raw if raw.dtype == dtype.storage else raw.astype(dtype.storage)
