"""Where a model's time goes: seconds per group of our executable, the slowest first or in order of execution.

`tools/profile_model.py mobilenet_v2`, or a path to a `.tosa` file. Groups run one by one on one thread, each
timed alone; shares are of their sum, and the whole call is timed beside it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benching.client import model_files
from benching.rows import duration

import tosajit as tj
from tosajit.arrays import Array
from tosajit.display.summary import macs
from tosajit.graph.binding import use_of


@dataclass(frozen=True, slots=True)
class Group:
    """One line of the table."""

    number: int
    seconds: float
    operators: str
    shape: str
    macs: int


def main() -> None:
    """Print the table of a model."""
    options = arguments()
    path = Path(options.model)
    file = path if path.suffix == ".tosa" else model_files(options.model) / "model.tosa"
    graph = tj.load(file)
    executable = tj.compile(graph, threads=1)
    inputs = inputs_of(graph, file.parent)
    calls, runs = [], []
    for _ in range(options.runs):
        start = time.perf_counter()
        executable(*inputs)
        calls.append(time.perf_counter() - start)
        runs.append(executable.profile(*inputs))
    groups = [described(graph, number, [run[number] for run in runs]) for number in range(len(runs[0]))]
    show(groups, options.in_order, options.top)
    total = sum(group.seconds for group in groups)
    print(f"{len(groups)} groups, {duration(total)} in them; a call {duration(statistics.median(calls))}")


def described(graph: tj.Graph, number: int, runs: Sequence[tuple[str, float]]) -> Group:
    """A group with what its name says of the graph's nodes: operators, last shape, multiplications."""
    makers = {name: node for node in graph.main.nodes for name in node.outputs}
    members = [name for name in runs[0][0].split(", ") if name in makers]
    count = sum(macs(use_of(makers[name], graph.main, {})) for name in members)
    shape = graph.main.values[members[-1]].type if members else ""
    operators = " ".join(makers[name].operator.opcode for name in members) or runs[0][0]
    return Group(number, statistics.median(seconds for _, seconds in runs), operators, shape, count)


def show(groups: Sequence[Group], in_order: bool, top: int | None) -> None:
    """The lines of the table."""
    total = sum(group.seconds for group in groups)
    print("group         µs  share  GMAC/s  last value              operators")
    for group in (groups if in_order else sorted(groups, key=lambda group: -group.seconds))[:top]:
        speed = f"{group.macs / group.seconds / 1e9:.1f}" if group.macs else ""
        times = f"{group.number:5} {group.seconds * 1e6:10.2f} {group.seconds / total:6.1%}"
        print(f"{times} {speed:>7}  {group.shape:22}  {group.operators[:100]}")


def inputs_of(graph: tj.Graph, folder: Path) -> list[Array]:
    """The first case of the model's folder; zeros and ones where there is none."""
    cases = sorted(folder.glob("case0_in*.npy"))
    if len(cases) == len(graph.inputs):
        return [np.load(case) for case in cases]
    random = np.random.default_rng(1)
    return [random.integers(0, 2, value.shape or ()).astype(value.dtype.storage) for value in graph.inputs]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="a name from the models' folder, or a .tosa file")
    parser.add_argument("--runs", type=int, default=51)
    parser.add_argument("--top", type=int, help="show so many groups")
    parser.add_argument("--in-order", action="store_true", help="in order of execution")
    return parser.parse_args()


if __name__ == "__main__":
    main()
