"""Arm's conformance suite: generate it, run the reference model and tosajit on it, compare, and count."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
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
BUILD = Path(__file__).parents[1] / "build" / "conformance"


def main() -> int:
    """Do what the command line says."""
    options = arguments()
    if options.command == "unpack":
        return unpack_sample(BUILD / "sample")
    profiles, extensions = INTEGER_PROFILES, INTEGER_EXTENSIONS
    if options.float:
        profiles, extensions = profiles | FLOAT_PROFILES, extensions | FLOAT_EXTENSIONS
    name = f"seed-{options.seed}{'-float' if options.float else ''}"
    root = options.suite or BUILD / name
    results = options.results or root.with_name(f"{root.name}-reference")
    if not root.is_dir():
        arm_suite.generate(arm_tools(), root, options.seed, profiles, extensions)
    found = [test for test in find_tests(root) if test.supported(profiles, extensions)]
    tests = [test for test in found if re.search(options.filter, test.name)]
    arm_suite.evaluate(arm_tools(), tests, root, results)
    if options.command == "sample":
        return make_sample(tests, results, root, options.float)
    if options.command == "run":
        return run_suite(tests, results, root, options)
    print(f"{len(tests):,} tests in {root}, results in {results}")
    return 0


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "prepare", "sample", "unpack"))
    parser.add_argument("--seed", type=int, default=arm_suite.OFFICIAL_SEED)
    parser.add_argument("--suite", type=Path, help="use this generated suite")
    parser.add_argument("--results", type=Path, help="folder of the reference model's results")
    parser.add_argument("--filter", default="", metavar="REGEX", help="only tests of such names")
    parser.add_argument("--float", action="store_true", help="floating point too")
    parser.add_argument("--machine", metavar="NAME", help="run on this modelled machine")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120, help="time limit of a test")
    parser.add_argument("--failures", type=int, default=100, help="how many failures to list")
    return parser.parse_args()


def make_sample(tests: Sequence[Test], results: Path, root: Path, floating: bool) -> int:
    """Choose the sample and pack it; of `floating` point, a smaller one without the tests for integers."""
    archive = sample.ARCHIVE
    if floating:
        archive = sample.FLOAT_ARCHIVE
        tests = [test for test in tests if not test.supported(INTEGER_PROFILES, INTEGER_EXTENSIONS)]
    chosen = sample.choose(tests, results, root, few=floating)
    sample.pack(chosen, results, root, archive)
    left = {sample.kind(test) for test in tests} - {sample.kind(test) for test in chosen}
    size = archive.stat().st_size
    print(*(f"not in the sample: {' '.join(kind)}" for kind in sorted(left)), sep="\n", end="")
    print(f"sample: {len(chosen):,} of {len(tests):,} tests, {size / 1e6:.1f} MB in {archive}")
    return 0


def unpack_sample(folder: Path) -> int:
    """Unpack the sample for Arm's runner."""
    shutil.rmtree(folder, ignore_errors=True)
    tests = sample.unpack(folder)
    print(f"{len(tests):,} tests in {folder}")
    return 0


def run_suite(tests: Sequence[Test], results: Path, root: Path, options: argparse.Namespace) -> int:
    """Run the tests in worker processes; list failures, then the table."""
    started = time.perf_counter()
    settings = {"machine": options.machine} if options.machine else {}
    jobs = [Job(test, results / test.folder.relative_to(root), settings) for test in tests]
    outcomes: list[Outcome] = []
    failures, shown = 0, started
    for outcome in run_jobs(check, jobs, lost, options.workers, options.seconds):
        outcomes.append(outcome)
        if outcome.fault:
            failures += 1
            if failures <= options.failures:
                print(f"FAILED {outcome.test.name}: {outcome.fault}", flush=True)
        if time.perf_counter() - shown > PROGRESS_SECONDS:
            shown = time.perf_counter()
            print(f"{len(outcomes):,} of {len(jobs):,} run, {failures:,} failed", file=sys.stderr, flush=True)
    write_messages(outcomes, results.with_name(f"{results.name}-messages.txt"))
    print(table(outcomes))
    slowest = sorted(outcomes, key=lambda outcome: -outcome.seconds)[:5]
    print("slowest: " + ", ".join(f"{outcome.test.name} {outcome.seconds:.1f} s" for outcome in slowest))
    passed = len(outcomes) - failures
    skipped = len(tests) - len(outcomes)
    print(
        f"conformance: {passed:,} of {len(tests):,} passed, {failures:,} failed, {skipped:,} skipped"
        f" ({time.perf_counter() - started:.0f} s)"
    )
    return 0 if outcomes and passed == len(tests) else 1


def lost(job: Job, reason: str) -> Outcome:
    """Make the outcome of a test that its worker did not finish."""
    return Outcome(job.test, reason)


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
