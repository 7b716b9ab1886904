"""`tosajit why`."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from tiling.records import replace
from tosajit.cli.building import machine_named
from tosajit.cli.loading import loaded
from tosajit.cli.output import print_json
from tosajit.display.screen import show
from tosajit.npu.simulate import Mode, name_of, simulate

if TYPE_CHECKING:
    from sim import Report


def run(options: Namespace) -> int:
    """Simulate a model, and say what keeps its operators from being faster."""
    found = simulated(options).why(options.count, not options.no_remedies)
    if options.json:
        print_json(found.to_dict())
    else:
        show(found)
    return 0


def simulated(options: Namespace) -> Report:
    """The report of a model on a machine, under the name of its file."""
    graph, machine = loaded(options.model, options), machine_named(options.machine)
    mode: Mode = "analytic" if options.analytic else "events"
    made = simulate(graph, machine, mode=mode, loop_trips=options.loop_trips, level=options.level)
    return replace(made, program=name_of(options.model))
