"""Where the operands of a register tile are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tiling.records import replace
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.slots import TileJob
from tosajit.kernels.sets.values import Value


@dataclass(frozen=True, slots=True)
class Operands:
    """Where A and B are: rows of A have segments of `steps`, which are `segment` bytes apart."""

    a: Value
    a_row: Value
    segments: Value
    segment: Value
    steps: Value
    b: Value
    b_panel: Value
    following: Sequence[Value] = field(default=(), kw_only=True)
    """Where columns are that tiles after this one take, and how much of it to fetch in a step."""
    sums: Sequence[Value] = field(default=(), kw_only=True)
    """Whether there are sums of steps before these, and where."""

    @classmethod
    def of(cls, job: Record, fetches: bool = False, floats: bool = False) -> Operands:
        """Load them from the arguments of a tile, and what of these has a meaning for it."""
        names = ("A", "A_ROW", "SEGMENTS", "SEGMENT", "STEPS", "B", "B_PANEL")
        found = cls(*(job[TileJob[name]] for name in names))
        if fetches:
            following = [job[slot] for slot in (TileJob.FOLLOWING, TileJob.FOLLOWING_STEP)]
            found = replace(found, following=following)
        return replace(found, sums=[job[TileJob.CONTINUED], job[TileJob.WORDS]]) if floats else found
