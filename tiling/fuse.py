"""Fusion: producers move into the nests that read them, so that intermediate results need no memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from math import prod

from tiling.expr import BYTES, walk
from tiling.nest import Access, Nest, map_accesses, nest_exprs
from tiling.normal import normalise, split_dimensions
from tiling.substitute import attach, inline, is_permutation, merge_reductions, pure_move, renamed

MAX_OPERANDS = 48
"""How many operands a group may have: each needs an address, and a stream of the memory system."""
MAX_STRIDES = 400
"""How many strides a group may have: one for each operand and axis, numbers that its kernel takes."""
MAX_STEPS = 128
"""How many scalar steps a point of a group may take: time to compile grows faster than they do."""
BEHIND = 4
"""How many steps behind a contraction are looked at, such as bias, rescale and clamp."""
MAX_REPEATED = 24
"""How many scalar steps each reader of a value may repeat, so that it is stored as narrow as it is."""


def fuse(
    nests: Sequence[Nest],
    kept: Collection[str],
    supports: Callable[[Nest], bool] = lambda group: True,
    frugal: bool = False,
) -> tuple[Nest, ...]:
    """Groups that compute the same; values in `kept` stay, groups grow as far as a target `supports` them.

    `frugal` is for targets whose memory is dearer than their scalar work: each reader widens narrow values
    for itself, padding goes into contractions, and reductions along several axes become one.
    """
    state = _Fusion(nests, kept, supports, frugal)
    if frugal:
        state.rename()
    # Work on the results of a reduction or contraction goes behind it rather than into the next reduction.
    for into_reductions in (False, True):
        state.pull(into_reductions)
        state.push()
    if not frugal:
        state.forget()
        return tuple(state.live())
    state.merge()
    return tuple(_split(nest) if nest.verb == "reduce" else nest for nest in state.live())


class _Fusion:
    """The nests so far (None: gone into others), and who writes and who reads each value."""

    def __init__(
        self, nests: Sequence[Nest], kept: Collection[str], supports: Callable[[Nest], bool], frugal: bool
    ) -> None:
        self.kept, self.supports, self.frugal = frozenset(kept), supports, frugal
        self.nests: list[Nest | None] = [None] * len(nests)
        self.writers: dict[str, set[int]] = {}
        self.readers: dict[str, set[int]] = {}
        self.steps = [0] * len(nests)
        for number, nest in enumerate(nests):
            self._put(number, normalise(nest))

    def live(self) -> Iterator[Nest]:
        """Nests that are still there, in order."""
        return (nest for nest in self.nests if nest is not None)

    def _put(self, number: int, nest: Nest | None) -> None:
        """Let `nest` stand at `number` from now on."""
        before = self.nests[number]
        for index, old, new in (
            (self.writers, _written(before), _written(nest)),
            (self.readers, _read(before), _read(nest)),
        ):
            for name in old - new:
                index[name].discard(number)
            for name in new - old:
                index.setdefault(name, set()).add(number)
        self.nests[number] = nest
        self.steps[number] = _steps(nest) if nest is not None else 0

    def pull(self, into_reductions: bool) -> None:
        """Inline producers without reductions into their consumers where that repeats no work."""
        for number in range(len(self.nests)):
            while self._pull_once(number, into_reductions):
                pass

    def _pull_once(self, number: int, into_reductions: bool) -> bool:
        consumer = self.nests[number]
        for position, access in enumerate(consumer.reads if consumer is not None else ()):
            assert consumer is not None
            merged = self._inlined(number, consumer, position, access, into_reductions)
            if merged is not None:
                self._put(number, normalise(merged))
                self._drop_unread(access.operand)
                return True
        return False

    def _inlined(
        self, number: int, consumer: Nest, position: int, access: Access, into_reductions: bool
    ) -> Nest | None:
        producer = self._single_writer(access.operand)
        if producer is None or producer.reduction is not None or len(producer.writes) != 1:
            return None
        if not self._small(access.operand, number):
            return None
        if pure_move(producer):
            if consumer.verb == "contract" and not _rows_stay_dense(producer, self.frugal):
                return None
        elif self._widens(producer) and _reads_once(consumer, access):
            pass
        elif self._repeats_work(number, consumer, access):
            return None
        elif not into_reductions and (consumer.reduction is not None or self._goes_behind(producer)):
            return None
        group = inline(consumer, position, producer, parts=self.frugal)
        return group if group is None or group.verb == "contract" or self.supports(group) else None

    def _small(self, operand: str, consumer: int) -> bool:
        """Whether the writer of an operand and its consumer are small enough for one group."""
        numbers = (*self.writers[operand], consumer)
        nests = [nest for number in numbers if (nest := self.nests[number]) is not None]
        operands = sum(len(nest.reads) + len(nest.writes) for nest in nests)
        axes = max(len(nest.axes) for nest in nests)
        steps = sum(self.steps[number] for number in numbers)
        return operands <= MAX_OPERANDS and operands * axes <= MAX_STRIDES and steps <= MAX_STEPS

    def _repeats_work(self, number: int, consumer: Nest, access: Access) -> bool:
        """Whether a computed value is better kept in memory than computed where it is read."""
        shared = self.readers[access.operand] != {number} or access.operand in self.kept
        several = sum(other.operand == access.operand for other in consumer.reads) > 1
        return (
            shared
            or several
            or consumer.verb == "contract"
            or access.fill is not None
            or not _once(access, consumer)
        )

    def _widens(self, nest: Nest) -> bool:
        """Whether a nest is little work that gives wider values than those it reads, each for itself."""
        if not self.frugal or nest.scatters:
            return False
        data = [access for access in nest.reads if 4 * prod(access.shape) > max(nest.points, 4)]
        return (
            len(data) == 1
            and BYTES[data[0].type] < BYTES[nest.writes[0].access.type]
            and data[0].fill is None
            and is_permutation(data[0], nest.extents)
            and _steps(nest) <= MAX_REPEATED
        )

    def _goes_behind(self, nest: Nest) -> bool:
        """Whether a nest goes on with a contraction's results and does not widen them: its place is there."""
        for _ in range(BEHIND):
            size = BYTES[nest.writes[0].access.type]
            writers = [
                self._single_writer(access.operand) for access in nest.reads if BYTES[access.type] >= size
            ]
            origins = [writer for writer in writers if writer is not None]
            if any(origin.verb == "contract" for origin in origins):
                return True
            following = [origin for origin in origins if origin.reduction is None]
            if len(following) != 1:
                return False
            (nest,) = following
        return False

    def _single_writer(self, operand: str) -> Nest | None:
        numbers = self.writers.get(operand, set())
        return self.nests[min(numbers)] if len(numbers) == 1 else None

    def _drop_unread(self, operand: str) -> None:
        if operand in self.kept or self.readers.get(operand):
            return
        for number in tuple(self.writers.get(operand, ())):
            if _written(self.nests[number]) == {operand}:
                self._put(number, None)

    def push(self) -> None:
        """Attach elementwise consumers to the reductions and contractions whose results they read."""
        for number, consumer in enumerate(self.nests):
            if consumer is None or consumer.reduction is not None or consumer.scatters:
                continue
            for position, access in enumerate(consumer.reads):
                origin = next(iter(self.writers.get(access.operand, ())), -1)
                group = self._attached(origin, number, consumer, position, access)
                if group is not None:
                    self._put(origin, None)
                    self._put(number, normalise(group))
                    break

    def _attached(
        self, origin: int, number: int, consumer: Nest, position: int, access: Access
    ) -> Nest | None:
        """The group of a reduction and this consumer, to stand where the consumer stands."""
        producer = self._single_writer(access.operand)
        if producer is None or producer.reduction is None or not self._small(access.operand, number):
            return None
        results = [write.access.operand for write in producer.writes]
        if any(origin < reader < number for name in results for reader in self.readers.get(name, ())):
            return None
        keep = access.operand in self.kept or self.readers[access.operand] != {number}
        group = attach(producer, results.index(access.operand), consumer, position, keep)
        return group if group is not None and self.supports(group) else None

    def forget(self) -> None:
        """Write no result whose readers are all in the group that makes it."""
        for number, nest in enumerate(self.nests):
            used = [
                write
                for write in (nest.writes if nest is not None else ())
                if write.access.operand in self.kept or self.readers.get(write.access.operand)
            ]
            if nest is not None and 0 < len(used) < len(nest.writes):
                self._put(number, replace(nest, writes=tuple(used)))

    def rename(self) -> None:
        """Let what is only copied to a result that stays, in its own order, be that result from the start."""
        for number, nest in enumerate(self.nests):
            source = renamed(nest) if nest is not None and pure_move(nest) else None
            if nest is None or source is None or source in self.kept or self._single_writer(source) is None:
                continue
            name = nest.writes[0].access.operand
            if name not in self.kept or self._single_writer(name) is None:
                continue

            def moved(access: Access, source: str = source, name: str = name) -> Access:
                return replace(access, operand=name) if access.operand == source else access

            self._put(number, None)
            for user in self.readers.get(source, set()) | self.writers[source]:
                if (found := self.nests[user]) is not None:
                    members = nest.members if source in _written(found) else ()
                    found = replace(found, members=found.members + members)
                    self._put(user, map_accesses(found, moved))

    def merge(self) -> None:
        """Make reductions along several axes, one after the other, one reduction."""
        for number, consumer in enumerate(self.nests):
            if consumer is None or consumer.verb != "reduce":
                continue
            for position, access in enumerate(consumer.reads):
                producer = self._single_writer(access.operand)
                alone = access.operand not in self.kept and self.readers[access.operand] == {number}
                if producer is None or not alone or not self._small(access.operand, number):
                    continue
                group = merge_reductions(consumer, position, producer)
                if group is not None and self.supports(group):
                    self._put(number, normalise(group))
                    self._drop_unread(access.operand)
                    break


def _split(nest: Nest) -> Nest:
    """The nest with a dimension of its operands for each axis, where it can be."""
    return map_accesses(nest, lambda access: split_dimensions(access, nest, mixed=True))


def _steps(nest: Nest) -> int:
    """How many scalar steps a point of a nest takes."""
    return sum(1 for _ in walk(*nest_exprs(nest)))


def _written(nest: Nest | None) -> set[str]:
    return {write.access.operand for write in nest.writes} if nest is not None else set()


def _read(nest: Nest | None) -> set[str]:
    return {access.operand for access in (*nest.reads, *nest.prepared)} if nest is not None else set()


def _once(access: Access, nest: Nest) -> bool:
    """Whether no element is read twice, so that computing it on the fly repeats nothing."""
    if access.indirect:
        return False
    steps = access.steps(len(nest.axes))
    return is_permutation(access, nest.extents) or all(
        axis.extent == 1 or step for axis, step in zip(nest.axes, steps, strict=True)
    )


def _reads_once(nest: Nest, access: Access) -> bool:
    """Whether a nest is free to compute what it reads there: inside the bounds, and each element once."""
    return nest.verb != "contract" and access.fill is None and _once(access, nest)


def _rows_stay_dense(producer: Nest, fill: bool) -> bool:
    """Whether the move keeps the innermost dimension dense, as array units want their rows; `fill` or not."""
    access = producer.reads[producer.writes[0].value.number]
    steps = access.steps(len(producer.axes))
    wide = [step for axis, step in zip(producer.axes, steps, strict=True) if axis.extent > 1]
    inside = fill or access.fill is None
    return inside and not access.indirect and (not wide or wide[-1] == 1)
