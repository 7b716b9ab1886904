"""Draws cases of JAX's primitives, runs them through the front end, and says what became of each."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from environments import with_jax
from jax_tests import sample
from jax_tests.suite import Outcome, Test, judge, tests
from workers import run_jobs

import tosajit as tj
from tests.tflite_cases.running import by_arm

GENERATOR = Path(__file__).parent / "jax_tests" / "generate.py"
SECONDS = 300.0


def main() -> int:
    """Draw the cases, run them, and print what was refused or failed; 1 if anything failed."""
    options = _options()
    root = Path("build") / "jax" / str(options.seed)
    generate(root, options)
    chosen = re.compile(options.only)
    found = [one for one in tests(root) if chosen.search(one.name)]
    started, run = time.perf_counter(), by_arm if options.arm else tj.compile
    outcomes = list(run_jobs(partial(judge, run=run), found, _lost, options.workers, lambda _: SECONDS))
    counts = Counter(one.became for one in outcomes)
    refused = Counter(reason for one in outcomes if one.became == "refused" for reason in one.reasons)
    for reason, count in refused.most_common():
        print(f"refused {count:>5,}: {reason}")
    for outcome in outcomes:
        if outcome.became == "failed":
            print(f"FAILED {outcome.test.name}: {outcome.reasons[0]}")
    if options.pack:
        sample.pack(outcomes, root)
    print(
        f"jax: {counts['passed']:,} of {len(found):,} passed, {counts['refused']:,} refused,"
        f" {counts['failed']:,} failed ({time.perf_counter() - started:.0f} s)"
    )
    return int(not outcomes or counts["failed"] > 0)


def generate(root: Path, options: argparse.Namespace) -> None:
    """Have JAX trace and compute the cases."""
    python = with_jax()
    if python is None:
        sys.exit("there is no JAX: TOSAJIT_JAX says where, `make jax` installs it")
    command = [python, GENERATOR, root, "--only", options.only]
    command += ["--seeds", str(options.seed), str(options.cases)]
    subprocess.run(command, check=True)


def _lost(test: Test, reason: str) -> Outcome:
    return Outcome(test, "failed", (reason,))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first number of the cases")
    parser.add_argument("--cases", type=int, default=8, help="how many cases of each primitive")
    parser.add_argument("--only", default="", metavar="REGEX", help="only cases of such names")
    parser.add_argument("--arm", action="store_true", help="run what is written by Arm's reference model")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pack", action="store_true", help="pack the sample that the tests run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
