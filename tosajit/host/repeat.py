"""Depthwise convolutions with several results a channel, made of an input whose channels are repeated."""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from tiling.expr import read
from tiling.nest import Access, Axis, Nest, Write, along, fixed
from tiling.normal import merge_axes
from tiling.records import replace
from tosajit.host.match import Match, match
from tosajit.host.unit import Prepared

SIDE_BY_SIDE = 8
"""So many copies are results of the same point, which are stored as vectors; more are an axis."""


def repeated(group: Nest, made: Prepared, constants: Collection[str]) -> Nest:
    """The group with one result a channel, after a nest that repeats its input's, if it has several."""
    found = match(group)
    if found is None or not _has_several(group, found, constants):
        return group
    channel, column = found.batch[0], found.column
    assert column is not None
    source, times = group.reads[found.left.read], group.axes[column].extent
    count = len(group.axes)
    place = along(channel, count, times) + along(column, count)
    wide = replace(
        source,
        operand=f"{source.operand}.{times}_times",
        shape=(*source.shape[:-1], source.shape[-1] * times),
        index=(*source.index[:-1], place),
    )
    reads = tuple(wide if number == found.left.read else one for number, one in enumerate(group.reads))
    merged = merge_axes(replace(group, reads=reads), channel)
    seen = merged and match(merged)
    if merged is None or not seen or not seen.depthwise:
        return group
    if wide.operand not in made.temporaries:
        made.groups.append(_repetition(source, wide.operand, times, group.members[0]))
        made.temporaries[wide.operand] = Access(wide.operand, wide.type, (prod(wide.shape),), (along(0, 1),))
    return merged


def _has_several(group: Nest, found: Match, constants: Collection[str]) -> bool:
    """Whether it is a depthwise convolution whose channels have several results, one after the other."""
    if len(found.batch) != 1 or found.column != found.batch[0] + 1 or found.depthwise:
        return False
    count, (channel,) = len(group.axes), found.batch
    source, weights = group.reads[found.left.read], group.reads[found.right.read]
    return source.index[-1] == along(channel, count) and weights.operand in constants


def _repetition(source: Access, target: str, times: int, member: str) -> Nest:
    """The nest that repeats each element of an operand."""
    size, few = prod(source.shape), times <= SIDE_BY_SIDE
    axes = (Axis("i", size),) if few else (Axis("i", size), Axis("m", times))
    count = len(axes)
    places = [fixed(number, count) for number in range(times)] if few else [along(1, count)]
    value = read(0, source.type)
    writes = [
        Write(Access(target, source.type, (size, times), (along(0, count), place)), value) for place in places
    ]
    flat = Access(source.operand, source.type, (size,), (along(0, count),))
    return Nest("move", axes, (flat,), tuple(writes), members=(f"{member}.{times}_times",))
