"""`tosajit profile`."""

from __future__ import annotations

from argparse import Namespace

from tosajit.cli.building import built
from tosajit.cli.output import print_json
from tosajit.cli.run import inputs_of
from tosajit.display.screen import show


def run(options: Namespace) -> int:
    """Compile a model, time its groups, and print them."""
    executable = built(options.model, options)
    executable.wait()
    inputs = inputs_of(executable, options)
    arrays = [inputs[value.name] for value in executable.graph.inputs]
    profile = executable.profile(*arrays, runs=options.runs)
    if options.json:
        print_json(profile.to_dict())
    else:
        show(profile.table(options.top, options.in_order))
    return 0
