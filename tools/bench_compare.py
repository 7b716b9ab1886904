"""Whether one run of `make bench` is faster than another: `tools/bench_compare.py BEFORE.json AFTER.json`.

Rounds of a case are compared by their medians. Where a peer took turns with us, a round's figure is our time
divided by the fastest peer's, so that what slowed down the machine in one of the runs cancels out. The noise
is that of both medians together; a change counts if it is greater than the noise and than `--least`.
Exits with 1 if anything has become slower.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benching.rows import duration

LEAST = 0.02
"""A change that is never more than noise."""
NORMAL = 1.4826
"""Of a normal distribution, the standard deviation by the median deviation."""
WIDTH = 2.0
"""Standard errors of a median that count as noise."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a case."""

    case: str
    before: float
    after: float
    """Seconds of the median round."""
    against: str
    """The peer that times are divided by; empty if there is none in both runs."""
    ratio: float
    noise: float

    def verdict(self, least: float) -> str:
        """Whether the change is more than noise."""
        if abs(self.ratio - 1) <= max(self.noise, least):
            return "same"
        return "faster" if self.ratio < 1 else "slower"


def main() -> int:
    """Print a line for each case that both runs have."""
    options = arguments()
    runs = [json.loads(path.read_text()) for path in (options.before, options.after)]
    for run in runs:
        print(
            ", ".join(f"{key} {run['machine'].get(key)}" for key in ("commit", "date", "cpu", "load average"))
        )
    found = list(changes(*(run["rows"] for run in runs)))
    print(f"{'case':40}  {'before':>9}  {'after':>9}  {'ratio':>6}  {'noise':>6}")
    for one in found:
        times = f"{duration(one.before):>9}  {duration(one.after):>9}  {one.ratio:6.3f}  ±{one.noise:5.1%}"
        peer = f"against {one.against}" if one.against else ""
        print(f"{one.case:40}  {times}  {one.verdict(options.least):7}{peer}".rstrip())
    verdicts = [one.verdict(options.least) for one in found]
    print(", ".join(f"{verdicts.count(kind)} {kind}" for kind in ("faster", "same", "slower")))
    return int("slower" in verdicts)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument(
        "--least", type=float, default=LEAST, help="the least change that counts (default %(default)s)"
    )
    return parser.parse_args()


def changes(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> Iterator[Change]:
    """The cases of both runs that have rounds of ours."""
    known = {row["case"]: row["detail"] for row in before if "tosajit" in row["detail"]}
    for row in after:
        if row["case"] in known and "tosajit" in row["detail"]:
            yield change(row["case"], known[row["case"]], row["detail"])


def change(case: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Change:
    """What became of a case, by the timings of each engine before and after."""
    shared = [name for name in before if name != "tosajit" and name in after]
    against = min(shared, key=lambda name: float(before[name]["median"]), default="")
    figures = [_figures(one, against) for one in (before, after)]
    medians = [statistics.median(one) for one in figures]
    noise = math.hypot(*map(error, figures))
    earlier, later = (statistics.median(one["tosajit"]["rounds"]) for one in (before, after))
    return Change(case, earlier, later, against, medians[1] / medians[0], noise)


def _figures(timings: Mapping[str, Any], against: str) -> list[float]:
    mine: list[float] = timings["tosajit"]["rounds"]
    if not against:
        return mine
    return [ours / peer for ours, peer in zip(mine, timings[against]["rounds"], strict=True)]


def error(figures: Sequence[float]) -> float:
    """Twice the standard error of a median, as a part of it."""
    middle = statistics.median(figures)
    spread = NORMAL * statistics.median(abs(one - middle) for one in figures)
    return (
        WIDTH * 1.2533 * spread / math.sqrt(len(figures)) / middle
    )  # a median's error is 1.2533 of a mean's


if __name__ == "__main__":
    sys.exit(main())
