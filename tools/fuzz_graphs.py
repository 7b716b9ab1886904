"""Draw random graphs, and compare tosajit on every target with Arm's reference model, bit for bit."""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path

import numpy as np
from graph_fuzzer import ROOT, Batch, Outcome, first_line, fuzz, parser_of
from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(ROOT))

from tests import reference
from tests.fuzzing import check, keep, kept
from tests.oracle import MODES
from tests.oracle.drawing import RandomChooser
from tests.reducing import reduced
from tests.state_runs import check as check_states
from tests.state_runs import ways
from tests.states import ACTIONS, draw_states, graph_of
from tests.strategies import TARGETS, Drawn, graphs
from tosajit.errors import PlanError
from tosajit.files import save


def main() -> int:
    """Do what the command line says."""
    parser = parser_of(__doc__, "fuzz")
    parser.add_argument("--machine", default="", metavar="NAME", help="run on this modelled machine alone")
    parser.add_argument("--replay", type=Path, help="a folder with a failure to run again")
    parser.add_argument("--variables", action="store_true", help="draw graphs with variables, run in steps")
    options = parser.parse_args()
    if options.variables:
        return fuzz(options, run_states, "", "the host, called in every way", ACTIONS)
    if options.replay:
        return replay(options.replay, options.machine)
    if not options.machine and reference.tools() is None:
        print("Arm's reference model is missing: `make fuzz` installs it, or set TOSAJIT_ARM")
        return 2
    where = options.machine or f"{len(TARGETS)} targets"
    return fuzz(options, run_batch, "", where, MODES, options.machine)


def run_batch(batch: Batch) -> Outcome:
    """Draw and check the graphs of a batch; the first failure ends it."""
    outcome, latest = Outcome(), batch.running

    @seed(batch.seed)
    @settings(
        max_examples=batch.graphs,
        phases=(Phase.generate,),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(graphs())
    def run(drawn: Drawn) -> None:
        outcome.add(drawn.operators)
        keep(drawn, latest, "the process died on this graph")
        try:
            check(drawn, machine=batch.machine)
        except PlanError as error:
            if not batch.machine and "tiny" not in str(error):
                raise
            outcome.too_small += 1
        except BaseException as error:
            keep(drawn, latest, f"{type(error).__name__}: {error}")
            raise

    try:
        run()
    except BaseException as error:
        folder = latest.rename(batch.folder / f"failure-{batch.number}")
        outcome.failures.append((first_line(error), folder))
        if batch.shrink:
            small = reduced(kept(folder), partial(fails, machine=batch.machine))
            keep(small, folder / "reduced", first_line(error))
    else:
        shutil.rmtree(latest, ignore_errors=True)
    return outcome


def run_states(batch: Batch) -> Outcome:
    """Draw and check graphs with variables, which NumPy carries out."""
    outcome = Outcome()
    for number in range(batch.seed, batch.seed + batch.graphs):
        drawn = draw_states(RandomChooser(np.random.default_rng(number)))
        batch.running.mkdir(parents=True, exist_ok=True)
        save(graph_of(drawn), batch.running / "graph.tosa")
        outcome.add((kind, "") for kind in drawn.kinds)
        try:
            for what, run in ways(graph_of(drawn), batch.running):
                check_states(drawn, what, run)
        except BaseException as error:
            folder = batch.running.rename(batch.folder / f"failure-{number}")
            outcome.failures.append((first_line(error), folder))
            (folder / "why.txt").write_text(f"{error}\n")
    shutil.rmtree(batch.running, ignore_errors=True)
    return outcome


def fails(drawn: Drawn, machine: str = "") -> bool:
    """Whether a graph still fails."""
    try:
        check(drawn, machine=machine)
    except PlanError:
        return False
    except Exception:
        return True
    return False


def replay(folder: Path, machine: str) -> int:
    """Run a failure again."""
    drawn = kept(folder)
    print(drawn)
    check(drawn, model=reference.tools() is not None, machine=machine)
    print(f"{folder}: no failure")
    return 0


if __name__ == "__main__":
    sys.exit(main())
