"""What nests mean, by the interpreter of the package: no fusion, no planning, no kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tiling.nest import Nest
from tosajit.kernels.interpreter import STORAGE, Interpreter


def interpret(
    nests: Sequence[Nest], arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Run nests in order over flat arrays; what they write is added to the result."""
    written = {write.access.operand: write.access.type for nest in nests for write in nest.writes}
    results = {name: ((sizes[name],), STORAGE[type]) for name, type in written.items()}
    made = Interpreter(nests, list(arrays), results, {})
    return made.memory(list(arrays.values()))
