"""Convolutions to few channels as products of each pixel with all taps, and sums of these.

A tile of registers has many columns, of which such a convolution uses few. Where the taps are columns too,
few are empty, and nests that read the same image and the same weights, as those of a transposed convolution
do, share the products. There is a plane for each column, so that neighbours are added to neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from tiling.expr import Expr, acc, call, const, read
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Write, along, fixed, identity, rewrite_nest
from tiling.normal import normalise
from tiling.records import dataclass, replace
from tosajit.arrays import Array
from tosajit.host.match import Match, match
from tosajit.host.phases import MOST as PARTS
from tosajit.host.turned import ending_in
from tosajit.host.unrolled import MOST, at_point
from tosajit.kernels.contract.squares_blocking import SquareBlocking
from tosajit.kernels.contract.winograd_blocking import SquaresBlocking, WinogradBlocking
from tosajit.kernels.sets.description import InstructionSet

PASS = 16
"""Products that take as long as to have one written, put into its plane, and added."""

SUMS = {"f32": "f32", "i8": "i32"}
"""The types of the operands, and those of their sums."""

Made = tuple[list[Nest], dict[str, Access]]
"""Nests, and the operands that only these know."""


@dataclass(frozen=True, slots=True)
class Part:
    """A convolution that can be done so."""

    nest: Nest
    found: Match

    @property
    def image(self) -> Access:
        """What windows walk over."""
        return self.nest.reads[self.found.left.read]

    @property
    def weights(self) -> Access:
        """What it is multiplied with."""
        return self.nest.reads[self.found.right.read]

    @property
    def shared(self) -> tuple[object, ...]:
        """What parts have in common whose products are the same."""
        zeros = [factor.zero_point for factor in (self.found.left, self.found.right)]
        points = [None if zero is None else self.nest.reads[zero].operand for zero in zeros]
        image, weights = self.image, self.weights
        return image.operand, image.shape, weights.operand, weights.shape, *points

    @property
    def channel(self) -> int:
        """The axis of the channels of the image."""
        return self.found.depth[-1]

    @property
    def reduction(self) -> Reduction:
        """How products are made and added."""
        assert self.nest.reduction is not None
        return self.nest.reduction

    def products(self, isa: InstructionSet) -> float:
        """How many are computed in registers, or take as long as Winograd's transforms where these do it."""
        shape = self.found.geometry
        return (
            shape.positions * shape.depth * isa.tiles_of("f32").padded(shape.out_channels) * self._share(isa)
        )

    def _share(self, isa: InstructionSet) -> float:
        """What part of the time of all products Winograd's transforms take, of int8 or float32.

        All of it where they must not, or gain little, as for float32 with a single register of columns.
        """
        shape, floats = self.found.geometry, isa.tiles_of("f32")
        if self.image.type == "i8":
            words = isa.words or isa
            along_x, both = WinogradBlocking(shape, words), SquaresBlocking(shape, words)
            share = 1 / 4 if both.pays else 1 / 2 if along_x.pays else 1.0
            return min(1.0, share * words.byte_width / isa.byte_width)
        parts = replace(shape, dilation=(1, 1, 1)) if prod(shape.dilation) <= PARTS else shape
        blocking = SquareBlocking(parts, floats)
        if not (self.reduction.by_transforms and blocking.pays and shape.out_channels > floats.lanes):
            return 1.0
        return blocking.steps / blocking.plain_steps


def columns(groups: Sequence[Nest], constants: Mapping[str, Array], isa: InstructionSet | None) -> Made:
    """The groups, where it pays in two steps: products, and sums of them."""
    parts = {number: part for number, group in enumerate(groups) if (part := _part(group, constants))}
    families: dict[tuple[object, ...], list[int]] = {}
    for number, part in parts.items():
        families.setdefault(part.shared, []).append(number)
    made, known = list(groups), dict[str, Access]()
    before: dict[int, list[Nest]] = {}
    for numbers in families.values():
        if isa and _pays([parts[number] for number in numbers], isa):
            before[numbers[0]], planes, operands = _products(parts[numbers[0]], numbers[0])
            known |= operands
            made = [_sums(parts[n], planes) if n in numbers else nest for n, nest in enumerate(made)]
    return [nest for n, last in enumerate(made) for nest in (*before.get(n, ()), last)], known


def _part(group: Nest, constants: Mapping[str, Array]) -> Part | None:
    """A convolution whose weights are constant, and have channels last as the image has."""
    found = match(group)
    if found is None or found.depthwise or found.batch or not found.depth:
        return None
    part = Part(group, found)
    taps, channel = prod(found.geometry.kernel), along(part.channel, len(group.axes))
    if not 1 < len(part.weights.shape) or taps > MOST or part.weights.operand not in constants:
        return None
    return part if all(_is_plain(access, part, channel) for access in (part.image, part.weights)) else None


def _is_plain(access: Access, part: Part, channel: Affine) -> bool:
    """Whether an operand ends in the channels, all of them."""
    whole = access.shape[-1] == part.nest.axes[part.channel].extent
    typed = SUMS.get(access.type) == part.reduction.type
    return typed and access.index[-1] == channel and whole and not access.indirect


def _pays(parts: Sequence[Part], isa: InstructionSet) -> bool:
    """Whether all products of an image take less time than those of its windows.

    Arrays multiply several bytes in the time of one float, but adding their sums takes as long.
    """
    (*extents, depth), (*rows, _) = parts[0].image.shape, parts[0].weights.shape
    count, type = prod(rows), parts[0].image.type
    at_once = 1 if type == "f32" else 4 // isa.byte_width
    each = depth * isa.tiles_of("f32").padded(count) + at_once * PASS * count
    return prod(extents) * each < sum(part.products(isa) for part in parts)


def _products(part: Part, number: int) -> tuple[list[Nest], Access, dict[str, Access]]:
    """The nests that multiply each pixel with all columns, and put these into planes; where they are then."""
    (*extents, depth), (*rows, _) = part.image.shape, part.weights.shape
    size, count = len(extents), prod(rows)
    axes = (*(Axis(f"p{n}", extent) for n, extent in enumerate(extents)), Axis("column", count))
    pixels, column = identity(size, 0, size + 2), along(size, size + 2)
    channel = along(size + 1, size + 2)
    reads = [_fixed(access, size + 2) for access in part.nest.reads]
    reads[part.found.left.read] = replace(part.image, index=(*pixels, channel), fill=None)
    weights = replace(part.weights, shape=(count, depth), index=(column, channel))
    reads[part.found.right.read] = weights
    name, members = f"{part.nest.writes[0].access.operand}.{number}", part.nest.members
    type = part.reduction.type
    shape = (*extents, count)
    products = Access(f"{name}.products", type, shape, (*pixels, column))
    by_pixels = Access(products.operand, type, shape, identity(size + 1))
    planes = Access(f"{name}.planes", type, (count, *extents), identity(size + 1))
    turned = replace(planes, index=(along(size, size + 1), *identity(size, 0, size + 1)))
    inner = (*axes, Axis("channel", depth, True))
    total = Write(products, acc(type))
    nests = [
        Nest("contract", inner, tuple(reads), (total,), part.reduction, members),
        Nest("move", axes, (by_pixels,), (Write(turned, read(0, type)),), members=members),
    ]
    operands = {access.operand: access for access in (by_pixels, planes)}
    return [normalise(nest) for nest in nests], planes, operands


def _fixed(access: Access, axes: int) -> Access:
    """An access over other axes that stays at one place, as zero points do; of others nothing is needed."""
    return replace(access, index=(fixed(0, axes),) * len(access.shape), fill=None)


def _sums(part: Part, planes: Access) -> Nest:
    """The convolution as a map of products that are there: a row of pixels at a time."""
    nest, outer, first = part.nest, part.nest.outer, len(part.nest.reads)
    type = part.reduction.type
    nothing = None if part.image.fill is None else const(part.reduction.initial, type)
    taken = replace(planes, index=(_column(part), *part.image.index[:-1]), fill=nothing)
    extents = [1 if n == part.channel else nest.axes[n].extent for n in range(outer, len(nest.axes))]
    points = list(product(*map(range, extents)))
    total = read(first, type)
    for number in range(1, len(points)):
        total = call(f"add_{type}", total, read(first + number, type))

    def leaf(expr: Expr) -> Expr:
        return total if expr.op == "acc" else expr

    made = rewrite_nest(replace(nest, verb="map", reduction=None), leaf)
    reads = [*(at_point(access, outer, points[0]) for access in nest.reads)]
    reads += [at_point(taken, outer, point) for point in points]
    writes = tuple(Write(at_point(one.access, outer, points[0]), one.value) for one in made.writes)
    summed = replace(made, axes=nest.axes[:outer], reads=tuple(reads), writes=writes)
    rows = [axis for axis, step in enumerate(reads[-1].steps(outer)) if step == 1]
    return normalise(ending_in(summed, rows[-1]) if rows else summed)


def _column(part: Part) -> Affine:
    """The row of the weights that a product is made with."""
    weights, total = part.weights, fixed(0, len(part.nest.axes))
    for index, stride in zip(weights.index[:-1], weights.strides[:-1], strict=True):
        assert isinstance(index, Affine)
        total += index * (stride // weights.shape[-1])
    return total
