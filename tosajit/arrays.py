"""The array that everything passes around."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
"""An array of any type and shape."""


def frozen(array: Array) -> Array:
    """The same array, which nobody writes into any more: whoever keeps it need not copy it."""
    array.flags.writeable = False
    return array
