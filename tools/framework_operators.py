"""Runs Arm's framework tests through the front ends, and compares with what the frameworks gave."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from environments import with_tensorflow
from framework_tests import sample
from framework_tests.generate import AGAIN
from framework_tests.judge import Outcome, judge
from framework_tests.suite import DOORS, Test, tests
from workers import run_jobs

import tosajit as tj
from tests.tflite_cases.running import by_arm

GENERATOR = Path(__file__).parent / "framework_tests" / "generate.py"
SECONDS = 300.0


def main() -> int:
    """Generate what is missing, run it, and say what became of it; 1 if anything failed."""
    options = _options()
    root = options.suite or Path("build") / "frameworks" / str(options.seed)
    if not options.suite:
        generate(root, options)
    chosen = re.compile(options.only)
    found = [
        one
        for one in tests(root)
        if chosen.search(one.name) and one.door.name in (options.door or [one.door.name])
    ]
    if options.pack:
        return sample.pack(found, root)
    started = time.perf_counter()
    outcomes: list[Outcome] = []
    for outcome in run_all(found, options):
        outcomes.append(outcome)
        if outcome.became == "failed":
            print(f"FAILED {outcome.test.door.name} {outcome.test.name}: {outcome.reasons[0]}", flush=True)
    print("\n".join([*table(outcomes), "", *refusals(outcomes)]))
    counts = Counter(one.became for one in outcomes)
    print(
        f"frameworks: {counts['passed']:,} of {len(found):,} passed, {counts['refused']:,} refused,"
        f" {counts['failed']:,} failed, {len(found) - len(outcomes):,} not run"
        f" ({time.perf_counter() - started:.0f} s)"
    )
    return int(not outcomes or counts["failed"] > 0 or len(outcomes) < len(found))


def generate(root: Path, options: argparse.Namespace) -> None:
    """Have Arm's generator write the tests that are missing, in processes of its own environment."""
    python = with_tensorflow()
    if python is None:
        sys.exit("there is no TensorFlow: TOSAJIT_FRAMEWORKS says where, `make frameworks` installs it")
    root.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 60 * options.minutes
    log = root.with_name(f"{root.name}.log")

    def start(part: int) -> subprocess.Popen[bytes]:
        left = max(deadline - time.monotonic(), 0.0) / 60
        command = [str(python), str(GENERATOR), str(root), "--seed", str(options.seed)]
        command += ["--only", options.only, "--minutes", f"{left:.2f}"]
        command += ["--part", str(part), "--parts", str(options.workers)]
        command += ["--share", str(options.share)]
        with log.open("ab") as written:
            return subprocess.Popen(command, stdout=written, stderr=written)

    print(f"generating {root} with seed {options.seed}, messages in {log}", flush=True)
    working = {part: start(part) for part in range(options.workers)}
    while working:
        for part, process in list(working.items()):
            if (
                process.wait() == AGAIN or process.returncode < 0
            ):  # a test has ended the process: go on behind
                working[part] = start(part)
            else:
                del working[part]


def run_all(found: Sequence[Test], options: argparse.Namespace) -> Iterator[Outcome]:
    """Judge tests in worker processes, until the time is over."""
    deadline = time.monotonic() + 60 * options.minutes
    waiting = (one for one in found if time.monotonic() < deadline)
    run = by_arm if options.arm else tj.compile
    return run_jobs(partial(judge, run=run), waiting, lost, options.workers, lambda _: SECONDS)


def lost(test: Test, reason: str) -> Outcome:
    """What becomes of a test that its process did not finish."""
    return Outcome(test, "failed", (reason,))


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """How many tests of each family and type passed, were refused, and failed."""
    counts = Counter((one.test.kind, one.became) for one in outcomes)
    rows = [f"{'door':12}{'family':28}{'type':8}{'tests':>8}{'passed':>8}{'refused':>8}{'failed':>8}"]
    for kind in sorted({one.test.kind for one in outcomes}):
        numbers = [counts[kind, became] for became in ("passed", "refused", "failed")]
        door, family, element = kind
        rows.append(
            f"{door:12}{family:28}{element:8}" + "".join(f"{one:8,}" for one in (sum(numbers), *numbers))
        )
    return rows


def refusals(outcomes: Sequence[Outcome]) -> list[str]:
    """Why models were refused, or passed by an exception, and how often."""
    reasons = Counter((one.became, reason) for one in outcomes for reason in one.reasons)
    kept = [(found, count) for found, count in reasons.most_common() if found[0] != "failed"]
    return [f"{became} {count:,}: {reason}" for (became, reason), count in kept]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--suite", type=Path, help="run this generated suite as it is")
    parser.add_argument("--only", default="", metavar="REGEX", help="only tests of such names")
    parser.add_argument("--door", action="append", choices=[one.name for one in DOORS])
    parser.add_argument(
        "--share", type=int, default=1, help="generate one of so many tests, some of each kind"
    )
    parser.add_argument("--minutes", type=float, default=1e6, help="of generating, and of running")
    parser.add_argument("--arm", action="store_true", help="run what is written by Arm's reference model")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pack", action="store_true", help="pack the sample that the tests run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
