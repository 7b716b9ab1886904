"""What an executable takes and gives."""

from __future__ import annotations

from collections.abc import Mapping

from tiling.records import dataclass
from tiling.target import Target
from tosajit.graph import Value


@dataclass(frozen=True, slots=True)
class Interface:
    """What an executable takes and gives, and what it was compiled for."""

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    outside: Mapping[str, str]
    """As in a graph."""
    target: Target
    interpret: str = ""
    """The stage whose nests are interpreted; empty if kernels are compiled."""
