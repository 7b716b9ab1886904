"""Choosing cascades: which groups go through the scratchpad in stripes, where whole tensors do not fit.

`plan` calls `choose` before all else for targets with a scratchpad. It gives nests and operands that compute
the same; what passes between the groups of a chain is then in temporaries of a few rows, and constants that
all stripes read are copied to temporaries at first. All of these pay for themselves only if they live in the
scratchpad from their first use to their last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, lcm

from tiling.cascade_stripes import cascade_of, in_rows, makes_rows, row_of, striped
from tiling.nest import Access, Affine, Nest
from tiling.program import Operand
from tiling.target import Target

MOST_STRIPES = 16
LONGEST = 14
"""Groups of a chain."""
STRIPES = (2, 3, 4, 6, 8, 11, MOST_STRIPES)
RESERVE = 8
"""A part of so many of the scratchpad is left to tiles."""
SECTION_BYTES = 512
"""A group more costs as much as moving so many bytes, unless a caller knows better."""
MOST_GROUPS = 4000
"""More groups than this are not added: they would take too long to plan."""
SURE = 4
"""Stripes surely pay if they spare all but a part of so many of what moves without them."""
HELD_BYTES = 48
"""Smaller constants are not worth a copy."""

Lines = tuple[float, float]
"""A quantity that grows with the rows of a stripe: how much a row, and how much in any case."""


def choose(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    target: Target,
    whole: Collection[int] = (),
    section_bytes: int = SECTION_BYTES,
) -> tuple[tuple[Nest, ...], dict[str, Operand]]:
    """The same nests, with chains in stripes where otherwise tensors would have to leave the scratchpad.

    Nests of these numbers stay `whole`; a group more costs as much as moving `section_bytes`.
    """
    found, known, _ = weighed(nests, operands, target, whole, section_bytes)
    return found, known


def weighed(
    nests: Sequence[Nest],
    operands: Mapping[str, Operand],
    target: Target,
    whole: Collection[int] = (),
    section_bytes: int = SECTION_BYTES,
) -> tuple[tuple[Nest, ...], dict[str, Operand], bool]:
    """The same, and whether stripes surely move much less, so that a plan without them need not be made."""
    if target.scratch_bytes is None or not target.cascading:
        return tuple(nests), dict(operands), False
    search = _Search(nests, operands, target, whole, section_bytes)
    found: list[Nest] = []
    left, added = dict(operands), {}
    more, spans = 0, {name: (search.first[name], search.last[name]) for name in search.first}
    for chain, stripes in search.chains():
        more += len(chain) * (stripes - 1)
        small = 1 < stripes and more <= MOST_GROUPS
        cascade = cascade_of(nests, operands, chain, stripes, spans) if small else None
        if cascade is None:
            found += nests[chain.start : chain.stop]
            continue
        parts, buffers = striped(cascade, operands, search.held(chain))
        found += parts
        added.update(buffers)
        for name in cascade.flows:
            del left[name]
    return tuple(found), left | added, more <= MOST_GROUPS and search.least * SURE < search.crowded


@dataclass(frozen=True, slots=True)
class _Lead:
    """How far a member is when the last one has done `t` rows: `rate * t + ahead` steps of its first axis."""

    rate: float
    ahead: float


@dataclass(frozen=True, slots=True)
class _Passed:
    """What passes from a member to its readers."""

    width: int
    """Elements of one step of the member's first axis."""
    size: float
    """Bytes of an element."""
    unit: int
    """Elements that all views of it take as whole rows."""
    last: int
    readers: tuple[tuple[int, int, int, int], ...]
    """Step, elements that a step of its first axis moves on, and the first element and the end of step 0."""


class _Search:
    """Where tensors do not fit, the partition of the nests into chains that moves least."""

    def __init__(
        self,
        nests: Sequence[Nest],
        operands: Mapping[str, Operand],
        target: Target,
        whole: Collection[int],
        section_bytes: int,
    ) -> None:
        self.nests, self.operands, self.target = nests, operands, target
        self.whole, self.section_bytes = whole, section_bytes
        capacity = target.scratch_bytes or 0
        self.budget = capacity - capacity // RESERVE
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.readers: dict[str, list[tuple[int, Access]]] = {}
        self.writers: dict[str, list[int]] = {}
        for step, nest in enumerate(nests):
            for name in nest.operands:
                self.first.setdefault(name, step)
                self.last[name] = step
            for access in nest.reads:
                self.readers.setdefault(access.operand, []).append((step, access))
            for write in nest.writes:
                self.writers.setdefault(write.access.operand, []).append(step)
        self.begun, self.ended = self._totals()
        self.flows: dict[int, _Passed | None] = {}
        self.kept = [-1] * len(nests)
        self.crowded = self.least = 0.0
        """What moves because it does not fit, without stripes and with those that are best."""

    def _totals(self) -> tuple[list[int], list[int]]:
        """Bytes of tensors that have begun up to each step, and that have ended before it."""
        count = len(self.nests)
        begun, ended = [0] * (count + 1), [0] * (count + 1)
        for name, step in self.first.items():
            operand = self.operands[name]
            if operand.kind == "temporary":
                begun[step] += operand.bytes
                ended[self.last[name] + 1] += operand.bytes
            elif operand.kind != "constant" and self.target.values == "scratchpad":
                begun[0 if operand.kind == "input" else step] += operand.bytes
                ended[count if operand.kind == "output" else self.last[name] + 1] += operand.bytes
        for step in range(count):
            begun[step + 1] += begun[step]
            ended[step + 1] += ended[step]
        return begun, ended

    def alive(self, first: int, last: int) -> int:
        """Bytes of all tensors that are needed at one of the steps."""
        return self.begun[last] - self.ended[first]

    def chains(self) -> Iterator[tuple[range, int]]:
        """All nests in order, as chains and single ones, with stripes."""
        count = len(self.nests)
        crowded = [max(self.alive(step, step) - self.budget, 0) for step in range(count)]
        best: list[tuple[float, int, int]] = [(0.0, 0, 1)]
        for step in range(count):
            cost, _, _ = best[step]
            choice = (cost + crowded[step], step, 1)
            if any(crowded[max(step - LONGEST, 0) : step + 1]):
                for first, stripes, price in self._options(step, crowded):
                    choice = min(choice, (best[first][0] + price, first, stripes))
            best.append(choice)
        self.crowded, self.least = sum(crowded), best[-1][0]
        parts: list[tuple[range, int]] = []
        end = count
        while end:
            _, first, stripes = best[end]
            parts.append((range(first, end), stripes))
            end = first
        yield from reversed(parts)

    def _options(self, last: int, crowded: Sequence[int]) -> Iterator[tuple[int, int, float]]:
        """Chains that end at a step: where they begin, their stripes, and what they cost."""
        final = self.nests[last]
        if last in self.whole or final.scatters or not final.outer or final.extents[0] < 2:
            return
        leads = {last: _Lead(1.0, 0.0)}
        lines: dict[int, tuple[Lines, bool]] = {}
        inner, held = 0, self._held_bytes(last)
        useful = crowded[last] > 0
        for first in range(last - 1, max(last - LONGEST, -1), -1):
            flow = None if first in self.whole else self._flow(first, last, leads)
            if flow is None:
                return
            leads[first], lines[first] = flow
            name = self.nests[first].writes[0].access.operand
            inner += self.operands[name].bytes
            held += self._held_bytes(first)
            useful = useful or crowded[first] > 0
            if not useful:
                continue
            yield from self._priced(first, last, lines, self.alive(first, last) - inner, held)

    def _priced(
        self, first: int, last: int, lines: Mapping[int, tuple[Lines, bool]], outside: int, held: int
    ) -> Iterator[tuple[int, int, float]]:
        """The fewest stripes with which a chain fits, or the most."""
        extent = self.nests[last].extents[0]
        for stripes in STRIPES:
            if stripes > extent:
                return
            rows = -(-extent // stripes)
            lasting, passing, moved = 0.0, [0.0], 0.0
            for (slope, least), stays in lines.values():
                size = slope * rows + least
                if stays:
                    lasting += size
                    moved += least
                else:
                    passing.append(size)
            inside = held + lasting + max(map(sum, pairwise(passing)), default=0.0)
            excess = max(outside + inside - self.budget, 0.0)
            if excess == 0 or (stripes == MOST_STRIPES and inside <= self.budget):
                sections = (last + 1 - first) * (stripes - 1)
                yield first, stripes, excess + sections * self.section_bytes + stripes * moved / 8
                return

    def _flow(
        self, number: int, last: int, leads: Mapping[int, _Lead]
    ) -> tuple[_Lead, tuple[Lines, bool]] | None:
        """How a member runs ahead of the last one, and the bytes between it and its readers."""
        if number not in self.flows:
            self.flows[number] = self._passed(number)
        flow = self.flows[number]
        if flow is None or flow.last > last:
            return None
        slope, end, begin, waste = 0.0, -inf, inf, 0
        for step, factor, low, high in flow.readers:
            lead = leads[step]
            rate = factor * lead.rate
            slope = max(slope, rate)
            end = max(end, factor * (lead.ahead - 1) + high)
            begin = min(begin, factor * lead.ahead + low)
            if rate % flow.unit:
                waste = flow.unit
        least = (max(end - begin, 0.0) + waste) * flow.size
        stays = end > begin or waste > 0
        return _Lead(slope / flow.width, end / flow.width), ((slope * flow.size, least), stays)

    def _passed(self, number: int) -> _Passed | None:
        """What a member passes on, if it makes rows and they are read as rows."""
        writer = self.nests[number]
        if not makes_rows(writer):
            return None
        target = writer.writes[0].access
        name = target.operand
        operand, readers = self.operands[name], self.readers.get(name, [])
        if operand.kind != "temporary" or self.writers[name] != [number] or not readers:
            return None
        if any(not in_rows(access, self.nests[step]) for step, access in readers):
            return None
        found = []
        for step, access in readers:
            leading, nest, row = access.index[0], self.nests[step], row_of(access)
            assert isinstance(leading, Affine)
            low, high = leading.span([0] * len(nest.axes), (1, *nest.extents[1:]))
            found.append((step, leading.coefficients[0] * row, low * row, (high + 1) * row))
        width = row_of(target)
        unit = lcm(width, *(row_of(access) for _, access in readers))
        last = max(step for step, _ in readers)
        return _Passed(width, operand.bytes / operand.elements, unit, last, tuple(found))

    def held(self, chain: range) -> list[str]:
        """Constants that all stripes of a chain read, worth a copy that stays."""
        return held_constants([self.nests[step] for step in chain], self.operands, self.target)

    def _held_bytes(self, step: int) -> int:
        if self.kept[step] < 0:
            self.kept[step] = sum(self.operands[name].bytes for name in self.held(range(step, step + 1)))
        return self.kept[step]


def held_constants(members: Sequence[Nest], operands: Mapping[str, Operand], target: Target) -> list[str]:
    """Constants that all stripes of some groups read, worth a copy that stays."""
    far = "offchip" in (target.weights, target.constants)
    found: dict[str, None] = {}
    for access in (access for member in members for access in member.reads if far and not access.indirect):
        operand = operands[access.operand]
        if operand.kind == "constant" and operand.bytes >= HELD_BYTES:
            found[access.operand] = None
    return list(found)
