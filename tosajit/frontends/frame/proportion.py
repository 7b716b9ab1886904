"""How much a model may become: in proportion to its file, whatever that says."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tosajit.arrays import Array
from tosajit.errors import FileError
from tosajit.tracing.recorder import Trace

_FREE_NODES, _NODES = 20_000, 200
"""How many nodes a graph may have, and how many more for each operator of its file."""
_BYTES_OF_NODE, _MORE_NODES = 4, 30_000
"""How many bytes of a file allow another node, and how many they allow at most."""
_FREE_LOWERINGS, _REPEATED = 20_000, 16
"""How often operators may be lowered, and how often more on average: functions may call others many times."""
_FREE_BYTES, _BYTES = 16 << 20, 8
"""How many bytes may be folded, and how many more for each byte of the file."""
_FREE_MADE = 128 << 20
"""How many bytes of matrices may be made that the file has no elements of."""
_DEEPEST = 32


class Proportion:
    """What is left of that while a model is lowered into a trace."""

    def __init__(self, trace: Trace, operators: int, size: int) -> None:
        more = min(size // _BYTES_OF_NODE, _MORE_NODES)
        trace.builder.budget.nodes = _FREE_NODES + _NODES * operators + more
        trace.builder.budget.bytes = _FREE_MADE + _BYTES * size
        self._lowerings = _FREE_LOWERINGS + _REPEATED * operators
        self._bytes = _FREE_BYTES + _BYTES * size

    def spend(self) -> None:
        """Lower one more operator, if the file is not one that repeats itself without end."""
        self._lowerings -= 1
        if self._lowerings < 0:
            raise FileError("expected a graph in proportion to its file, but its functions call too much")

    def fold(self, arrays: Sequence[Array]) -> None:
        """Keep what has been computed from constants."""
        self._bytes -= sum(map(_weight, arrays))
        if self._bytes < 0:
            raise FileError("expected a graph in proportion to its file, but its constants grow too much")


def below(depth: int) -> int:
    """The depth of what is called from a depth."""
    if depth == _DEEPEST:
        raise FileError(f"expected functions that call each other to a depth of {_DEEPEST}")
    return depth + 1


def _weight(array: Array) -> int:
    """How many bytes an array takes; one number that is repeated takes none."""
    return array.nbytes if any(array.strides) or prod(array.shape) == 1 else 0
