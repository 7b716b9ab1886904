"""The geometry of a tile: what a contraction or a windowed reduction is, by how it reaches its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from math import ceil, gcd, isqrt, prod
from typing import Literal, TypeVar

from tiling.expr import BYTES, Expr, reads_of
from tiling.nest import Access, Affine, Nest

Kind = Literal["contract", "depthwise", "window", "channel"]
"""Products over channels, or in each channel; reductions over a window of each channel, or over channels."""
Pair = tuple[int, int]
Answer = TypeVar("Answer")
REMEMBERED = 1 << 15
"""Nests that are known by identity; they are kept alive as long."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """A tile of a contraction or reduction, as arrays see it.

    `groups` are repetitions that share neither factor, such as the batch of a MATMUL; `images` repetitions
    that share the weights. `height` × `width` positions of `columns` output channels each add up
    `kernel` × `in_channels` products (or elements, for a reduction).
    """

    kind: Kind
    op: str
    """How values are combined: `add` for contractions."""
    groups: int
    images: int
    height: int
    width: int
    columns: int
    kernel: Pair
    in_channels: int
    stride: Pair
    dilation: Pair
    input: Pair
    """Rows and columns of the feature map that the tile reads."""
    data: int
    """Which read is the feature map."""
    weights: int | None
    """Which read is the other factor."""
    data_type: str
    weight_type: str
    result_type: str
    sum_type: str

    @property
    def rows(self) -> int:
        """M: positions of one group."""
        return self.images * self.height * self.width

    @property
    def window(self) -> int:
        """K: products for each output."""
        return prod(self.kernel) * self.in_channels

    @property
    def macs(self) -> int:
        """Products in all."""
        return self.groups * self.rows * self.columns * self.window

    @property
    def data_bits(self) -> int:
        """Bits of an element of the feature map."""
        return 8 * BYTES[self.data_type]


@dataclass(frozen=True, slots=True)
class Roles:
    """What the axes of a nest are for."""

    data: int
    weights: int | None
    positions: tuple[tuple[int, int | None], ...]
    """Axes that walk over positions, with the window axis that shares a dimension of the feature map."""
    columns: tuple[int, ...]
    batch: tuple[int, ...]
    channels: tuple[int, ...]
    windows: tuple[int, ...]
    """Window axes that share a dimension with no position."""
    depthwise: bool


def by_nest(function: Callable[[Nest], Answer]) -> Callable[[Nest], Answer]:
    """A function of nests that remembers its answers by identity, which takes no time to compare."""
    known: dict[int, tuple[Nest, Answer]] = {}

    @wraps(function)
    def remembered(nest: Nest) -> Answer:
        found = known.get(id(nest))
        if found is None:
            if len(known) >= REMEMBERED:
                known.clear()
            found = known[id(nest)] = nest, function(nest)
        return found[1]

    return remembered


def geometry(nest: Nest, tile: Sequence[int]) -> Geometry | None:
    """The geometry of a tile, given as extents along the nest's axes; None for other nests."""
    roles = roles_of(nest)
    return None if roles is None else _geometry(nest, tuple(tile), roles)


@by_nest
def roles_of(nest: Nest) -> Roles | None:
    """What each axis of a contraction or reduction is for."""
    if nest.reduction is None:
        return None
    data, weights = factors(nest)
    if data is None:
        return None
    count = len(nest.axes)
    steps = nest.reads[data].steps(count)
    other = (0,) * count if weights is None else nest.reads[weights].steps(count)
    shared = dict(_sharing(nest.reads[data], nest))
    kept, reduced = range(nest.outer), range(nest.outer, count)
    both = [axis for axis in kept if steps[axis] and other[axis]]
    inner = [axis for axis in reduced if axis not in shared.values()]
    dense = [axis for axis in inner if abs(steps[axis]) == 1]
    if weights is None:
        return _reduction_roles(nest, data, steps, shared, inner)
    depthwise = any(abs(steps[axis]) == 1 for axis in both) and not dense
    channel = (
        [] if depthwise else [axis for axis in inner if axis in dense or not _is_window(axis, steps, inner)]
    )
    columns = [axis for axis in kept if other[axis] and not steps[axis]]
    last = [axis for axis in both if depthwise and abs(steps[axis]) == 1]
    return Roles(
        data,
        weights,
        tuple((axis, shared.get(axis)) for axis in kept if axis not in columns and axis not in both),
        (*last, *columns),
        tuple(axis for axis in both if axis not in last),
        tuple(channel),
        tuple(axis for axis in inner if axis not in channel),
        depthwise,
    )


def _is_window(axis: int, steps: Sequence[int], inner: Sequence[int]) -> bool:
    """Whether a reduced axis walks over positions of the feature map: there is a denser one."""
    return any(abs(steps[other]) == 1 for other in inner if other != axis) and abs(steps[axis]) > 1


def _reduction_roles(
    nest: Nest, data: int, steps: Sequence[int], shared: dict[int, int], inner: list[int]
) -> Roles:
    """The same for a reduction: along elements that are neighbours it goes over channels."""
    kept = range(nest.outer)
    channels = tuple(axis for axis in inner if abs(steps[axis]) == 1)
    columns = () if channels else tuple(axis for axis in kept if abs(steps[axis]) == 1)
    positions = tuple((axis, shared.get(axis)) for axis in kept if axis not in columns)
    windows = tuple(axis for axis in inner if axis not in channels)
    return Roles(data, None, positions, columns, (), channels, windows, False)


def factors(nest: Nest) -> tuple[int | None, int | None]:
    """The reads that are the feature map and the other factor of a reduction's step."""
    assert nest.reduction is not None
    value = unwrapped(nest.reduction.value)
    if nest.verb != "contract" or value.scalar.base != "mul":
        return _largest(nest, reads_of(value)), None
    left, right = (_largest(nest, reads_of(side)) for side in value.operands)
    if left is None or right is None:
        return (right if left is None else left), None
    swap = _slides(nest, right) and not _slides(nest, left)
    return (right, left) if swap else (left, right)


def unwrapped(expr: Expr) -> Expr:
    """The expression without conversions around it."""
    while expr.scalar.family == "cast":
        (expr,) = expr.operands
    return expr


def _largest(nest: Nest, numbers: frozenset[int]) -> int | None:
    """The largest read that follows an axis."""
    count = len(nest.axes)
    found = [number for number in numbers if any(nest.reads[number].steps(count))]
    return max(found, key=lambda number: (nest.reads[number].bytes, -number), default=None)


def _slides(nest: Nest, number: int) -> bool:
    """Whether a window slides over a read."""
    access = nest.reads[number]
    return access.fill is not None or any(True for _ in _sharing(access, nest))


def _sharing(access: Access, nest: Nest) -> Iterator[Pair]:
    """Kept axes with the reduced one that slides along the same dimension; not rows with their elements."""
    for index, stride in zip(access.index, access.strides, strict=True):
        if isinstance(index, Affine):
            used = [axis for axis, step in enumerate(index.coefficients) if step]
            kept = [axis for axis in used if not nest.axes[axis].reduced]
            reduced = [axis for axis in used if nest.axes[axis].reduced]
            if len(kept) == len(reduced) == 1:
                step, tap = (abs(index.coefficients[axis]) for axis in (kept[0], reduced[0]))
                if stride * tap > 1 or step < nest.axes[reduced[0]].extent or len(access.shape) > 2:
                    yield kept[0], reduced[0]


def _geometry(nest: Nest, tile: tuple[int, ...], roles: Roles) -> Geometry:
    access = nest.reads[roles.data]

    def extent(axes: Sequence[int]) -> int:
        return prod(tile[axis] for axis in axes)

    spatial = list(roles.positions)[-2:] if len(roles.positions) > 1 else list(roles.positions)
    images = (
        extent([axis for axis, _ in roles.positions[: -len(spatial) or None]])
        if len(roles.positions) > 2
        else 1
    )
    places = [_place(nest, access, axis, window, tile) for axis, window in spatial]
    windows = [tile[axis] for axis in roles.windows]
    if len(places) < 2 and all(place[1] == 1 for place in places):
        high, wide = folded(extent([axis for axis, _ in spatial]))
        places = [(high, 1, 1, 1, high), (wide, 1, 1, 1, wide)]
    elif len(places) == 1:
        places.insert(0, (1, 1, 1, 1, 1))
    (high, kernel_h, stride_h, apart_h, rows), (wide, kernel_w, stride_w, apart_w, columns) = places
    more_h, more_w = folded(windows[0]) if len(windows) == 1 and kernel_h * kernel_w == 1 else _split(windows)
    channels = extent(roles.channels)
    if (depth := _channels_of_columns(nest, access, roles)) > 1:
        channels, kernel_w = min(depth, kernel_w), ceil(kernel_w / depth)
        stride_w, columns = stride_w // depth, ceil(columns / depth)
    weights = None if roles.weights is None else nest.reads[roles.weights]
    kernel = kernel_h * more_h, kernel_w * more_w
    assert nest.reduction is not None
    return Geometry(
        kind=_kind(roles),
        op=nest.reduction.op,
        groups=extent(roles.batch),
        images=images,
        height=high,
        width=wide,
        columns=extent(roles.columns),
        kernel=kernel,
        in_channels=channels,
        stride=(stride_h, stride_w),
        dilation=(apart_h, apart_w),
        input=(rows * more_h, columns * more_w),
        data=roles.data,
        weights=roles.weights,
        data_type=access.type,
        weight_type=access.type if weights is None else weights.type,
        result_type=nest.writes[0].access.type,
        sum_type=nest.reduction.type,
    )


def _channels_of_columns(nest: Nest, access: Access, roles: Roles) -> int:
    """Channels of a column, where columns and channels have become one axis: without padding they can."""
    axis, window = roles.positions[-1] if roles.positions else (None, None)
    if roles.weights is None or roles.depthwise or roles.channels or access.fill is not None:
        return 1
    if axis is None or window is None:
        return 1
    steps = access.steps(len(nest.axes))
    return gcd(abs(steps[axis]), nest.axes[window].extent) if abs(steps[window]) == 1 else 1


def _kind(roles: Roles) -> Kind:
    if roles.weights is None:
        return "channel" if roles.channels else "window"
    return "depthwise" if roles.depthwise else "contract"


def _split(windows: Sequence[int]) -> Pair:
    """Window axes that no position shares, as rows and columns."""
    return (prod(windows[:-1]), windows[-1]) if windows else (1, 1)


def _place(
    nest: Nest, access: Access, axis: int, window: int | None, tile: Sequence[int]
) -> tuple[int, int, int, int, int]:
    """Positions, kernel, stride, dilation and elements along one dimension of the feature map."""
    extent, kernel = tile[axis], 1 if window is None else tile[window]
    for index, size in zip(access.index, access.shape, strict=True):
        if isinstance(index, Affine) and index.coefficients[axis]:
            steps = [abs(step) for step in index.coefficients]
            inner = [n for n, step in enumerate(steps) if step and n not in (axis, window)]
            apart = 1 if window is None else steps[window]
            # Elements of a position, where they are not a dimension of their own.
            unit = max((steps[n] * nest.axes[n].extent for n in inner), default=1)
            if not apart or steps[axis] % unit:
                continue
            stride = steps[axis] // unit
            reach = (extent - 1) * stride + (kernel - 1) * apart + 1
            whole = size // unit
            return (
                extent,
                kernel,
                stride,
                apart,
                whole if extent == nest.axes[axis].extent else min(whole, reach),
            )
    return extent, kernel, 1, 1, extent


@lru_cache(maxsize=1 << 12)
def folded(length: int) -> Pair:
    """Rows and columns, as square as divisors allow, for positions whose shape does not matter."""
    rows = next(rows for rows in range(isqrt(length), 0, -1) if length % rows == 0)
    return rows, length // rows
