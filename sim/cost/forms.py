"""What a nest asks of units, whatever the machine: factors, and scalar operations by the axes they follow.

A form is made once for all nests that differ in the names of their operands only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from sim.cost.geometry import roles_of
from tiling.contraction import Contraction, unwrapped
from tiling.expr import BYTES, Expr, walk
from tiling.nest import Access, Affine, Indirect, Nest, access_exprs, used_reads
from tiling.program import box_bytes
from tiling.scalars import Cost
from tiling.substitute import pure_move

Axes = tuple[int, ...]
REMEMBERED = 1 << 15
"""Nests that are known by identity; they are kept alive as long."""


@dataclass(frozen=True, slots=True)
class Step:
    """Scalar operations of one kind and type, done once for each point along some axes."""

    axes: Axes
    type: str
    name: str
    kind: Cost
    count: int

    def points(self, tile: Sequence[int]) -> int:
        """How often a tile does them, all together."""
        return self.count * self.each(tile)

    def each(self, tile: Sequence[int]) -> int:
        """How often a tile does one of them."""
        return prod(tile[axis] for axis in self.axes)


@dataclass(frozen=True, slots=True)
class Stream:
    """An operand on its way into or out of a unit."""

    axes: Axes
    """Axes that move it."""
    type: str
    lookup: Axes | None
    """Axes of the indices that data say, if they do; neighbours in a table are looked up together."""


@dataclass(frozen=True)
class Form:
    """A nest, seen by units."""

    nest: Nest

    @cached_property
    def roles(self) -> Contraction | None:
        """What the axes of a contraction or reduction are for."""
        return roles_of(self.nest)

    @cached_property
    def pure_move(self) -> bool:
        """Whether it only copies."""
        return self.nest.verb == "move" or pure_move(self.nest)

    @cached_property
    def product_axes(self) -> tuple[Axes, Axes, Axes, Axes] | None:
        """Of a matrix product: the axes of groups, rows, window and columns; None for anything else."""
        roles = self.roles
        if self.nest.verb != "contract" or roles is None or roles.weights is None:
            return None
        reduced = tuple(range(self.nest.outer, len(self.nest.axes)))
        rows = tuple(one.axis for one in roles.positions)
        if roles.depthwise:
            return (*roles.groups, *roles.filters), rows, reduced, ()
        return roles.groups, rows, reduced, roles.filters

    @cached_property
    def types(self) -> tuple[str, str]:
        """Types of the two factors."""
        assert self.roles is not None
        assert self.roles.weights is not None
        return self.nest.reads[self.roles.data].type, self.nest.reads[self.roles.weights].type

    @cached_property
    def used(self) -> frozenset[int]:
        """Reads that are needed."""
        return used_reads(self.nest)

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """Every access of the nest."""
        accesses = (*self.nest.reads, *(write.access for write in self.nest.writes))
        found = [self._stream(access) for access in accesses]
        known: set[object] = set()
        for number, (access, stream) in enumerate(zip(accesses, found, strict=True)):
            exprs = (index.value for index in access.index if isinstance(index, Indirect))
            key = (
                access.operand,
                frozenset(leaf for expr in exprs for leaf in expr.leaves if leaf.op != "const"),
            )
            if stream.lookup is not None and key in known:
                found[number] = replace(stream, lookup=None)
            known.add(key)
        return tuple(found)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Scalar operations, but for those that an array does itself."""
        nest = self.nest
        values = [write.value for write in nest.writes]
        addresses = [expr for access in nest.accesses for expr in access_exprs(access)]
        exprs = [*values, *addresses]
        inside: set[Expr] = set()
        if nest.reduction is not None:
            value = self._value(nest.reduction.value)
            exprs += value
            inside = set(self._array_work) if self.product_axes is not None else set()
        inside |= {value for value in values if value.scalar.base == "saturate"}
        inside |= {
            node for node in walk(*addresses) if node.type == "i64"
        }  # where to look is found on the way
        return tuple(self._counted(node for node in walk(*exprs) if node not in inside))

    @cached_property
    def all_steps(self) -> tuple[Step, ...]:
        """Scalar operations, those of a matrix product too."""
        reduction = self.nest.reduction
        more = self._counted(self._array_work) if reduction is not None else ()
        return (*self.steps, *more)

    @cached_property
    def reduced_points(self) -> int:
        """Points along the reduced axes."""
        return prod(axis.extent for axis in self.nest.axes if axis.reduced)

    @cached_property
    def finds_place(self) -> bool:
        """Whether a reduction looks for where a maximum is, by a key of value and place."""
        reduction = self.nest.reduction
        if reduction is None or reduction.op != "max" or reduction.type != "i64":
            return False
        return any(leaf.op == "axis" for leaf in reduction.value.leaves)

    @cached_property
    def reduced_type(self) -> str:
        """The type that a reduction combines; of a search for a maximum, that of the values."""
        reduction = self.nest.reduction
        assert reduction is not None
        reads = [leaf for leaf in reduction.value.leaves if leaf.op == "read"]
        return reads[0].type if self.finds_place and reads else reduction.type

    def share(self, tile: Sequence[int]) -> float:
        """How much of a result a tile does: less than all where the reduction is split."""
        done = prod(tile[self.nest.outer :])
        return done / self.reduced_points if done < self.reduced_points else 1.0

    def traffic(self, tile: Sequence[int], once: bool = False) -> list[int]:
        """Bytes of each access as a unit streams them: windows that overlap are read again, the rest once.

        With `once`, so are the windows.
        """
        ways, sizes = self._sizes
        points = [prod([tile[axis] for axis in axes]) for axes in ways]
        found = [points[way] * size for way, size in sizes]
        if not once:
            return found
        boxes = (box_bytes(access, tuple(tile)) for access in self.nest.accesses)
        return [min(pair) for pair in zip(found, boxes, strict=True)]

    def values(self, tile: Sequence[int]) -> int:
        """Values that a tile of a reduction takes if it takes each once."""
        found = self.traffic(tile, once=True)
        return max((found[number] // BYTES[self.nest.reads[number].type] for number in self.used), default=1)

    @cached_property
    def _sizes(self) -> tuple[list[Axes], list[tuple[int, int]]]:
        """The axes that accesses follow, each combination once, and for each access which, and its bytes."""
        ways: dict[Axes, int] = {}
        sizes = []
        for number, stream in enumerate(self.streams):
            needed = number >= len(self.nest.reads) or number in self.used
            way = ways.setdefault(stream.axes, len(ways))
            sizes.append((way, BYTES[stream.type] if needed else 0))
        return list(ways), sizes

    @cached_property
    def _array_work(self) -> tuple[Expr, ...]:
        """The part of a product that an array does: the product itself, zero points, widening."""
        reduction = self.nest.reduction
        if reduction is None or self.nest.verb != "contract":
            return ()
        root = unwrapped(reduction.value)
        wrapped = walk(reduction.value, parts=lambda node: () if node is root else node.operands)
        found, stack = list(wrapped), list(root.operands)
        while stack:
            node = stack.pop()
            if node.scalar.family == "cast" or node.scalar.base == "sub":
                found.append(node)
                stack.extend(node.operands)
        return tuple(dict.fromkeys(found))

    def _value(self, value: Expr) -> list[Expr]:
        """The step of a reduction; of a search for a maximum, what the key is made of."""
        if not self.finds_place:
            return [value]
        return [leaf for leaf in value.leaves if leaf.op == "read"]

    def _counted(self, nodes: Iterable[Expr]) -> Iterator[Step]:
        found: Counter[tuple[Axes, str, str, Cost]] = Counter()
        for node in nodes:
            if not node.scalar.free and not _is_loading(node):
                found[self._axes(node), _type(node), node.scalar.base, node.scalar.cost] += 1
        for key, count in found.items():
            yield Step(*key, count)

    def _stream(self, access: Access) -> Stream:
        data = [index.value for index in access.index if isinstance(index, Indirect)]
        looked: set[int] = set()
        for expr in data:
            looked.update(self._axes(expr))
        lookup = tuple(sorted(looked)) if data else None
        return Stream(tuple(sorted({*looked, *_followed(access)})), access.type, lookup)

    def _axes(self, expr: Expr) -> Axes:
        """Axes that a value changes along."""
        found: set[int] = set()
        for leaf in expr.leaves:
            match leaf.op:
                case "axis":
                    found.add(leaf.number)
                case "acc":
                    found.update(range(self.nest.outer))
                case "read":
                    access = self.nest.reads[leaf.number]
                    found |= _followed(access)
                    for inner in access_exprs(access):
                        found.update(self._axes(inner))
        return tuple(sorted(found))


_BY_IDENTITY: dict[int, tuple[Nest, Form]] = {}
_BY_SIGNATURE: dict[tuple[object, ...], Form] = {}


def form_of(nest: Nest) -> Form:
    """The form of a nest, shared by nests that are alike."""
    known = _BY_IDENTITY.get(id(nest))
    if known is not None:
        return known[1]
    if len(_BY_IDENTITY) >= REMEMBERED:
        _BY_IDENTITY.clear()
        _BY_SIGNATURE.clear()
    form = _BY_SIGNATURE.setdefault(_signature(nest), Form(nest))
    _BY_IDENTITY[id(nest)] = nest, form
    return form


def _signature(nest: Nest) -> tuple[object, ...]:
    """All of a nest but names; operands are numbered as they first occur."""
    numbers = {name: number for number, name in enumerate(nest.operands)}
    return (
        nest.verb,
        tuple((axis.extent, axis.reduced) for axis in nest.axes),
        tuple(
            (numbers[one.operand], one.type, one.shape, one.index, one.fill, one.pruned, one.kept, one.bits)
            for one in nest.accesses
        ),
        tuple(write.value for write in nest.writes),
        nest.reduction,
        nest.grain,
    )


def _followed(access: Access) -> set[int]:
    """Axes that an access moves along, those of data left out."""
    return {
        axis
        for index in access.index
        if isinstance(index, Affine)
        for axis, step in enumerate(index.coefficients)
        if step
    }


def _type(node: Expr) -> str:
    """The type that an operation works in: the widest that it meets, of floats rather than integers."""
    types = [node.type, *(operand.type for operand in node.operands if operand.op != "const")]
    return max(types, key=lambda kind: (kind[0] in "fb" and kind != "bool", BYTES[kind]))


def _is_loading(node: Expr) -> bool:
    """Whether it only widens what has been read, on its way in."""
    return node.scalar.family == "cast" and node.operands[0].is_leaf
