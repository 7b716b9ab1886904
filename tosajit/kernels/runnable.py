"""What running a program takes, and no more: numbers for the driver, places of operands, constants.

It knows nothing of nests and graphs, so that a program that is compiled already runs without what compiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Slot:
    """An entry of the table of addresses: an operand of the program, and where it is."""

    name: str
    kind: Literal["input", "output", "constant", "temporary"]
    bytes: int
    offset: int
    """In the scratchpad if it lives there; else, for temporaries, in the arena."""
    resident: bool
    """Whether it lives in the scratchpad."""


@dataclass(frozen=True, slots=True)
class Image64:
    """A linked program: the numbers for the driver, and what each thread needs of its own."""

    numbers: NDArray[np.int64]
    """With the addresses that kernels have in this process."""
    sections: int
    thread_bytes: int
    checks: tuple[tuple[str, ...], ...]
    """The requirements that each section watches, by number."""
    kernels: tuple[str, ...]
    """The digest of each section's kernel."""
    calls: tuple[tuple[int, str], ...]
    """Where numbers are addresses of kernels, and the digests of these."""
    driver: str
    """The digest of what walks the numbers."""
    lasting_bytes: int
    """Memory for arguments of kernels that are the same in all runs."""


@dataclass(frozen=True, slots=True)
class Members:
    """What a section is called in messages: its nodes and its axes."""

    nodes: tuple[str, ...]
    axes: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join(self.nodes)


@dataclass(frozen=True, eq=False, kw_only=True)
class Runnable:
    """A program whose kernels are compiled, and all that running it takes."""

    name: str
    image: Image64
    slots: tuple[Slot, ...]
    written: frozenset[str]
    """The operands that sections write."""
    members: tuple[Members, ...]
    """By section."""
    constants: Mapping[str, Array]
    """Those that kernels read; weights that are packed are there as such alone."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    results: tuple[tuple[tuple[int, ...], np.dtype[np.generic]], ...]
    """Shape and type of each output's array."""
    arena_bytes: int
    threads: int
    """How many threads share its tiles."""
    checked: bool
