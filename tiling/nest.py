"""Loop nests: axes, affine accesses, and what is computed at each point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import prod
from operator import is_
from typing import Literal

from tiling.expr import BYTES, Expr, const, reads_of, rewrite
from tiling.records import dataclass, replace
from tiling.scalars import Scalar, scalar

Verb = Literal["move", "map", "reduce", "contract"]


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop of a nest: `extent` steps, summed over (or the like) when `reduced`."""

    name: str
    extent: int
    reduced: bool = False


@dataclass(frozen=True, slots=True)
class Affine:
    """A linear index expression over the axes of a nest."""

    coefficients: tuple[int, ...]
    offset: int = 0

    def span(self, lo: Sequence[int], hi: Sequence[int]) -> tuple[int, int]:
        """The smallest and the largest index over the box [lo, hi) of the axes."""
        low = high = self.offset
        for coefficient, first, end in zip(self.coefficients, lo, hi, strict=True):
            ends = (coefficient * first, coefficient * (end - 1))
            low, high = low + min(ends), high + max(ends)
        return low, high

    def __add__(self, other: Affine) -> Affine:
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return Affine(tuple(a + b for a, b in pairs), self.offset + other.offset)

    def __mul__(self, factor: int) -> Affine:
        return Affine(tuple(factor * c for c in self.coefficients), factor * self.offset)

    def compose(self, axes: Sequence[Affine], count: int) -> Affine:
        """The index with each axis replaced by an index over `count` other axes."""
        total, offset = [0] * count, self.offset
        for coefficient, inner in zip(self.coefficients, axes, strict=True):
            if coefficient:
                offset += coefficient * inner.offset
                for position, value in enumerate(inner.coefficients):
                    total[position] += coefficient * value
        return Affine(tuple(total), offset)


@dataclass(frozen=True, slots=True)
class Indirect:
    """An index computed from data at each point; kept inside the bounds whatever the data say."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Kept:
    """Weights that are other than zero: how many there are along the channels, everywhere else."""

    filters: int
    window: int
    channels: int
    counts: bytes
    """For each filter and element of the window, in that order, as int32."""
    zeros: int

    @property
    def weights(self) -> int:
        """All of them, zeros too."""
        return self.filters * self.window * self.channels


@dataclass(frozen=True, slots=True)
class Access:
    """How a nest reaches an operand: the operand seen as `shape`, an index a dimension.

    `fill` is what a read finds outside the bounds; without it the index is always inside.
    """

    operand: str
    type: str
    shape: tuple[int, ...]
    index: tuple[Affine | Indirect, ...]
    fill: Expr | None = None
    pruned: bool = False
    """Of weights: whether of each four along the channels at most two are other than zero."""
    kept: Kept | None = None
    """Of constant weights with many zeros: how many others there are."""
    bits: int = 0
    """Of a wide constant whose values are narrow numbers but for one scale: the bits of these."""

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each dimension."""
        return dense_strides(self.shape)

    @property
    def bytes(self) -> int:
        """Size of the whole operand."""
        return prod(self.shape) * BYTES[self.type]

    @property
    def indirect(self) -> bool:
        """Whether an index comes from data."""
        for index in self.index:  # a loop takes a third of the time of a generator: passes ask this most
            if isinstance(index, Indirect):
                return True
        return False

    def steps(self, axes: int) -> tuple[int, ...]:
        """Elements between neighbours along each axis, indirect dimensions left out."""
        total = [0] * axes
        for index, stride in zip(self.index, self.strides, strict=True):
            if isinstance(index, Affine):
                for position, value in enumerate(index.coefficients):
                    total[position] += value * stride
        return tuple(total)

    def start(self) -> int:
        """The element at the origin of the axes, indirect dimensions left out."""
        pairs = zip(self.index, self.strides, strict=True)
        return sum(index.offset * stride for index, stride in pairs if isinstance(index, Affine))


@dataclass(frozen=True, slots=True)
class Write:
    """A result of a nest: where it goes and the expression that it is."""

    access: Access
    value: Expr


@dataclass(frozen=True, slots=True)
class Reduction:
    """Combines the values along the reduced axes: `acc = op(acc, value)` from `initial`."""

    op: str
    """What the scalar that combines does, for whatever type: `add`."""
    initial: int | float
    type: str
    value: Expr
    by_transforms: bool = False
    """Whether sums may be those of transformed operands: errors are in proportion to the greatest operand."""

    def __post_init__(self) -> None:
        self.scalar.check((self.type, self.value.type), self.type)

    @property
    def scalar(self) -> Scalar:
        """What combines two values, such as `add_i32`."""
        return scalar(f"{self.op}_{self.type}")


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops over `axes` (reduced ones last) that read operands, may reduce, and write results."""

    verb: Verb
    axes: tuple[Axis, ...]
    reads: tuple[Access, ...]
    writes: tuple[Write, ...]
    reduction: Reduction | None = None
    members: tuple[str, ...] = ()
    prepared: tuple[Access, ...] = ()
    """Operands in forms that only the array unit's kernel reads, such as packed weights."""
    grain: tuple[int, ...] = ()
    """Tile steps along the kept axes must be multiples of these; 0 asks for one point at a time."""

    @property
    def extents(self) -> tuple[int, ...]:
        """Steps of each axis."""
        return tuple([axis.extent for axis in self.axes])

    @property
    def outer(self) -> int:
        """How many axes are not reduced."""
        return sum(not axis.reduced for axis in self.axes)

    @property
    def points(self) -> int:
        """Points of the whole nest."""
        return prod(self.extents)

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Reads, writes, and what the array unit reads, in the order in which sections and kernels count."""
        return (*self.reads, *[write.access for write in self.writes], *self.prepared)

    @property
    def scatters(self) -> bool:
        """Whether data say where results go: then two tiles may write the same place."""
        return any(write.access.indirect for write in self.writes)

    @property
    def operands(self) -> tuple[str, ...]:
        """Names of all operands, in the order of the accesses."""
        return tuple(dict.fromkeys(access.operand for access in self.accesses))

    def __str__(self) -> str:
        from tiling.text import nest_text

        return nest_text(self)


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


@lru_cache(maxsize=1 << 12)
def along(position: int, axes: int, coefficient: int = 1, offset: int = 0) -> Affine:
    """The index that follows one axis."""
    return Affine(tuple(coefficient * int(position == axis) for axis in range(axes)), offset)


@lru_cache(maxsize=1 << 12)
def fixed(offset: int, axes: int) -> Affine:
    """The index that does not move."""
    return Affine((0,) * axes, offset)


@lru_cache(maxsize=1 << 8)
def identity(size: int, first: int = 0, axes: int | None = None) -> tuple[Affine, ...]:
    """The indices that are the axes `first`, `first + 1`, … themselves."""
    total = size if axes is None else axes
    return tuple(along(first + number, total) for number in range(size))


def map_accesses(nest: Nest, change: Callable[[Access], Access]) -> Nest:
    """The nest with `change` applied to every access."""
    reads = tuple([change(access) for access in nest.reads])
    targets = [change(write.access) for write in nest.writes]
    if _same(reads, nest.reads) and _same(targets, [write.access for write in nest.writes]):
        return nest
    writes = tuple([Write(target, write.value) for target, write in zip(targets, nest.writes, strict=True)])
    return replace(nest, reads=reads, writes=writes)


def _same(some: Sequence[object], others: Sequence[object]) -> bool:
    """Whether two sequences of the same length have the same objects."""
    return all(map(is_, some, others))


def rewrite_access(access: Access, leaf: Callable[[Expr], Expr]) -> Access:
    """The access with the leaves of its indirect indices and of its fill replaced."""
    if access.fill is None and not access.indirect:
        return access
    index = tuple(Indirect(rewrite(i.value, leaf)) if isinstance(i, Indirect) else i for i in access.index)
    return replace(access, index=index, fill=access.fill and rewrite(access.fill, leaf))


def rewrite_write(write: Write, leaf: Callable[[Expr], Expr]) -> Write:
    """The result with every leaf of its expressions replaced."""
    access, value = rewrite_access(write.access, leaf), rewrite(write.value, leaf)
    return write if access is write.access and value is write.value else Write(access, value)


def rewrite_nest(nest: Nest, leaf: Callable[[Expr], Expr]) -> Nest:
    """The nest with every leaf of every expression replaced."""
    reads = tuple([rewrite_access(access, leaf) for access in nest.reads])
    writes = tuple([rewrite_write(write, leaf) for write in nest.writes])
    reduction = rewrite_reduction(nest.reduction, leaf)
    if reduction is nest.reduction and _same(reads, nest.reads) and _same(writes, nest.writes):
        return nest
    return replace(nest, reads=reads, writes=writes, reduction=reduction)


def rewrite_reduction(reduction: Reduction | None, leaf: Callable[[Expr], Expr]) -> Reduction | None:
    """The reduction, if there is one, with every leaf of its value replaced."""
    if reduction is None:
        return None
    value = rewrite(reduction.value, leaf)
    return reduction if value is reduction.value else replace(reduction, value=value)


def with_axes(nest: Nest, axes: tuple[Axis, ...], old: Sequence[Affine]) -> Nest:
    """The same nest over other axes; `old[i]` is the former axis i in terms of the new ones."""
    count = len(axes)
    if tuple(old) == identity(count):
        return replace(nest, axes=axes)

    def moved(access: Access) -> Access:
        index = tuple([i.compose(old, count) if isinstance(i, Affine) else i for i in access.index])
        return replace(access, index=index)

    def leaf(expr: Expr) -> Expr:
        return affine_expr(old[expr.number]) if expr.op == "axis" else expr

    return rewrite_nest(replace(map_accesses(nest, moved), axes=axes), leaf)


def affine_expr(index: Affine) -> Expr:
    """An affine index as an expression over the axes."""
    total = const(index.offset, "i64")
    for number, coefficient in enumerate(index.coefficients):
        if coefficient:
            term = Expr("axis", (number,), "i64")
            if coefficient != 1:
                term = Expr("mul_i64", (term, const(coefficient, "i64")), "i64")
            total = term if total == const(0, "i64") else Expr("add_i64", (total, term), "i64")
    return total


def split_axis(nest: Nest, position: int, inner: int) -> Nest:
    """Axis `position` as two: steps of `inner`, and within them. The extent must be a multiple."""
    axis = nest.axes[position]
    assert axis.extent % inner == 0
    pieces = (
        replace(axis, name=f"{axis.name}o", extent=axis.extent // inner),
        replace(axis, name=f"{axis.name}i", extent=inner),
    )
    axes = (*nest.axes[:position], *pieces, *nest.axes[position + 1 :])
    old = [along(number + (number > position), len(axes)) for number in range(len(nest.axes))]
    old[position] = along(position, len(axes), inner) + along(position + 1, len(axes))
    return with_axes(nest, axes, old)


def used_reads(nest: Nest) -> frozenset[int]:
    """Reads that a result, a fill or an indirect index still needs."""
    exprs = list(result_exprs(nest))
    used: set[int] = set()
    while exprs:
        for number in reads_of(exprs.pop()) - used:
            used.add(number)
            exprs.extend(access_exprs(nest.reads[number]))
    return frozenset(used)


def nest_exprs(nest: Nest) -> Iterator[Expr]:
    """Every expression that the nest evaluates at a point."""
    yield from result_exprs(nest)
    for access in nest.reads:
        yield from access_exprs(access)


def result_exprs(nest: Nest) -> Iterator[Expr]:
    """The expressions of the results and of where they go, and the step of the reduction."""
    if nest.reduction is not None:
        yield nest.reduction.value
    for write in nest.writes:
        yield write.value
        yield from access_exprs(write.access)


def access_exprs(access: Access) -> list[Expr]:
    """The expressions that an access evaluates: indirect indices and the fill."""
    exprs = [index.value for index in access.index if isinstance(index, Indirect)]
    return exprs if access.fill is None else [*exprs, access.fill]
