"""Arm's conformance suite: generate it, run the reference model and tosajit on it, compare, and count."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import arm_suite
from workers import run_jobs

from tosajit.conformance import sample
from tosajit.conformance.arm import arm_tools
from tosajit.conformance.check import Job, Outcome, check
from tosajit.conformance.suite import (
    FLOAT_EXTENSIONS,
    FLOAT_PROFILES,
    INTEGER_EXTENSIONS,
    INTEGER_PROFILES,
    Test,
    find_tests,
)

PROGRESS_SECONDS = 20
COMPILE_SECONDS = 0.2
BUILD = Path(__file__).parents[1] / "build" / "conformance"


def main() -> int:
    """Do what the command line says."""
    options = arguments()
    if options.command == "unpack":
        return unpack_sample(BUILD / "sample")
    profiles, extensions = INTEGER_PROFILES | FLOAT_PROFILES, INTEGER_EXTENSIONS | FLOAT_EXTENSIONS
    if options.integer:
        profiles, extensions = INTEGER_PROFILES, INTEGER_EXTENSIONS
    root = options.suite or BUILD / f"{'integer' if options.integer else 'all'}-seed-{options.seed}"
    results = options.results or root.with_name(f"{root.name}-reference")
    if not root.is_dir():
        arm_suite.generate(arm_tools(), root, options.seed, profiles, extensions)
    found = [test for test in find_tests(root) if test.supported(profiles, extensions)]
    tests = [test for test in found if re.search(options.filter, test.name)]
    settings = {"machine": options.machine} if options.machine else {}
    jobs = [Job(test, results / test.folder.relative_to(root), settings) for test in tests]
    run = Run(sorted(jobs, key=order), options.minutes)
    run.all(judge if options.command == "run" else evaluate, options)
    if options.command == "sample":
        return make_sample([job.test for job in jobs if has_results(job)], results, root, options.integer)
    return run.report(results, options.command)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "prepare", "sample", "unpack"))
    parser.add_argument("--seed", type=int, default=arm_suite.OFFICIAL_SEED)
    parser.add_argument("--suite", type=Path, help="use this generated suite")
    parser.add_argument("--results", type=Path, help="folder of the reference model's results")
    parser.add_argument("--filter", default="", metavar="REGEX", help="only tests of such names")
    parser.add_argument("--integer", action="store_true", help="PRO-INT and its extensions alone")
    parser.add_argument("--machine", metavar="NAME", help="run on this modelled machine")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120, help="time limit of a test")
    parser.add_argument("--minutes", type=float, help="start the reference model no more after this time")
    parser.add_argument("--failures", type=int, default=100, help="how many failures to list")
    return parser.parse_args()


def make_sample(tests: Sequence[Test], results: Path, root: Path, integer: bool) -> int:
    """Choose the samples and pack them; that of floating point is smaller, without the tests for integers."""
    exact = [test for test in tests if test.supported(INTEGER_PROFILES, INTEGER_EXTENSIONS)]
    pack_sample(exact, results, root, sample.ARCHIVE)
    if not integer:
        rest = [test for test in tests if not test.supported(INTEGER_PROFILES, INTEGER_EXTENSIONS)]
        pack_sample(rest, results, root, sample.FLOAT_ARCHIVE)
    return 0


def pack_sample(tests: Sequence[Test], results: Path, root: Path, archive: Path) -> None:
    """Choose a sample of tests and pack it."""
    chosen = sample.choose(tests, results, root, few=archive == sample.FLOAT_ARCHIVE)
    sample.pack(chosen, results, root, archive)
    left = {sample.kind(test) for test in tests} - {sample.kind(test) for test in chosen}
    for kind in sorted(left):
        print(f"not in the sample: {' '.join(kind)}")
    size = archive.stat().st_size
    print(f"sample: {len(chosen):,} of {len(tests):,} tests, {size / 1e6:.1f} MB in {archive}")


def unpack_sample(folder: Path) -> int:
    """Unpack the samples for Arm's runner."""
    shutil.rmtree(folder, ignore_errors=True)
    for archive in sample.ARCHIVES:
        tests = sample.unpack(folder, archive)
    print(f"{len(tests):,} tests in {folder}")
    return 0


def has_results(job: Job) -> bool:
    """Whether the reference model has been run on a job's test."""
    return arm_suite.evaluated(job.test, job.results)


def order(job: Job) -> tuple[bool, float]:
    """What is evaluated already comes first, then what the reference model does soonest."""
    return not has_results(job), arm_suite.reference_seconds(job.test)


def evaluate(job: Job) -> Outcome:
    """Run the reference model on a test."""
    fault = "" if has_results(job) else arm_suite.evaluate(arm_tools(), job.test, job.results)
    return Outcome(job.test, fault)


def judge(job: Job) -> Outcome:
    """Run the reference model where its results are missing, then tosajit, and compare."""
    outcome = evaluate(job)
    return outcome if outcome.fault else check(job)


def lost(job: Job, reason: str) -> Outcome:
    """Make the outcome of a test that its worker did not finish."""
    return Outcome(job.test, reason)


@dataclass
class Run:
    """Jobs in their order, how long the reference model may still be started, and what became of them."""

    jobs: Sequence[Job]
    minutes: float | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    not_run: int = 0
    """Tests without results of the reference model when its time was over."""
    interrupted: bool = False
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Since the run was started."""
        return time.perf_counter() - self.started

    @property
    def failures(self) -> list[Outcome]:
        """The tests that failed."""
        return [outcome for outcome in self.outcomes if outcome.fault]

    def waiting(self) -> Iterator[Job]:
        """Give out the jobs; those that need the reference model only while there is time for it."""
        for job in self.jobs:
            late = self.minutes is not None and self.seconds > 60 * self.minutes
            if late and not has_results(job):
                self.not_run += 1
            else:
                yield job

    def all(self, function: Callable[[Job], Outcome], options: argparse.Namespace) -> None:
        """Do all jobs in worker processes; list failures as they come, and how far it is."""
        costs = {job.test.folder: sum(cost(job)) for job in self.jobs}
        shown, total, done = 0.0, sum(costs.values()), 0.0

        def limit(job: Job) -> float:
            return float(options.seconds) + (0 if has_results(job) else arm_suite.REFERENCE_SECONDS)

        try:
            for outcome in run_jobs(function, self.waiting(), lost, options.workers, limit):
                self.outcomes.append(outcome)
                done += costs[outcome.test.folder]
                if outcome.fault and len(self.failures) <= options.failures:
                    print(f"FAILED {outcome.test.name}: {outcome.fault}", flush=True)
                if self.seconds - shown > PROGRESS_SECONDS:
                    shown = self.seconds
                    self.progress((total - done) * shown / done)
        except KeyboardInterrupt:
            self.interrupted = True

    def progress(self, left: float) -> None:
        """Say how far it is, and for how many seconds it may go on."""
        stop = "" if self.minutes is None else f", the reference model stops after {self.minutes:g} min"
        print(
            f"{len(self.outcomes):,} of {len(self.jobs):,} run, {len(self.failures):,} failed,"
            f" {self.seconds / 60:.0f} min, about {left / 60:.0f} min left{stop}",
            file=sys.stderr,
            flush=True,
        )

    def report(self, results: Path, command: str) -> int:
        """Print the table and what is to be known of the run; the exit code."""
        if command == "run":
            write_messages(self.outcomes, results.with_name(f"{results.name}-messages.txt"))
            print(table(self.outcomes))
            slowest = sorted(self.outcomes, key=lambda outcome: -outcome.seconds)[:5]
            names = ", ".join(f"{one.test.name} {one.seconds:.1f} s" for one in slowest)
            print(f"slowest: {names or 'none'}")
        if self.not_run:
            print(
                f"NOT RUN: {self.not_run:,} tests, on which the reference model was not run in"
                f" {self.minutes:g} minutes; run again to go on"
            )
        if self.interrupted:
            print("interrupted: what the reference model has done is kept; run again to go on")
        passed = len(self.outcomes) - len(self.failures)
        skipped = len(self.jobs) - len(self.outcomes)
        print(
            f"{'conformance' if command == 'run' else 'reference model'}: {passed:,} of {len(self.jobs):,}"
            f" passed, {len(self.failures):,} failed, {skipped:,} skipped ({self.seconds:.0f} s)"
        )
        return 0 if self.outcomes and passed == len(self.jobs) else 1


def cost(job: Job) -> tuple[float, float]:
    """Estimate the seconds of the reference model, which may be done, and of tosajit."""
    seconds = arm_suite.reference_seconds(job.test)
    return 0.0 if has_results(job) else seconds, COMPILE_SECONDS + seconds / 50


def table(outcomes: Sequence[Outcome]) -> str:
    """Count passed and all tests for each operator."""
    counts: Counter[tuple[str, bool, bool]] = Counter()
    for outcome in outcomes:
        counts[outcome.test.operator, outcome.test.negative, not outcome.fault] += 1

    def share(operator: str, negative: bool) -> str:
        passed = counts[operator, negative, True]
        return f"{passed:,}/{passed + counts[operator, negative, False]:,}"

    rows = [("operator", "positive", "negative")]
    rows += [(name, share(name, False), share(name, True)) for name in sorted({key[0] for key in counts})]
    return "\n".join(f"{name:24}{positive:>12}{negative:>12}" for name, positive, negative in rows)


def write_messages(outcomes: Sequence[Outcome], path: Path) -> None:
    """Keep the messages of refused graphs, so that people can see that the reasons are the right ones."""
    refused = [outcome for outcome in outcomes if outcome.message]
    lines = [f"{outcome.test.name}\n    {outcome.message}\n" for outcome in refused]
    path.write_text("".join(sorted(lines)))


if __name__ == "__main__":
    raise SystemExit(main())
