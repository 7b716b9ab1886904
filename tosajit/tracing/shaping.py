"""Shapes, parts and types of traced tensors, by the names that NumPy has."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from math import prod
from typing import Self

import numpy as np

from tosajit.dtypes import BOOL, INT32
from tosajit.errors import TraceError
from tosajit.operators import CEIL, CONCAT, FLOOR, GATHER, PAD, REVERSE, SELECT, SLICE, TILE, TRANSPOSE
from tosajit.tracing.arithmetic import Arithmetic
from tosajit.tracing.numbers import Type, type_named

_SHOWN = "an integer, a slice, None, `...`, or one array of integers"


class Shaping(Arithmetic):
    """A tensor that can be indexed, transposed, reshaped and cast."""

    __slots__ = ()

    def __len__(self) -> int:
        if not self.ndim:
            raise TraceError(f"{self!r} has no length: it is a single number")
        return self.shape[0]

    def __iter__(self) -> Iterator[Self]:
        return (self[number] for number in range(len(self)))

    @property
    def T(self) -> Self:
        """The tensor with its axes in reverse."""
        return self.transpose()

    def transpose(self, *axes: int | Sequence[int] | None) -> Self:
        """The tensor with its axes in another order; without one, in reverse."""
        order = [self._axis(axis) for axis in _integers(axes)] or list(range(self.ndim))[::-1]
        if sorted(order) != list(range(self.ndim)):
            raise TraceError(
                f"{self!r} cannot be transposed by {axes}: each of its axes has to be there once"
            )
        return self if order == sorted(order) else self._apply(TRANSPOSE(perms=tuple(order)))

    def swapaxes(self, first: int, second: int) -> Self:
        """The tensor with two axes exchanged."""
        order = list(range(self.ndim))
        first, second = self._axis(first), self._axis(second)
        order[first], order[second] = second, first
        return self.transpose(order)

    def reshape(self, *shape: int | Sequence[int]) -> Self:
        """The same elements in another shape; one extent may be -1."""
        extents = list(_integers(shape))
        known = prod(extent for extent in extents if extent != -1)
        if extents.count(-1) == 1 and known and self.size % known == 0:
            extents[extents.index(-1)] = self.size // known
        if any(extent < 0 for extent in extents) or prod(extents) != self.size:
            raise TraceError(
                f"{self!r} has {self.size} elements, which have no shape {tuple(_integers(shape))}"
            )
        return self._reshaped(extents)

    def flatten(self) -> Self:
        """All elements in one dimension."""
        return self._reshaped((self.size,))

    ravel = flatten

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Self:
        """The tensor without axes of one element."""
        axes = range(self.ndim) if axis is None else [self._axis(one) for one in _integers((axis,))]
        gone = [one for one in axes if self.shape[one] == 1]
        if axis is not None and len(gone) < len(axes):
            raise TraceError(f"{self!r}: axis {axis} has more than one element, so it cannot be left out")
        return self._reshaped([extent for one, extent in enumerate(self.shape) if one not in gone])

    def expand_dims(self, axis: int) -> Self:
        """The tensor with a new axis of one element."""
        place = axis + (self.ndim + 1) * (axis < 0)
        return self._reshaped((*self.shape[:place], 1, *self.shape[place:]))

    def broadcast_to(self, shape: Sequence[int]) -> Self:
        """The tensor repeated along axes of one element, and along new ones."""
        whole = self._reshaped((1,) * (len(shape) - self.ndim) + self.shape)
        pairs = list(zip(whole.shape, shape, strict=False))
        if len(pairs) != whole.ndim or any(old not in (1, new) for old, new in pairs):
            raise TraceError(f"{self!r} cannot be broadcast to {tuple(shape)}")
        times = [new // old if old else 1 for old, new in pairs]
        return whole if prod(times) == 1 else whole._apply(TILE(), self._extents(times))

    def astype(self, dtype: Type) -> Self:
        """The elements in another type. Fractions are cut off, as NumPy does; `ops.cast` rounds them."""
        wanted = type_named(dtype)
        if wanted is None or wanted is self.dtype:
            return self
        if self.dtype.is_float and wanted is BOOL:
            return self._beside("!=", 0)
        if BOOL in (self.dtype, wanted) and (self.dtype.is_float or wanted.is_float):
            return self._cast(INT32)._cast(wanted)
        if self.dtype.is_float and wanted.kind == "int":
            return self._whole()._cast(wanted)
        return self._cast(wanted)

    def _whole(self) -> Self:
        """Floating-point numbers without their fractions."""
        zero = self._of(0, self.ndim)
        return (self >= zero)._apply(SELECT(), self._apply(FLOOR()), self._apply(CEIL()))

    def __getitem__(self, index: object) -> Self:
        """Parts of the tensor: integers, slices, None and `...`, or along one axis an array of integers."""
        found, axis, chosen = self, 0, None
        shape: list[int] = []
        for one in self._whole_index(index):
            match one:
                case None:
                    shape.append(1)
                    continue
                case slice():
                    found = found._sliced(axis, one)
                    shape.append(found.shape[axis])
                case Arithmetic() | list() | np.ndarray():
                    chosen = len(shape), one
                    shape.append(found.shape[axis])
                case _:
                    place = self._place(one, axis)
                    found = found._sliced(axis, slice(place, place + 1))
            axis += 1
        found = found._reshaped(shape)
        return found if chosen is None else found.take(chosen[1], chosen[0])

    def _whole_index(self, index: object) -> list[object]:
        """An entry for each axis, and None for new ones."""
        parts = list(index) if isinstance(index, tuple) else [index]
        many = sum(part is not None and part is not Ellipsis for part in parts)
        arrays = sum(isinstance(part, Arithmetic | list | np.ndarray) for part in parts)
        if many > self.ndim or sum(part is Ellipsis for part in parts) > 1:
            raise TraceError(f"{self!r} has {self.ndim} axes, and {many} are indexed")
        if arrays > 1 or (arrays and any(isinstance(part, int | np.integer) for part in parts)):
            raise TraceError(f"{self!r}: one index can be an array, beside slices alone")
        dots = next((place for place, part in enumerate(parts) if part is Ellipsis), len(parts))
        return [*parts[:dots], *[slice(None)] * (self.ndim - many), *parts[dots + 1 :]]

    def _place(self, index: object, axis: int) -> int:
        try:
            place = operator.index(index)  # type: ignore[arg-type]
        except TypeError:
            raise TraceError(f"{self!r} cannot be indexed by {index!r}: {_SHOWN} can") from None
        if isinstance(index, bool) or not -self.shape[axis] <= place < self.shape[axis]:
            raise TraceError(
                f"{self!r}: index {index!r} is outside of axis {axis}, which has {self.shape[axis]}"
            )
        return place % self.shape[axis]

    def _sliced(self, axis: int, part: slice) -> Self:
        """Part of an axis; steps are taken by a reshape that puts what is left out behind each element."""
        places = range(*part.indices(self.shape[axis]))
        if not places:
            raise TraceError(
                f"{self!r}: {part} of axis {axis} has no elements, which TOSA has no tensors for"
            )
        if places.step < 0:
            return self._sliced(axis, slice(places[-1], places[0] + 1, -places.step))._apply(
                REVERSE(axis=axis)
            )
        step, count = places.step, len(places)
        found = self._cut(axis, places[0], min(count * step, self.shape[axis] - places[0]))
        if step == 1 or count == 1:
            return found._cut(axis, 0, count)
        missing = count * step - found.shape[axis]
        before, after = found.shape[:axis], found.shape[axis + 1 :]
        apart = found._padded(axis, missing)._reshaped((*before, count, step, *after))
        return apart._cut(axis + 1, 0, 1)._reshaped((*before, count, *after))

    def _cut(self, axis: int, start: int, size: int) -> Self:
        if size == self.shape[axis]:
            return self
        starts = [start * (place == axis) for place in range(self.ndim)]
        sizes = [size if place == axis else extent for place, extent in enumerate(self.shape)]
        return self._apply(SLICE(), self._extents(starts), self._extents(sizes))

    def _padded(self, axis: int, count: int) -> Self:
        """The tensor with zeros behind an axis."""
        if not count:
            return self
        sides = [count * (place == 2 * axis + 1) for place in range(2 * self.ndim)]
        return self._apply(PAD(), self._extents(sides), self._constant(np.zeros(1, self.dtype.storage)))

    def take(self, indices: object, axis: int) -> Self:
        """The elements at indices along an axis; those of a tensor must not be negative."""
        axis = self._axis(axis)
        places = self._indices(indices, axis)
        front = self.transpose([axis, *(one for one in range(self.ndim) if one != axis)])
        values = front._reshaped((1, self.shape[axis], self.size // self.shape[axis]))
        taken = values._apply(GATHER(), places._reshaped((1, places.size)))
        rest = front.shape[1:]
        whole = taken._reshaped((*places.shape, *rest))
        order = [
            *range(places.ndim, places.ndim + axis),
            *range(places.ndim),
            *range(places.ndim + axis, whole.ndim),
        ]
        return whole.transpose(order)

    def _indices(self, indices: object, axis: int) -> Self:
        if isinstance(indices, Arithmetic):
            if indices.dtype is not INT32:
                raise TraceError(f"{indices!r} as an index: has to be INT32; of a mask, use np.where")
            return self._of(indices)
        known = np.asarray(indices)
        extent = self.shape[axis]
        if known.dtype.kind not in "iu" or not known.size:
            raise TraceError(f"{self!r} cannot be indexed by {indices!r}: {_SHOWN} can")
        if known.min() < -extent or known.max() >= extent:
            raise TraceError(
                f"{self!r}: an index of {indices!r} is outside of axis {axis}, which has {extent}"
            )
        return self._constant((known % extent).astype(np.int32), INT32)

    def _joined(self, others: Sequence[Self], axis: int) -> Self:
        """The tensor with others behind it."""
        axis = self._axis(axis)
        return self._apply(CONCAT(axis=axis), *others) if others else self


def _integers(values: Sequence[int | Sequence[int] | None]) -> tuple[int, ...]:
    """Integers that are given one by one, or as one sequence."""
    match values:
        case (None,):
            return ()
        case (list() | tuple() as only,):
            return tuple(operator.index(value) for value in only)
    return tuple(operator.index(value) for value in values)  # type: ignore[arg-type]
