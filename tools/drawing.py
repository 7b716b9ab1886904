"""What the tools share that draw cases of operators for other frameworks to compute."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

Random = np.random.Generator
Array = np.ndarray[Any, Any]


def shape_of(rng: Random, least: int = 0, most: int = 4, extent: int = 5) -> tuple[int, ...]:
    """A shape of few elements."""
    return tuple(int(one) for one in rng.integers(1, extent + 1, rng.integers(least, most + 1)))


def array(rng: Random, kind: str, shape: tuple[int, ...], low: float = -4, high: float = 4) -> Array:
    """Numbers of a type."""
    if kind == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        least, most = max(bounds.min, int(low)), min(bounds.max, int(high))
        return np.asarray(rng.integers(least, most, shape, endpoint=True)).astype(dtype)
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype)


def options(description: str | None) -> argparse.Namespace:
    """Where cases go, from which seeds, and of which names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 4), metavar=("FIRST", "COUNT"))
    parser.add_argument("--only", default="", metavar="REGEX", help="only cases of such names")
    return parser.parse_args()
