"""Computing with NumPy what follows from constants, such as shapes, when the model is read."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.common.layout import small


def folded(function: Callable[..., Any]) -> Callable[[Any], Array | None]:
    """Fold an elementwise operator whose result is not much larger than its operands."""

    def fold(node: Any) -> Array | None:
        arrays = [operand.raw for operand in node.operands]
        shape = np.broadcast_shapes(*(one.shape for one in arrays))
        if not small(shape) and prod(shape) > max(one.size for one in arrays):
            return None
        found = function(*arrays)
        return None if found is None else np.asarray(found)

    return fold
