"""Where the windows of convolutions and pools are, and the order of dimensions in which TOSA has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tosajit.frontends.common.windows import Span
from tosajit.frontends.nnef.node import Attributes, each


@dataclass(frozen=True, slots=True)
class Windows(Attributes):
    """Where windows are along some dimensions; `padding` has what is before all of them first."""

    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...] | None
    padding_align: str
    ceil_mode: bool

    def spans(self, extents: Sequence[int], kernel: Sequence[int]) -> tuple[Span, ...]:
        """The windows along each dimension (NNEF 2.0 sections 4.4.1 and 4.4.2)."""
        count = len(extents)
        steps, gaps = each(self.stride, count), each(self.dilation, count)
        reaches = [(size - 1) * gap + 1 for size, gap in zip(kernel, gaps, strict=True)]
        borders = self._borders(extents, steps, reaches)
        found = []
        for extent, step, reach, (before, behind) in zip(extents, steps, reaches, borders, strict=True):
            room = extent + before + behind - reach
            number = (-(-room // step) if self.ceil_mode else room // step) + 1
            found.append(Span(before, (number - 1) * step + reach - extent - before, number))
        return tuple(found)

    def _borders(
        self, extents: Sequence[int], steps: Sequence[int], reaches: Sequence[int]
    ) -> list[tuple[int, int]]:
        """What is missing before and behind each dimension; less than nothing where windows begin inside."""
        count = len(extents)
        if self.padding is not None:
            given = each(self.padding, 2 * count)
            return list(zip(given[:count], given[count:], strict=True))
        borders = []
        for extent, step, reach in zip(extents, steps, reaches, strict=True):
            number = -(-extent // step) if self.ceil_mode else extent // step
            total = (number - 1) * step + reach - extent
            before = total // 2 if self.padding_align == "UPPER" else -(-total // 2)
            borders.append((before, total - before))
        return borders


@dataclass(frozen=True, slots=True)
class Layout:
    """The order in which the dimensions of a tensor become batches, those of windows, and channels."""

    order: tuple[int, ...]

    @classmethod
    def of(cls, format: str, count: int) -> Layout:
        """The order of a format, such as NCX: X is as many dimensions as windows have."""
        places, start = {}, 0
        for letter in format:
            length = count if letter == "X" else 1
            places[letter], start = range(start, start + length), start + length
        batches, channels = (places[one] for one in (_batches(format), "C"))
        return cls((*batches, *places["X"], *channels))

    @property
    def back(self) -> tuple[int, ...]:
        """The order that undoes it."""
        return tuple(self.order.index(place) for place in range(len(self.order)))


def _batches(format: str) -> str:
    """The letter of the dimension beside channels and windows."""
    return next(letter for letter in format if letter not in "XC")
