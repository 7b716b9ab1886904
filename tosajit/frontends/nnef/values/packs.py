"""Packs: element-wise operators, subscripts, substitution and folds (NNEF 2.0 section 2.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import accumulate, pairwise, repeat
from typing import TypeVar

from tosajit.frontends.nnef.values.arithmetic import NoValue, binary
from tosajit.frontends.nnef.values.value import LONGEST_PACK, Item, Value, described, type_of

Pack = tuple[Item, ...]
T = TypeVar("T")

_NEUTRAL: dict[str, Item] = {"&&": True, "||": False}
_PAIRWISE = ("<", "<=", ">", ">=", "==")


def bounded(count: int) -> int:
    """A number of items that a pack may have."""
    if count > LONGEST_PACK:
        raise NoValue(f"a pack has at most {LONGEST_PACK} items, not {count}")
    return count


def mapped(function: Callable[..., Item], *values: Value) -> Value:
    """A function of items, item by item where values are packs; null where one of them is."""
    if any(value is None for value in values):
        return None
    lengths = {len(value) for value in values if isinstance(value, tuple)}
    if not lengths:
        return function(*values)
    if len(lengths) > 1:
        raise NoValue(f"packs of {' and '.join(map(str, sorted(lengths)))} items do not go together")
    (length,) = lengths
    columns = [value if isinstance(value, tuple) else repeat(value, length) for value in values]
    return tuple(map(function, *columns))


def uniform(items: Sequence[Item]) -> Pack:
    """Items as a pack: all of one type."""
    kinds = dict.fromkeys(map(type_of, items))
    if len(kinds) > 1:
        raise NoValue(f"the items of a pack are of one type, not {' and '.join(kinds)}")
    return tuple(items)


def spread(first: Value, last: Value, stride: Value) -> Pack:
    """The integers of a range."""
    ends = [whole_number(one, "a range") for one in (first, last, stride)]
    if ends[2] == 0:
        raise NoValue("the stride of a range must not be 0")
    found = range(*ends)
    bounded(-(-(ends[1] - ends[0]) // ends[2]))
    return tuple(found)


def whole_number(value: Value, what: str) -> int:
    """An integer that is expected."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise NoValue(f"{what} takes an int, not {described(value)}")
    return value


def item_at(pack: Pack | str, index: Value) -> Value:
    """What a subscript takes from a pack or a string: an item, some, or those of a mask."""
    match index:
        case tuple():
            found = [pack[place] for place in places(len(pack), index)]
            return "".join(map(str, found)) if isinstance(pack, str) else tuple(found)
    (place,) = places(len(pack), (whole_number(index, "a subscript"),))
    return pack[place]


def places(length: int, index: Pack) -> Iterator[int]:
    """The places that indices or a mask stand for; negative ones count from the end."""
    if index and isinstance(index[0], bool):
        if len(index) != length:
            raise NoValue(f"a mask of {len(index)} items does not go with a pack of {length}")
        yield from (place for place, taken in enumerate(index) if taken)
        return
    for one in index:
        place = whole_number(one, "a subscript")
        if not -length <= place < length:
            raise NoValue(f"index {place} is outside of a pack of {length} items")
        yield place % length


def part(pack: Pack | str, first: Value, last: Value, stride: Value) -> Value:
    """The items of a range of places, whose ends may be left out."""
    ends = [None if one is None else whole_number(one, "a subscript") for one in (first, last, stride)]
    if ends[2] == 0:
        raise NoValue("the stride of a range must not be 0")
    return pack[slice(*ends)]


def replaced(pack: Pack, index: Value, value: Value) -> Pack:
    """A pack with other items in some places."""
    indices = index if isinstance(index, tuple) else (whole_number(index, "a subscript"),)
    where = list(places(len(pack), indices))
    if value is None:
        raise NoValue("an item cannot be null")
    return uniform(put(pack, where, value))


def put(pack: Sequence[T], where: Sequence[int], value: T | tuple[T, ...]) -> list[T]:
    """Items of any kind with others in some places: one for all of these, or one for each."""
    items: tuple[T, ...] = value if isinstance(value, tuple) else (value,) * len(where)
    if len(items) != len(where):
        raise NoValue(f"{len(items)} items do not go to {len(where)} places")
    found = list(pack)
    for place, item in zip(where, items, strict=True):
        found[place] = item
    return found


def folded(operator: str, pack: Pack) -> Value:
    """The items of a pack made one."""
    if operator == ":=":
        return pack[0] if pack and all(item == pack[0] for item in pack) else None
    if operator == "!=":
        return len(set(pack)) == len(pack)
    if operator in _PAIRWISE:
        return all(binary(operator, *pair) for pair in pairwise(pack))
    if pack:
        return reduce(lambda left, right: binary(operator, left, right), pack)
    if operator in _NEUTRAL:
        return _NEUTRAL[operator]
    if operator in ("+", "*"):
        return int(operator == "*")
    raise NoValue(f"`{operator}` has no value for an empty pack")


def cumulated(operator: str, pack: Pack) -> Pack:
    """All steps of a fold."""
    return tuple(accumulate(pack, lambda left, right: binary(operator, left, right)))
