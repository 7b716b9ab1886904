"""Draw random floating-point graphs, and compare every operator on every target with fp64 arithmetic."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from workers import run_jobs

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests import reference  # noqa: E402
from tests.floating_checks import check, smallest  # noqa: E402
from tests.floating_graphs import FloatingGraph, draw  # noqa: E402

BATCH = 25


@dataclass(frozen=True)
class Batch:
    """Some seeds of graphs."""

    seeds: range


@dataclass
class Outcome:
    """What became of a batch."""

    graphs: int = 0
    operators: Counter[str] = field(default_factory=Counter)
    too_small: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, drawn: FloatingGraph) -> None:
        """Count a graph."""
        self.graphs += 1
        self.operators.update(node.operator.opcode for node in drawn.nodes)

    def merge(self, other: Outcome) -> None:
        """Add the counts of another batch."""
        self.graphs += other.graphs
        self.operators.update(other.operators)
        self.too_small += other.too_small
        self.failures += other.failures


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=5000, help="how many graphs to draw")
    parser.add_argument("--seed", type=int, default=1, help="what to draw them from")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many processes")
    parser.add_argument("--patience", type=float, default=600, help="seconds that a batch may take")
    parser.add_argument("--replay", type=int, help="draw and check the graph of this seed alone")
    options = parser.parse_args()
    if options.replay is not None:
        print(drawn := draw(options.replay))
        check(drawn, reference.tools())
        return 0
    if reference.tools() is None:
        print("Arm's reference model is missing: `make fuzz` installs it, or set TOSAJIT_ARM")
        return 2
    started, total = time.perf_counter(), Outcome()
    jobs = batches(options.graphs, options.seed)
    for outcome in run_jobs(run_batch, jobs, lost, options.jobs, lambda _: float(options.patience)):
        total.merge(outcome)
        if sys.stderr.isatty():
            print(f"\r{total.graphs:,} graphs, {len(total.failures)} failures", end="", file=sys.stderr)
    report(total, time.perf_counter() - started)
    return 1 if total.failures else 0


def batches(graphs: int, seed: int) -> Iterator[Batch]:
    """Split the work."""
    first = seed * 1_000_003
    for start in range(first, first + graphs, BATCH):
        yield Batch(range(start, min(start + BATCH, first + graphs)))


def run_batch(batch: Batch) -> Outcome:
    """Draw and check the graphs of a batch."""
    outcome, model = Outcome(), reference.tools()
    for seed in batch.seeds:
        drawn = draw(seed)
        outcome.add(drawn)
        try:
            outcome.too_small += not check(drawn, model)
        except Exception as error:
            reduced = smallest(seed, model)
            outcome.failures.append(f"--replay {seed}: {type(error).__name__}: {error}\nreduced to {reduced}")
    return outcome


def lost(batch: Batch, why: str) -> Outcome:
    """Make the outcome of a batch whose process died."""
    return Outcome(failures=[f"graphs {batch.seeds}: {why}"])


def report(total: Outcome, seconds: float) -> None:
    """Print the table and the closing line."""
    print(f"\r{'operator':24}{'uses':>8}")
    for name, uses in sorted(total.operators.items()):
        print(f"{name:24}{uses:8,}")
    for failure in total.failures:
        print(f"FAILED {failure}\n")
    fit = f", {total.too_small} did not fit on all targets" if total.too_small else ""
    print(
        f"fuzz: {total.graphs:,} floating-point graphs of {len(total.operators)} operators{fit}: "
        f"{len(total.failures)} failures, {seconds:.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
