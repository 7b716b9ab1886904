"""Substituting one nest into another: reads through views, reshapes, and producers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from tiling.expr import Expr, read, rewrite
from tiling.nest import (
    Access,
    Affine,
    Indirect,
    Nest,
    Write,
    along,
    dense_strides,
    fixed,
    map_accesses,
    rewrite_access,
    rewrite_nest,
    rewrite_write,
    split_axis,
    with_axes,
)
from tiling.normal import split_dimensions
from tiling.records import replace


def reshape_read(nest: Nest, number: int, shape: tuple[int, ...]) -> Nest | None:
    """The nest with read `number` seeing its operand as `shape`, axes split as needed; None if it cannot."""
    access = nest.reads[number]
    if access.shape == shape:
        return nest
    if access.fill is not None or access.indirect or prod(access.shape) != prod(shape):
        return None
    strides = dense_strides(shape)
    position = 0
    while position < len(nest.axes):
        step = nest.reads[number].steps(len(nest.axes))[position]
        inner = _split_point(abs(step), nest.axes[position].extent, shape, strides)
        if inner is None:
            position += 1
        elif nest.axes[position].extent % inner or step < 0:
            return None
        else:
            nest = split_axis(nest, position, inner)  # its outer part may leave the next dimension too
    access = nest.reads[number]
    index = _indices(access.steps(len(nest.axes)), access.start(), nest.extents, shape, strides)
    if index is None:
        return None
    reads = list(nest.reads)
    reads[number] = replace(access, shape=shape, index=index)
    return replace(nest, reads=tuple(reads))


def _split_point(step: int, extent: int, shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """How many steps of an axis stay within the dimension it walks, if it leaves it."""
    if step == 0:
        return None
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        room = size * stride
        if size > 1 and step < room:
            inner = room // step
            return inner if inner > 1 and step * (extent - 1) >= room else None
    return None


def _indices(
    steps: Sequence[int], start: int, extents: Sequence[int], shape: Sequence[int], strides: Sequence[int]
) -> tuple[Affine, ...] | None:
    """Per-dimension indices whose offsets add up to the given linear steps; None if a carry would occur."""
    coefficients = [[0] * len(steps) for _ in shape]
    for position, step in enumerate(steps):
        if step == 0 or extents[position] == 1:
            continue
        home = next((d for d, t in enumerate(strides) if shape[d] > 1 and t <= abs(step)), None)
        if home is None or step % strides[home]:
            return None
        coefficients[home][position] = step // strides[home]
    index = []
    for row, size, stride in zip(coefficients, shape, strides, strict=True):
        affine = Affine(tuple(row), start // stride)
        start -= affine.offset * stride
        low, high = affine.span([0] * len(extents), extents)
        if low < 0 or high >= size:
            return None
        index.append(affine)
    return tuple(index) if start == 0 else None


def is_permutation(access: Access, extents: Sequence[int]) -> bool:
    """Whether the access meets each element of the operand exactly once over the axes."""
    seen: set[int] = set()
    for item, size in zip(access.index, access.shape, strict=True):
        if isinstance(item, Indirect):
            return False
        used = [(p, c) for p, c in enumerate(item.coefficients) if c and extents[p] > 1]
        if len(used) > 1 or item.offset or (used and used[0][1] != 1):
            return False
        if (extents[used[0][0]] if used else 1) != size or (used and used[0][0] in seen):
            return False
        seen.update(p for p, _ in used)
    return all(extent == 1 or position in seen for position, extent in enumerate(extents))


def pure_move(nest: Nest) -> bool:
    """Whether the nest only copies one operand to another place."""
    return nest.reduction is None and len(nest.writes) == 1 and nest.writes[0].value.op == "read"


def identity_write(write: Write, axes: int) -> bool:
    """Whether dimension d of the result is axis d, so that axes can be replaced by a reader's indices."""
    return len(write.access.index) <= axes and all(
        item == along(d, axes) for d, item in enumerate(write.access.index)
    )


def append_reads(nest: Nest, extra: Sequence[Access]) -> tuple[Nest, int]:
    """The nest with more reads, renumbered to stand behind its own; and the first new number."""
    first = len(nest.reads)
    return replace(nest, reads=nest.reads + tuple(rewrite_access(a, shifted(first)) for a in extra)), first


def shifted(first: int) -> Callable[[Expr], Expr]:
    """Moves the numbers of reads up by `first`."""
    return lambda leaf: read(leaf.number + first, leaf.type) if leaf.op == "read" else leaf


def replacing(number: int, value: Expr) -> Callable[[Expr], Expr]:
    """Puts an expression in the place of read `number`, which is then none: those behind move up."""

    def leaf(expr: Expr) -> Expr:
        if expr.op != "read" or expr.number < number:
            return expr
        return value if expr.number == number else read(expr.number - 1, expr.type)

    return leaf


def inline(consumer: Nest, number: int, producer: Nest, parts: bool = False) -> Nest | None:
    """The consumer computing by itself what its read `number` would have found; None if it cannot.

    `parts`: also moves of a part of their source, below a read with a fill.
    """
    write = producer.writes[0]
    if producer.reduction is not None or len(producer.writes) != 1:
        return None
    if pure_move(producer) and (source := renamed(producer)):
        reads = list(consumer.reads)
        reads[number] = replace(reads[number], operand=source)
        return replace(consumer, reads=tuple(reads), members=producer.members + consumer.members)
    if parts and pure_move(producer) and consumer.reads[number].fill is not None:
        producer = _seen_as(producer, consumer.reads[number].shape)
        write = producer.writes[0]
    if not identity_write(write, len(producer.axes)) or len(write.access.index) != len(producer.axes):
        return None
    reshaped = reshape_read(consumer, number, write.access.shape)
    if reshaped is None:
        return None
    access = reshaped.reads[number]
    if access.indirect:
        return None
    if access.fill is not None:
        return _move_under_fill(reshaped, number, producer, parts)
    moved = with_axes(producer, reshaped.axes, [i for i in access.index if isinstance(i, Affine)])
    first = len(reshaped.reads) - 1
    value = rewrite(moved.writes[0].value, shifted(first))
    rest = replace(reshaped, reads=reshaped.reads[:number] + reshaped.reads[number + 1 :])
    merged, _ = append_reads(rewrite_nest(rest, replacing(number, value)), moved.reads)
    verb = producer.verb if consumer.verb == "move" else consumer.verb
    return replace(merged, verb=verb, members=producer.members + consumer.members)


def renamed(move: Nest) -> str | None:
    """The operand whose elements a move gives in their order: a view of one is a view of the other."""
    source, target = move.reads[move.writes[0].value.number], move.writes[0].access
    axes = len(move.axes)
    if source.fill is not None or source.indirect or not is_permutation(target, move.extents):
        return None
    same = source.type == target.type and prod(source.shape) == prod(target.shape)
    walks_alike = source.steps(axes) == target.steps(axes) and source.start() == target.start()
    return source.operand if same and walks_alike else None


def _move_under_fill(consumer: Nest, number: int, producer: Nest, parts: bool) -> Nest | None:
    """Inline a pure permutation below a read with a fill: the bounds are then the same."""
    if not pure_move(producer):
        return None
    source = producer.reads[producer.writes[0].value.number]
    access = consumer.reads[number]
    through = [index for index in access.index if isinstance(index, Affine)]
    if source.fill is not None:
        return None
    if not is_permutation(source, producer.extents) and not (
        parts and _is_part(source, producer.extents, through, consumer)
    ):
        return None
    index = tuple(i.compose(through, len(consumer.axes)) for i in source.index if isinstance(i, Affine))
    if any(not any(i.coefficients) for i in index) and len(index) != len(access.index):
        return None
    reads = list(consumer.reads)
    reads[number] = replace(source, index=index, fill=access.fill)
    return replace(consumer, reads=tuple(reads), members=producer.members + consumer.members)


def _seen_as(move: Nest, shape: tuple[int, ...]) -> Nest:
    """The move with its result seen as `shape`, if it can be."""
    write, count = move.writes[0], len(move.reads)
    turned = reshape_read(replace(move, reads=(*move.reads, write.access), writes=()), count, shape)
    if turned is None:
        return move
    *reads, target = turned.reads
    found = replace(turned, reads=tuple(reads), writes=(Write(target, write.value),))
    return map_accesses(found, lambda access: split_dimensions(access, found))


def _is_part(source: Access, extents: Sequence[int], through: Sequence[Affine], consumer: Nest) -> bool:
    """Whether a move takes a box of its source, and its reader stays inside where that is not all of it."""
    walked: list[int] = []
    for item, size in zip(source.index, source.shape, strict=True):
        used = [p for p, c in enumerate(item.coefficients) if c] if isinstance(item, Affine) else []
        if not isinstance(item, Affine) or len(used) != 1 or item.coefficients[used[0]] != 1:
            return False
        (position,) = used
        walked.append(position)
        low, high = through[position].span([0] * len(consumer.axes), consumer.extents)
        inside = low >= 0 and high < extents[position]
        if not inside and (item.offset or size != extents[position]):
            return False
    return sorted(walked) == list(range(len(extents)))


def attach(
    producer: Nest, result: int, consumer: Nest, number: int, keep: bool, part: bool = False
) -> Nest | None:
    """The producer going on with the consumer's work on its result `result`; None if the points differ.

    `part`: it may leave a part of what the consumer reads, and goes on with the work on that.
    """
    moved = _on_results(producer, producer.writes[result], consumer, number, part)
    if moved is None:
        return None
    known = _own_results(moved, producer)
    if known is None:
        return None
    others = [number for number in range(len(moved.reads)) if number not in known]
    places = {number: place for place, number in enumerate(others, len(producer.reads))}

    def leaf(expr: Expr) -> Expr:
        if expr.op != "read":
            return expr
        return known[expr.number] if expr.number in known else read(places[expr.number], expr.type)

    reads = [rewrite_access(moved.reads[number], leaf) for number in others]
    added = tuple(rewrite_write(write, leaf) for write in moved.writes)
    kept = producer.writes if keep else producer.writes[:result] + producer.writes[result + 1 :]
    members = producer.members + consumer.members
    return replace(producer, reads=(*producer.reads, *reads), writes=kept + added, members=members)


def _on_results(producer: Nest, write: Write, consumer: Nest, number: int, part: bool) -> Nest | None:
    """The consumer over the producer's axes, if it meets each element that `write` leaves once."""
    axes = len(producer.axes)
    places = [item for item in write.access.index if isinstance(item, Affine)]
    whole = identity_write(write, axes) or (part and len(places) == len(write.access.index))
    if not whole or len(write.access.index) != producer.outer or consumer.reduction is not None:
        return None
    reshaped = reshape_read(consumer, number, write.access.shape)
    if reshaped is None:
        return None
    access = reshaped.reads[number]
    if access.fill is not None or not is_permutation(access, reshaped.extents):
        return None
    old = [fixed(0, axes)] * len(reshaped.axes)
    for dimension, item in enumerate(access.index):
        assert isinstance(item, Affine)
        for position, coefficient in enumerate(item.coefficients):
            if coefficient and reshaped.axes[position].extent > 1:
                old[position] = places[dimension]
    return with_axes(reshaped, producer.axes, old)


def _own_results(moved: Nest, producer: Nest) -> dict[int, Expr] | None:
    """The values of reads of the producer's own results; None if elements differ."""
    axes = len(moved.axes)
    results = {write.access.operand: write for write in producer.writes}
    known: dict[int, Expr] = {}
    for number, access in enumerate(moved.reads):
        write = results.get(access.operand)
        if write is not None:
            place = (write.access.steps(axes), write.access.start())
            if access.fill is not None or access.indirect or (access.steps(axes), access.start()) != place:
                return None
            known[number] = write.value
    return known


def _walks_all(access: Access, extents: Sequence[int]) -> bool:
    """Whether the axes walk the elements of a dense operand, each once, whatever dimensions it is seen as."""
    if access.fill is not None or access.indirect or access.start():
        return False
    expected = 1
    for step, extent in sorted(zip(access.steps(len(extents)), extents, strict=True)):
        if extent > 1 and step != expected:
            return False
        expected *= extent
    return expected == prod(access.shape)


ASSOCIATIVE = frozenset({"add", "max", "min"})
"""Reductions that give the same in any order, on integers, which wrap."""


def merge_reductions(consumer: Nest, number: int, producer: Nest) -> Nest | None:
    """A reduction of the results of another one, both as one nest; None if that is not the same."""
    inner, outer, write = producer.reduction, consumer.reduction, producer.writes[0]
    if inner is None or outer is None or len(producer.writes) != 1 or write.value.op != "acc":
        return None
    same = (inner.op, inner.type, inner.initial) == (outer.op, outer.type, outer.initial)
    exact = (
        inner.op in ASSOCIATIVE
        and inner.type in ("i8", "i16", "i32", "i64")
        and not (inner.op == "add" and inner.initial)
    )
    taken = outer.value == read(number, inner.type) and identity_write(write, len(producer.axes))
    if not (same and exact and taken) or len(write.access.index) != producer.outer:
        return None
    reshaped = reshape_read(consumer, number, write.access.shape)
    if reshaped is None or not _walks_all(reshaped.reads[number], reshaped.extents):
        return None
    added = producer.axes[producer.outer :]
    kept, count = len(reshaped.axes), len(reshaped.axes) + len(added)
    # The producer's reduced axes come first among the reduced ones, as the operand's order would have them.
    axes = (*reshaped.axes[: reshaped.outer], *added, *reshaped.axes[reshaped.outer :])
    places = [p if p < reshaped.outer else p + len(added) for p in range(kept)]
    widened = with_axes(reshaped, axes, [along(place, count) for place in places])
    through = [index for index in widened.reads[number].index if isinstance(index, Affine)]
    through += [along(reshaped.outer + position, count) for position in range(len(added))]
    moved = with_axes(producer, axes, through)
    merged, first = append_reads(widened, moved.reads)
    assert moved.reduction is not None
    reduction = replace(outer, value=rewrite(moved.reduction.value, shifted(first)))
    return replace(merged, reduction=reduction, members=producer.members + consumer.members)
