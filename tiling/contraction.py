"""What a contraction is: what the axes of its nest are for, and how they walk over its operands.

Each point adds a product of two factors, `(x - x_zp) * (w - w_zp)`. One is the feature map, or the rows of a
matrix; the other is weights, or columns. The host's kernels and the costs of NPUs both see contractions as
this module does, and each adds what is its own. A reduction is seen in the same way, with one factor.

| role | axes of the nest | of a convolution |
|---|---|---|
| groups | kept, followed by both factors | none; the batch of MATMUL |
| positions | kept, followed by the feature map, or by none | N, OH, OW |
| filters | kept, followed by the weights; channels of a depthwise convolution | OC |
| windows | reduced, walk over positions of the feature map | KH, KW |
| channels | reduced, the rest | IC |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tiling.expr import Expr, reads_of
from tiling.nest import Access, Affine, Nest
from tiling.records import dataclass

Term = tuple[int, int]
"""An axis, and how many neighbours a step along it goes."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of the feature map, and the axes that walk over it."""

    extent: int
    elements: int
    """Between neighbours."""
    kept: tuple[Term, ...] = ()
    reduced: tuple[Term, ...] = ()
    offset: int = 0

    @property
    def terms(self) -> tuple[Term, ...]:
        """All axes."""
        return *self.kept, *self.reduced

    @property
    def simple(self) -> bool:
        """Whether at most one axis walks over positions, and one over a window, both forwards."""
        forwards = all(step > 0 for _, step in self.terms)
        return len(self.kept) <= 1 and len(self.reduced) <= 1 and forwards

    @property
    def position(self) -> int | None:
        """The axis that walks over positions, of a simple dimension."""
        return self.kept[0][0] if self.kept else None

    @property
    def stride(self) -> int:
        """What a position is from the next."""
        return self.kept[0][1] if self.kept else 1

    @property
    def window(self) -> int | None:
        """The axis that walks over the window, of a simple dimension."""
        return self.reduced[0][0] if self.reduced else None

    @property
    def dilation(self) -> int:
        """What an element of the window is from the next."""
        return self.reduced[0][1] if self.reduced else 1

    @property
    def padding(self) -> int:
        """Neighbours in front of the first one that there is; negative where some are left out."""
        return -self.offset


@dataclass(frozen=True, slots=True)
class Position:
    """An axis that walks over positions, perhaps with a window that slides along with it."""

    axis: int
    window: int | None
    stride: int = 1
    dilation: int = 1
    extent: int | None = None
    """Of the feature map along it; None where its elements are not in steps of the axis."""


@dataclass(frozen=True, slots=True)
class Contraction:
    """What the axes of a nest are for."""

    data: int
    """The read that is the feature map."""
    weights: int | None
    """The read that is the other factor."""
    steps: tuple[int, ...]
    """Elements of the feature map between neighbours along each axis of the nest."""
    weight_steps: tuple[int, ...]
    dimensions: tuple[Dimension, ...]
    """Of the feature map, those that data choose left out."""
    positions: tuple[Position, ...]
    groups: tuple[int, ...]
    filters: tuple[int, ...]
    """Those that the feature map follows too, which are the channels of a depthwise one, come first."""
    channels: tuple[int, ...]
    windows: tuple[int, ...]
    """Windows that slide along with no position."""
    depthwise: bool = False

    @property
    def shared(self) -> tuple[int, ...]:
        """Kept axes that both factors follow, slowest first: groups, and the channels of a depthwise one."""
        return tuple(sorted(axis for axis in (*self.groups, *self.filters) if self.steps[axis]))


def contraction(nest: Nest) -> Contraction | None:
    """How a contraction or a reduction is seen; None for other nests."""
    if nest.reduction is None:
        return None
    data, weights = _factors(nest)
    return None if data is None else seen(nest, data, weights)


def seen(nest: Nest, data: int, weights: int | None) -> Contraction:
    """The same with these reads as the feature map and the weights: each factor can be either."""
    count = len(nest.axes)
    access = nest.reads[data]
    dimensions = tuple(_dimensions(access, nest))
    steps = access.steps(count)
    sliding = dict(_sliding(access, nest))
    inner = [axis for axis in range(nest.outer, count) if axis not in sliding.values()]
    if weights is None:
        return _reduction(nest, data, steps, dimensions, sliding, inner)
    other = nest.reads[weights].steps(count)
    both = [axis for axis in range(nest.outer) if steps[axis] and other[axis]]
    dense = [axis for axis in inner if abs(steps[axis]) == 1]
    depthwise = any(abs(steps[axis]) == 1 for axis in both) and not dense
    own = [axis for axis in both if depthwise and abs(steps[axis]) == 1]
    filters = [axis for axis in range(nest.outer) if other[axis] and not steps[axis]]
    channels = [] if depthwise else [axis for axis in inner if not _over_window(axis, steps, inner)]
    return Contraction(
        data,
        weights,
        steps,
        other,
        dimensions,
        _positions(nest, dimensions, sliding, {*filters, *both}),
        tuple(axis for axis in both if axis not in own),
        (*own, *filters),
        tuple(channels),
        tuple(axis for axis in inner if axis not in channels),
        depthwise,
    )


def _reduction(
    nest: Nest,
    data: int,
    steps: tuple[int, ...],
    dimensions: tuple[Dimension, ...],
    sliding: dict[int, int],
    inner: list[int],
) -> Contraction:
    """A reduction: along elements that are neighbours it goes over channels, else over a window of each."""
    channels = tuple(axis for axis in inner if abs(steps[axis]) == 1)
    kept = range(nest.outer)
    filters = () if channels else tuple(axis for axis in kept if abs(steps[axis]) == 1)
    return Contraction(
        data,
        None,
        steps,
        (0,) * len(steps),
        dimensions,
        _positions(nest, dimensions, sliding, set(filters)),
        (),
        filters,
        channels,
        tuple(axis for axis in inner if axis not in channels),
    )


def sides(nest: Nest) -> tuple[Expr, Expr] | None:
    """The factors of the products of a contraction, without conversions around them."""
    if nest.verb != "contract" or nest.reduction is None:
        return None
    value = unwrapped(nest.reduction.value)
    if value.scalar.base != "mul":
        return None
    left, right = value.operands
    return unwrapped(left), unwrapped(right)


def unwrapped(expr: Expr) -> Expr:
    """The expression without conversions around it."""
    while expr.scalar.family == "cast":
        (expr,) = expr.operands
    return expr


def _factors(nest: Nest) -> tuple[int | None, int | None]:
    """The reads that are the feature map and the other factor: the map is what a window slides over."""
    found = sides(nest)
    if found is None:
        assert nest.reduction is not None
        return _largest(nest, nest.reduction.value), None
    left, right = (_largest(nest, side) for side in found)
    if nest.verb == "contract":  # one channel and one filter leave a weight that follows no axis
        left, right = (
            min(reads_of(side), default=None) if number is None else number
            for number, side in zip((left, right), found, strict=True)
        )
    if left is None or right is None:
        return (right if left is None else left), None
    swap = _slides(nest, right) and not _slides(nest, left)
    return (right, left) if swap else (left, right)


def _largest(nest: Nest, expr: Expr) -> int | None:
    """The largest read of an expression that follows an axis."""
    count = len(nest.axes)
    found = [number for number in reads_of(expr) if any(nest.reads[number].steps(count))]
    return max(found, key=lambda number: (nest.reads[number].bytes, -number), default=None)


def _slides(nest: Nest, number: int) -> bool:
    """Whether a window slides over a read."""
    access = nest.reads[number]
    return access.fill is not None or any(True for _ in _sliding(access, nest))


def _dimensions(access: Access, nest: Nest) -> Iterator[Dimension]:
    for index, extent, elements in zip(access.index, access.shape, access.strides, strict=True):
        if isinstance(index, Affine):
            terms = [(axis, step) for axis, step in enumerate(index.coefficients) if step]
            kept = tuple(term for term in terms if not nest.axes[term[0]].reduced)
            reduced = tuple(term for term in terms if nest.axes[term[0]].reduced)
            yield Dimension(extent, elements, kept, reduced, index.offset)


def _sliding(access: Access, nest: Nest) -> Iterator[tuple[int, int]]:
    """Axes of positions, each with the reduced one that slides along; not rows with their elements."""
    for one in _dimensions(access, nest):
        if len(one.kept) == len(one.reduced) == 1:
            (axis, stride), (window, dilation) = one.kept[0], one.reduced[0]
            elements = nest.axes[window].extent
            if one.elements * abs(dilation) > 1 or abs(stride) < elements or len(access.shape) > 2:
                yield axis, window


def _over_window(axis: int, steps: Sequence[int], inner: Sequence[int]) -> bool:
    """Whether a reduced axis walks over positions of the feature map: there is a denser one."""
    return abs(steps[axis]) > 1 and any(abs(steps[other]) == 1 for other in inner if other != axis)


def _positions(
    nest: Nest, dimensions: Sequence[Dimension], sliding: dict[int, int], others: set[int]
) -> tuple[Position, ...]:
    """The kept axes but for the others."""
    axes = [axis for axis in range(nest.outer) if axis not in others]
    return tuple(_position(nest, dimensions, axis, sliding.get(axis)) for axis in axes)


def _position(nest: Nest, dimensions: Sequence[Dimension], axis: int, window: int | None) -> Position:
    """How an axis walks, by the first dimension in which it goes from one position to another."""
    for one in dimensions:
        steps = {other: abs(step) for other, step in one.terms}
        inside = steps.keys() - {axis, window}
        # Elements of a position, where they are not a dimension of their own.
        unit = max([1, *(steps[other] * nest.axes[other].extent for other in inside)])
        dilation = 1 if window is None else steps.get(window)
        if axis in steps and dilation is not None and steps[axis] % unit == 0:
            return Position(axis, window, steps[axis] // unit, dilation, one.extent // unit)
    return Position(axis, window)
