"""Parts of a tensor that begin at computed places: gathered, and combined with others.

Parts have one size, with an extent for each dimension of the tensor. Each row of `starts` says where one
begins along the dimensions `along`; along others parts begin at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.arrays import Array
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import constant_of, part, reshaped, transposed
from tosajit.frontends.common.numbers import number
from tosajit.frontends.common.scale import number_like
from tosajit.frontends.common.scatter import PLAIN, Combine, all_combined, placed, unique
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor

_MOST = 1 << 22
"""How many rows all parts may have together: constants have their numbers."""
_OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class Parts:
    """Where parts of a tensor are."""

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    along: tuple[int, ...]

    def __post_init__(self) -> None:
        rank = len(self.shape)
        fits = len(self.sizes) == rank
        fits = fits and all(0 < one <= most for one, most in zip(self.sizes, self.shape, strict=True))
        if not fits or not set(self.along) <= set(range(rank)) or len(set(self.along)) < len(self.along):
            raise Refused(f"parts {list(self.sizes)} along {list(self.along)} are none of {list(self.shape)}")

    def gathered(self, value: Tensor, starts: Tensor) -> Tensor:
        """The parts, one behind the other; those that would reach beyond an end are moved inside."""
        most = np.array([self.shape[axis] - self.sizes[axis] for axis in self.along], np.int32)
        lead = self._lead([axis for axis in self.along if self.sizes[axis] < self.shape[axis]])
        table = reshaped(value, (prod(self.shape[:lead]), prod(self.shape[lead:])))
        found = gathered(table, reshaped(self._rows(_within(starts, most), lead), (-1,)), 0)
        return reshaped(found, (starts.shape[0], *self.sizes))

    def scattered(
        self, value: Tensor, starts: Tensor, values: Tensor, order: Sequence[int], combine: Combine
    ) -> Tensor:
        """A tensor with its elements combined with those of parts, as far as they are inside.

        The dimensions of `values` are those by which `starts` is counted, and those of parts, mixed: `order`
        says which each is. Of several elements for one place, the last one of `values` replaces it.
        """
        lead = self._lead(self.along)
        count, depth = prod(self.shape[:lead]), prod(self.shape[lead:])
        base, rows = reshaped(value, (count, depth)), reshaped(self._inside(starts, lead), (-1,))
        given = reshaped(transposed(values, np.argsort(order).tolist()), (-1, depth))
        data = constant_of(rows)
        if data is not None and unique(rows) and data.min(initial=0) >= 0:
            found = placed(base, rows, PLAIN[combine](gathered(base, rows, 0), given))
        elif combine == "update":
            found = _replaced(base, rows, *self._in_turn(values, order, lead))
        else:
            found = PLAIN[combine](base, all_combined(combine, given, rows, count))
        return reshaped(found, self.shape)

    def _in_turn(self, values: Tensor, order: Sequence[int], lead: int) -> tuple[Tensor, Array]:
        """Rows of values in the order in which they are stored, and which of them those of parts are."""
        inner = len(order) - (len(self.shape) - lead)
        outer = [place for place, one in enumerate(order) if one < inner]
        rest = sorted(set(range(len(order))) - set(outer), key=lambda place: order[place])
        rows = reshaped(transposed(values, [*outer, *rest]), (-1, prod(self.shape[lead:])))
        numbers = np.arange(rows.shape[0], dtype=np.int32).reshape([values.shape[one] for one in outer])
        return rows, numbers.transpose(np.argsort([order[one] for one in outer])).reshape(-1)

    def _lead(self, moving: Sequence[int]) -> int:
        """How many dimensions there are up to the last one that parts have not all of, or move along."""
        partial = (axis for axis, size in enumerate(self.sizes) if size < self.shape[axis])
        return max([*partial, *moving], default=-1) + 1

    def _steps(self, lead: int) -> list[int]:
        return [prod(self.shape[axis + 1 : lead]) if axis < lead else 0 for axis in range(len(self.shape))]

    def _offsets(self, lead: int) -> Array:
        """Where the rows of a part are, counted from its first one: along each dimension."""
        return np.indices(self.sizes[:lead], np.int32).reshape(lead, prod(self.sizes[:lead]))

    def _rows(self, starts: Tensor, lead: int) -> Tensor:
        """The numbers of the rows of each part."""
        count = starts.shape[0] * prod(self.sizes[:lead])
        if count > _MOST:
            raise Refused(f"its parts have {count} rows, but may at most have {_MOST}")
        steps = self._steps(lead)
        offsets = (np.array(steps[:lead], np.int32) @ self._offsets(lead)).astype(np.int32).reshape(1, -1)
        own = np.array([steps[axis] for axis in self.along], np.int32).reshape(1, -1)
        data = constant_of(starts)
        if data is not None:
            known: Tensor = ops.const((data * own).sum(axis=1, keepdims=True, dtype=np.int32) + offsets)
            return known
        found: Tensor = ops.add(ops.reduce_sum(ops.mul(starts, own), axis=1), offsets)
        return found

    def _inside(self, starts: Tensor, lead: int) -> Tensor:
        """The same, with a number that no row has where a row is outside of the tensor."""
        rows, offsets = self._rows(starts, lead), self._offsets(lead)
        data = constant_of(starts)
        for number_, axis in enumerate(self.along):
            own, extent = offsets[axis].reshape(1, -1), self.shape[axis]
            if data is not None:
                place = data[:, number_ : number_ + 1].astype(np.int64) + own
                known = constant_of(rows)
                assert known is not None
                rows = ops.const(np.where((place >= 0) & (place < extent), known, _OUTSIDE).astype(np.int32))
                continue
            computed = ops.add(part(starts, 1, number_, 1), own)
            low = ops.greater_equal(computed, number_like(rows, 0))
            high = ops.greater(ops.const(number_like(rows, extent)), computed)
            rows = ops.select(ops.logical_and(low, high), rows, number_like(rows, _OUTSIDE))
        return rows


def _within(starts: Tensor, most: Array) -> Tensor:
    """Starts moved so far that parts are inside."""
    data = constant_of(starts)
    if data is not None:
        known: Tensor = ops.const(np.clip(data, 0, most).astype(np.int32))
        return known
    return ops.minimum(ops.maximum(starts, number_like(starts, 0)), most.reshape(1, -1))


def _replaced(base: Tensor, rows: Tensor, values: Tensor, turns: Array) -> Tensor:
    """A matrix with rows replaced: the value whose turn is last stays; `turns` are those of `rows`."""
    size, count = turns.size, base.shape[0]
    hit = ops.equal(reshaped(rows, (size, 1)), numbered(count, 1, 2))
    last = ops.reduce_max(ops.select(hit, turns.reshape(-1, 1), np.full((1, 1), -1, np.int32)), axis=0)
    own = np.arange(size, size + count, dtype=np.int32).reshape(1, -1)
    chosen = ops.select(ops.greater_equal(last, number(last, 0)), last, own)
    return gathered(ops.concat([values, base], axis=0), reshaped(chosen, (-1,)), 0)
