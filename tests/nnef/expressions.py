"""What expressions of a lowering are worth at all points of its loops at once, or at one point of them.

Written from NNEF 2.0 sections 2.4 and 2.12. A value is an item (a Python value, or an array with one axis for
each loop), a tuple of them for a pack, or None. Places outside of a tensor count only where they are read: a
select asks for both of its values, each at the points where it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from tests.nnef.items import BINARY, DTYPES, FUNCTIONS, NEUTRAL, UNARY, Array, cast, kind
from tosajit.frontends.nnef.syntax import tree

Value = Any
Tensors = Mapping[str, "Array | list[Array] | None"]


class Outside(Exception):
    """Raised where a tensor is read or written outside of its extents, or something has no value."""


@dataclass(frozen=True)
class Guarded:
    """`|i|` or `|i <> low : high|`, not yet used on a tensor."""

    index: Any
    low: Any = None
    high: Any = None


@dataclass(frozen=True)
class Whole:
    """A range whose ends depend on the extent that it stands for."""

    ends: tuple[Any, Any, Any]


@dataclass
class Points:
    """Where expressions are evaluated: names, tensors, and the points that are skipped so far."""

    symbols: dict[str, Value]
    types: Mapping[str, str]
    tensors: Tensors
    skipped: Any = field(default_factory=lambda: np.False_)

    def value(self, one: tree.Expression, taken: Any = True) -> Value:
        """The value of an expression, needed at the points that are taken."""
        match one:
            case tree.Literal(value=value):
                return value
            case tree.Name(name=name):
                if name not in self.symbols:
                    raise Outside(f"{name} has no value")
                return self.symbols[name]
            case tree.Parenthesised(expression=inner):
                return self.value(inner, taken)
            case tree.Member():
                return self._member(one)
            case tree.List(items=items):
                return self._list(items, taken)
            case tree.Subscript() | tree.Access():
                return self._indexed(one, taken)
            case tree.Bounded(index=index, low=low, high=high):
                remapped = [None if end is None else self.value(end, taken) for end in (low, high)]
                return mapped(Guarded, self.value(index, taken), *(remapped if low is not None else ()))
            case _:
                return self._computed(one, taken)

    def _computed(self, one: tree.Expression, taken: Any) -> Value:
        match one:
            case tree.Unary(operator="?", operand=operand):
                return self.value(operand, taken) is not None
            case tree.Unary(operator=operator, operand=operand):
                return mapped(UNARY[operator], self.value(operand, taken))
            case tree.Binary(operator="in", left=left, right=right):
                pack = self.value(right, taken)
                return mapped(
                    lambda item: any(bool(item == other) for other in pack), self.value(left, taken)
                )
            case tree.Binary(operator=operator, left=left, right=right):
                return mapped(BINARY[operator], self.value(left, taken), self.value(right, taken))
            case tree.Coalesce(value=value, otherwise=otherwise):
                found = self.value(value, taken)
                return self.value(otherwise, taken) if found is None else found
            case tree.Select():
                return self._selected(one, taken)
            case tree.Fold(operator=operator, pack=pack, cumulative=cumulative):
                return folded(operator, self.value(pack, taken), cumulative=cumulative)
            case tree.Substitute(pack=pack, index=index, value=value):
                return replaced(self.value(pack, taken), self.value(index, taken), self.value(value, taken))
            case tree.Call(function=name, argument=argument):
                return self._call(name, argument, taken)
        raise Outside(f"{type(one).__name__} has no value here")

    def _call(self, name: str, argument: tree.Expression | None, taken: Any) -> Value:
        type = self.types.get(name, name)
        if argument is None:
            return DTYPES[type]() if type != "str" else ""
        value = self.value(argument, taken)
        if type in DTYPES:
            return mapped(lambda item: cast(type, item), value)
        return mapped(FUNCTIONS[name], value)

    def _member(self, one: tree.Member) -> Value:
        tensor = self.tensors[one.name]
        if tensor is None:
            return None
        if isinstance(tensor, list):
            return len(tensor)
        return tensor.shape if one.member == "shape" else tensor.ndim

    def _selected(self, one: tree.Select, taken: Any) -> Value:
        """One of two values; where the condition is known for all points only one is asked for."""
        condition = self.value(one.condition, taken)
        if condition is None:
            return None
        if isinstance(condition, tuple):
            assert one.otherwise is not None
            return mapped(chosen, condition, self.value(one.then, taken), self.value(one.otherwise, taken))
        if np.ndim(condition) == 0:
            branch = one.then if condition else one.otherwise
            return None if branch is None else self.value(branch, taken)
        assert one.otherwise is not None
        then = self.value(one.then, np.logical_and(taken, condition))
        otherwise = self.value(one.otherwise, np.logical_and(taken, np.logical_not(condition)))
        return mapped(chosen, condition, then, otherwise)

    def _list(self, items: tuple[tree.Expression, ...], taken: Any) -> Value:
        found = [value for item in items for value in self.listed(item, taken)]
        return None if any(value is None for value in found) else tuple(found)

    def listed(self, item: tree.Expression, taken: Any) -> Iterator[Value]:
        """What an item of a list, or an index of a tensor, stands for."""
        match item:
            case tree.Range(first=first, last=last, stride=stride) if first is not None and last is not None:
                step = 1 if stride is None else self.value(stride, taken)
                yield from range(self.value(first, taken), self.value(last, taken), step)
            case tree.Expand(item=tree.Zip(items=zipped)):
                for row in zip(*(self.value(one, taken) for one in zipped), strict=True):
                    yield from row
            case tree.Expand(item=inner, count=None):
                value = self.value(inner, taken)
                yield from (None,) if value is None else value
            case tree.Expand(item=inner, count=count) if count is not None:
                yield from self._repeated(inner, count, taken)
            case _:
                yield self.value(item, taken)

    def _repeated(self, inner: tree.Expression, count: tree.Expression, taken: Any) -> Iterator[Value]:
        times = self.value(count, taken)
        if times:
            value = self.value(inner, taken)
            yield from value if isinstance(value, tuple) else (value,) * int(times)

    def _indexed(self, one: tree.Subscript | tree.Access, taken: Any) -> Value:
        """An item of a pack, or what tensors have at some places."""
        tensor, found = self.tensor(one, taken)
        if not found:
            assert isinstance(one, tree.Subscript)
            return self._part(self.value(one.base, taken), one.index, taken)
        if tensor is None:
            return None
        indices = self.indices(one, taken)
        if isinstance(tensor, list):
            return tuple(self.read(single, indices, taken) for single in tensor)
        return self.read(tensor, indices, taken)

    def tensor(
        self, one: tree.Subscript | tree.Access, taken: Any
    ) -> tuple[Array | list[Array] | None, bool]:
        """The tensor that is indexed, and whether one is."""
        match one.base:
            case tree.Name(name=name) if name in self.tensors and name not in self.symbols:
                return self.tensors[name], True
            case tree.Subscript(base=tree.Name(name=name), index=index) if name in self.tensors:
                pack = self.tensors[name]
                assert isinstance(pack, list)
                place = self.value(index, taken)
                if np.ndim(place) or not -len(pack) <= place < len(pack):
                    raise Outside(f"{name} has no item {place}")
                return pack[int(place)], True
        return None, False

    def indices(self, one: tree.Subscript | tree.Access, taken: Any) -> list[Any]:
        """The indices of a tensor, one a dimension; a pack among them makes a pack of the result."""
        found: list[Any] = []
        for item in one.indices if isinstance(one, tree.Access) else (one.index,):
            if isinstance(item, tree.Range):
                ends = (item.first, item.last, item.stride)
                values = [None if end is None else self.value(end, taken) for end in ends]
                found.append(Whole((values[0], values[1], values[2])))
            else:
                found += self.listed(item, taken)
        if any(index is None for index in found):
            raise Outside("an index is null")
        return found

    def _part(self, base: Value, index: tree.Expression, taken: Any) -> Value:
        if base is None:
            return None
        if isinstance(index, tree.Range):
            ends = (index.first, index.last, index.stride)
            values = [None if end is None else self.value(end, taken) for end in ends]
            null = any(end is not None and value is None for end, value in zip(ends, values, strict=True))
            return None if null else base[slice(*values)]
        where = self.value(index, taken)
        if where is None:
            return None
        if isinstance(where, tuple):
            return tuple(base[place] for place in _places(base, where))
        return base[where] if np.ndim(where) == 0 else np.asarray(base)[where]

    def read(self, tensor: Array, indices: list[Any], taken: Any) -> Value:
        """What a tensor has at some places."""
        return spread(tensor, indices, lambda places: tensor[self.places(tensor, places, taken)])

    def places(self, tensor: Array, indices: list[Any], taken: Any) -> tuple[Any, ...]:
        """Indices that are inside of a tensor; points are skipped whose guarded ones are not."""
        if len(indices) != tensor.ndim:
            raise Outside(f"{len(indices)} indices for a tensor of rank {tensor.ndim}")
        found = []
        for index, extent in zip(indices, tensor.shape, strict=True):
            where = index
            if isinstance(index, Guarded):
                low, high = index.index < 0, index.index >= extent
                where = index.index
                if index.low is None:
                    self.skipped = self.skipped | (np.logical_or(low, high) & taken)
                else:
                    where = np.where(low, index.low, np.where(high, index.high, where))
            bad = np.logical_or(where < 0, where >= extent) & taken & ~np.asarray(self.skipped)
            if np.any(bad):
                raise Outside(f"an index is outside of an extent of {extent}")
            found.append(np.clip(where, 0, max(0, extent - 1)))
        return tuple(found)


def spread(tensor: Array, indices: list[Any], function: Callable[[list[Any]], Any]) -> Value:
    """A function of indices; of each one, where one of them is a pack."""
    packs = [place for place, index in enumerate(indices) if isinstance(index, tuple | Whole)]
    if not packs:
        return function(indices)
    (place,) = packs
    pack = indices[place]
    items = range(tensor.shape[place])[slice(*pack.ends)] if isinstance(pack, Whole) else pack
    return tuple(function([*indices[:place], item, *indices[place + 1 :]]) for item in items)


def mapped(function: Callable[..., Any], *values: Value) -> Value:
    """A function of items, item by item where values are packs; null where one of them is."""
    if any(value is None for value in values):
        return None
    lengths = {len(value) for value in values if isinstance(value, tuple)}
    if not lengths:
        return function(*values)
    (length,) = lengths
    columns = [value if isinstance(value, tuple) else (value,) * length for value in values]
    return tuple(function(*row) for row in zip(*columns, strict=True))


def chosen(condition: Any, then: Any, otherwise: Any) -> Any:
    """One of two items, which need be no numbers where the condition is one truth."""
    if np.ndim(condition) == 0:
        return then if condition else otherwise
    return np.where(condition, then, otherwise)


def folded(operator: str, pack: Value, *, cumulative: bool) -> Value:
    """The items of a pack made one."""
    if pack is None:
        return None
    if cumulative:
        return tuple(accumulate(pack, BINARY[operator]))
    if operator == ":=":
        return pack[0] if pack and all(bool(item == pack[0]) for item in pack) else None
    if operator == "!=":
        return len({int(item) for item in pack}) == len(pack)
    if operator in ("<", "<=", ">", ">=", "=="):
        pairs = (BINARY[operator](*pair) for pair in pairwise(pack))
        return reduce(np.logical_and, pairs, True)
    return reduce(BINARY[operator], pack) if pack else NEUTRAL[operator]


def _places(base: Any, where: tuple[Any, ...]) -> list[int]:
    """The places that indices or a mask stand for."""
    if where and kind(where[0]) == "b":
        return [place for place, taken in enumerate(where) if taken]
    return [int(place) for place in where]


def replaced(pack: Value, index: Value, value: Value) -> Value:
    """A pack with other items in some places."""
    if pack is None or index is None or value is None:
        return None
    where = _places(pack, index if isinstance(index, tuple) else (index,))
    items = value if isinstance(value, tuple) else (value,) * len(where)
    found = list(pack)
    for place, item in zip(where, items, strict=True):
        found[place] = item
    return tuple(found)
