"""`tosajit share`."""

from __future__ import annotations

from argparse import Namespace

from tosajit.cli.building import machine_named
from tosajit.cli.loading import loaded
from tosajit.cli.output import print_json
from tosajit.display.screen import show
from tosajit.npu.share import share
from tosajit.npu.simulate import name_of


def run(options: Namespace) -> int:
    """Simulate several models at once on a machine, and say what each takes alone and with the others."""
    graphs, machine = [loaded(path, options) for path in options.models], machine_named(options.machine)
    names = [name_of(path) for path in options.models]
    found = share(graphs, machine, shares=options.share or None, level=options.level, names=names)
    if options.json:
        print_json(found.to_dict())
    else:
        show(found)
    return 0
