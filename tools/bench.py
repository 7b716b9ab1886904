"""Time models, kernels and the simulator against the peers: prints a table and one closing line.

`tools/bench.py --only mobilenet_v2,matmul` measures cases whose names hold one of these; `--list` names all.
Results go to `build/bench.json` too, and with `--page` to `docs/benchmarks.md`; with `--section TITLE` to one
section of that page, for a CPU beside the one that the page is of.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benching.client import ROOT
from benching.distance import distance_text, round_trip
from benching.elementwise import FUNCTIONS
from benching.exploring import EXPLORING
from benching.first import PROCESSES
from benching.loading import LOADING
from benching.npu import SIMULATOR
from benching.report import closing, heading, machine, row_text, write_json, write_page, write_section
from benching.rows import BY_SET, KERNELS, MODELS, Case, Plan, Row, measured

PAGE = ROOT / "docs/benchmarks.md"
CASES: tuple[Case, ...] = (
    *KERNELS,
    *FUNCTIONS,
    *MODELS,
    *BY_SET,
    *PROCESSES,
    *LOADING,
    *SIMULATOR,
    *EXPLORING,
)


def main() -> int:
    """Measure, print, write; 1 if something could not be run, and with `--strict` if a target is missed."""
    options = arguments()
    cases = chosen(options.only)
    if options.list:
        print(*(case.name for case in cases), sep="\n")
        return 0
    plan = Plan(options.rounds, options.seconds, options.cpu, options.busy)
    start, before = time.monotonic(), round_trip()
    rows: list[Row] = []
    print(heading())
    for case in cases:
        for row in measured(case, plan):
            rows.append(row)
            print(row_text(row), flush=True)
    about = machine() | {"to another core and back": distance_text(before, round_trip())}
    write_json(options.json, rows, about)
    if options.page:
        write_page(PAGE, rows, about, command(), plan)
    if options.section:
        write_section(PAGE, options.section, rows, about, command(), plan)
    print(closing(rows, time.monotonic() - start))
    failed = any(row.ours == "failed" for row in rows)
    return int(failed or (options.strict and any(row.met is False for row in rows)))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only", default="", metavar="NAMES", help="cases whose names hold one of these, by commas"
    )
    parser.add_argument("--list", action="store_true", help="name the cases")
    parser.add_argument(
        "--rounds", type=int, default=Plan().rounds, help="turns of each engine (default %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=float, default=Plan().seconds, help="of each turn (default %(default)s)"
    )
    parser.add_argument("--cpu", type=int, help="bind single-threaded engines to this core")
    parser.add_argument(
        "--busy",
        action="store_true",
        help="time what runs on one thread by processor time: others are at work",
    )
    parser.add_argument("--json", type=Path, default=ROOT / "build/bench.json", help="default %(default)s")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--section", metavar="TITLE", help="write this section of docs/benchmarks.md")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    return parser.parse_args()


def chosen(names: str) -> Sequence[Case]:
    """The cases that `--only` asks for."""
    parts = [name for name in names.split(",") if name]
    cases = [case for case in CASES if not parts or any(part in case.name for part in parts)]
    if not cases:
        sys.exit(f"no case is called like {names}; there are: {', '.join(case.name for case in CASES)}")
    return cases


def command() -> str:
    """How this run was started."""
    given = [
        one for place, one in enumerate(sys.argv) if place and "--json" not in sys.argv[place - 1 : place + 1]
    ]
    return "make bench" + (f" ARGS={shlex.quote(shlex.join(given))}" if given else "")


if __name__ == "__main__":
    sys.exit(main())
