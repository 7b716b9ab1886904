"""Image operators (TOSA 1.0.1 section 2.12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tiling.expr import call
from tiling.nest import Access, Indirect, Nest
from tosajit.arrays import Array
from tosajit.graph.operator import Dims, Mode, Operator, error_if, level_check, read, table, write
from tosajit.operators.lowering import (
    Lowering,
    Space,
    access,
    constant,
    convert,
    element,
    map_nest,
    number,
    over,
    shape_of,
    shape_operand,
)
from tosajit.operators.types import CTC, ResizeMode, Shape, steps
from tosajit.profiles import Level

MAX_EXTENT = 16384
MAX_NUMERATOR = 1 << 11


class RESIZE(Operator):
    """Images scaled by rational factors, to the nearest element or by bilinear interpolation."""

    section = "2.12.1"
    batched = "N"
    modes = table(
        "resize_t in_t out_t",
        """
        PRO-FP    | fp16                | fp16 fp16 fp16
        PRO-FP    | fp32                | fp32 fp32 fp32
        PRO-INT   | signed 8, bilinear  | i16  i8   i32
        PRO-INT   | signed 8, nearest   | i16  i8   i8
        EXT-BF16  | bf16                | bf16 bf16 bf16
        EXT-INT16 | signed 16, bilinear | i16  i16  i48
        EXT-INT16 | signed 16, nearest  | i16  i16  i16
        """,
    )
    because = "scale, offset and border give"

    input = read("in_t", "N,IH,IW,C")
    scale = read("shape_t", "4", ctc=CTC)
    offset = read("shape_t", "2", ctc=CTC)
    border = read("shape_t", "2", ctc=CTC)
    output = write("out_t", "N,OH,OW,C")

    mode: ResizeMode

    def selects(self, mode: Mode) -> bool:
        """Integers have a row for each way of sampling."""
        return mode["in_t"].is_float or mode.name.endswith(self.mode.name.lower())

    def infer(self, IH: int, IW: int, scale: Shape, offset: Shape, border: Shape) -> Dims:
        """The positions that are sampled."""
        return {
            "OH": steps("OH", (IH - 1) * scale[0] - offset[0] + border[0], scale[1]),
            "OW": steps("OW", (IW - 1) * scale[2] - offset[1] + border[1], scale[3]),
        }

    @error_if("output")
    def image_too_large(self, IH: int, IW: int, OH: int, OW: int) -> bool:
        """IH, IW, OH and OW are {IH}, {IW}, {OH} and {OW}, but must be less than 16384."""
        return max(IH, IW, OH, OW) >= MAX_EXTENT

    @error_if("scale")
    def scale_not_positive(self, scale: Shape) -> bool:
        """It is {scale}, but must be positive."""
        return min(scale) <= 0

    @error_if("scale")
    def numerator_too_large(self, scale: Shape) -> bool:
        """Its numerators are {scale[0]} and {scale[2]}, but must not exceed 2048."""
        return max(scale[0], scale[2]) > MAX_NUMERATOR

    @error_if("scale")
    def scale_too_small(self, scale: Shape) -> bool:
        """It is {scale}, but the factors must be greater than 1/16."""
        return scale[1] >= 16 * scale[0] or scale[3] >= 16 * scale[2]

    @error_if("offset")
    def offset_out_of_range(self, scale: Shape, offset: Shape) -> bool:
        """It is {offset}, but must be from -1 to less than 16 times the numerators of {scale}."""
        return any(not -n <= value < 16 * n for value, n in zip(offset, scale[::2], strict=True))

    @error_if("border")
    def border_out_of_range(self, scale: Shape, border: Shape) -> bool:
        """It is {border}, but must be from -16 to less than 1 times the numerators of {scale}."""
        return any(not -16 * n <= value < n for value, n in zip(border, scale[::2], strict=True))

    @level_check("scale")
    def scale_limits(self, scale: Shape, level: Level) -> Iterator[str]:
        """The factors within the level."""
        for axis, numerator, denominator in zip("yx", scale[::2], scale[1::2], strict=True):
            if numerator > level.MAX_SCALE * denominator:
                yield f"scale_{axis} is {numerator}/{denominator}, but MAX_SCALE is {level.MAX_SCALE}"

    def lower(self, use: Lowering) -> list[Nest]:
        """One nest that reads where to look from tables by row and by column."""
        scale, offset = shape_operand(use, "scale"), shape_operand(use, "offset")
        _, IH, IW, _ = shape_of(use.inputs[0])
        at = over(shape_of(use.outputs[0]))
        rows = positions(at.shape[1], IH, scale[0], scale[1], offset[0])
        columns = positions(at.shape[2], IW, scale[2], scale[3], offset[1])
        if self.mode is ResizeMode.NEAREST:
            reads = _tables(use, at, "y", "i1", {"nearest": nearest(*rows, scale[0])})
            reads += _tables(use, at, "x", "i2", {"nearest": nearest(*columns, scale[2])})
            return [map_nest(use, [*reads, _sample(use, at, reads, 0, 1)], element(2, use.inputs[0]))]
        return [self._bilinear(use, at, rows, columns, scale)]

    def _bilinear(self, use: Lowering, at: Space, rows: Place, columns: Place, scale: Shape) -> Nest:
        """A mean of four elements: of integers by whole weights, of floating-point numbers by fractions."""
        value, kind = use.inputs[0], use.outputs[0].dtype.compute
        floating = value.dtype.is_float
        if floating:
            rows, columns = fractional(rows, scale[0]), fractional(columns, scale[2])
        names = ("low", "high", "fraction")
        reads = _tables(use, at, "y", "i1", dict(zip(names, rows, strict=True)))
        reads += _tables(use, at, "x", "i2", dict(zip(names, columns, strict=True)))
        if not floating:
            reads += [number(use, f"unit_{axis}", scale[k], "int32", 4) for axis, k in (("y", 0), ("x", 2))]
        weights = [element(k, reads[k]) for k in (2, 5, *range(6, len(reads)))]
        first = len(reads)
        reads += [_sample(use, at, reads, y, x) for y in (0, 1) for x in (3, 4)]
        corners = [element(first + corner, value) for corner in range(4)]
        if floating:
            wide = [convert(corner, "f32") for corner in corners]
            return map_nest(use, reads, convert(call("interpolate_f32", *wide, *weights, type="f32"), kind))
        return map_nest(use, reads, call(f"resize_blend_{kind}", *corners, *weights, type=kind))


Place = tuple[Array, Array, Array]
"""For each output along an axis: the inputs before and after it, and how far it is from the first."""


def positions(outputs: int, inputs: int, scale_n: int, scale_d: int, offset: int) -> Place:
    """Where each output along an axis is."""
    place = np.arange(outputs, dtype=np.int64) * scale_d + offset
    index = place // scale_n
    return np.maximum(index, 0), np.minimum(index + 1, inputs - 1), place - index * scale_n


def fractional(place: Place, scale_n: int) -> Place:
    """The same with distances as parts of that between two inputs."""
    low, high, fraction = place
    return low, high, (fraction / scale_n).astype(np.float32)


def nearest(low: Array, high: Array, fraction: Array, scale_n: int) -> Array:
    """The input that is nearest to each output."""
    return np.where(2 * fraction >= scale_n, high, low)


def _tables(use: Lowering, at: Space, axis: str, name: str, arrays: Mapping[str, Array]) -> list[Access]:
    index = [at(**{name: 1})]
    kept = {key: a if a.dtype == np.float32 else a.astype(np.int32) for key, a in arrays.items()}
    return [constant(use, f"{key}_{axis}", array, index) for key, array in kept.items()]


def _sample(use: Lowering, at: Space, reads: Sequence[Access], y: int, x: int) -> Access:
    """A read of the input in the row and the column that reads `y` and `x` give."""
    row, column = (Indirect(element(number, reads[number])) for number in (y, x))
    return access(use.inputs[0], [at(i0=1), row, column, at(i3=1)])
