"""`tosajit machines`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from sim import Machine, MachineError, configurations, machine, machines
from sim.machine.catalog import matching
from sim.machine.formats import SUFFIXES
from sim.machine.machine import array_text, mode_text, offchip_text
from sim.machine.words import value_text
from tosajit.cli.output import print_json
from tosajit.display.columns import aligned
from tosajit.display.screen import show
from tosajit.errors import InputError

HEAD = ("machine", "clock", "array", "scratchpad", "off-chip", "lives in the scratchpad")


def run(options: Namespace) -> int:
    """List machines, or show one with the source of every figure."""
    try:
        names = _names(options)
        found = [machine(name) for name in names]
        if options.json:
            trees = [one.to_dict() for one in found]
            print_json(trees if list(names) != options.name or len(trees) > 1 else trees[0])
        elif options.yaml:
            print(*(one.to_yaml() for one in found), sep="---\n", end="")
        elif list(names) == options.name and not options.configurations:
            show("\n\n".join(map(str, found)))
        else:
            print(
                *aligned([HEAD, *(_row(*pair) for pair in zip(names, found, strict=True))], right=(1, 3)),
                sep="\n",
            )
    except MachineError as error:
        raise InputError(str(error)) from None
    return 0


def _names(options: Namespace) -> Sequence[str]:
    names = [full for name in options.name for full in matching(name)] or machines()
    return [full for name in names for full in configurations(name)] if options.configurations else names


def _row(name: str, found: Machine) -> tuple[str, ...]:
    return (
        found.name if name.endswith(SUFFIXES) else name,
        value_text("clock_hz", found.clock_hz),
        array_text(found),
        value_text("bytes", found.scratchpad.bytes),
        offchip_text(found),
        mode_text(found).removesuffix(" in scratchpad"),
    )
