"""Draw random graphs, and compare tosajit on every target with Arm's reference model, bit for bit."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from workers import run_jobs

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests import reference  # noqa: E402
from tests.fuzzing import check, keep, kept  # noqa: E402
from tests.oracle import MODES  # noqa: E402
from tests.reducing import reduced  # noqa: E402
from tests.strategies import TARGETS, Drawn, graphs  # noqa: E402
from tosajit.errors import PlanError  # noqa: E402

BATCH = 25


@dataclass(frozen=True)
class Batch:
    """Some graphs to draw from a seed."""

    number: int
    graphs: int
    seed: int
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

    def add(self, drawn: Drawn) -> None:
        """Count a graph."""
        self.graphs += 1
        self.sizes[len(drawn.operators)] += 1
        for name, mode in drawn.operators:
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


def main() -> int:
    """Do what the command line says."""
    options = arguments()
    if options.replay:
        return replay(options.replay, options.machine)
    if not options.machine and reference.tools() is None:
        print("Arm's reference model is missing: `make fuzz` installs it, or set TOSAJIT_ARM")
        return 2
    if options.folder.is_dir():
        shutil.rmtree(options.folder)
    started, total = time.perf_counter(), Outcome()
    jobs = batches(options, started)
    for outcome in run_jobs(run_batch, jobs, lost, options.jobs, lambda _: float(options.patience)):
        total.merge(outcome)
        if sys.stderr.isatty():
            print(f"\r{total.graphs:,} graphs, {len(total.failures)} failures", end="", file=sys.stderr)
    report(total, options.machine or f"{len(TARGETS)} targets", time.perf_counter() - started)
    return 1 if total.failures else 0


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=5000, help="how many graphs to draw")
    parser.add_argument("--seed", type=int, default=1, help="what to draw them from")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many processes")
    parser.add_argument("--minutes", type=float, default=0, help="draw no more graphs after this time")
    parser.add_argument("--patience", type=float, default=600, help="seconds that a batch may take")
    parser.add_argument("--no-shrink", action="store_true", help="do not reduce failing graphs")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "fuzz", help="where failures go")
    parser.add_argument("--machine", default="", metavar="NAME", help="run on this modelled machine alone")
    parser.add_argument("--replay", type=Path, help="a folder with a failure to run again")
    return parser.parse_args()


def batches(options: argparse.Namespace, started: float) -> Iterator[Batch]:
    """Split the work, until there is no more time."""
    for number, first in enumerate(range(0, options.graphs, BATCH)):
        if options.minutes and time.perf_counter() - started > 60 * options.minutes:
            return
        count = min(BATCH, options.graphs - first)
        chosen = options.seed * 1_000_003 + number
        yield Batch(number, count, chosen, options.folder, not options.no_shrink, options.machine)


def run_batch(batch: Batch) -> Outcome:
    """Draw and check the graphs of a batch; the first failure ends it."""
    outcome, latest = Outcome(), batch.running

    @seed(batch.seed)
    @settings(
        max_examples=batch.graphs,
        phases=(Phase.generate,),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(graphs())
    def run(drawn: Drawn) -> None:
        outcome.add(drawn)
        keep(drawn, latest, "the process died on this graph")
        try:
            check(drawn, machine=batch.machine)
        except PlanError as error:
            if not batch.machine and "tiny" not in str(error):
                raise
            outcome.too_small += 1
        except BaseException as error:
            keep(drawn, latest, f"{type(error).__name__}: {error}")
            raise

    try:
        run()
    except BaseException as error:
        folder = latest.rename(batch.folder / f"failure-{batch.number}")
        outcome.failures.append((first_line(error), folder))
        if batch.shrink:
            small = reduced(kept(folder), partial(fails, machine=batch.machine))
            keep(small, folder / "reduced", first_line(error))
    else:
        shutil.rmtree(latest, ignore_errors=True)
    return outcome


def fails(drawn: Drawn, machine: str = "") -> bool:
    """Whether a graph still fails."""
    try:
        check(drawn, machine=machine)
    except PlanError:
        return False
    except Exception:
        return True
    return False


def lost(batch: Batch, why: str) -> Outcome:
    """Make the outcome of a batch whose process died."""
    return Outcome(failures=[(why, batch.running)])


def first_line(error: BaseException) -> str:
    """Shorten a message."""
    return f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]


def report(total: Outcome, where: str, seconds: float) -> None:
    """Print the table and the closing line."""
    print(f"\r{'operator':24}{'uses':>8}{'modes':>8}")
    for name in MODES:
        print(f"{name:24}{total.operators[name]:8,}{len(total.modes.get(name, ())):8}")
    sizes = ", ".join(f"{size}: {count}" for size, count in sorted(total.sizes.items()))
    print(f"graphs by number of operators: {sizes}")
    for message, folder in total.failures:
        print(f"FAILED {folder}: {message}")
    covered = sum(1 for name in MODES if total.operators[name])
    modes = sum(map(len, total.modes.values()))
    fit = f", {total.too_small} did not fit" if total.too_small else ""
    print(
        f"fuzz: {total.graphs:,} graphs of {covered} of {len(MODES)} operators in {modes} modes on "
        f"{where}{fit}: {len(total.failures)} failures, {seconds:.0f} s"
    )


def replay(folder: Path, machine: str) -> int:
    """Run a failure again."""
    drawn = kept(folder)
    print(drawn)
    check(drawn, model=reference.tools() is not None, machine=machine)
    print(f"{folder}: no failure")
    return 0


if __name__ == "__main__":
    sys.exit(main())
