"""First results of new processes: with an empty cache, with a warm one, from an executable in a file.

`first_results.py [FOLDER …]`: each has `model.tosa` or `model.tflite`, and `case0_in0.npy`. Without folders
they are our models, and networks that no kernel of the package was made for. The package is installed as
users do it, in an environment of its own, or is where `--python` finds it. `busy` is the processor time of
the process until then, which says more than the clock while others use the machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benching.client import Unavailable, model_files
from benching.first import COLD_LIMIT, FILE_LIMIT, WARM_LIMIT
from benching.installed import answer, installed
from benching.larger import HELD_OUT

OURS = ("autoencoder", "ds_cnn", "resnet8", "mobilenet_v2", "transformer_tiny", "transformer_tiny_f32")
LIMITS = {"empty": COLD_LIMIT, "warm": WARM_LIMIT, "file": FILE_LIMIT}


def main() -> int:
    """Print a table; 1 if a clock's median is above its target."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--python", type=Path, help="an interpreter that has the package")
    parser.add_argument("--rounds", type=int, default=5, help="default %(default)s")
    options = parser.parse_args()
    python = options.python.absolute() if options.python else installed()
    print(f"load average {os.getloadavg()[0]:.1f}; seconds by the clock (busy)")
    print(f"{'':24}", *(f"{f'{kind}, ≤ {limit:g}':18}" for kind, limit in LIMITS.items()))
    met = True
    for folder in options.folders or _folders():
        found = measured(python, folder.resolve(), options.rounds)
        cells = [_cell(kind, runs) for kind, runs in found.items()]
        met &= not any("!" in cell for cell in cells)
        print(f"{folder.name:24}", *(f"{cell:18}" for cell in cells), flush=True)
    return int(not met)


def _folders() -> Iterator[Path]:
    """Our models, and those that can be made here."""
    for name in (*OURS, *HELD_OUT):
        try:
            yield model_files(name)
        except Unavailable as error:
            print(f"{name:24} not measured: {error}")


def measured(python: Path, folder: Path, rounds: int) -> dict[str, list[dict[str, Any]]]:
    """The runs of each kind."""
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in LIMITS}
    for _ in range(rounds):
        with TemporaryDirectory() as place:
            found["empty"].append(answer(python, place, "first", folder))
            answer(python, place, "wait", folder)
            found["warm"].append(answer(python, place, "first", folder))
            file = Path(place, "model.tjx")
            answer(python, place, "build", folder, file)
            found["file"].append(answer(python, place, "artifact", file, folder))
    return found


def _cell(kind: str, runs: Sequence[dict[str, Any]]) -> str:
    seconds, busy = (statistics.median(run[name] for run in runs) for name in ("seconds", "busy"))
    wrong = "" if all(run["right"] for run in runs) else " wrong"
    return f"{seconds:.2f} ({busy:.2f}){'!' if seconds > LIMITS[kind] else ''}{wrong}"


if __name__ == "__main__":
    sys.exit(main())
