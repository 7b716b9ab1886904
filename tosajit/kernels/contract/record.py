"""Arguments by number, as vector code sees them."""

from __future__ import annotations

from dataclasses import dataclass

from tosajit.kernels.sets.values import Value
from tosajit.kernels.sets.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Record:
    """An array of int64 whose places have names in `slots`."""

    v: Vectors
    address: Value

    def __getitem__(self, slot: int) -> Value:
        """Load one of them."""
        return self.v.loaded(self.address + 8 * slot)
