"""Recognising a contraction that the host's array kernels can do, from the form of its nest alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tiling.contraction import Contraction, Dimension, seen, sides, unwrapped
from tiling.expr import BYTES, Expr
from tiling.nest import Access, Nest
from tiling.records import dataclass, replace
from tosajit.kernels.contract.geometry import Geometry

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Factor:
    """One side of the product: a read, and the read of its zero point if it has one."""

    read: int
    zero_point: int | None


@dataclass(frozen=True, slots=True)
class Match:
    """A contraction in the form of the array kernels.

    `batch` axes are common to both factors and to the result: the kernel runs once for each of their points.
    `column` walks over output channels; those of a depthwise contraction are its input channels too.
    """

    left: Factor
    right: Factor
    geometry: Geometry
    strides: tuple[int, int, int, int]
    """Elements between neighbours along N, D, H, W of the input."""
    batch: tuple[int, ...]
    places: tuple[int | None, int | None, int | None, int | None]
    """The axes that walk over N, D, H, W of the output."""
    column: int | None
    depth: tuple[int, ...]
    """The reduced axes as the rows of the matrix have them, slowest first."""
    depthwise: bool = False

    @property
    def rows(self) -> tuple[int, ...]:
        """The axes that walk over positions, slowest first."""
        return tuple(axis for axis in self.places if axis is not None)

    @property
    def positions(self) -> tuple[int, ...]:
        """The axes that the kernel's positions count, slowest first: whole rows of a depthwise one."""
        return tuple(axis for axis in self.rows if not self.depthwise or axis != self.places[3])


def match(nest: Nest) -> Match | None:
    """How the array kernels see a nest, or None if it is not one of theirs."""
    factors = _factors(nest)
    if factors is None:
        return None
    for left, right in (factors, factors[::-1]):
        found = _matched(nest, left, right)
        if found is not None:
            return found
    return None


def _factors(nest: Nest) -> tuple[Factor, Factor] | None:
    """The two sides of `acc += (x - x_zp) * (w - w_zp)`."""
    reduction, found = nest.reduction, sides(nest)
    if found is None or reduction is None or reduction.op != "add" or reduction.initial != 0:
        return None
    first, second = (_factor(side, nest) for side in found)
    return (first, second) if first is not None and second is not None else None


def _factor(expr: Expr, nest: Nest) -> Factor | None:
    zero: int | None = None
    if expr.scalar.base == "sub":
        expr, point = (unwrapped(operand) for operand in expr.operands)
        if point.op != "read" or any(nest.reads[point.number].steps(len(nest.axes))):
            return None
        zero = point.number
    if expr.op != "read":
        return None
    access = nest.reads[expr.number]
    return Factor(expr.number, zero) if _pads_with_zero(access, zero) and not access.indirect else None


def _pads_with_zero(access: Access, zero_point: int | None) -> bool:
    """Whether what a read finds outside adds nothing."""
    if access.fill is None:
        return True
    fill = unwrapped(access.fill)
    if fill.op == "const":
        return zero_point is None and fill.args[0] == 0
    return fill.op == "read" and fill.number == zero_point


def _matched(nest: Nest, left: Factor, right: Factor) -> Match | None:
    if nest.reads[right.read].fill is not None:
        return None
    found = seen(nest, left.read, right.read)
    rows = [one.axis for one in found.positions]
    columns = [axis for axis in found.filters if not found.steps[axis]]
    reduced = range(nest.outer, len(nest.axes))
    if len(columns) > 1 or not all(found.steps[axis] for axis in rows):
        return None
    if not all(found.weight_steps[axis] for axis in reduced):
        return None
    batch = list(found.shared)
    depthwise = not columns and len(batch) == 1 and found.steps[batch[0]] == 1
    column = batch.pop() if depthwise else (columns[0] if columns else None)
    channel = column if depthwise else _channel_axis(found)
    walked = _walked(nest, found, channel, batch)
    if walked is None:
        return None
    dimensions, channels = walked
    depth = tuple(one.window for one in dimensions if one.window is not None)
    depth += (channel,) if channel is not None and not depthwise else ()
    if sorted(depth) != list(reduced) or [one.position for one in dimensions if one.kept] != rows:
        return None
    padded = [Dimension(1, 0)] * (4 - len(dimensions)) + dimensions
    if len(dimensions) == 3 and _is_batch(dimensions[0], nest):
        padded[:2] = padded[1::-1]
    geometry = _geometry(nest, padded, channels, _extent(nest, column), nest.reads[left.read].type)
    if geometry is None:
        return None
    strides = tuple(one.elements for one in padded)
    places = tuple(one.position for one in padded)
    return Match(left, right, geometry, strides, tuple(batch), places, column, depth, depthwise)  # type: ignore[arg-type]


def _channel_axis(found: Contraction) -> int | None:
    """The reduced axis that is the last dimension of the input, if one is: from its start, step by step."""
    last = found.dimensions[-1] if found.dimensions else None
    if last is None or last.kept or len(last.reduced) != 1 or last.offset:
        return None
    return last.window if found.steps[last.reduced[0][0]] == last.dilation == 1 else None


def _walked(
    nest: Nest, found: Contraction, channel: int | None, batch: Sequence[int]
) -> tuple[list[Dimension], int] | None:
    """The dimensions of the input but for channels and batch, and the number of channels."""
    kept: list[Dimension] = []
    channels = 1
    for one in found.dimensions:
        used = {axis for axis, _ in one.terms}
        if used and used <= set(batch) and _begins_and_ends_inside(one, nest):
            continue
        if channel is not None and channel in used:
            whole = one.terms == ((channel, 1),) and one.offset == 0
            if one is not found.dimensions[-1] or not whole or one.extent != nest.axes[channel].extent:
                return None
            channels = one.extent
            continue
        if not one.simple or used & set(batch):
            return None
        kept.append(_reached(one, nest))
    return kept, channels


def _reached(one: Dimension, nest: Nest) -> Dimension:
    """A dimension from the first element that is read, and without a window to the last: parts are whole."""
    if one.offset > 0:
        one = replace(one, extent=one.extent - one.offset, offset=0)
    if one.window is None and one.position is not None and one.stride == 1 and one.offset == 0:
        one = replace(one, extent=min(one.extent, _extent(nest, one.position)))
    return one


def _begins_and_ends_inside(one: Dimension, nest: Nest) -> bool:
    """Whether axes walk over a dimension from its start, and find nothing outside."""
    last = sum(step * (nest.axes[axis].extent - 1) for axis, step in one.terms)
    return one.offset == 0 and last < one.extent


def _geometry(
    nest: Nest, padded: Sequence[Dimension], channels: int, columns: int, type: str
) -> Geometry | None:
    """The shape of the convolution; a leading dimension without a window can be its batch."""
    if len(padded) != 4 or not _is_batch(padded[0], nest):
        return None
    batch, d, h, w = padded

    def triple(pick: Callable[[Dimension], int]) -> Triple:
        return pick(d), pick(h), pick(w)

    return Geometry(
        input=(batch.extent, d.extent, h.extent, w.extent),
        output=tuple(_extent(nest, one.position) for one in padded),  # type: ignore[arg-type]
        in_channels=channels,
        out_channels=columns,
        kernel=triple(lambda one: _extent(nest, one.window)),
        stride=triple(lambda one: one.stride),
        pad=triple(lambda one: one.padding),
        dilation=triple(lambda one: one.dilation),
        element_bytes=BYTES[type],
        floating=nest.reduction is not None and nest.reduction.type == "f32",
        half=type == "f16",
    )


def _is_batch(one: Dimension, nest: Nest) -> bool:
    """Whether the output walks over a whole dimension of the input, step by step."""
    plain = one.window is None and one.stride == 1 and one.offset == 0
    return plain and one.extent == _extent(nest, one.position)


def _extent(nest: Nest, axis: int | None) -> int:
    return 1 if axis is None else nest.axes[axis].extent
