"""Groups that follow each other, done stripe by stripe, so that what passes between them stays small.

Every tensor is a run of elements, its rows one behind the other. For each stripe of the last group's rows,
the groups before it compute what that needs and is not there yet, into buffers that hold the rows in use.
Rows that a later stripe needs again stay where they are, or move to the head of their buffer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, lcm

from tiling.expr import read
from tiling.nest import Access, Affine, Axis, Nest, Write, along, dense_strides, map_accesses, with_axes
from tiling.program import Operand
from tiling.records import replace
from tiling.substitute import identity_write

Span = tuple[int, int]
"""A first one and an end: rows of an axis, or elements of a tensor."""
MAX_MOVES = 8
"""How many moves in turn may keep the rows of one buffer where they overlap the place they go to."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What passes from a member to later ones: the elements that are there in each stripe, and where."""

    name: str
    writer: int
    held: tuple[Span, ...]
    """Elements of the whole tensor that the buffer has in each stripe."""
    made: tuple[Span, ...]
    """Those of them that are new."""
    places: tuple[int, ...]
    """Where the first of them is in the buffer."""
    elements: int
    """Size of the buffer."""

    @property
    def kept(self) -> tuple[Span, ...]:
        """Elements that are there from the stripe before."""
        pairs = zip(self.held, self.made, strict=True)
        return tuple((held[0], max(min(made[0], held[1]), held[0])) for held, made in pairs)

    @property
    def lasts(self) -> bool:
        """Whether some elements stay from one stripe to the next."""
        return any(first < end for first, end in self.kept)


@dataclass(frozen=True, slots=True)
class Cascade:
    """A chain of groups cut into stripes: which rows of its first axis each does, and what passes between."""

    members: tuple[Nest, ...]
    rows: tuple[tuple[Span, ...], ...]
    """By member and stripe."""
    flows: Mapping[str, Flow]

    @property
    def stripes(self) -> int:
        """How many stripes there are."""
        return len(self.rows[-1])


def cascade_of(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    chain: range,
    stripes: int,
    spans: Mapping[str, Span],
) -> Cascade | None:
    """What each stripe of a chain does; None if a value is not made in rows, or is read otherwise.

    `spans` has the first and the last nest that uses each operand.
    """
    members = tuple(nests[number] for number in chain)
    last = members[-1]
    if any(member.scatters or not member.outer or not member.writes[0].access.shape for member in members):
        return None
    inner = {write.access.operand for member in members[:-1] for write in member.writes}
    if any(operands[name].kind != "temporary" for name in inner):
        return None
    if any(number not in chain for name in inner for number in spans[name]):
        return None
    extent, grain = last.extents[0], _grain(members, inner)
    step = min(-(-extent // (stripes * grain)) * grain, extent)
    bounds = [(first, min(first + step, extent)) for first in range(0, extent, step)]
    rows: dict[int, tuple[Span, ...]] = {len(members) - 1: tuple(bounds)}
    flows: dict[str, Flow] = {}
    for number in reversed(range(len(members) - 1)):
        flow = _flow(members, number, rows, operands)
        if flow is None:
            return None
        width = row_of(members[number].writes[0].access)
        flows[flow.name] = flow
        rows[number] = tuple((first // width, end // width) for first, end in flow.made)
    return Cascade(members, tuple(rows[number] for number in range(len(members))), flows)


def _grain(members: Sequence[Nest], inner: set[str]) -> int:
    """How many rows of the last member take whole rows of what the members before it make."""
    last, found = members[-1], 1
    rows = {member.writes[0].access.operand: row_of(member.writes[0].access) for member in members[:-1]}
    for access in last.reads:
        if access.operand in inner and in_rows(access, last):
            step = access.steps(len(last.axes))[0]
            unit = lcm(rows[access.operand], row_of(access))
            found = lcm(found, unit // gcd(unit, step))
    return min(found, last.extents[0])


def _flow(
    members: Sequence[Nest],
    number: int,
    rows: Mapping[int, Sequence[Span]],
    operands: Mapping[str, Operand],
) -> Flow | None:
    """How the result of a member passes to those behind it, whose rows in each stripe are known."""
    writer = members[number]
    target = writer.writes[0].access
    name = target.operand
    readers = [
        (member, access, rows[later])
        for later, member in enumerate(members[number + 1 :], number + 1)
        for access in member.reads
        if access.operand == name
    ]
    if not readers or not makes_rows(writer) or not all(in_rows(a, m) for m, a, _ in readers):
        return None
    unit = lcm(row_of(target), *(row_of(access) for _, access, _ in readers))
    total = operands[name].elements
    if unit > total:
        return None
    needs = [
        [_needed(access, member, span[stripe]) for member, access, span in readers]
        for stripe in range(len(rows[len(members) - 1]))
    ]
    firsts = _from_behind([min((f for f, e in need if f < e), default=total) for need in needs])
    ends = [max((e for f, e in need if f < e), default=0) for need in needs]
    held, made, before = [], [], 0
    for first, end in zip(firsts, ends, strict=True):
        until = max(before, min(-(-end // unit) * unit, total))
        start = min(first // unit * unit, until)
        held.append((start, until))
        made.append((max(before, start), until))
        before = until
    places, size = _places(held)
    flow = Flow(name, number, tuple(held), tuple(made), places, size)
    return None if any(len(_pieces(flow, stripe)) > MAX_MOVES for stripe in range(len(held))) else flow


def _places(held: Sequence[Span]) -> tuple[tuple[int, ...], int]:
    """Where each stripe's elements begin in the buffer: where they are, while there is room behind them."""
    size = max(end - first for first, end in held)
    places = [0]
    for (before, _), (first, end) in pairwise(held):
        place = places[-1] + first - before
        places.append(place if place + end - first <= size else 0)
    return tuple(places), size


def makes_rows(nest: Nest) -> bool:
    """Whether a range of the first axis is a run of elements of the only result."""
    if len(nest.writes) != 1 or not nest.outer:
        return False
    write = nest.writes[0]
    whole = len(write.access.index) == nest.outer and identity_write(write, len(nest.axes))
    return whole and write.access.shape == nest.extents[: nest.outer]


def in_rows(access: Access, nest: Nest) -> bool:
    """Whether a range of the first axis reads a run of elements that moves forward with it."""
    if access.indirect or not access.index:
        return False
    leading = access.index[0]
    assert isinstance(leading, Affine)
    behind = all(isinstance(i, Affine) and not i.coefficients[0] for i in access.index[1:])
    return leading.coefficients[0] > 0 and behind


def row_of(access: Access) -> int:
    """Elements of one step of the leading dimension."""
    return dense_strides(access.shape)[0]


def _needed(access: Access, nest: Nest, rows: Span) -> Span:
    """The elements that an access may touch while the first axis goes over some rows."""
    first, end = rows
    if first >= end:
        return 0, 0
    leading = access.index[0]
    assert isinstance(leading, Affine)
    low, high = leading.span((first, *(0 for _ in nest.axes[1:])), (end, *nest.extents[1:]))
    low, high = max(low, 0), min(high + 1, access.shape[0])
    return (low * row_of(access), high * row_of(access)) if low < high else (0, 0)


def _from_behind(values: Sequence[int]) -> list[int]:
    """The least of each value and those behind it."""
    found = list(values)
    for position in reversed(range(len(found) - 1)):
        found[position] = min(found[position], found[position + 1])
    return found


def striped(
    cascade: Cascade, operands: Mapping[str, Operand], held: Collection[str] = ()
) -> tuple[list[Nest], dict[str, Operand]]:
    """The nests of all stripes in order, and the buffers between them; copies of what is held before them."""
    nests: list[Nest] = []
    buffers: dict[str, Operand] = {}
    copies = {name: f"{name} held for {cascade.members[0].members[0]}" for name in held}
    for stripe in range(cascade.stripes):
        views: dict[str, _View] = {}
        for number, member in enumerate(cascade.members):
            rows = cascade.rows[number][stripe]
            flow = cascade.flows.get(member.writes[0].access.operand)
            if flow is not None:
                view = views[flow.name] = _View(flow, stripe, _buffer(flow, stripe))
                type = operands[flow.name].type
                buffers[view.buffer] = Operand(view.buffer, type, flow.elements, "temporary")
                nests += _moves(flow, stripe, view.buffer, type, member.members)
            if rows[0] < rows[1]:
                for name in member.operands:
                    if name in copies and copies[name] not in buffers:
                        buffers[copies[name]] = replace(operands[name], name=copies[name], kind="temporary")
                        nests.append(copied(operands[name], copies[name], member.members))
                nests.append(_part(member, rows, views, copies))
    return nests, buffers


def _buffer(flow: Flow, stripe: int) -> str:
    """The buffer's name: one for all stripes if elements stay in it, else one for each."""
    return f"{flow.name} in stripes" if flow.lasts else f"{flow.name} in stripe {stripe}"


@dataclass(frozen=True, slots=True)
class _View:
    """A tensor as far as it is there in one stripe."""

    flow: Flow
    stripe: int
    buffer: str

    def access(self, access: Access) -> Access:
        """The access to the elements in the buffer, at the rows of the whole tensor."""
        row = row_of(access)
        (first, end), place = self.flow.held[self.stripe], self.flow.places[self.stripe]
        leading = access.index[0]
        assert isinstance(leading, Affine)
        index = replace(leading, offset=leading.offset + (place - first) // row)
        shape = ((place + end - first) // row, *access.shape[1:])
        return replace(access, operand=self.buffer, shape=shape, index=(index, *access.index[1:]))


def _part(member: Nest, rows: Span, views: Mapping[str, _View], copies: Mapping[str, str]) -> Nest:
    """Some rows of a member, with what passes through buffers found there."""
    count = len(member.axes)
    axes = (replace(member.axes[0], extent=rows[1] - rows[0]), *member.axes[1:])
    old = [along(0, count, 1, rows[0]), *(along(number, count) for number in range(1, count))]

    def found(access: Access) -> Access:
        if access.operand in copies:
            return replace(access, operand=copies[access.operand])
        return views[access.operand].access(access) if access.operand in views else access

    return map_accesses(with_axes(member, axes, old), found)


def copied(operand: Operand, copy: str, members: tuple[str, ...]) -> Nest:
    """Copy a constant as it is."""
    shape, index, axes = (operand.elements,), (Affine((1,)),), (Axis("i", operand.elements),)
    source, target = (Access(name, operand.type, shape, index) for name in (operand.name, copy))
    return Nest("move", axes, (source,), (Write(target, read(0, operand.type)),), None, members)


def _moves(flow: Flow, stripe: int, buffer: str, type: str, members: tuple[str, ...]) -> list[Nest]:
    """Bring what stays from the stripe before to its new place."""
    return [_move(buffer, type, flow.elements, to, shift, members) for to, shift in _pieces(flow, stripe)]


def _pieces(flow: Flow, stripe: int) -> list[tuple[Span, int]]:
    """What moves to where, and how far it comes from, in steps that do not overlap."""
    first, end = flow.kept[stripe]
    to = flow.places[stripe]
    shift = flow.places[stripe - 1] + first - flow.held[stripe - 1][0] - to
    until = to + end - first
    return [((at, min(at + shift, until)), shift) for at in range(to, until, shift)] if shift else []


def _move(buffer: str, type: str, size: int, to: Span, shift: int, members: tuple[str, ...]) -> Nest:
    """Copy elements of a buffer forward by `shift`."""
    source = Access(buffer, type, (size,), (Affine((1,), to[0] + shift),))
    target = Access(buffer, type, (size,), (Affine((1,), to[0]),))
    axes = (Axis("i", to[1] - to[0]),)
    return Nest("move", axes, (source,), (Write(target, read(0, type)),), None, members)
