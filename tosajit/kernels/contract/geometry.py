"""Shapes of convolutions: the numbers that kernels are called with, and how much they do at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from tosajit.kernels.contract.slots import DepthwiseSlot, Slot
from tosajit.kernels.contract.spec import MAX_PANEL_ROWS, TILE_ROWS

PAGE = 4096
PANEL_BYTES = 192 * 1024
"""A gathered panel should stay in the second-level cache, with the weights that stream past it."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """A convolution's shape: (N, D, H, W) of input and output, (D, H, W) of the rest."""

    input: tuple[int, int, int, int]
    output: tuple[int, int, int, int]
    in_channels: int
    out_channels: int
    kernel: tuple[int, int, int] = (1, 1, 1)
    stride: tuple[int, int, int] = (1, 1, 1)
    pad: tuple[int, int, int] = (0, 0, 0)
    dilation: tuple[int, int, int] = (1, 1, 1)
    element_bytes: int = 1
    out_strides: tuple[int, int, int, int] | None = None
    """Elements between neighbours along N, D, H, W of the output; dense if not given."""
    in_strides: tuple[int, int, int, int] | None = None
    """The same of the input."""
    floating: bool = False

    @property
    def positions(self) -> int:
        """Return the number of rows of A."""
        n, d, h, w = self.output
        return n * d * h * w

    @property
    def depth(self) -> int:
        """Return the number of columns of A."""
        return self.kernel[0] * self.kernel[1] * self.kernel[2] * self.in_channels

    @property
    def row_bytes(self) -> int:
        """Return the bytes of a gathered row of A."""
        return -(-self.depth * self.element_bytes // 4) * 4

    @property
    def pitch(self) -> int:
        """Return the bytes from row to row of gathered A: whole pages would share a few cache sets."""
        return self.row_bytes + 64 * int(self.floating and self.row_bytes % PAGE == 0)

    @property
    def is_plain(self) -> bool:
        """Tell whether each output position depends on the same input position."""
        return self.kernel == self.stride == (1, 1, 1) and self.pad == (0, 0, 0) and self.input == self.output

    @property
    def _in_elements(self) -> tuple[int, int, int, int]:
        _, d, h, w = self.input
        ic = self.in_channels
        return self.in_strides or (d * h * w * ic, h * w * ic, w * ic, ic)

    @property
    def direct_bytes(self) -> int:
        """Return the bytes from row to row of A if they lie in the input as the kernel wants them, else 0."""
        if self.kernel != (1, 1, 1) or any(self.pad) or self.row_bytes != self.depth * self.element_bytes:
            return 0
        inside = zip(self.output[1:], self.stride, self.input[1:], strict=True)
        if any((extent - 1) * stride >= limit for extent, stride, limit in inside):
            return 0
        strides = zip(self.output, self._in_elements, (1, *self.stride), strict=True)
        steps = [(extent, elements * stride) for extent, elements, stride in strides if extent > 1]
        if any(far != near * extent for (_, far), (extent, near) in pairwise(steps)):
            return 0
        step = (steps[-1][1] if steps else self.depth) * self.element_bytes
        return 0 if self.floating and self.positions > 4 and step % PAGE == 0 else step

    @property
    def is_direct(self) -> bool:
        """Tell whether the rows of A are used in place."""
        return self.direct_bytes > 0

    @property
    def segments(self) -> int:
        """Return the segments of a row of A if rows overlap in the gathered input, else 0."""
        tap, width = self.in_channels * self.element_bytes, self.output[3]
        dense = self._runs[0] == 1 and self._in_elements[3] == self.in_channels
        joined = dense and self.kernel[2] * tap % 4 == 0 and self.kernel != (1, 1, 1)
        tiled = min(-(-width // height) * height for height in (8, 10, 12))
        if (
            self.is_direct
            or not joined
            or width < 6
            or tiled > width * 1.15
            or self.stride[2] > self.kernel[2]
        ):
            return 0
        return self.kernel[0] * self.kernel[1]

    def _segment_bytes(self, rows: int) -> int:
        exact = ((rows - 1) * self.stride[2] + self.kernel[2]) * self.in_channels * self.element_bytes
        return -(-exact // 64) * 64

    @property
    def panel_rows(self) -> int:
        """Return how many rows of A to work on at a time."""
        if self.segments:
            rows = min(self.output[3], MAX_PANEL_ROWS)
            while rows > 2 * TILE_ROWS and self.segments * self._segment_bytes(rows) > PANEL_BYTES:
                rows -= TILE_ROWS
            return rows
        fitting = PANEL_BYTES // max(self.pitch, 1) // TILE_ROWS * TILE_ROWS
        everything = -(-self.positions // TILE_ROWS) * TILE_ROWS
        return max(TILE_ROWS, min(fitting, MAX_PANEL_ROWS, everything))

    @property
    def _panel_bytes(self) -> int:
        if self.segments:
            return self.segments * self._segment_bytes(self.panel_rows)
        return self.panel_rows * self.pitch

    @property
    def _runs(self) -> tuple[int, int]:
        """Return the pieces of a kernel row that are contiguous in the input, and the taps in each."""
        joined = self.dilation[2] == 1 and self._in_elements[3] == self.in_channels
        return (1, self.kernel[2]) if joined else (self.kernel[2], 1)

    @property
    def _table_bytes(self) -> int:
        return 24 * self.kernel[0] * self.kernel[1] * self._runs[0]

    @property
    def scratch_bytes(self) -> int:
        """Return the scratch memory that a thread needs."""
        return 0 if self.is_direct else self._table_bytes + self._panel_bytes + 192

    @property
    def _collapsed(self) -> "Geometry":
        """Return the same with all positions along x, if input and output are dense and nothing else is."""
        if not self.is_plain or self.out_strides or self.in_strides:
            return self
        row = (1, 1, 1, self.positions)
        return replace(self, input=row, output=row)

    def slots(self) -> Mapping[Slot, int]:
        """Return the numbers that depend on the shape alone, with the whole output as the box."""
        return self._collapsed._slots()

    def _slots(self) -> Mapping[Slot, int]:
        _, od, oh, ow = self.output
        oc, tap = self.out_channels, self.in_channels * self.element_bytes
        strides = self.out_strides or (od * oh * ow * oc, oh * ow * oc, ow * oc, oc)
        step = self.stride[2] * tap if self.segments else self.direct_bytes or self.pitch
        groups = {
            "M_LO M_HI N_LO N_HI K": (0, self.positions, 0, oc, self.depth),
            "O_D O_H O_W": self.output[1:],
            "I_D I_H I_W": self.input[1:],
            "K_D K_H": self.kernel[:2],
            "STRIDE_Z STRIDE_Y STRIDE_X": self.stride,
            "PAD_FRONT PAD_TOP PAD_LEFT": self.pad,
            "DILATION_Z DILATION_Y DILATION_X": self.dilation,
            "IN_N IN_Z IN_Y IN_X": [elements * self.element_bytes for elements in self._in_elements],
            "OUT_N OUT_Z OUT_Y OUT_X": strides,
            "RUNS RUN_TAPS": self._runs,
            "TAP_BYTES TABLE_BYTES ROW_BYTES": (tap, self._table_bytes, step),
            "REACH": [(self.kernel[2] - 1) * self.dilation[2] + 1],
            "PANEL_ROWS DIRECT SEGMENTS": (self.panel_rows, int(self.is_direct), self.segments),
        }
        pairs = (zip(names.split(), numbers, strict=True) for names, numbers in groups.items())
        return {Slot[name]: number for name, number in chain.from_iterable(pairs)}


ROW_BLOCK_BYTES = 24 * 1024
"""Interleaved input that should stay in the first-level cache, with sums and weights."""


@dataclass(frozen=True, slots=True)
class DepthwiseGeometry:
    """A depthwise convolution's shape: (N, H, W) of input and output, (H, W) of the rest."""

    input: tuple[int, int, int]
    output: tuple[int, int, int]
    in_channels: int
    channel_multiplier: int = 1
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    pad: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    element_bytes: int = 1
    parts: int = 1

    @property
    def out_channels(self) -> int:
        """Return the number of output channels."""
        return self.in_channels * self.channel_multiplier

    @property
    def floating(self) -> bool:
        """Tell whether it is one of float32: lines are not interleaved, and the multiplier has to be 1."""
        return self.element_bytes == 4

    @property
    def kept_lines(self) -> int:
        """Return how many input lines, or groups of them, there is room for."""
        return (self.kernel[0] - 1) * self.dilation[0] + 1 if self.floating else self.groups

    @property
    def rows(self) -> int:
        """Return the number of output rows, over all batches."""
        return self.output[0] * self.output[1]

    @property
    def groups(self) -> int:
        """Return the number of groups of vertical taps."""
        return -(-self.kernel[0] * self.element_bytes // 4)

    @property
    def reach(self) -> int:
        """Return how many input columns one output depends on."""
        return (self.kernel[1] - 1) * self.dilation[1] + 1

    @property
    def blocks(self) -> tuple[int, int]:
        """Return how many channels and pixels to work on at a time."""
        width = self.output[2]
        columns = (width - 1) * self.stride[1] + self.reach
        budget = ROW_BLOCK_BYTES // (4 * self.groups)
        channels, pieces = self.out_channels, 1
        while pieces < 64 and channels * min(columns, 3 * self.reach + 8) > budget:
            pieces += 1
            channels = max(16, -(-self.out_channels // pieces // 64) * 64)
        channels = min(channels, self.out_channels)
        fitting = max(0, budget // channels - self.reach) // self.stride[1] + 1
        pixels = -(-width // -(-width // fitting))
        return channels, min(width, -(-pixels // 8) * 8 if pixels > 8 else pixels)

    @property
    def pair_bytes(self) -> int:
        """Return where the weights of the second of two output rows are; 0 if rows share no input."""
        group = 4 // self.element_bytes
        if self.kernel[0] % group == 0 or self.stride[0] != self.dilation[0]:
            return 0
        return -(-self.out_channels // 16) * self.groups * self.kernel[1] * self.parts * 64

    def _scratch(self) -> Mapping[str, int]:
        channels, pixels = self.blocks
        channels += -channels % 16 if self.floating else 0
        columns = (pixels - 1) * self.stride[1] + self.reach
        expand = (columns * channels * self.element_bytes + 127) // 64 * 64
        group = (columns * channels * 4 + 63) // 64 * 64 + 64 * self.floating
        blank = group * self.kept_lines + 256
        expanded = blank + expand
        table = expanded + (4 * expand if self.channel_multiplier > 1 else 0)
        kept = table + 8 * self.groups * self.kernel[1] * self.parts
        places = 8 * self.groups * self.kernel[1] * self.floating
        words = (kept + 8 * self.kept_lines + places + 63) // 64 * 64
        total = words + pixels * (channels + 16) * 8 + 64
        numbers = {
            "BLANK": blank,
            "BLANK_BYTES": expand - 64,
            "EXPAND": expanded,
            "EXPAND_BYTES": expand,
        }
        return numbers | {
            "TAP_TABLE": table,
            "LINES": self.kept_lines,
            "LINE_TABLE": kept,
            "WORDS": words,
            "GROUP_BYTES": group,
            "total": total,
        }

    @property
    def scratch_bytes(self) -> int:
        """Return the scratch memory that a thread needs."""
        return self._scratch()["total"]

    def slots(self) -> Mapping[DepthwiseSlot, int]:
        """Return the numbers that depend on the shape alone, with the whole output as the box."""
        h, w = self.input[1:]
        _, oh, ow = self.output
        tap, oc = self.in_channels * self.element_bytes, self.out_channels
        numbers = {
            "M_LO": 0,
            "M_HI": self.rows,
            "N_LO": 0,
            "N_HI": oc,
            "REACH": self.reach,
            "PARTS": self.parts,
        }
        numbers |= dict(zip(("CHANNEL_BLOCK", "PIXEL_BLOCK"), self.blocks, strict=True))
        numbers |= {
            "CHANNEL_MULTIPLIER": self.channel_multiplier,
            "O_H": oh,
            "O_W": ow,
            "I_H": h,
            "I_W": w,
        }
        for name, (y, x) in (
            ("STRIDE", self.stride),
            ("DILATION", self.dilation),
            ("K", self.kernel),
        ):
            numbers |= {
                f"{name}_{'H' if name == 'K' else 'Y'}": y,
                f"{name}_{'W' if name == 'K' else 'X'}": x,
            }
        numbers["PAIR_BYTES"] = self.pair_bytes
        numbers |= {
            "PAD_TOP": self.pad[0],
            "PAD_LEFT": self.pad[1],
            "TAPS": self.groups * self.kernel[1] * self.parts,
        }
        numbers |= {
            "IN_N": h * w * tap,
            "IN_Y": w * tap,
            "IN_X": tap,
            "OUT_N": oh * ow * oc,
            "OUT_Y": ow * oc,
            "OUT_X": oc,
        }
        numbers |= {name: number for name, number in self._scratch().items() if name != "total"}
        return {DepthwiseSlot[name]: number for name, number in numbers.items()}
