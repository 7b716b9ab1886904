"""Images in either layout, and the windows over them that attributes say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tosajit.frontends.common.layout import transposed
from tosajit.frontends.common.windows import Span, spans
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor


class Windowed(Protocol):
    """Attributes that say where windows are."""

    @property
    def padding(self) -> str:
        """SAME, VALID or EXPLICIT."""

    @property
    def explicit_paddings(self) -> tuple[int, ...]:
        """Before and behind each dimension of the operand."""

    @property
    def data_format(self) -> str:
        """Where the channels are."""


@dataclass(frozen=True, slots=True)
class Images:
    """Images, or volumes, whose channels are last, and whether that is how the model has them."""

    value: Tensor
    channels_first: bool

    @classmethod
    def of(cls, value: Tensor, data_format: str) -> Images:
        """Images in a layout of the model."""
        if not is_channels_first(data_format) or value.ndim < 3:
            return cls(value, False)
        return cls(transposed(value, (0, *range(2, value.ndim), 1)), True)

    def back(self, value: Tensor) -> Tensor:
        """Results in the layout of the model."""
        last = value.ndim - 1
        return transposed(value, (0, last, *range(1, last))) if self.channels_first else value


def is_channels_first(data_format: str) -> bool:
    """Whether channels are before height and width."""
    if data_format not in ("", "NHWC", "NCHW", "NDHWC", "NCDHW"):
        raise Refused(f"its layout {data_format!r} is not known")
    return data_format.startswith("NC")


def spatial(numbers: Sequence[int], data_format: str, count: int) -> tuple[int, ...]:
    """Of numbers for each dimension those of height and width; others have to leave images as they are."""
    start = 2 if is_channels_first(data_format) else 1
    if len(numbers) != count + 2:
        raise Refused(f"it has {len(numbers)} numbers for {count + 2} dimensions")
    return tuple(numbers[start : start + count])


def windows(
    extents: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    options: Windowed,
) -> tuple[Span, ...]:
    """The windows along each dimension, by the scheme of the attributes."""
    if options.padding != "EXPLICIT":
        return spans(extents, kernel, stride, dilation, options.padding == "SAME")
    given, start = options.explicit_paddings, 2 if is_channels_first(options.data_format) else 1
    if len(given) != 2 * len(extents) + 4:
        raise Refused(f"its explicit paddings are {len(given)} numbers for {len(extents) + 2} dimensions")
    pairs = list(zip(given[::2], given[1::2], strict=True))[start : start + len(extents)]
    ones = zip(extents, kernel, stride, dilation, pairs, strict=True)
    return tuple(Span.within(*one) for one in ones)
