"""Groups that walk the same rows, such as those of a softmax, done together for a few rows at a time.

What passes between them then stays in the first-level cache, in the thread's own memory, and threads meet
once for all of them. Kernels and numbers are those of the groups alone, so that bits are, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from math import gcd

from tiling.allocate import Lifetime, allocate
from tiling.expr import BYTES, const
from tiling.forms import unnamed
from tiling.nest import Access, Affine, Indirect, Nest, Write, fixed
from tiling.records import dataclass, replace
from tosajit.host.unit import Prepared
from tosajit.kernels.contract.by_rows import ByRows, Group, Passed
from tosajit.kernels.contract.source import by_rows_source
from tosajit.kernels.emit import FIRST_PART, LAST_PART, Emitted, emitter
from tosajit.kernels.layout import ACCUMULATOR, ARGUMENT_BYTES, FLAGS, SCRATCH, Layout
from tosajit.kernels.lines import LINE
from tosajit.kernels.link import Unit, Word
from tosajit.kernels.sets.description import InstructionSet

NAME = "by rows"
"""Of the units."""
WORD = 8
"""Bytes of one."""
NEAR_BYTES = 16 * 1024
"""What the groups read and write of the rows that are done at a time: half of a small first-level cache."""
MOST_BYTES = 128 * 1024
"""Longer rows leave even the second-level cache to nothing else."""
LEAST_ROWS = 16
"""Fewer rows are too few for threads to share."""
LONGEST = 16
"""Groups that are done together."""


@dataclass(frozen=True)
class Chain:
    """Groups one after another, and their rows."""

    nests: tuple[Nest, ...]
    rows: int
    passed: tuple[str, ...]
    """Operands that nobody else sees."""

    @property
    def last(self) -> Nest:
        """The group whose result is that of all."""
        return self.nests[-1]

    def points(self, nest: Nest) -> int:
        """Points along the first axis of one of the groups in a row."""
        return nest.axes[0].extent // self.rows

    def places(self, rows: int) -> tuple[Mapping[str, int], int]:
        """Where in memory of their own so many rows of operands are that nobody else sees, and its size."""
        lives: dict[str, Lifetime] = {}
        for step, nest in enumerate(self.nests):
            for name in {*nest.operands} & {*self.passed}:
                first = lives[name].first if name in lives else step
                lives[name] = Lifetime(self.row_bytes[name] * rows, first, step)
        return allocate(lives, LINE)

    @cached_property
    def near_bytes(self) -> int:
        """Bytes that the groups use of a row."""
        outside = (size for name, size in self.row_bytes.items() if name not in self.passed)
        return self.places(1)[1] + sum(outside)

    @cached_property
    def row_bytes(self) -> dict[str, int]:
        """Bytes of a row, of each operand that is used row by row."""
        found = {}
        for nest in self.nests:
            for access in nest.accesses:
                elements = row_of(access, nest, self.rows)
                if elements is not None:
                    found[access.operand] = elements * BYTES[access.type]
        return found


def by_rows(
    made: Prepared, outputs: Collection[str], isa: InstructionSet, lacks: Callable[[Unit], bool]
) -> None:
    """Have chains of groups without units done by one; as they are where it `lacks` kernels."""
    chains = {chain.nests[0]: chain for chain in _chains(made, outputs)}
    groups: list[Nest] = []
    apart = {id(nests[-1]): parts for nests, parts in made.apart}
    emit, waiting = _once_for_alike(), iter(made.groups)
    for group in waiting:
        found = chains.get(group)
        done = _together(found, isa, emit) if found is not None else None
        if found is None or done is None:
            groups.append(group)
            continue
        nest, unit = done
        groups.append(nest)
        made.units[nest] = unit
        for _ in found.nests[1:]:
            next(waiting)
        if lacks(unit):
            parts = [part for one in found.nests for part in apart.get(id(one), [one])]
            made.apart.append(([nest], parts))
    made.groups[:] = groups


Emit = Callable[[Nest], Emitted]


def _once_for_alike() -> Emit:
    """Gives the kernel of a nest, which is written once for those that differ in names alone."""
    known: dict[Hashable, Emitted] = {}

    def emitted(nest: Nest) -> Emitted:
        key = unnamed(nest)
        if key not in known:
            known[key] = emitter(nest).emit()
        return known[key]

    return emitted


def row_of(access: Access, nest: Nest, rows: int) -> int | None:
    """Elements of a row of an operand, if a nest uses it row by row along its first axis."""
    points, size = nest.axes[0].extent // rows, access.bytes // BYTES[access.type]
    elements = access.steps(len(nest.axes))[0] * points
    first, end = (0,) * len(nest.axes), (points, *nest.extents[1:])
    low = high = 0
    for index, extent, stride in zip(access.index, access.shape, access.strides, strict=True):
        if isinstance(index, Indirect):  # anywhere inside
            high += (extent - 1) * stride
            continue
        least, most = index.span(first, end)
        if not index.coefficients[0]:  # nothing is read outside, where a fill is found
            least, most = max(least, 0), min(most, extent - 1)
        elif access.fill is not None and not _is_inside(index, nest, extent):
            return None
        low, high = low + least * stride, high + most * stride
    return elements if elements * rows == size and 0 <= low <= high < elements else None


def _is_inside(index: Affine, nest: Nest, extent: int) -> bool:
    low, high = index.span((0,) * len(nest.axes), nest.extents)
    return low >= 0 and high < extent


def _chains(made: Prepared, outputs: Collection[str]) -> Iterator[Chain]:
    """All chains, none of which shares a group with another."""
    groups = made.groups
    users: dict[str, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        for name in group.operands:
            users[name].append(number)
    number = 0
    while number < len(groups):
        chain = _longest(groups, number, made.units, outputs, users)
        number += len(chain.nests) if chain else 1
        if chain:
            yield chain


def _longest(
    groups: Sequence[Nest],
    start: int,
    units: Collection[Nest],
    outputs: Collection[str],
    users: Mapping[str, Sequence[int]],
) -> Chain | None:
    """The longest chain that begins with a group."""
    best, rows = None, 0
    for end in range(start, min(start + LONGEST, len(groups))):
        group = groups[end]
        if group in units or not _walks(group):
            break
        rows = gcd(rows, group.axes[0].extent)
        if rows < LEAST_ROWS:
            break
        nests = tuple(groups[start : end + 1])
        if end > start:
            passed = _passed(nests, rows, range(start, end + 1), outputs, users)
            best = Chain(nests, rows, passed) if passed else best
    return best


def _walks(group: Nest) -> bool:
    """Whether a group has rows that any kernel may do some of."""
    return group.verb in ("map", "reduce") and group.outer > 0 and not group.scatters and not group.prepared


def _passed(
    nests: Sequence[Nest],
    rows: int,
    span: range,
    outputs: Collection[str],
    users: Mapping[str, Sequence[int]],
) -> tuple[str, ...]:
    """What passes between groups alone, row by row; nothing if that is not all that they write, or read."""
    names = [write.access.operand for nest in nests[:-1] for write in nest.writes]
    alone = all(name not in outputs and {*users[name]} <= {*span} for name in names)
    if not alone or not all({*names} & {a.operand for a in nest.reads} for nest in nests[1:]):
        return ()
    for nest in nests:
        for access in nest.accesses:
            if access.operand in names and row_of(access, nest, rows) is None:
                return ()
    return tuple(names)


def _together(chain: Chain, isa: InstructionSet, emit: Emit) -> tuple[Nest, Unit] | None:
    """The nest of a chain, which says what is read and written, and its unit; None if it is too much."""
    last, size = chain.last, chain.last.outer
    if chain.near_bytes > MOST_BYTES:
        return None
    reads = {a.operand: a for nest in chain.nests for a in nest.reads if a.operand not in chain.passed}
    whole = [
        Access(name, access.type, (access.bytes // BYTES[access.type],), (fixed(0, size),))
        for name, access in reads.items()
    ]
    writes = [Write(_kept(write.access, size), const(0, write.value.type)) for write in last.writes]
    members = tuple(dict.fromkeys(name for nest in chain.nests for name in nest.members))
    grain = (chain.points(last), *(axis.extent for axis in last.axes[1:size]))
    nest = Nest("map", last.axes[:size], tuple(whole), tuple(writes), None, members, (), grain)
    unit = _unit(chain, nest, isa, emit)
    words = len(unit.words) + Layout(size, len(nest.accesses)).payload
    return (nest, unit) if 8 * words <= ARGUMENT_BYTES else None


def _kept(access: Access, outer: int) -> Access:
    """The access over the axes that are not reduced."""
    index = tuple(Affine(i.coefficients[:outer], i.offset) for i in access.index if isinstance(i, Affine))
    return replace(access, index=index)


def _unit(chain: Chain, nest: Nest, isa: InstructionSet, emit: Emit) -> Unit:
    """The unit of a chain, whose nest is given."""
    widths = chain.row_bytes
    rows = max(1, min(NEAR_BYTES // chain.near_bytes, chain.rows))
    places, memory = chain.places(rows)
    layout = Layout(len(nest.axes), len(nest.accesses))
    words = [0] * len(ByRows)
    words[ByRows.POINTS], words[ByRows.ROWS], words[ByRows.GROUPS] = nest.grain[0], rows, len(chain.nests)
    derived = [
        Word(ByRows.LOW, 0, ((layout.first, 1),)),
        Word(ByRows.HIGH, 0, ((layout.end, 1),)),
        Word(ByRows.MEMORY, 0, ((SCRATCH, 1),)),
    ]
    helpers: dict[int, str] = {}
    for one in chain.nests:
        made, start, points = emit(one), len(words), chain.points(one)
        helpers[start + Group.KERNEL] = made.source
        words += _numbers(one, made, points, {name: (places[name], widths[name]) for name in places})
        arguments = start + words[start + Group.ARGUMENTS] // WORD
        if one.reduction is not None:
            derived.append(Word(arguments + ACCUMULATOR, memory, ((SCRATCH, 1),)))
        bases = {access.operand: layout.base + number for number, access in enumerate(nest.accesses)}
        derived += _bases(one, arguments, bases)
    sums = max((_sum_bytes(one, chain.points(one) * rows) for one in chain.nests), default=0)
    return Unit(NAME, by_rows_source(isa), helpers, tuple(words), tuple(derived), memory + sums)


def _sum_bytes(nest: Nest, points: int) -> int:
    """Bytes of the accumulators that a kernel has for so many points along the first axis."""
    if nest.reduction is None:
        return 0
    return BYTES[nest.reduction.type] * (nest.axes[nest.outer - 1].extent if nest.outer > 1 else points)


def _numbers(nest: Nest, made: Emitted, points: int, near: Mapping[str, tuple[int, int]]) -> list[int]:
    """The words of a group, with the arguments of its kernel; `near` has offsets and pitches."""
    layout = Layout(len(nest.axes), len(nest.accesses))
    passed = [(number, access) for number, access in enumerate(nest.accesses) if access.operand in near]
    words = [0] * len(Group)
    words[Group.POINTS], words[Group.END], words[Group.PASSED] = points, layout.end, len(passed)
    for number, access in passed:
        (offset, pitch), told = near[access.operand], [0] * len(Passed)
        told[Passed.SLOT], told[Passed.PITCH] = layout.base + number, pitch
        told[Passed.OFFSET] = offset + access.start() * BYTES[access.type]
        words += told
    words[Group.ARGUMENTS] = WORD * len(words)
    arguments = [0] * layout.payload + list(made.payload)
    arguments[FLAGS] = FIRST_PART | LAST_PART
    arguments[layout.end : layout.base] = nest.extents
    words[Group.NEXT] = words[Group.ARGUMENTS] + WORD * len(arguments)
    return words + arguments


def _bases(nest: Nest, arguments: int, bases: Mapping[str, int]) -> Iterator[Word]:
    """The words that say where the operands of a group are which others see, too."""
    layout = Layout(len(nest.axes), len(nest.accesses))
    for number, access in enumerate(nest.accesses):
        if access.operand in bases:
            # What the driver says of results has their first element in it.
            first = access.start() * BYTES[access.type] if number < len(nest.reads) else 0
            yield Word(arguments + layout.base + number, first, ((bases[access.operand], 1),))
