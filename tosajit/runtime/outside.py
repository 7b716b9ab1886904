"""Arrays in types of the source model that TOSA lacks: uint8, uint32, int64, and narrow ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tosajit.arrays import Array
from tosajit.errors import InputError
from tosajit.graph import Value

UINT8 = np.dtype(np.uint8)


def entering(value: Value, given: Any, outside: str | None) -> Any:
    """An array of the model's own type as the graph stores it; any other as it is."""
    if outside is None or not isinstance(given, np.ndarray | np.generic):
        return given
    array = np.asarray(given)
    stored = value.dtype.storage
    if array.dtype != outside:
        return given
    if array.dtype.itemsize == stored.itemsize and outside == "uint8":
        return array.view(stored)
    if value.dtype.is_float or array.dtype.kind == "V":
        return array.astype(stored)
    least, most = int(value.dtype.minimum), int(value.dtype.maximum)
    if array.size and not (least <= array.min() and array.max() <= most):
        raise InputError(
            f"{value}: the array holds {array.min()} to {array.max()}, but the model's {outside} is kept as "
            f"{value.dtype.name}, from {least} to {most}"
        )
    return array.astype(stored)


def leaving(results: Sequence[Array], outside: Sequence[str | None]) -> list[Array]:
    """Results in the types of the model."""
    return [
        array if kind is None else array.view(UINT8) if kind == "uint8" else array.astype(kind)
        for array, kind in zip(results, outside, strict=True)
    ]
