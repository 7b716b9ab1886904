"""Fusion: producers move into the nests that read them, so that intermediate results need no memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import compress
from math import prod

from tiling.expr import BYTES, walk
from tiling.forms import Forms, Piece
from tiling.nest import Access, Indirect, Nest, map_accesses, nest_exprs
from tiling.normal import split_dimensions
from tiling.records import replace
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
_NONE: frozenset[str] = frozenset()


def fuse(
    nests: Sequence[Nest],
    kept: Collection[str],
    supports: Callable[[Nest], bool] = lambda group: True,
    frugal: bool = False,
    constants: Collection[str] = (),
) -> tuple[Nest, ...]:
    """Groups that compute the same; values in `kept` stay, groups grow as far as a target `supports` them.

    Operands that are `constants` are never written; which of them are one makes no difference to groups.

    `frugal` is for targets whose memory is dearer than their scalar work: each reader widens narrow values
    for itself, padding goes into contractions, and reductions along several axes become one.
    """
    state = _Fusion(nests, kept, supports, frugal, constants)
    if frugal:
        state.rename()
        state.pull(False, widening=True)
    # Work on the results of a reduction or contraction goes behind it rather than into the next reduction.
    for into_reductions in (False, True):
        state.pull(into_reductions)
        state.push()
    state.forget()
    if not frugal:
        return tuple(state.live())
    state.merge()
    return tuple(_split(nest) if nest.verb == "reduce" else nest for nest in state.live())


class _Fusion:
    """The nests so far (None: gone into others), and who writes and who reads each value."""

    def __init__(
        self,
        nests: Sequence[Nest],
        kept: Collection[str],
        supports: Callable[[Nest], bool],
        frugal: bool,
        constants: Collection[str],
    ) -> None:
        self.kept, self.supports, self.frugal = frozenset(kept), supports, frugal
        self.forms = Forms(constants)
        self.nests: list[Piece | None] = [None] * len(nests)
        self.names = [(_NONE, _NONE)] * len(nests)  # of what each reads, and of what it writes
        self.writers: dict[str, set[int]] = {}
        self.readers: dict[str, set[int]] = {}
        for number, nest in enumerate(nests):
            self._put(number, self.forms.normal(self.forms.piece(nest)))

    def live(self) -> Iterator[Nest]:
        """Nests that are still there, in order."""
        return (self.forms.whole(piece) for piece in self.nests if piece is not None)

    def _put(self, number: int, piece: Piece | None) -> None:
        """Let a nest stand at `number` from now on."""
        before, now = self.names[number], (piece.read, piece.written) if piece is not None else (_NONE, _NONE)
        for index, old, new in zip((self.readers, self.writers), before, now, strict=True):
            for name in old - new:
                index[name].discard(number)
            for name in new - old:
                index.setdefault(name, set()).add(number)
        self.nests[number], self.names[number] = piece, now

    def pull(self, into_reductions: bool, widening: bool = False) -> None:
        """Inline producers without reductions into their consumers where that repeats no work.

        `widening`: only moves and those whose readers widen for themselves, before these take in more.
        """
        for number in range(len(self.nests)):
            while self._pull_once(number, into_reductions, widening):
                pass

    def _pull_once(self, number: int, into_reductions: bool, widening: bool) -> bool:
        consumer = self.nests[number]
        if consumer is None:
            return False
        for position, operand in self._computed(consumer):
            if widening and not self._moves_or_widens(operand):
                continue
            merged = self._inlined(number, consumer, position, operand, into_reductions)
            if merged is not None:
                self._put(number, merged)
                self._drop_unread(operand)
                return True
        return False

    def _computed(self, consumer: Piece) -> list[tuple[int, str]]:
        """The reads of what other nests write, and their operands."""
        operands = [consumer.operands[place] for place in consumer.form.reads]
        return [(position, name) for position, name in enumerate(operands) if name in self.writers]

    def _moves_or_widens(self, operand: str) -> bool:
        producer, holds = self._single_writer(operand), self.forms.holds
        if producer is None or holds(_looks_up, producer):
            return False
        return holds(pure_move, producer) or holds(_widens, producer)

    def _inlined(
        self, number: int, consumer: Piece, position: int, operand: str, into_reductions: bool
    ) -> Piece | None:
        producer, holds = self._single_writer(operand), self.forms.holds
        if producer is None or not holds(_is_map, producer) or not self._small(operand, number):
            return None
        nest = consumer.form.nest
        if holds(pure_move, producer) and not (self.frugal and holds(_looks_up, producer)):
            if nest.verb == "contract" and not holds(_rows_stay_dense, producer, self.frugal):
                return None
        elif self.frugal and holds(_widens, producer) and holds(_reads_once, consumer, position):
            pass
        elif self._repeats_work(number, consumer, position, operand):
            return None
        elif not into_reductions and (nest.reduction is not None or self._goes_behind(producer)):
            return None
        return self.forms.joined(self._inline, consumer, producer, position)

    def _inline(self, consumer: Nest, producer: Nest, position: int) -> Nest | None:
        group = inline(consumer, position, producer, parts=self.frugal)
        return group if group is None or group.verb == "contract" or self.supports(group) else None

    def _small(self, operand: str, consumer: int) -> bool:
        """Whether the writer of an operand and its consumer are small enough for one group."""
        numbers = (*self.writers[operand], consumer)
        pieces = [piece for number in numbers if (piece := self.nests[number]) is not None]
        axes = operands = steps = 0
        for piece in pieces:  # in one pass: it is asked of each pair, mostly more than once
            form = piece.form
            axes, operands, steps = max(axes, len(form.nest.axes)), operands + form.size, steps + form.steps
        most = min(MAX_OPERANDS, MAX_STRIDES // axes if axes else MAX_OPERANDS)
        if operands > most:
            operands -= sum([self.forms.repeated(piece) for piece in pieces])
        return operands <= most and steps <= MAX_STEPS

    def _repeats_work(self, number: int, consumer: Piece, position: int, operand: str) -> bool:
        """Whether a computed value is better kept in memory than computed where it is read."""
        shared = self.readers[operand] != {number} or operand in self.kept
        return shared or not self.forms.holds(_reads_alone, consumer, position)

    def _goes_behind(self, piece: Piece) -> bool:
        """Whether a nest goes on with a contraction's results and does not widen them: its place is there."""
        for _ in range(BEHIND):
            nest = piece.form.nest
            size = BYTES[nest.writes[0].access.type]
            writers = [
                self._single_writer(piece.operands[place])
                for place, access in zip(piece.form.reads, nest.reads, strict=True)
                if BYTES[access.type] >= size
            ]
            origins = [writer for writer in writers if writer is not None]
            if any(origin.form.nest.verb == "contract" for origin in origins):
                return True
            following = [origin for origin in origins if origin.form.nest.reduction is None]
            if len(following) != 1:
                return False
            (piece,) = following
        return False

    def _single_writer(self, operand: str) -> Piece | None:
        numbers = self.writers.get(operand, set())
        return self.nests[min(numbers)] if len(numbers) == 1 else None

    def _drop_unread(self, operand: str) -> None:
        if operand in self.kept or self.readers.get(operand):
            return
        for number in tuple(self.writers.get(operand, ())):
            if self.names[number][1] == {operand}:
                self._put(number, None)

    def push(self) -> None:
        """Attach elementwise consumers to the reductions and contractions whose results they read."""
        for number, consumer in enumerate(self.nests):
            if consumer is None or consumer.form.nest.reduction is not None or consumer.form.nest.scatters:
                continue
            for position, operand in self._computed(consumer):
                origin = next(iter(self.writers[operand]), -1)
                group = self._attached(origin, number, consumer, position, operand)
                if group is not None:
                    self._put(origin, None)
                    self._put(number, group)
                    break
                if groups := self._shared(number, consumer, position, operand):
                    self._put(number, None)
                    for place, group in groups.items():
                        self._put(place, group)
                    break

    def _shared(self, number: int, consumer: Piece, position: int, operand: str) -> dict[int, Piece]:
        """The groups of the parts of a contraction, each with the consumer's work on what it leaves.

        They stand where the parts stood; none if one of them cannot, or if others read the sums.
        """
        origins = sorted(self.writers[operand])
        parts = {place: piece for place in origins if (piece := self.nests[place]) is not None}
        others = (place for name in consumer.read - {operand} for place in self.writers.get(name, ()))
        apart = operand in self.kept or self.readers[operand] != {number} or origins[-1] > number
        if len(parts) < 2 or apart or any(place > origins[0] for place in others):
            return {}
        if len({piece.members for piece in parts.values()}) > 1 or not self._small(operand, number):
            return {}
        nests = [piece.form.nest for piece in parts.values()]
        left = sum(prod(nest.extents[: nest.outer]) for nest in nests)
        whole = prod(nests[0].writes[0].access.shape)
        if left != whole or any(nest.verb != "contract" or len(nest.writes) > 1 for nest in nests):
            return {}
        groups = {
            place: self.forms.joined(self._attach, consumer, piece, position, 0, False, True)
            for place, piece in parts.items()
        }
        made = {place: group for place, group in groups.items() if group is not None}
        return made if len(made) == len(parts) else {}

    def _attached(
        self, origin: int, number: int, consumer: Piece, position: int, operand: str
    ) -> Piece | None:
        """The group of a reduction and this consumer, to stand where the consumer stands."""
        producer = self._single_writer(operand)
        if producer is None or producer.form.nest.reduction is None or not self._small(operand, number):
            return None
        results = [producer.operands[place] for place in producer.form.writes]
        if any(origin < reader < number for name in results for reader in self.readers.get(name, ())):
            return None
        keep = operand in self.kept or self.readers[operand] != {number}
        return self.forms.joined(self._attach, consumer, producer, position, results.index(operand), keep)

    def _attach(
        self, consumer: Nest, producer: Nest, position: int, result: int, keep: bool, part: bool = False
    ) -> Nest | None:
        group = attach(producer, result, consumer, position, keep, part)
        return group if group is not None and self.supports(group) else None

    def forget(self) -> None:
        """Write no result whose readers are all in the group that makes it."""
        for number, piece in enumerate(self.nests):
            names = [piece.operands[place] for place in piece.form.writes] if piece is not None else []
            used = [bool(name in self.kept or self.readers.get(name)) for name in names]
            if piece is not None and 0 < sum(used) < len(used):
                nest = piece.nest()
                writes = tuple(compress(nest.writes, used))
                self._put(number, self.forms.piece(replace(nest, writes=writes)))

    def rename(self) -> None:
        """Let what is only copied to a result that stays, in its own order, be that result from the start."""
        for number, piece in enumerate(self.nests):
            nest = piece.nest() if piece is not None and self.forms.holds(pure_move, piece) else None
            source = renamed(nest) if nest is not None else None
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
                    members = found.members + (nest.members if source in found.written else ())
                    changed = replace(map_accesses(found.nest(), moved), members=members)
                    self._put(user, self.forms.piece(changed))

    def merge(self) -> None:
        """Make reductions along several axes, one after the other, one reduction."""
        for number, consumer in enumerate(self.nests):
            if consumer is None or consumer.form.nest.verb != "reduce":
                continue
            for position, operand in self._computed(consumer):
                producer = self._single_writer(operand)
                alone = operand not in self.kept and self.readers[operand] == {number}
                if producer is None or not alone or not self._small(operand, number):
                    continue
                group = self.forms.joined(self._merge, consumer, producer, position)
                if group is not None:
                    self._put(number, group)
                    self._drop_unread(operand)
                    break

    def _merge(self, consumer: Nest, producer: Nest, position: int) -> Nest | None:
        group = merge_reductions(consumer, position, producer)
        return group if group is not None and self.supports(group) else None


def _split(nest: Nest) -> Nest:
    """The nest with a dimension of its operands for each axis, where it can be."""
    return map_accesses(nest, lambda access: split_dimensions(access, nest, mixed=True))


def _is_map(nest: Nest) -> bool:
    """Whether a nest computes one result, and sums nothing."""
    return nest.reduction is None and len(nest.writes) == 1


def _looks_up(nest: Nest) -> bool:
    """Whether a nest is a table's: what it reads is found by a value, and not by an index."""
    return any(
        isinstance(index, Indirect) and index.value.scalar.family == "index"
        for access in nest.reads
        for index in access.index
    )


def _widens(nest: Nest) -> bool:
    """Whether a nest is little work that gives wider values than those it reads, each for itself."""
    if nest.scatters:
        return False
    data = [access for access in nest.reads if 4 * prod(access.shape) > max(nest.points, 4)]
    return (
        len(data) == 1
        and BYTES[data[0].type] < BYTES[nest.writes[0].access.type]
        and data[0].fill is None
        and is_permutation(data[0], nest.extents)
        and sum(1 for _ in walk(*nest_exprs(nest))) <= MAX_REPEATED
    )


def _reads_alone(nest: Nest, position: int) -> bool:
    """Whether a nest meets a value at one place only, and each element of it once."""
    access = nest.reads[position]
    several = sum(other.operand == access.operand for other in nest.reads) > 1
    return not several and _reads_once(nest, position)


def _reads_once(nest: Nest, position: int) -> bool:
    """Whether a nest is free to compute what it reads there: inside the bounds, and each element once."""
    access = nest.reads[position]
    return nest.verb != "contract" and access.fill is None and _once(access, nest)


def _once(access: Access, nest: Nest) -> bool:
    """Whether no element is read twice, so that computing it on the fly repeats nothing."""
    if access.indirect:
        return False
    steps = access.steps(len(nest.axes))
    return is_permutation(access, nest.extents) or all(
        axis.extent == 1 or step for axis, step in zip(nest.axes, steps, strict=True)
    )


def _rows_stay_dense(producer: Nest, fill: bool) -> bool:
    """Whether the move keeps the innermost dimension dense, as array units want their rows; `fill` or not."""
    access = producer.reads[producer.writes[0].value.number]
    steps = access.steps(len(producer.axes))
    wide = [step for axis, step in zip(producer.axes, steps, strict=True) if axis.extent > 1]
    inside = fill or access.fill is None
    return inside and not access.indirect and (not wide or wide[-1] == 1)
