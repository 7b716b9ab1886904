"""`tosajit stream`."""

from __future__ import annotations

from argparse import Namespace

from tiling.records import replace
from tosajit.cli.building import machine_named
from tosajit.cli.loading import loaded
from tosajit.cli.output import print_json
from tosajit.display.screen import show
from tosajit.npu.simulate import name_of
from tosajit.npu.stream import stream


def run(options: Namespace) -> int:
    """Simulate inferences that follow each other, and say how many a second there are."""
    graph, machine = loaded(options.model, options), machine_named(options.machine)
    found = stream(graph, machine, inferences=options.inferences, level=options.level)
    found = replace(found, report=replace(found.report, program=name_of(options.model)))
    if options.json:
        print_json(found.to_dict())
    else:
        show(found)
    return 0
