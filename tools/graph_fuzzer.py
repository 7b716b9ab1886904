"""What the fuzzers of graphs share: their options, batches in worker processes, counts, and what they say."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from workers import run_jobs

ROOT = Path(__file__).parents[1]
BATCH = 25
SPREAD = 1_000_003
"""Seeds of the command line are that far apart in those of graphs."""


@dataclass(frozen=True)
class Batch:
    """Some graphs to draw from a seed."""

    number: int
    graphs: int
    seed: int
    """Of the first graph."""
    folder: Path
    shrink: bool
    machine: str = ""
    """The modelled machine that graphs run on, in place of all targets."""

    @property
    def running(self) -> Path:
        """Where the graph at hand is kept, in case the process dies."""
        return self.folder / f"running-{self.number}"


@dataclass
class Outcome:
    """What became of a batch."""

    graphs: int = 0
    operators: Counter[str] = field(default_factory=Counter)
    modes: dict[str, set[str]] = field(default_factory=dict)
    sizes: Counter[int] = field(default_factory=Counter)
    failures: list[tuple[str, Path]] = field(default_factory=list)
    too_small: int = 0
    """Graphs for which the smallest target, or the machine, has too little memory."""

    def add(self, operators: Iterable[tuple[str, str]]) -> None:
        """Count a graph of operators in modes."""
        used = list(operators)
        self.graphs += 1
        self.sizes[len(used)] += 1
        for name, mode in used:
            self.operators[name] += 1
            self.modes.setdefault(name, set()).add(mode)

    def merge(self, other: Outcome) -> None:
        """Add the counts of another batch."""
        self.graphs += other.graphs
        self.operators.update(other.operators)
        self.sizes.update(other.sizes)
        self.failures += other.failures
        self.too_small += other.too_small
        for name, modes in other.modes.items():
            self.modes.setdefault(name, set()).update(modes)


def parser_of(description: str | None, folder: str) -> argparse.ArgumentParser:
    """The options that all fuzzers of graphs have; failures go to a folder below `build/`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--graphs", type=int, default=5000, help="how many graphs to draw")
    parser.add_argument("--seed", type=int, default=1, help="what to draw them from")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many processes")
    parser.add_argument("--minutes", type=float, default=0, help="draw no more graphs after this time")
    parser.add_argument("--patience", type=float, default=600, help="seconds that a batch may take")
    parser.add_argument("--no-shrink", action="store_true", help="do not reduce failing graphs")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / folder, help="where failures go")
    return parser


def fuzz(
    options: argparse.Namespace,
    run_batch: Callable[[Batch], Outcome],
    kind: str,
    where: str,
    known: Iterable[str],
    machine: str = "",
) -> int:
    """Run all batches, and report: graphs of a `kind`, run `where`, of operators all of which are `known`."""
    if options.folder.is_dir():
        shutil.rmtree(options.folder)
    started, total = time.perf_counter(), Outcome()
    jobs = batches(options, started, machine)
    for outcome in run_jobs(run_batch, jobs, lost, options.jobs, lambda _: float(options.patience)):
        total.merge(outcome)
        if sys.stderr.isatty():
            print(f"\r{total.graphs:,} graphs, {len(total.failures)} failures", end="", file=sys.stderr)
    report(total, kind, where, list(known), time.perf_counter() - started)
    return 1 if total.failures else 0


def batches(options: argparse.Namespace, started: float, machine: str) -> Iterator[Batch]:
    """Split the work, until there is no more time."""
    for number, first in enumerate(range(0, options.graphs, BATCH)):
        if options.minutes and time.perf_counter() - started > 60 * options.minutes:
            return
        count = min(BATCH, options.graphs - first)
        chosen = options.seed * SPREAD + first
        yield Batch(number, count, chosen, options.folder, not options.no_shrink, machine)


def lost(batch: Batch, why: str) -> Outcome:
    """Make the outcome of a batch whose process died."""
    return Outcome(failures=[(why, batch.running)])


def first_line(error: BaseException) -> str:
    """Shorten a message."""
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]


def report(total: Outcome, kind: str, where: str, known: list[str], seconds: float) -> None:
    """Print the table and the closing line."""
    print(f"\r{'operator':24}{'uses':>8}{'modes':>8}")
    for name in known:
        print(f"{name:24}{total.operators[name]:8,}{len(total.modes.get(name, ())):8}")
    sizes = ", ".join(f"{size}: {count}" for size, count in sorted(total.sizes.items()))
    print(f"graphs by number of operators: {sizes}")
    for message, folder in total.failures:
        print(f"FAILED {folder}: {message}")
    covered = sum(1 for name in known if total.operators[name])
    modes = sum(map(len, total.modes.values()))
    fit = f", {total.too_small} did not fit" if total.too_small else ""
    print(
        f"fuzz: {total.graphs:,} {kind}graphs of {covered} of {len(known)} operators in {modes} modes on "
        f"{where}{fit}: {len(total.failures)} failures, {seconds:.0f} s"
    )
