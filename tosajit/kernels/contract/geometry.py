"""Shapes of convolutions."""

from itertools import pairwise

from tiling.records import dataclass, replace
from tosajit.kernels.contract.spec import LINE

PAGE = 4096


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
    half: bool = False
    """Whether floating-point elements of two bytes are float16."""

    @property
    def kind(self) -> str:
        """Return the type of the elements of A."""
        if self.element_bytes == 2:
            return "f16" if self.half else "bf16" if self.floating else "i16"
        return "i8" if self.element_bytes == 1 else "f32"

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
        return self.row_bytes + LINE * int(self.floating and self.row_bytes % PAGE == 0)

    @property
    def is_plain(self) -> bool:
        """Tell whether each output position depends on the same input position."""
        return self.kernel == self.stride == (1, 1, 1) and self.pad == (0, 0, 0) and self.input == self.output

    @property
    def in_elements(self) -> tuple[int, int, int, int]:
        """Return the elements between neighbours along N, D, H, W of the input."""
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
        strides = zip(self.output, self.in_elements, (1, *self.stride), strict=True)
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
    def is_row(self) -> bool:
        """Tell whether there is one row of A, whose elements are neighbours in the input."""
        size, axes = self.in_channels, zip(self.kernel, self.dilation, self.in_elements[1:], strict=True)
        for taps, dilation, elements in reversed([*axes]):
            if taps > 1 and (dilation > 1 or elements != size):
                return False
            size *= taps
        inside = zip(self.pad, self.kernel, self.input[1:], strict=True)
        return self.positions == 1 and all(0 <= -pad <= extent - taps for pad, taps, extent in inside)

    @property
    def runs(self) -> tuple[int, int]:
        """Return the pieces of a kernel row that are contiguous in the input, and the taps in each."""
        joined = self.dilation[2] == 1 and self.in_elements[3] == self.in_channels
        return (1, self.kernel[2]) if joined else (self.kernel[2], 1)

    @property
    def collapsed(self) -> "Geometry":
        """Return the same with all positions along x, if input and output are dense and nothing else is."""
        if not self.is_plain or self.out_strides or self.in_strides:
            return self
        row = (1, 1, 1, self.positions)
        return replace(self, input=row, output=row)


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
    def is_pixel(self) -> bool:
        """Tell whether there is one pixel, all of whose taps lie in the input."""
        axes = zip(self.kernel, self.dilation, self.pad, self.input[1:], strict=True)
        inside = all(0 <= -pad <= extent - (taps - 1) * step - 1 for taps, step, pad, extent in axes)
        return self.rows == self.output[2] == 1 and inside

    @property
    def floating(self) -> bool:
        """Tell whether it is one of float32: lines are not interleaved, and the multiplier has to be 1."""
        return self.element_bytes == 4

    @property
    def rows(self) -> int:
        """Return the number of output rows, over all batches."""
        return self.output[0] * self.output[1]

    @property
    def reach(self) -> int:
        """Return how many input columns one output depends on."""
        return (self.kernel[1] - 1) * self.dilation[1] + 1
