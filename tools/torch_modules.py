"""Runs tests of PyTorch's operators, Arm's or ours, through `tj.from_torch`, against what PyTorch gives."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from environments import with_torch

ROOT = Path(__file__).parents[1]
_REFUSED = re.compile(r"ModelError: .*?\(([\w.]+)\): (.+)", re.DOTALL)


def main() -> int:
    """Run the tests, and say what became of them; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--suite", choices=("arm", "cases"), default="arm", help="Arm's tests, or our cases")
    parser.add_argument("names", nargs="*", help="how names of tests begin")
    options = parser.parse_args()
    python = with_torch()
    if python is None:
        print("there is no torch: TOSAJIT_TORCH says where; `make .venv-torch/.ready` installs it")
        return 1
    command = [str(python), "-W", "ignore", str(ROOT / "tests" / "torch_cases" / "running.py")]
    command += [options.suite, str(options.seed), *options.names]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return report(rows) or done.returncode


def report(rows: list[dict[str, str]]) -> int:
    """Print a line for each family, the reasons of refusals and failures, and one line for all."""
    families: dict[str, Counter[str]] = {}
    reasons: Counter[str] = Counter()
    for row in rows:
        refused = _REFUSED.match(row["fault"])
        became = "refused" if refused else "failed" if row["fault"] else "passed"
        family = re.split(r"_\d|_single", row["name"])[0]
        families.setdefault(family, Counter())[became] += 1
        if refused:
            reasons[f"{refused[1]}: {refused[2].splitlines()[0]}"] += 1
        elif row["fault"]:
            print(f"FAILED {row['name']}: {row['fault']}")
    for family, counts in families.items():
        numbers = "".join(f"{counts[one]:9,}" for one in ("passed", "refused", "failed"))
        print(f"{family:24}{numbers}")
    for reason, count in reasons.most_common():
        print(f"refused {count}: {reason}")
    total = sum(families.values(), Counter[str]())
    print(
        f"torch: {total['passed']:,} of {len(rows):,} passed, {total['refused']:,} refused, "
        f"{total['failed']:,} failed"
    )
    return int(not rows or total["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
