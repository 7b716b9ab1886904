"""`tosajit plan`."""

from __future__ import annotations

from argparse import Namespace

from tosajit.cli.building import machine_named
from tosajit.cli.loading import loaded
from tosajit.cli.output import print_json
from tosajit.display.screen import show
from tosajit.npu.plan import plan


def run(options: Namespace) -> int:
    """Plan a model, and print the plan or write it to a file."""
    found = plan(
        loaded(options.model, options),
        machine_named(options.machine),
        plan=options.plan,
        mapping=options.mapping,
        level=options.level,
    )
    if options.output:
        found.save(options.output)
    if options.json:
        print_json(found.to_dict())
    elif not options.output:
        show(found)
    return 0
