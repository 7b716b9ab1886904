"""The array that everything passes around."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
"""An array of any type and shape."""
