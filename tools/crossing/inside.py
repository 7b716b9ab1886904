"""Run under emulation: graphs and the bits that they have to give, a folder each, named on the command line.

A folder has `model.tosa`, and `in<number>.npy` and `out<number>.npy` for its inputs and outputs; there may be
`within<number>.npy`: how far an output may be off.
"""

from __future__ import annotations

import sys
from pathlib import Path

import ml_dtypes
import numpy as np

import tosajit as tj
from tosajit.kernels.sets.registry import cpu, instruction_set


def main() -> int:
    """Print a line for each folder; 1 if any differs."""
    isa = instruction_set()
    print(f"{cpu().name}: {isa.name if isa else 'none'}, {' '.join(sorted(cpu().features))}", flush=True)
    return int(not all([passed(Path(name)) for name in sys.argv[1:]]))


def passed(folder: Path) -> bool:
    """Whether the results of a graph have the bits that they have to have."""
    inputs = [loaded(path) for path in numbered(folder, "in")]
    found = tj.compile(folder / "model.tosa")(*inputs)
    results = found if isinstance(found, tuple) else (found,)
    golden = [loaded(path) for path in numbered(folder, "out")]
    bounds = [loaded(path) for path in numbered(folder, "within")]
    pairs, word = list(zip(results, golden, strict=True)), "within" if bounds else "exact"
    if bounds:
        right = all(
            (abs(one - other) <= bound).all() for (one, other), bound in zip(pairs, bounds, strict=True)
        )
    else:
        right = all(one.shape == other.shape and one.tobytes() == other.tobytes() for one, other in pairs)
    print(f"  {word if right else 'DIFFERS'}  {folder.name}", flush=True)
    return right


def loaded(path: Path) -> np.ndarray:
    """An array; files know bfloat16 only as two bytes each."""
    array: np.ndarray = np.load(path)
    return array.view(ml_dtypes.bfloat16) if array.dtype == np.dtype("V2") else array


def numbered(folder: Path, stem: str) -> list[Path]:
    """Files of a stem in the order of their numbers."""
    return sorted(folder.glob(f"{stem}*.npy"), key=lambda path: int(path.stem.removeprefix(stem)))


if __name__ == "__main__":
    sys.exit(main())
