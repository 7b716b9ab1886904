"""Runs ONNX's own tests of its operators, or drawn ones, and says what became of each."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from onnx_tests import sample
from onnx_tests.suite import Outcome, Test, judge, tests
from workers import run_jobs

import tosajit as tj
from tests.tflite_cases.running import by_arm

TOOLS = Path(__file__).parent / "onnx_tests"
ROOT, DRAWN = Path("build") / "onnx", Path("build") / "onnx-drawn"
SECONDS = 300.0


def main() -> int:
    """Generate the tests if they are missing, run them, and print a table; 1 if anything failed."""
    options = _options()
    root = DRAWN if options.drawn else ROOT
    if options.drawn:
        shutil.rmtree(root, ignore_errors=True)
        generate(root, "draw.py", "--seeds", options.seed, options.drawn)
    elif not root.is_dir():
        generate(root, "generate.py")
    chosen = re.compile(options.only)
    found = [one for one in tests(root) if chosen.search(one.name)]
    started, run = time.perf_counter(), by_arm if options.arm else tj.compile
    outcomes = list(run_jobs(partial(judge, run=run), found, _lost, options.workers, lambda _: SECONDS))
    print("\n".join(table(outcomes)))
    for outcome in outcomes:
        if outcome.became == "failed":
            print(f"FAILED {outcome.test.name}: {outcome.reasons[0]}")
    if options.pack:
        sample.pack(outcomes, root, sample.ARCHIVES[options.drawn > 0])
    counts = Counter(one.became for one in outcomes)
    print(
        f"onnx: {counts['passed']:,} of {len(found):,} passed, {counts['refused']:,} refused,"
        f" {counts['failed']:,} failed ({time.perf_counter() - started:.0f} s)"
    )
    return int(not outcomes or counts["failed"] > 0)


def generate(root: Path, tool: str, *more: object) -> None:
    """Have the `onnx` package write its tests, or ONNX Runtime compute drawn ones."""
    python = Path(os.environ.get("TOSAJIT_ONNX", ".venv-onnx")) / "bin" / "python"
    if not python.is_file():
        sys.exit("there is no onnx: TOSAJIT_ONNX says where, `make onnx` installs it")
    partly = root.with_name(f"{root.name}.partly")
    subprocess.run([python, TOOLS / tool, partly, *map(str, more)], check=True)
    partly.rename(root)


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """How many tests were refused for which reason."""
    reasons = Counter(reason for one in outcomes if one.became == "refused" for reason in one.reasons)
    return [f"refused {count:>5,}: {reason}" for reason, count in reasons.most_common()]


def _lost(test: Test, reason: str) -> Outcome:
    return Outcome(test, "failed", (reason,))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="REGEX", help="only tests of such names")
    parser.add_argument(
        "--drawn", type=int, default=0, metavar="COUNT", help="draw so many cases of each operator"
    )
    parser.add_argument("--seed", type=int, default=0, help="the first number of drawn cases")
    parser.add_argument("--arm", action="store_true", help="run what is written by Arm's reference model")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pack", action="store_true", help="pack the sample that the tests run")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
