"""Fusion: producers move into the nests that read them, so that intermediate results need no memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from tiling.fold import attach, inline, is_permutation, pure_move
from tiling.nest import Access, Indirect, Nest
from tiling.normal import normalise

MAX_READS = 24


def fuse(nests: Sequence[Nest], kept: Collection[str], fixed: Collection[str] = ()) -> tuple[Nest, ...]:
    """Groups that compute the same results; values in `kept` stay, those in `fixed` are not looked through."""
    state = _State(list(nests), set(kept), set(fixed))
    state.pull()
    state.push()
    return tuple(normalise(nest) for nest in state.live())


@dataclass
class _State:
    """The nests so far (None: gone into others), who writes and who reads each value."""

    nests: list[Nest | None]
    kept: set[str]
    fixed: set[str]
    writers: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.writers = Counter(write.access.operand for nest in self.live() for write in nest.writes)

    def live(self) -> list[Nest]:
        """Nests that are still there, in order."""
        return [nest for nest in self.nests if nest is not None]

    def readers(self) -> dict[str, list[int]]:
        """Which nests read each value, a nest once for each read."""
        found: dict[str, list[int]] = {}
        for number, nest in enumerate(self.nests):
            for access in nest.reads if nest is not None else ():
                found.setdefault(access.operand, []).append(number)
        return found

    def pull(self) -> None:
        """Inline producers without reductions into their consumers where that repeats no work."""
        for number in range(len(self.nests)):
            consumer = self.nests[number]
            progress = consumer is not None
            while progress and consumer is not None:
                progress = False
                for read_number, access in enumerate(consumer.reads):
                    merged = self._inlined(consumer, read_number, access)
                    if merged is not None:
                        consumer, progress = normalise(merged), True
                        self.nests[number] = consumer
                        self._drop_unread(access.operand)
                        break

    def _inlined(self, consumer: Nest, number: int, access: Access) -> Nest | None:
        producer = self._single_writer(access.operand)
        if producer is None or access.operand in self.fixed or len(consumer.reads) + len(producer.reads) > MAX_READS:
            return None
        if not pure_move(producer):
            shared = len(self.readers()[access.operand]) > 1 or access.operand in self.kept
            if shared or consumer.verb == "contract" or access.fill is not None or not _once(access, consumer):
                return None
        elif consumer.verb == "contract" and not _contiguous_move(producer):
            return None
        return inline(consumer, number, producer)

    def _single_writer(self, operand: str) -> Nest | None:
        if self.writers[operand] != 1:
            return None
        for nest in self.nests:
            if nest is not None and any(write.access.operand == operand for write in nest.writes):
                return nest if nest.reduction is None and len(nest.writes) == 1 else None
        return None

    def _drop_unread(self, operand: str) -> None:
        if operand in self.kept or self.readers().get(operand):
            return
        for number, nest in enumerate(self.nests):
            if nest is not None and all(write.access.operand == operand for write in nest.writes):
                self.nests[number] = None

    def push(self) -> None:
        """Attach elementwise consumers to the reductions and contractions whose results they read."""
        for number, consumer in enumerate(self.nests):
            if consumer is None or consumer.reduction is not None or _scatters(consumer):
                continue
            for read_number, access in enumerate(consumer.reads):
                merged = self._attached(number, consumer, read_number, access)
                if merged is not None:
                    origin, group = merged
                    self.nests[origin], self.nests[number] = None, group
                    break

    def _attached(self, number: int, consumer: Nest, read_number: int, access: Access) -> tuple[int, Nest] | None:
        """The group of a reduction and this consumer, standing where the consumer stood."""
        if self.writers[access.operand] != 1 or access.operand in self.fixed:
            return None
        origin = next(
            i for i, n in enumerate(self.nests) if n and any(w.access.operand == access.operand for w in n.writes)
        )
        producer = self.nests[origin]
        assert producer is not None
        if producer.reduction is None or len(producer.reads) + len(consumer.reads) > MAX_READS:
            return None
        readers = self.readers()
        results = [write.access.operand for write in producer.writes]
        if any(origin < reader < number for result in results for reader in readers.get(result, ())):
            return None
        others = [reader for reader in readers[access.operand] if reader != number]
        keep = access.operand in self.kept or bool(others)
        group = attach(producer, results.index(access.operand), consumer, read_number, keep)
        return None if group is None else (origin, group)


def _once(access: Access, nest: Nest) -> bool:
    """Whether no element is read twice, so that computing it on the fly repeats nothing."""
    if access.indirect:
        return False
    return is_permutation(access, nest.extents) or all(
        axis.extent == 1 or step for axis, step in zip(nest.axes, access.steps(len(nest.axes)), strict=True)
    )


def _contiguous_move(producer: Nest) -> bool:
    """Whether the move keeps the innermost dimension dense, as array units want their rows."""
    access = producer.reads[int(producer.writes[0].value.args[0])]  # type: ignore[arg-type]
    steps = access.steps(len(producer.axes))
    wide = [step for axis, step in zip(producer.axes, steps, strict=True) if axis.extent > 1]
    return access.fill is None and not access.indirect and (not wide or wide[-1] == 1)


def _scatters(nest: Nest) -> bool:
    return any(isinstance(index, Indirect) for write in nest.writes for index in write.access.index)


def without_members(nest: Nest) -> Nest:
    """The nest as pure computation, for comparing structures."""
    return replace(nest, members=())
