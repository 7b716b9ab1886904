"""Subscripts in formulas: elements of tensors, tensors of packs, items of packs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.nnef.model import Argument, Open, Operation, Tensor
from tosajit.frontends.nnef.nests import terms
from tosajit.frontends.nnef.nests.assignment import extent_term
from tosajit.frontends.nnef.nests.packed import known_items, picked
from tosajit.frontends.nnef.nests.terms import Apply, Checked, Element, Loop, Packed, Term, kind
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.source import Span
from tosajit.frontends.nnef.values import packs
from tosajit.frontends.nnef.values.evaluate import Scope, evaluate
from tosajit.frontends.nnef.values.value import ValueFault

MOST_PACKED = 4096
"""Elements that an index which is a pack may pick."""
_DTYPES = {"int": np.int32, "real": np.float32, "bool": np.bool_}


class Unrolling(Exception):
    """Raised where the index of a loop has to be known."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop


@dataclass(frozen=True, slots=True)
class _Choice:
    """A tensor of a pack that data pick."""

    index: Term
    tensors: tuple[Tensor, ...]


_Base = Tensor | tuple[Tensor, ...] | _Choice | None


class Expressions(Protocol):
    """What gives the values of other expressions."""

    operation: Operation
    symbols: dict[str, Packed]
    tensors: Mapping[str, Argument]
    scope: Scope

    def value(self, expression: tree.Expression) -> Packed:
        """The value of an expression."""

    def items(self, item: tree.Expression, extent: int | None) -> Iterator[Term | Checked]:
        """What an index that is expanded stands for."""

    def range(self, range_: tree.Range, extent: int | None) -> Iterator[int]:
        """The indices of a range."""


@dataclass
class Indexer:
    """What resolves subscripts."""

    of: Expressions
    _tables: dict[tuple[object, ...], Tensor] = field(default_factory=dict)

    def value(self, expression: tree.Subscript | tree.Access) -> Packed:
        """An element of a tensor, some of them, or an item of a pack."""
        indices = (expression.index,) if isinstance(expression, tree.Subscript) else expression.indices
        if not self._is_tensor(expression.base):
            if not isinstance(expression, tree.Subscript):
                raise ValueFault(expression.span, "only tensors are indexed by several numbers", "2.4")
            return self._item(expression)
        match self._tensor(expression.base):
            case None:
                return None
            case Tensor() as tensor:
                return self._access(expression.span, tensor, indices)
            case _Choice(index=index, tensors=tensors):
                found = [self._access(expression.span, one, indices) for one in tensors]
                return picked(index, [one for one in found if isinstance(one, Element)])
            case tensors:
                found = [self._access(expression.span, one, indices) for one in tensors]
                return tuple(one for one in found if one is not None and not isinstance(one, tuple))

    def _is_tensor(self, base: tree.Expression) -> bool:
        """Whether a tensor is indexed, or a pack of them."""
        match base:
            case tree.Name(name=name):
                return name in self.of.tensors and name not in self.of.symbols
            case tree.Subscript(base=tree.Name(name=name) as pack):
                return self._is_tensor(pack) and isinstance(self.of.tensors[name], tuple)
        return False

    def _tensor(self, base: tree.Expression) -> _Base:
        match base:
            case tree.Name(name=name):
                return self.of.tensors[name]
            case tree.Subscript(base=tree.Name(name=name), index=index):
                pack = self.of.tensors[name]
                assert isinstance(pack, tuple)
                return self._of_pack(pack, index)
        raise AssertionError(base)

    def _of_pack(self, pack: tuple[Tensor, ...], index: tree.Expression) -> _Base:
        """A tensor of a pack, or some."""
        if isinstance(index, tree.Range):
            return tuple(pack[place] for place in self.of.range(index, len(pack)))
        value = self.of.value(index)
        if isinstance(value, tuple):
            return tuple(pack[place] for place in packs.places(len(pack), known_items(value)))
        if value is None or isinstance(value, Checked):
            raise ValueFault(index.span, "a tensor of a pack is picked by an int", "2.4")
        if isinstance(value, Loop | Element | Apply):
            inside = terms.loops_of(value)
            if not terms.elements_of(value) and inside:
                raise Unrolling(min(inside, key=lambda loop: loop.name))
            return _Choice(value, pack)
        (place,) = packs.places(len(pack), known_items(value))
        return pack[place]

    def _access(self, span: Span, tensor: Tensor, indices: Sequence[tree.Expression]) -> Packed:
        """An element; a pack of them, if one index is a pack."""
        rows: list[list[Term | Checked]] = []
        for index in indices:
            if isinstance(index, tree.Expand) and not isinstance(index.item, tree.Range):
                rows += [[one] for one in self.of.items(index, None)]
            elif isinstance(index, tree.Range | tree.Expand):
                extent = tensor.shape[len(rows)] if len(rows) < tensor.rank else 0
                rows.append(list(self.of.items(index, extent.bound if isinstance(extent, Open) else extent)))
            else:
                value = self.of.value(index)
                if value is None:
                    return None
                rows.append(list(value) if isinstance(value, tuple) else [value])
        if len(rows) != tensor.rank:
            text = f"`{tensor.name}` has {tensor.rank} dimensions, but {len(rows)} indices"
            raise ValueFault(span, text, "2.12")
        packed = [row for row in rows if len(row) != 1]
        if any(len(row) > MOST_PACKED for row in packed):
            raise ValueFault(span, f"more than {MOST_PACKED} elements are packed", "2.12", "write a loop")
        if len(packed) > 1:
            raise ValueFault(span, "only one dimension may be indexed by a pack", "2.12")
        if not packed and not any(_is_pack(index) for index in indices):
            return self._element(span, tensor, [row[0] for row in rows])
        count = len(packed[0]) if packed else 1
        return tuple(
            self._element(span, tensor, [row[place if len(row) == count else 0] for row in rows])
            for place in range(count)
        )

    def _element(self, span: Span, tensor: Tensor, indices: Sequence[Term | Checked]) -> Element:
        found: list[Term] = []
        checked: list[int] = []
        for place, index in enumerate(indices):
            if isinstance(index, Checked):
                size = extent_term(tensor, place)
                if index.low is None or index.high is None:
                    checked.append(place)
                    found.append(index.index)
                else:
                    below, above = terms.binary("<", index.index, 0), terms.binary(">=", index.index, size)
                    found.append(terms.chosen(below, index.low, terms.chosen(above, index.high, index.index)))
            else:
                found.append(index)
            if kind(found[-1]) != "int":
                raise ValueFault(
                    span, f"an index is an int, not {kind(found[-1])}", "2.12", "cast it: `int(…)`"
                )
        return Element(tensor, tuple(found), tuple(checked))

    def _item(self, expression: tree.Subscript) -> Packed:
        """An item of a pack of values, or some."""
        pack = self.of.value(expression.base)
        if pack is None:
            return None
        if isinstance(pack, str):
            return evaluate(expression, self.of.scope)
        if not isinstance(pack, tuple):
            raise ValueFault(expression.base.span, "this is neither a tensor nor a pack", "2.4")
        if isinstance(expression.index, tree.Range):
            return tuple(pack[place] for place in self.of.range(expression.index, len(pack)))
        index = self.of.value(expression.index)
        if index is None:
            return None
        if isinstance(index, tuple):
            return tuple(pack[place] for place in packs.places(len(pack), known_items(index)))
        if isinstance(index, Loop | Element | Apply):
            return self._looked_up(pack, index)
        (place,) = packs.places(len(pack), known_items(index))
        return pack[place]

    def _looked_up(self, pack: tuple[Term | Checked, ...], index: Term) -> Term:
        """An item that an index of a loop or of a tensor picks: numbers become a table."""
        items = [one for one in pack if not isinstance(one, Checked)]
        if len(items) == len(pack) and pack and all(terms.is_known(one) for one in items):
            if len(set(items)) == 1:
                return items[0]
            key = (kind(items[0]), *items)
            table = self._tables.get(key)
            if table is None:
                name = f"{self.of.operation.label}.table{len(self._tables)}"
                array: Array = np.array(items, _DTYPES[kind(items[0])])
                table = self._tables[key] = Tensor(name, kind(items[0]), array.shape, "constant", array)
            return Element(table, (index,))
        inside = terms.loops_of(index)
        if inside and not terms.elements_of(index):
            raise Unrolling(min(inside, key=lambda loop: loop.name))
        return picked(index, items)


def _is_pack(index: tree.Expression) -> bool:
    """Whether an index of a tensor is a pack though it may have one item."""
    return isinstance(index, tree.Range) or (
        isinstance(index, tree.Expand) and isinstance(index.item, tree.Range)
    )
