"""Draw random floating-point graphs, and compare every operator on every target with fp64 arithmetic."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from graph_fuzzer import ROOT, Batch, Outcome, first_line, fuzz, parser_of

sys.path.insert(0, str(ROOT))

from tests import reference
from tests.floating_checks import check, smallest
from tests.floating_graphs import FloatingGraph
from tests.floating_steps import OPERATORS_DRAWN, draw
from tests.fuzzing import keep
from tests.strategies import TARGETS, Drawn


def main() -> int:
    """Do what the command line says."""
    parser = parser_of(__doc__, "fuzz-floats")
    parser.add_argument("--replay", metavar="SEED", help="the seed of a graph, or the folder of a failure")
    options = parser.parse_args()
    if options.replay:
        return replay(options.replay)
    if reference.tools() is None:
        print("Arm's reference model is missing: `make fuzz` installs it, or set TOSAJIT_ARM")
        return 2
    return fuzz(options, run_batch, "floating-point ", f"{len(TARGETS)} targets", OPERATORS_DRAWN)


def run_batch(batch: Batch) -> Outcome:
    """Draw and check the graphs of a batch."""
    outcome, model = Outcome(), reference.tools()
    for seed in range(batch.seed, batch.seed + batch.graphs):
        drawn = draw(seed)
        outcome.add(drawn.operators)
        keep_drawn(drawn, batch.running, "the process died on this graph")
        try:
            outcome.too_small += not check(drawn, model)
        except Exception as error:
            folder = keep_drawn(drawn, batch.folder / f"failure-{seed}", f"{type(error).__name__}: {error}")
            outcome.failures.append((first_line(error), folder))
            if batch.shrink:
                keep_drawn(smallest(seed, model), folder / "reduced", first_line(error))
    shutil.rmtree(batch.running, ignore_errors=True)
    return outcome


def keep_drawn(drawn: FloatingGraph, folder: Path, why: str) -> Path:
    """Save a graph with its inputs, and the seed that it is drawn from."""
    keep(Drawn(drawn.graph(), drawn.inputs, {}, tuple(drawn.operators), repr(drawn)), folder, why)
    (folder / "seed.txt").write_text(f"{drawn.seed} {len(drawn.nodes)}\n")
    return folder


def replay(given: str) -> int:
    """Draw and check a graph again."""
    place = Path(given) / "seed.txt"
    words = place.read_text().split() if place.is_file() else [given]
    print(drawn := draw(*map(int, words)))
    check(drawn, reference.tools())
    print(f"{given}: no failure")
    return 0


if __name__ == "__main__":
    sys.exit(main())
