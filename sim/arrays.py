"""NumPy's arrays, of any shape and type."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
