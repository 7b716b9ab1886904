"""Image operators (TOSA 1.0.1 section 2.12)."""

from __future__ import annotations

from collections.abc import Iterator

from tosajit.operator import Dims, Mode, Operator, error_if, level_check, read, table, write
from tosajit.operators.types import CTC, ResizeMode, Shape, steps
from tosajit.profiles import Level

MAX_EXTENT = 16384
MAX_NUMERATOR = 1 << 11


class RESIZE(Operator):
    """Images scaled by rational factors, to the nearest element or by bilinear interpolation."""

    section = "2.12.1"
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
        for axis, numerator, denominator in (("y", *scale[:2]), ("x", *scale[2:])):
            if numerator > level.MAX_SCALE * denominator:
                yield f"scale_{axis} is {numerator}/{denominator}, but MAX_SCALE is {level.MAX_SCALE}"
