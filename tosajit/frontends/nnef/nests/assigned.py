"""From assignments to nests: what each output is written by, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tiling.expr import Expr, const, walk
from tiling.nest import Access, Nest, Reduction, nest_exprs
from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import dtype_of
from tosajit.frontends.nnef.model import Tensor
from tosajit.frontends.nnef.nests import guards, meaning, terms
from tosajit.frontends.nnef.nests.assignment import Assignment, Start, Unfit, copied, static_shape
from tosajit.frontends.nnef.nests.linear import linear
from tosajit.frontends.nnef.nests.nest import Body, chosen, combined, outside, reduction_of, total
from tosajit.frontends.nnef.nests.places import Indices, Place, cover, is_injective, is_inside, ordered
from tosajit.frontends.nnef.nests.strided import turned
from tosajit.frontends.nnef.nests.terms import Element, Term

_MOST_NESTS = 1024
_DEEPEST = 200
"""Scalars that follow one another: passes of the compiler go down as deep."""
_MOST_PARTS = 256
"""Assignments that together write an output: each is compared with each."""
_ZERO: dict[str, Term] = {"real": 0.0, "int": 0, "bool": False}


@dataclass
class Nests:
    """The nests of an operation, while they are made."""

    name: str
    places: dict[Tensor, Place]
    """The operands: inputs, outputs, and what stands between operations."""
    constants: Mapping[Tensor, Array] = field(default_factory=dict)
    """Operands whose values are known."""
    added: dict[str, Array] = field(default_factory=dict)
    """Constants of our own, by name."""
    made: list[Nest] = field(default_factory=list)
    _between: dict[Tensor, Place] = field(default_factory=dict)
    _tables: dict[object, str] = field(default_factory=dict)

    def assign(self, assignments: Sequence[Assignment]) -> None:
        """Add the nests of all formulas; `Unfit` for what nests cannot say."""
        single = [one for several in assignments for one in _apart(several)]
        outputs = dict.fromkeys(one.targets[0].tensor for one in single)
        self._check_order(single)
        for output in outputs:
            self._output(output, [one for one in single if one.targets[0].tensor is output])

    def _check_order(self, assignments: Sequence[Assignment]) -> None:
        """An output that is read has to be there, and is not what is being written."""
        for loop in (loop for one in assignments for loop in one.loops):
            if not isinstance(loop.extent, int):
                raise Unfit(f"data decide how far `{loop.name}` runs")
        last = {one.targets[0].tensor: place for place, one in enumerate(assignments)}
        for place, one in enumerate(assignments):
            for element in one.reads:
                if last.get(element.tensor, -1) >= place:
                    raise Unfit(f"`{element.tensor.name}` is read while it is written")
        order = list(dict.fromkeys(one.targets[0].tensor for one in assignments))
        for one in assignments:
            for element in one.reads:
                if element.tensor in order and order.index(element.tensor) >= order.index(
                    one.targets[0].tensor
                ):
                    raise Unfit(f"`{element.tensor.name}` is read before it is done")

    # What nests ask for.

    def place(self, tensor: Tensor) -> Place:
        """Where a tensor is read."""
        found = self._between.get(tensor) or self.places.get(tensor)
        if found is not None:
            return found
        if tensor.value is None:
            name = f"{self.name}.{tensor.name}"
            return self.places.setdefault(
                tensor, Place(name, meaning.COMPUTED[tensor.type], static_shape(tensor))
            )
        kind = {"real": np.float32, "int": np.int32, "bool": np.bool_}[tensor.type]
        return self.table(np.ascontiguousarray(tensor.value, kind))

    def table(self, array: Array) -> Place:
        """Where a constant of our own is."""
        key = array.dtype.str, array.shape, array.tobytes()
        name = self._tables.setdefault(key, f"{self.name}.table{len(self._tables)}")
        self.added[name] = array
        return Place(name, dtype_of(array.dtype).compute, array.shape)

    def finite(self, tensor: Tensor) -> bool:
        """Whether all elements of a tensor are known to be numbers."""
        array = self.constants.get(tensor) if tensor.value is None else tensor.value
        return array is not None and bool(np.isfinite(array.astype(np.float32)).all())

    def _temporary(self, output: Tensor, what: str) -> Tensor:
        """A tensor between two nests of an output."""
        shape = static_shape(output)
        name = f"{self.name}.{what}{len(self._between)}"
        found = Tensor(name, output.type, shape)
        self._between[found] = Place(name, meaning.COMPUTED[output.type], shape)
        return found

    # One output.

    def _output(self, output: Tensor, assignments: Sequence[Assignment]) -> None:
        starts = [one for one in assignments if one.operator == "="]
        updates = [one for one in assignments if one.operator != "="]
        if not updates:
            self._write_all(starts, output, output)
            return
        if any(one.operator == "=" for one in assignments[len(starts) :]):
            raise Unfit(f"`{output.name}` is initialised after it was updated")
        start = self._start(starts, output, updates)
        for number, update in enumerate(updates):
            last = number == len(updates) - 1
            target = output if last else self._temporary(output, "part")
            self._update(update, target, start)
            start = target

    def _start(self, starts: Sequence[Assignment], output: Tensor, updates: Sequence[Assignment]) -> Start:
        """What updates begin with."""
        operator = updates[0].operator
        if not starts:
            if operator == ":=":
                raise Unfit(f"`{output.name}` is updated, but not initialised")
            return _as_item(meaning.neutral(operator, meaning.COMPUTED[output.type]), output.type)
        items = [one.values[0] for one in starts if terms.is_known(one.values[0])]
        if (
            len(items) == len(starts)
            and len(set(items)) == 1
            and cover(self._targets(starts), static_shape(output))
        ):
            return items[0]
        start = self._temporary(output, "start")
        self._write_all(starts, output, start)
        return start

    def _targets(self, assignments: Sequence[Assignment]) -> list[Indices]:
        """The targets of unconditional assignments, so far as they are linear."""
        plain = [one for one in assignments if one.condition is True and not one.skips]
        return [found for one in plain if (found := _indices(one.targets[0])) is not None]

    def _write_all(self, starts: Sequence[Assignment], output: Tensor, target: Tensor) -> None:
        """Assignments that together write each element once; where they leave some out, these are 0."""
        if len(starts) > _MOST_PARTS:
            raise Unfit(f"`{output.name}` is written in {len(starts)} parts")
        indices = [_required(one.targets[0]) for one in starts]
        if not cover(indices, static_shape(output)):
            if len(starts) > 1:
                raise Unfit(f"`{output.name}` is assigned more than once, or not everywhere")
            self._update(replace(starts[0], operator=":="), target, _ZERO[output.type])
            return
        for one in starts:
            self._emit(one, target, _ZERO[output.type])

    def _update(self, update: Assignment, target: Tensor, start: Start) -> None:
        """One update of an output, of which `start` is what was there."""
        element = update.targets[0]
        indices = _indices(element)
        if indices is None:
            self._scatter(update, target, start)
        elif is_injective(indices) and is_inside(indices, static_shape(target)):
            if not cover([indices], static_shape(target)):
                self._copy(start, target)
            self._emit(update, target, start)
        elif update.operator in meaning.COMBINING:
            for piece in turned(update, indices):
                self._emit(piece, target, start)
        else:
            raise Unfit(f"`{target.name}` is assigned more than once, or outside")

    def _scatter(self, update: Assignment, target: Tensor, start: Start) -> None:
        """Elements that data choose are replaced."""
        if update.operator != ":=" or update.condition is not True or update.skips:
            raise Unfit(f"data decide which elements of `{target.name}` are updated")
        self._copy(start, target)
        loops = tuple(loop for loop in update.loops if loop.steps > 1)
        body = Body(self, loops, len(loops))
        value = body.value(update.values[0])
        place = self.place(target)
        index = tuple(body.index(one) for one in update.targets[0].indices)
        self._add(body, Access(place.name, place.type, place.shape, index), value, None)

    def _copy(self, start: Start, target: Tensor) -> None:
        """The ground that others write over."""
        self._emit(copied(start, target), target, _ZERO[target.type])

    def _emit(self, one: Assignment, target: Tensor, start: Start) -> None:
        """One nest: its target is linear and meets no element twice."""
        indices = _required(one.targets[0])
        kept = ordered(indices)
        walked = tuple(loop for loop in one.loops if loop.steps > 1 and loop not in kept)
        accumulates = one.operator in meaning.COMBINING
        if walked and not accumulates:
            raise Unfit(f"`{target.name}` is assigned again and again along {walked[0].name}")
        before = Element(start, one.targets[0].indices) if isinstance(start, Tensor) else start
        guard = guards.Guard(self.finite, self.place, one, walked)
        body = Body(self, (*kept, *walked), len(kept), guard.fills, guard.free)
        inner, factors = guards.factored(one, walked)
        value = body.value(inner)
        reduction = None
        if walked:
            if guard.inner is not None:
                neutral = const(meaning.neutral(one.operator, value.type), value.type)
                value = chosen(body.value(guard.inner), value, neutral)
            reduction = reduction_of(one.operator, value.type, value)
            value = total(value.type)
            for factor in factors:
                value = value * body.value(factor)
        there = body.value(before)
        if accumulates:
            value = combined(one.operator, None if _is_neutral(before, one.operator, value) else there, value)
        if guard.outer is not None:
            value = chosen(body.value(guard.outer), value, there)
        place = self.place(target)
        index = tuple(index.affine(body.loops) for index in indices)
        access = Access(place.name, place.type, place.shape, index)
        self._add(body, access, value, reduction)

    def _add(self, body: Body, target: Access, value: Expr, reduction: Reduction | None) -> None:
        nest = body.nest(self.name, target, value, reduction)
        if max(map(_depth, nest_exprs(nest))) > _DEEPEST:
            raise Unfit("formulas are nested too deeply")
        self.made.append(nest)
        if len(self.made) > _MOST_NESTS:
            raise Unfit(f"more than {_MOST_NESTS} nests")


def _depth(expr: Expr) -> int:
    """How many scalars follow one another."""
    found: dict[Expr, int] = {}
    for node in walk(expr):
        found[node] = 1 + max((found[part] for part in node.operands), default=0)
    return found[expr]


def _apart(several: Assignment) -> list[Assignment]:
    """A packed assignment as one for each item, which is the same unless it reads what it writes."""
    if len(several.targets) == 1:
        return [several]
    pairs = zip(several.targets, several.values, strict=True)
    return [replace(several, targets=(target,), values=(value,)) for target, value in pairs]


def _indices(target: Element) -> Indices | None:
    """The indices of a target, if all are linear."""
    found = [linear(index) for index in target.indices]
    return None if None in found else tuple(one for one in found if one is not None)


def _required(target: Element) -> Indices:
    found = _indices(target)
    if found is None:
        raise Unfit(f"data decide which elements of `{target.tensor.name}` are written")
    if not is_inside(found, static_shape(target.tensor)) and not target.checked:
        for number, (index, extent) in enumerate(zip(found, static_shape(target.tensor), strict=True)):
            low, high = index.span
            if low < 0 or high >= extent:
                raise outside(target, number, (low, high))
    return found


def _as_item(number: int | float, type: str) -> Term:
    return bool(number) if type == "bool" else number


def _is_neutral(start: Term, operator: str, value: Expr) -> bool:
    """Whether what was there changes nothing."""
    return (
        terms.is_known(start)
        and not isinstance(start, str)
        and start == meaning.neutral(operator, value.type)
    )
