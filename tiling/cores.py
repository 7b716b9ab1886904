"""Nests shared among cores: each does parts of them in its own scratchpad, and takes what others made.

A part of a nest is the nest over an interval of one axis: of rows, the leading dimension of its results, or
of channels, their last one. A tensor that several cores use is either in the memory behind all scratchpads,
whole, or each core has a buffer with what it makes and needs of it. What others make of that it pulls to
itself, by a `move` that is done in place, as soon as it is made. So every nest of a core is an ordinary one,
and a core's program is planned as if it were alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm, prod
from typing import Literal, NamedTuple

from tiling.expr import read
from tiling.nest import Access, Affine, Axis, Nest, Write, along, map_accesses, with_axes
from tiling.program import Operand
from tiling.records import replace

Way = Literal["rows", "channels"] | int
"""How a nest is shared: along its rows, along its channels, or not at all, by the number of the core."""
Span = tuple[int, int]


class Box(NamedTuple):
    """A part of a tensor that is seen as a matrix: rows and columns, each from a first one to an end."""

    top: int
    bottom: int
    left: int
    right: int

    def hull(self, other: Box) -> Box:
        """The smallest box that has both."""
        return Box(
            min(self.top, other.top),
            max(self.bottom, other.bottom),
            min(self.left, other.left),
            max(self.right, other.right),
        )

    def common(self, other: Box) -> Box | None:
        """What is in both."""
        top, bottom = max(self.top, other.top), min(self.bottom, other.bottom)
        left, right = max(self.left, other.left), min(self.right, other.right)
        return Box(top, bottom, left, right) if top < bottom and left < right else None

    @property
    def elements(self) -> int:
        """How many there are."""
        return (self.bottom - self.top) * (self.right - self.left)


@dataclass(frozen=True, slots=True)
class Turn:
    """What a core does next: a part of a nest, or a pull."""

    core: int
    nest: Nest
    phase: int
    """What has the same number needs nothing of each other: all parts of a nest, all pulls behind them."""


@dataclass(frozen=True, slots=True)
class Division:
    """Who does what, in an order in which everything is there when it is read."""

    turns: tuple[Turn, ...]
    operands: tuple[dict[str, Operand], ...]
    """By core, of what it uses; kinds are as the core sees them."""
    spread: Mapping[str, frozenset[str]]
    """The buffers of each tensor that has some."""
    common: frozenset[str]
    """Tensors that stay in the common memory, as was asked for."""

    def nests(self, core: int) -> list[Nest]:
        """What a core does, in order."""
        return [turn.nest for turn in self.turns if turn.core == core]


class Divisions:
    """The divisions of a network, each made once."""

    def __init__(self, nests: Sequence[Nest], operands: Mapping[str, Operand]) -> None:
        self.nests, self.operands = nests, operands
        self._known: dict[object, Division] = {}

    def division(self, ways: Sequence[Way], cores: int, shared: Collection[str] = ()) -> Division:
        """What `divide` gives."""
        key = tuple(ways), cores, frozenset(shared)
        if key not in self._known:
            self._known[key] = divide(self.nests, self.operands, ways, cores, shared)
        return self._known[key]


def divide(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    ways: Sequence[Way],
    cores: int,
    shared: Collection[str] = (),
) -> Division:
    """Share the nests among cores, each in its way; tensors that are `shared` stay in the common memory."""
    parts = [_parts(nest, way, cores) for nest, way in zip(nests, ways, strict=True)]
    buffers = dict(_buffers(parts, operands, shared))
    turns: list[Turn] = []
    for step, given in enumerate(parts):
        turns += [Turn(core, _seen(nest, core, buffers), 2 * step) for core, nest in given.items()]
        turns += [Turn(core, nest, 2 * step + 1) for core, nest in _pulls(given, buffers)]
    known = tuple(_operands(turns, core, operands, buffers) for core in range(cores))
    spread = {name: frozenset(one.name(core) for core in one.held) for name, one in buffers.items()}
    return Division(tuple(turns), known, spread, frozenset(shared))


def on_one_core(ways: Sequence[Way]) -> bool:
    """Whether one core does all nests."""
    return all(isinstance(way, int) and way == ways[0] for way in ways)


def can_split(nest: Nest, way: Way) -> bool:
    """Whether a nest has more than one part in this way."""
    return isinstance(way, str) and _axis(nest, way) is not None


# Parts of nests.


def _parts(nest: Nest, way: Way, cores: int) -> dict[int, Nest]:
    """The part of each core that has one."""
    if isinstance(way, int):
        return {way: nest}
    axis = _axis(nest, way)
    if axis is None:
        return {0: nest}
    extent = nest.axes[axis].extent
    count = min(cores, extent)
    bounds = [extent * number // count for number in range(count + 1)]
    return {core: _part(nest, axis, bounds[core], bounds[core + 1]) for core in range(count)}


def _axis(nest: Nest, way: str) -> int | None:
    """The axis that alone moves the leading or the last dimension of every result; None if there is none."""
    if nest.scatters or not nest.outer:
        return None
    found: set[int | None] = set()
    for write in nest.writes:
        position = 0 if way == "rows" else len(write.access.shape) - 1
        found.add(_moved_by(nest, write.access, position))
    axis = found.pop() if len(found) == 1 else None
    return axis if axis is not None and nest.axes[axis].extent > 1 else None


def _moved_by(nest: Nest, access: Access, position: int) -> int | None:
    if not access.index:
        return None
    coefficients = [index.coefficients if isinstance(index, Affine) else () for index in access.index]
    axes = [axis for axis, step in enumerate(coefficients[position]) if step]
    if len(axes) != 1 or axes[0] >= nest.outer:
        return None
    others = (one for number, one in enumerate(coefficients) if number != position)
    return None if any(one and one[axes[0]] for one in others) else axes[0]


def _part(nest: Nest, axis: int, first: int, end: int) -> Nest:
    count = len(nest.axes)
    axes = [replace(one, extent=end - first) if n == axis else one for n, one in enumerate(nest.axes)]
    old = [along(n, count, 1, first if n == axis else 0) for n in range(count)]
    return with_axes(nest, tuple(axes), old)


# Buffers.


@dataclass(frozen=True, slots=True)
class _Buffer:
    """A tensor of which each core has what it makes and needs."""

    tensor: Operand
    columns: int
    """Of the matrix; rows are as many as there are."""
    held: Mapping[int, Box]
    needed: Mapping[int, Box]

    def name(self, core: int) -> str:
        """The buffer's name."""
        return f"{self.tensor.name} on core {core}"

    def operand(self, core: int) -> Operand:
        """The buffer of a core."""
        return Operand(self.name(core), self.tensor.type, self.held[core].elements, "temporary")

    def seen(self, access: Access, core: int) -> Access:
        """The access to a core's buffer."""
        box, columns = self.held[core], self.columns
        shape, index = list(access.shape), list(access.index)
        if shape and columns > 1:
            shape[-1], index[-1] = box.right - box.left, _shifted(index[-1], -box.left)
        if len(shape) > 1 or columns == 1:
            row = max(_row(access.shape, columns), 1)
            if shape:
                shape[0], index[0] = (box.bottom - box.top) // row, _shifted(index[0], -(box.top // row))
        return replace(access, operand=self.name(core), shape=tuple(shape), index=tuple(index))

    def matrix(self, core: int, box: Box) -> Access:
        """The access over two axes to a part of a core's buffer."""
        held = self.held[core]
        shape = (held.bottom - held.top, held.right - held.left)
        index = (along(0, 2, 1, box.top - held.top), along(1, 2, 1, box.left - held.left))
        return Access(self.name(core), self.tensor.type, shape, index)


def _shifted(index: object, by: int) -> Affine:
    """The index further on; one from data stays, as its dimension is whole."""
    return replace(index, offset=index.offset + by) if isinstance(index, Affine) else index  # type: ignore[return-value]


def _row(shape: Sequence[int], columns: int) -> int:
    """Rows of the matrix in one step of a shape's leading dimension."""
    return prod(shape[1:]) // columns


class _Use(NamedTuple):
    """An access of a part of a nest."""

    step: int
    core: int
    nest: Nest
    access: Access
    write: bool


def _buffers(
    parts: Sequence[Mapping[int, Nest]], operands: Mapping[str, Operand], shared: Collection[str]
) -> Iterator[tuple[str, _Buffer]]:
    """The tensors that more than one core uses, unless they are shared, or what cores make is no boxes."""
    users: dict[str, list[_Use]] = {}
    for step, given in enumerate(parts):
        for core, nest in given.items():
            for number, access in enumerate(nest.accesses):
                operand = operands[access.operand]
                if operand.kind == "temporary" and operand.elements and access.operand not in shared:
                    use = _Use(step, core, nest, access, number >= len(nest.reads))
                    users.setdefault(access.operand, []).append(use)
    for name, uses in users.items():
        if len({use.core for use in uses}) > 1:
            buffer = _buffer(operands[name], uses)
            if buffer is not None:
                yield name, buffer


def _buffer(tensor: Operand, uses: Sequence[_Use]) -> _Buffer | None:
    shapes = {use.access.shape for use in uses}
    widths = {shape[-1] if len(shape) > 1 else 1 for shape in shapes}
    columns = widths.pop() if len(widths) == 1 and all(shapes) else 1
    unit = lcm(*(max(_row(shape, columns), 1) for shape in shapes if shape))
    held: dict[int, Box] = {}
    needed: dict[int, Box] = {}
    made: dict[int, list[Box]] = {}
    for use in uses:
        box, core = _touched(use.nest, use.access, columns, tensor.elements), use.core
        if use.write:
            if any(box.common(other) for other in made.get(use.step, ())):
                return None
            made.setdefault(use.step, []).append(box)
        if not use.write or _leaves_holes(use.nest, use.access, box):
            needed[core] = needed[core].hull(box) if core in needed else box
        held[core] = held[core].hull(box) if core in held else box
    held = {
        core: box._replace(top=box.top // unit * unit, bottom=-(-box.bottom // unit) * unit)
        for core, box in held.items()
    }
    return _Buffer(tensor, columns, held, needed)


def _leaves_holes(nest: Nest, access: Access, box: Box) -> bool:
    """Whether some of what is written around is what was there before."""
    return access.indirect or prod(nest.extents[: nest.outer]) < box.elements


def _touched(nest: Nest, access: Access, columns: int, elements: int) -> Box:
    """The part of the matrix that a nest may touch."""
    rows = elements // columns
    top, bottom = 0, rows
    if access.shape and (len(access.shape) > 1 or columns == 1):
        row = _row(access.shape, columns)
        first, end = _span(nest, access, 0)
        top, bottom = first * row, end * row
    left, right = _span(nest, access, -1) if columns > 1 else (0, 1)
    return Box(top, bottom, left, right)


def _span(nest: Nest, access: Access, position: int) -> Span:
    """The indices of a dimension that a nest meets inside of the operand."""
    index, extent = access.index[position], access.shape[position]
    if not isinstance(index, Affine):
        return 0, extent
    low, high = index.span((0,) * len(nest.axes), nest.extents)
    return min(max(low, 0), extent - 1), max(min(high + 1, extent), 1)


def _seen(nest: Nest, core: int, buffers: Mapping[str, _Buffer]) -> Nest:
    """The nest on what the core has."""

    def seen(access: Access) -> Access:
        return buffers[access.operand].seen(access, core) if access.operand in buffers else access

    return map_accesses(nest, seen)


def _pulls(given: Mapping[int, Nest], buffers: Mapping[str, _Buffer]) -> Iterator[tuple[int, Nest]]:
    """What cores take of what a nest has made on others, each with the core."""
    for maker, nest in given.items():
        for write in nest.writes:
            buffer = buffers.get(write.access.operand)
            if buffer is None:
                continue
            made = _touched(nest, write.access, buffer.columns, buffer.tensor.elements)
            for core, needed in buffer.needed.items():
                box = made.common(needed) if core != maker else None
                if box is not None:
                    yield core, _pull(buffer, maker, core, box, nest.members)


def _pull(buffer: _Buffer, maker: int, core: int, box: Box, members: tuple[str, ...]) -> Nest:
    axes = Axis("row", box.bottom - box.top), Axis("column", box.right - box.left)
    source, target = buffer.matrix(maker, box), buffer.matrix(core, box)
    return Nest("move", axes, (source,), (Write(target, read(0, source.type)),), None, members)


def _operands(
    turns: Sequence[Turn], core: int, operands: Mapping[str, Operand], buffers: Mapping[str, _Buffer]
) -> dict[str, Operand]:
    """What a core uses: its buffers, those of others, constants, and what is in the common memory."""
    own = {one.name(number): (one.operand(number), number) for one in buffers.values() for number in one.held}
    mine = [turn.nest for turn in turns if turn.core == core]
    others = {name for turn in turns if turn.core != core for name in turn.nest.operands}
    written = {write.access.operand for nest in mine for write in nest.writes}
    found: dict[str, Operand] = {}
    for name in dict.fromkeys(name for nest in mine for name in nest.operands):
        if name in own:
            operand, owner = own[name]
            found[name] = operand if owner == core else replace(operand, kind="input", remote=True)
        elif operands[name].kind == "temporary" and name in others:
            found[name] = replace(operands[name], kind="output" if name in written else "input")
        else:
            found[name] = operands[name]
    return found
