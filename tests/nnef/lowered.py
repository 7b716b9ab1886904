"""Does what `@lower` says, in plain NumPy, straight from NNEF 2.0 section 2.12.

All points of the loops at once where they do not depend on each other; else one point after another, in the
order of the loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tests.nnef.expressions import Outside, Points, Tensors, Value, spread
from tests.nnef.items import DTYPES, Array, greatest, least
from tosajit.frontends.nnef.compose.mentions import mentioned
from tosajit.frontends.nnef.syntax import tree

_NEUTRAL = {"+=": 0, "*=": 1, "&=": True, "|=": False}
_ADDED: dict[str, Any] = {
    "+=": np.add, "*=": np.multiply, "&=": np.logical_and, "|=": np.logical_or, "<?=": np.minimum,
    ">?=": np.maximum,
}  # fmt: skip


def lowered(
    operator: tree.Operator, types: Mapping[str, str], symbols: Mapping[str, Value], tensors: Tensors,
    outputs: Mapping[str, Sequence[tuple[int, ...]]],
) -> dict[str, list[Array]]:  # fmt: skip
    """The outputs of an operator; for each of them the shapes of its tensors, at most, are given."""
    assert operator.lowerings is not None
    declared = {one.name: one for one in operator.outputs}
    made = {}
    for name, shapes in outputs.items():
        type = declared[name].type
        dtype = DTYPES[types.get(type.name, type.name)]
        made[name] = [np.zeros(shape, dtype) for shape in shapes]
    known = {**tensors, **{name: made[name] if declared[name].type.pack else made[name][0] for name in made}}
    begun: set[str] = set()
    with np.errstate(all="ignore"):
        for one in operator.lowerings:
            for fixed in _unrolled(one, types, symbols, known):
                lowering = _Lowering(one, types, {**symbols, **fixed}, known, operator)
                lowering.run(begun)
                if lowering.counter is not None:
                    (whole,) = made[lowering.target]
                    made[lowering.target] = [whole.take(range(lowering.count), lowering.place)]
    return made


def _unrolled(
    one: tree.Lowering, types: Mapping[str, str], symbols: Mapping[str, Value], tensors: Tensors
) -> Iterator[dict[str, int]]:
    if one.unrolled is None:
        yield {}
        return
    assert one.unrolled.limit is not None
    count = Points(dict(symbols), types, tensors).value(one.unrolled.limit)
    for step in range(count):
        yield {one.unrolled.index: step} if one.unrolled.index else {}


class _Lowering:
    """One assignment."""

    def __init__(
        self, one: tree.Lowering, types: Mapping[str, str], symbols: Mapping[str, Value], tensors: Tensors,
        operator: tree.Operator,
    ) -> None:  # fmt: skip
        self.one, self.types, self.symbols, self.tensors = one, types, dict(symbols), tensors
        base = one.left.base
        while isinstance(base, tree.Subscript):
            base = base.base
        assert isinstance(base, tree.Name)
        self.target = base.name
        self.counter, self.place = self._counted(operator)
        self.count = 0
        """How often the condition held."""

    def _counted(self, operator: tree.Operator) -> tuple[str | None, int]:
        """The name of an extent that counts how often the condition holds, and which extent that is."""
        (output,) = [one for one in operator.outputs if one.name == self.target]
        shape = output.type.shape
        for place, extent in enumerate(shape.extents if shape else ()):
            if extent.bound is not None and isinstance(extent.expression, tree.Name):
                return extent.expression.name, place
        return None, 0

    def run(self, begun: set[str]) -> None:
        """Do it at all points."""
        pack = self.tensors[self.target]
        arrays = pack if isinstance(pack, list) else [pack]
        if self.target not in begun and self.one.operator not in ("=", ":="):
            for array in arrays:
                assert array is not None
                array[...] = self._neutral(array)
        begun.add(self.target)
        if self._in_turns():
            self._one_after_another()
        else:
            self._all_at_once()

    def _neutral(self, array: Array) -> Any:
        match self.one.operator:
            case "<?=":
                return greatest(array.dtype)
            case ">?=":
                return least(array.dtype)
        return _NEUTRAL[self.one.operator]

    def _in_turns(self) -> bool:
        """Whether points may depend on each other, or cannot be done at once."""
        names = [bound.name for bound in self.one.bounds]
        read = mentioned(self.one.right) | {
            name for local in self.one.locals for name in mentioned(local.value)
        }
        ragged = any(mentioned(bound.limit) & set(names) for bound in self.one.bounds)
        packs = any(isinstance(tensor, list) for tensor in self.tensors.values())
        return (
            self.one.operator == ":="
            or self.one.condition is not None
            or self.counter is not None
            or self.target in read
            or ragged
            or packs
        )

    def _all_at_once(self) -> None:
        limits: list[int] = []
        grouped: list[tuple[str, int | None]] = []
        points = Points(self.symbols, self.types, self.tensors)
        for bound in self.one.bounds:
            limit = points.value(bound.limit)
            grouped.append((bound.name, len(limit) if isinstance(limit, tuple) else None))
            limits += limit if isinstance(limit, tuple) else (limit,)
        grids = list(np.indices(limits, dtype=np.int64, sparse=True)) if limits else []
        symbols = dict(self.symbols)
        for name, length in grouped:
            taken = [grids.pop(0) for _ in range(1 if length is None else length)]
            symbols[name] = taken[0] if length is None else tuple(taken)
        self._assign(Points(symbols, self.types, self.tensors), tuple(limits))

    def _one_after_another(self) -> None:
        for symbols in self._walk(self.symbols, self.one.bounds):
            counted = {} if self.counter is None else {self.counter: self.count}
            self.count += self._assign(Points({**symbols, **counted}, self.types, self.tensors), ())

    def _walk(self, symbols: dict[str, Value], bounds: Sequence[tree.Bound]) -> Iterator[dict[str, Value]]:
        """The points, in the order of the loops."""
        if not bounds:
            yield symbols
            return
        limit = Points(symbols, self.types, self.tensors).value(bounds[0].limit)
        packed = isinstance(limit, tuple)
        for point in np.ndindex(limit if packed else (int(limit),)):
            value = tuple(map(np.int64, point)) if packed else np.int64(point[0])
            yield from self._walk({**symbols, bounds[0].name: value}, bounds[1:])

    def _assign(self, points: Points, grid: tuple[int, ...]) -> bool:
        """Give the target its items; whether the condition holds, at one point."""
        one = self.one
        for local in one.locals:
            points.symbols[local.name] = points.value(local.value)
        if one.condition is not None and not points.value(one.condition):
            return False
        target, found = points.tensor(one.left, True)
        assert found
        assert target is not None
        indices = points.indices(one.left, True)
        value = points.value(one.right)
        if value is None:
            raise Outside("the right-hand side is null")
        if isinstance(target, list):
            for number, array in enumerate(target):
                self._store(
                    points, array, indices, value[number] if isinstance(value, tuple) else value, grid
                )
            return True
        items = iter(value) if isinstance(value, tuple) else None
        spread(
            target, indices,
            lambda places: self._store(points, target, places, value if items is None else next(items), grid),
        )  # fmt: skip
        return True

    def _store(
        self, points: Points, array: Array, indices: list[Any], value: Any, grid: tuple[int, ...]
    ) -> None:
        where = points.places(array, indices, True)
        keep = np.broadcast_to(~np.asarray(points.skipped), grid)
        places = tuple(np.broadcast_to(place, grid)[keep] for place in where)
        items = np.broadcast_to(value, grid)[keep]
        flat = np.ravel_multi_index(places, array.shape) if places else np.zeros(items.size, np.int64)
        if self.one.operator in ("=", ":="):
            array.reshape(-1)[flat] = items
        else:
            _ADDED[self.one.operator].at(array.reshape(-1), flat, items)
