"""Where a model's time goes: seconds per group of our executable, the slowest first or in order of execution.

`tools/profile_model.py mobilenet_v2`, or a path to a `.tosa` file. The shares are of the sum of the groups;
the whole call is timed beside it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
from benching.client import model_files
from benching.rows import duration

import tosajit as tj


def main() -> None:
    """Print the table of a model."""
    options = arguments()
    path = Path(options.model)
    file = path if path.suffix == ".tosa" else model_files(options.model) / "model.tosa"
    graph = tj.load(file)
    executable = tj.compile(graph, threads=options.threads)
    inputs = [drawn(value.dtype.storage, value.shape or ()) for value in graph.inputs]
    cases = sorted(file.parent.glob("case0_in*.npy"))
    if len(cases) == len(inputs):
        inputs = [np.load(case) for case in cases]
    calls, runs = [], []
    for _ in range(options.runs):
        start = time.perf_counter()
        executable(*inputs)
        calls.append(time.perf_counter() - start)
        runs.append(executable.profile(*inputs))
    names = [name for name, _ in runs[0]]
    seconds = [statistics.median(run[index][1] for run in runs) for index in range(len(names))]
    total = sum(seconds)
    order = range(len(names)) if options.in_order else sorted(range(len(names)), key=lambda k: -seconds[k])
    for index in [*order][: options.top]:
        share = seconds[index] / total
        print(f"{index:4}  {seconds[index] * 1e6:9.2f} µs  {share:6.1%}  {names[index]}")
    print(f"{len(names)} groups, {duration(total)} in them; a call {duration(statistics.median(calls))}")


def drawn(storage: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """An input, where the model comes without cases."""
    return np.random.default_rng(1).integers(0, 2, shape).astype(storage)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="a name from the models' folder, or a .tosa file")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=51)
    parser.add_argument("--top", type=int, default=None, help="show so many groups")
    parser.add_argument("--in-order", action="store_true", help="in order of execution")
    return parser.parse_args()


if __name__ == "__main__":
    main()
