"""The geometry of a tile: what a contraction or a windowed reduction is, by how it reaches its operands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, wraps
from math import ceil, gcd, isqrt, prod
from typing import Literal, NamedTuple, TypeVar

from tiling.contraction import Contraction, Position, contraction
from tiling.expr import BYTES
from tiling.nest import Access, Nest

ProductKind = Literal["contract", "depthwise", "window", "channel"]
"""Products over channels, or in each channel; reductions over a window of each channel, or over channels."""
Pair = tuple[int, int]
Answer = TypeVar("Answer")
REMEMBERED = 1 << 15
"""Nests that are known by identity; they are kept alive as long."""


class Geometry(NamedTuple):
    """A tile of a contraction or reduction, as arrays see it.

    `groups` are repetitions that share neither factor, such as the batch of a MATMUL; `images` repetitions
    that share the weights. `height` × `width` positions of `columns` output channels each add up
    `kernel` × `in_channels` products (or elements, for a reduction).
    """

    kind: ProductKind
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


roles_of = by_nest(contraction)
"""What each axis of a contraction or reduction is for, remembered."""


@by_nest
def contracts_constant(nest: Nest) -> bool:
    """Whether the second factor of a contraction is weights: then there is a bias for each channel."""
    roles = roles_of(nest)
    if roles is None or roles.weights is None or (roles.groups and not roles.depthwise):
        return False
    count, filters = len(nest.axes), set(roles.filters)
    factors = {roles.data, roles.weights}
    for number, access in enumerate(nest.reads):
        moving = {axis for axis, step in enumerate(access.steps(count)) if step}
        if number in factors or not moving <= filters or BYTES[access.type] < 4:
            continue
        # A single number is a bias if it is added to the sums; others are factors of a scale.
        if moving or not filters or _is_added(nest, number):
            return True
    return roles.depthwise


def _is_added(nest: Nest, number: int) -> bool:
    """Whether what a read finds is added to the sums as they are."""
    waiting = [write.value for write in nest.writes]
    seen = set(waiting)
    while waiting:
        expr = waiting.pop()
        parts = expr.operands
        if {one.op for one in parts} == {"acc", "read"} and expr.scalar.family == "add":
            if any(one.op == "read" and one.number == number for one in parts):
                return True
        waiting += [one for one in parts if one not in seen]
        seen.update(parts)
    return False


def kept(channels: int) -> int:
    """How many of so many channels are used where two of each four are skipped."""
    return channels // 4 * 2 + min(channels % 4, 2)


def skipped_macs(shape: Geometry) -> int:
    """Products of a tile whose weights are skipped where two of each four are."""
    return shape.macs // shape.in_channels * (shape.in_channels - kept(shape.in_channels))


def _geometry(nest: Nest, tile: tuple[int, ...], roles: Contraction) -> Geometry:
    access, weights = nest.reads[roles.data], None if roles.weights is None else nest.reads[roles.weights]

    def extent(axes: Iterable[int]) -> int:
        return prod(tile[axis] for axis in axes)

    rows, columns = _sides(nest, tile, roles)
    more_rows, more_columns = _more(roles, tile, is_point=rows.kernel * columns.kernel == 1)
    channels = extent(roles.channels)
    if (depth := _channels_of_columns(nest, access, roles)) > 1:
        channels = min(depth, columns.kernel)
        kernel, stride, length = ceil(columns.kernel / depth), columns.stride // depth, columns.input
        columns = columns._replace(kernel=kernel, stride=stride, input=ceil(length / depth))
    assert nest.reduction is not None
    return Geometry(
        kind=_kind(roles),
        op=nest.reduction.op,
        groups=extent(roles.groups),
        images=extent(one.axis for one in roles.positions[:-2]),
        height=rows.positions,
        width=columns.positions,
        columns=extent(roles.filters),
        kernel=(rows.kernel * more_rows, columns.kernel * more_columns),
        in_channels=channels,
        stride=(rows.stride, columns.stride),
        dilation=(rows.dilation, columns.dilation),
        input=(rows.input * more_rows, columns.input * more_columns),
        data=roles.data,
        weights=roles.weights,
        data_type=access.type,
        weight_type=access.type if weights is None else weights.type,
        result_type=nest.writes[0].access.type,
        sum_type=nest.reduction.type,
    )


class _Side(NamedTuple):
    """One dimension of the feature map."""

    positions: int
    kernel: int
    stride: int
    dilation: int
    input: int
    """Elements of it that the tile reads."""


def _sides(nest: Nest, tile: Sequence[int], roles: Contraction) -> tuple[_Side, _Side]:
    """Rows and columns; positions without a window can have any shape."""
    last = roles.positions[-2:]
    sides = [_side(nest, one, tile) for one in last]
    if len(sides) < 2 and all(side.kernel == 1 for side in sides):
        high, wide = squarest(prod(tile[one.axis] for one in last))
        return _Side(high, 1, 1, 1, high), _Side(wide, 1, 1, 1, wide)
    first = _Side(1, 1, 1, 1, 1) if len(sides) == 1 else sides[0]
    return first, sides[-1]


def _more(roles: Contraction, tile: Sequence[int], is_point: bool) -> Pair:
    """Rows and columns of the window axes that no position shares."""
    windows = [tile[axis] for axis in roles.windows]
    if len(windows) == 1 and is_point:
        return squarest(windows[0])
    return (prod(windows[:-1]), windows[-1]) if windows else (1, 1)


def _channels_of_columns(nest: Nest, access: Access, roles: Contraction) -> int:
    """Channels of a column, where columns and channels have become one axis: without padding they can."""
    last = roles.positions[-1] if roles.positions else None
    if roles.weights is None or roles.depthwise or roles.channels or access.fill is not None:
        return 1
    if last is None or last.window is None or abs(roles.steps[last.window]) != 1:
        return 1
    return gcd(abs(roles.steps[last.axis]), nest.axes[last.window].extent)


def _kind(roles: Contraction) -> ProductKind:
    if roles.weights is None:
        return "channel" if roles.channels else "window"
    return "depthwise" if roles.depthwise else "contract"


def _side(nest: Nest, position: Position, tile: Sequence[int]) -> _Side:
    extent = tile[position.axis]
    kernel = 1 if position.window is None else tile[position.window]
    stride, apart, whole = position.stride, position.dilation, position.extent
    if whole is None:
        return _Side(extent, kernel, stride, apart, extent)
    reach = (extent - 1) * stride + (kernel - 1) * apart + 1
    all_of_it = extent == nest.axes[position.axis].extent
    return _Side(extent, kernel, stride, apart, whole if all_of_it else min(whole, reach))


@lru_cache(maxsize=1 << 12)
def squarest(length: int) -> Pair:
    """Rows and columns, as square as divisors allow, for positions whose shape does not matter."""
    rows = next(rows for rows in range(isqrt(length), 0, -1) if length % rows == 0)
    return rows, length // rows
