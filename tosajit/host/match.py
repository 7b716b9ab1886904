"""Recognising a contraction that the host's array kernels can do, from the form of its nest alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tiling.expr import BYTES, Expr
from tiling.nest import Access, Affine, Nest
from tosajit.kernels.contract.geometry import Geometry

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Factor:
    """One side of the product: a read, and the read of its zero point if it has one."""

    read: int
    zero_point: int | None


@dataclass(frozen=True, slots=True)
class Spatial:
    """A dimension of the input that the output walks over, possibly with a window."""

    extent: int
    elements: int
    """Elements between neighbours."""
    axis: int | None
    stride: int = 1
    window: int | None = None
    dilation: int = 1
    offset: int = 0


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
    reduction = nest.reduction
    if nest.verb != "contract" or reduction is None or reduction.op != "add" or reduction.initial != 0:
        return None
    value = _unwrapped(reduction.value)
    if value.scalar.base != "mul":
        return None
    sides = [_factor(operand, nest) for operand in value.operands]
    first, second = sides
    return (first, second) if first is not None and second is not None else None


def _factor(expr: Expr, nest: Nest) -> Factor | None:
    expr = _unwrapped(expr)
    zero: int | None = None
    if expr.scalar.base == "sub":
        expr, point = (_unwrapped(operand) for operand in expr.operands)
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
    fill = _unwrapped(access.fill)
    if fill.op == "const":
        return zero_point is None and fill.args[0] == 0
    return fill.op == "read" and fill.number == zero_point


def _unwrapped(expr: Expr) -> Expr:
    while expr.scalar.family == "cast":
        (expr,) = expr.operands
    return expr


def _matched(nest: Nest, left: Factor, right: Factor) -> Match | None:
    count, outer = len(nest.axes), nest.outer
    a, b = nest.reads[left.read], nest.reads[right.read]
    if b.fill is not None:
        return None
    steps_a, steps_b = a.steps(count), b.steps(count)
    kinds = [(bool(x), bool(y)) for x, y in zip(steps_a[:outer], steps_b[:outer], strict=True)]
    rows = tuple(axis for axis, kind in enumerate(kinds) if kind == (True, False))
    columns = [axis for axis, kind in enumerate(kinds) if kind == (False, True)]
    both = [axis for axis, kind in enumerate(kinds) if kind == (True, True)]
    if len(columns) > 1 or (False, False) in kinds or any(not s for s in steps_b[outer:]):
        return None
    depthwise = not columns and bool(both) and steps_a[both[-1]] == 1 and len(both) == 1
    column = both.pop() if depthwise else (columns[0] if columns else None)
    channel = column if depthwise else _channel_axis(a, nest)
    found = _spatials(a, nest, channel, both) or _lines(a, nest, channel, rows)
    if found is None:
        return None
    spatials, channels = found
    depth = tuple(s.window for s in spatials if s.window is not None)
    depth += (channel,) if channel is not None and not depthwise else ()
    if sorted(depth) != list(range(outer, count)):
        return None
    if [s.axis for s in spatials if s.axis is not None] != list(rows):
        return None
    padded = [Spatial(1, 0, None)] * (4 - len(spatials)) + spatials
    if len(spatials) == 3 and _is_batch(spatials[0], nest):
        padded[:2] = padded[1::-1]
    columns_count = nest.axes[column].extent if column is not None else 1
    geometry = _geometry(nest, padded, channels, columns_count, a.type) if len(padded) == 4 else None
    if geometry is None:
        return None
    strides = tuple(s.elements for s in padded)
    places = tuple(s.axis for s in padded)
    return Match(left, right, geometry, strides, tuple(both), places, column, depth, depthwise)  # type: ignore[arg-type]


def _channel_axis(access: Access, nest: Nest) -> int | None:
    """The reduced axis along which elements are neighbours and that no window shares, if there is one."""
    last = access.index[-1] if access.index else None
    if not isinstance(last, Affine):
        return None
    steps = access.steps(len(nest.axes))
    dense = [axis for axis in range(nest.outer, len(nest.axes)) if steps[axis] == 1]
    inside = [axis for axis in dense if last.coefficients[axis] == 1]
    shared = any(c for axis, c in enumerate(last.coefficients) if axis not in inside)
    return inside[0] if len(inside) == 1 and not shared and last.offset == 0 else None


def _lines(
    access: Access, nest: Nest, channel: int | None, rows: Sequence[int]
) -> tuple[list[Spatial], int] | None:
    """The same for dense rows anywhere in the input, whatever its dimensions are."""
    if access.fill is not None or channel is None or len(nest.axes) != nest.outer + 1 or channel < nest.outer:
        return None
    steps = access.steps(len(nest.axes))
    if any(steps[axis] < 0 for axis in rows):
        return None
    return [Spatial(nest.axes[axis].extent, steps[axis], axis) for axis in rows], nest.axes[channel].extent


def _spatials(
    access: Access, nest: Nest, channel: int | None, batch: Sequence[int]
) -> tuple[list[Spatial], int] | None:
    """The dimensions of the input but for channels and batch, and the number of channels."""
    spatials: list[Spatial] = []
    channels = 1
    last = len(access.shape) - 1
    for dimension, (index, extent) in enumerate(zip(access.index, access.shape, strict=True)):
        assert isinstance(index, Affine)
        used = [axis for axis, c in enumerate(index.coefficients) if c]
        if used and set(used) <= set(batch):
            continue
        if channel is not None and channel in used:
            alone = used == [channel] and index.offset == 0 and index.coefficients[channel] == 1
            if alone and dimension == last and extent == nest.axes[channel].extent:
                channels = extent
                continue
            if not alone or dimension != last:
                return None
        spatial = _spatial(index, extent, access.strides[dimension], nest)
        if spatial is None or set(used) & set(batch):
            return None
        spatials.append(spatial)
    return spatials, channels


def _spatial(index: Affine, extent: int, elements: int, nest: Nest) -> Spatial | None:
    kept = [(a, c) for a, c in enumerate(index.coefficients) if c and not nest.axes[a].reduced]
    window = [(a, c) for a, c in enumerate(index.coefficients) if c and nest.axes[a].reduced]
    if len(kept) > 1 or len(window) > 1 or any(c < 0 for _, c in (*kept, *window)):
        return None
    axis, stride = kept[0] if kept else (None, 1)
    tap, dilation = window[0] if window else (None, 1)
    return Spatial(extent, elements, axis, stride, tap, dilation, index.offset)


def _geometry(
    nest: Nest, padded: Sequence[Spatial], channels: int, columns: int, type: str
) -> Geometry | None:
    """The shape of the convolution; a leading dimension without a window can be its batch."""
    batch = padded[0]
    if not _is_batch(batch, nest):
        return None
    d, h, w = padded[1:]

    def triple(pick: Callable[[Spatial], int]) -> Triple:
        return pick(d), pick(h), pick(w)

    return Geometry(
        input=(batch.extent, d.extent, h.extent, w.extent),
        output=tuple(_extent(nest, s.axis) for s in padded),  # type: ignore[arg-type]
        in_channels=channels,
        out_channels=columns,
        kernel=triple(lambda s: _extent(nest, s.window)),
        stride=triple(lambda s: s.stride),
        pad=triple(lambda s: -s.offset),
        dilation=triple(lambda s: s.dilation),
        element_bytes=BYTES[type],
        floating=nest.reduction is not None and nest.reduction.type == "f32",
    )


def _is_batch(spatial: Spatial, nest: Nest) -> bool:
    """Whether the output walks over a whole dimension of the input, step by step."""
    plain = spatial.window is None and spatial.stride == 1 and spatial.offset == 0
    return plain and spatial.extent == _extent(nest, spatial.axis)


def _extent(nest: Nest, axis: int | None) -> int:
    return 1 if axis is None else nest.axes[axis].extent
