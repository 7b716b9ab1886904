"""Runs all tests of NNEF 2.0: prints what each standard operator has passed, and one closing line."""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.nnef.cases import CASES
from tests.nnef.test_nests_library import formulas_of

ROOT = Path(__file__).parents[1]
OPERATOR = re.compile(r"\b(layout|math|linalg|nn|image|quant|algo)[.-](\w+)")
"""An operator in the name of a test: `nn.conv`, or `nn-conv` where module and name are two parameters."""


class Tally:
    """What became of each test."""

    def __init__(self) -> None:
        self.all: Counter[str] = Counter()
        self.operators: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the call of a test, or what came before it where that was no success."""
        if report.when != "call" and report.passed:
            return
        self.all[report.outcome] += 1
        found = OPERATOR.search(report.nodeid.partition("[")[2])
        if found:
            self.operators[f"{found[1]}.{found[2]}"][report.outcome] += 1


def main() -> int:
    """Run the tests, print the table; 1 if one failed."""
    tally = Tally()
    words = ["-q", "--no-header", "-p", "no:cacheprovider", "-m", "slow or not slow", *sys.argv[1:]]
    code = pytest.main([*words, str(ROOT / "tests" / "nnef")], plugins=[tally])
    print(table(tally))
    print(formulas())
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(tally.all.items()))
    print(f"NNEF: {len(tally.operators)} standard operators; {counts or 'no tests'}")
    return int(code)


def formulas() -> str:
    """How many formulas of the tests' calls become nests."""
    nests, general = (
        counts.total() for counts in formulas_of([one for cases in CASES.values() for one in cases])
    )
    return f"formulas: {nests:,} of {nests + general:,} become nests; the general kernel computes the others"


def table(tally: Tally) -> str:
    """A line for each operator."""
    width = max(map(len, tally.operators), default=0)
    lines = [f"{'operator':{width}}  passed  failed"]
    for name, counts in sorted(tally.operators.items()):
        lines.append(f"{name:{width}}  {counts['passed']:6}  {counts['failed'] or '':>6}".rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
