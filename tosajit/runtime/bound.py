"""Arrays that calls use again and again: results go into them, and nothing is copied or looked up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tosajit.arrays import Array
from tosajit.errors import InputError
from tosajit.graph import Value


class Bound:
    """An executable with its arrays: fill the inputs, call it, read the outputs.

    Each has memory of its own and may be called by one thread at a time.
    """

    __slots__ = ("_given", "_run", "inputs", "outputs")

    def __init__(self, inputs: Sequence[Array], outputs: Sequence[Array], run: Callable[[], object]) -> None:
        self.inputs, self.outputs, self._run = tuple(inputs), tuple(outputs), run
        self._given = self.outputs[0] if len(outputs) == 1 else self.outputs

    def __call__(self) -> Any:
        """Run on what the inputs hold now; the output or a tuple of all, the same arrays each time."""
        self._run()
        return self._given

    def __repr__(self) -> str:
        takes, gives = (
            ", ".join(f"{array.dtype}{list(array.shape)}" for array in arrays)
            for arrays in (self.inputs, self.outputs)
        )
        return f"<Bound ({takes}) -> ({gives})>"


def taken(values: Sequence[Value], given: Sequence[Any], outside: Sequence[str | None]) -> list[Array]:
    """The arrays as they can be bound: of the stored types, without copies."""
    return [_taken(*one) for one in zip(values, given, outside, strict=True)]


def _taken(value: Value, given: Any, outside: str | None) -> Array:
    array, stored = given, value.dtype.storage
    if not isinstance(array, np.ndarray):
        raise InputError(f"{value}: expected an array to bind, got {type(array).__name__}")
    if outside == "uint8" and array.dtype == np.uint8:
        array = array.view(stored)
    if array.dtype is not stored and array.dtype != stored:
        raise InputError(f"{value}: the array to bind has type {array.dtype}, but {stored} is stored")
    if array.shape != value.shape:
        raise InputError(f"{value}: the array to bind has shape {list(array.shape)}")
    if not array.flags.c_contiguous:
        raise InputError(f"{value}: the array to bind is not contiguous; use np.ascontiguousarray")
    return array


def results_in(
    values: Sequence[Value], given: Any, outside: Sequence[str | None], inputs: Sequence[Array]
) -> list[Array]:
    """The arrays that results can be written to: each apart from all others."""
    arrays = list(given) if isinstance(given, tuple | list) else [given]
    if len(arrays) != len(values):
        raise InputError(f"{len(arrays)} arrays given for results, but the graph has {len(values)} outputs")
    made = taken(values, arrays, outside)
    for value, array in zip(values, made, strict=True):
        if not array.flags.writeable:
            raise InputError(f"{value}: the array for the result cannot be written to")
    for number, (value, array) in enumerate(zip(values, made, strict=True)):
        for other in (*inputs, *made[:number]):
            if np.may_share_memory(array, other):
                raise InputError(
                    f"{value}: the array for the result shares memory with another; give it its own"
                )
    return made


def apart(results: Sequence[Array], inputs: Sequence[Array]) -> bool:
    """Whether each result has memory apart from all others, as owners tell; it may have if they do not."""
    owners: list[int] = []
    for array in results:
        base = array.base
        owner = array if base is None else base
        if type(owner) is not np.ndarray or not owner.flags.owndata or id(owner) in owners:
            return False
        owners.append(id(owner))
    for array in inputs:
        base = array.base
        if base is None:
            base = array
        elif type(base) is not np.ndarray or base.base is not None:
            return False
        if id(base) in owners:
            return False
    return True
