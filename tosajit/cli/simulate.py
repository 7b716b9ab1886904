"""`tosajit simulate`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from sim.report import Comparison, Report, ReportError
from sim.report.values import Mode
from tiling.records import replace
from tosajit.cli.arguments import FAULTS, MACHINE, USAGE, print_error
from tosajit.cli.building import machine_named
from tosajit.cli.loading import loaded
from tosajit.cli.output import Bar
from tosajit.display.screen import show
from tosajit.errors import FileError, InputError, TosaError
from tosajit.npu.plan import plan
from tosajit.npu.simulate import name_of, simulate

if TYPE_CHECKING:
    from sim import Machine
    from tosajit.graph import Graph
    from tosajit.plans.plan import Plan

SHOWN = 4
"""How many machines a message names."""


def run(options: Namespace) -> int:
    """Simulate each model on each machine; a failure on one does not hide the others."""
    machines = [_shared(machine_named(name), options) for name in options.machine or [MACHINE]]
    written = [text for text in (options.json, options.csv, options.html) if text]
    models = [text for text in written if text.endswith(".tosa")]
    if written.count("-") > 1:
        return _refused("only one of --json, --csv and --html can go to standard output", options)
    if models:
        return _refused(f"{models[0]} is a model, not an output file; put models before the options", options)
    if (options.plan or options.mapping) and len(options.models) > 1:
        return _refused("--plan and --mapping are for one model; simulate the others without", options)
    reports, faults = _simulated(options, machines)
    try:
        _write(reports, options)
    except ReportError as error:
        raise FileError(str(error)) from None
    for fault in faults:
        print_error(fault, "SimulationError", bool(options.json))
    return FAULTS if faults else 0


def _refused(text: str, options: Namespace) -> int:
    print_error(text, "UsageError", bool(options.json))
    return USAGE


def _shared(machine: Machine, options: Namespace) -> Machine:
    """The machine with the cores, the way to share networks and the objective that were asked for."""
    from sim import MachineError

    changes: dict[str, object] = {}
    if options.cores is not None:
        changes |= {
            "cores": options.cores,
            "topology": ({} if machine.topology is None else machine.topology.model_dump())
            if options.cores > 1
            else None,
        }
    if options.split is not None:
        changes["planner.split"] = options.split
    if options.objective is not None:
        changes["planner.objective"] = options.objective
    try:
        return machine.replace(changes) if changes else machine
    except MachineError as error:
        raise InputError(str(error)) from None


def _simulated(options: Namespace, machines: list[Machine]) -> tuple[list[Report], list[str]]:
    """Reports of all pairs, and what went wrong with the others."""
    reports: list[Report] = []
    faults: list[str] = []
    bar = Bar(noun="simulations")
    try:
        for number, path in enumerate(options.models):
            step = (number * len(machines), len(options.models) * len(machines))
            bar(*step)
            made, found = _on_machines(path, machines, options, bar, step)
            reports += made
            faults += found
    finally:
        bar.close()
    return reports, faults


def _on_machines(
    path: Path, machines: list[Machine], options: Namespace, bar: Bar, step: tuple[int, int]
) -> tuple[list[Report], list[str]]:
    """One model on all machines; equal faults are reported once."""
    mode: Mode = "analytic" if options.analytic else "events"
    reports: list[Report] = []
    faults: dict[str, list[str]] = {}
    try:
        name, graph = name_of(path), loaded(path, options)
    except TosaError as error:
        return [], [str(error)]
    done, total = step
    for number, machine in enumerate(machines):
        bar(done + number, total)
        try:
            timed = simulate(
                graph,
                machine,
                mode=mode,
                loop_trips=options.loop_trips,
                level=options.level,
                plan=_plan(graph, machine, options),
            )
            reports.append(replace(timed, program=name))
        except TosaError as error:
            faults.setdefault(str(error), []).append(machine.name)
    if total == 1:
        return reports, list(faults)
    return reports, [f"{path}{_on(names, len(machines))}: {text}" for text, names in faults.items()]


def _plan(graph: Graph, machine: Machine, options: Namespace) -> Plan | Path | None:
    """What is chosen for a graph already: as a plan says, or as a mapping would have it."""
    if options.mapping is None:
        given: Path | None = options.plan
        return given
    return plan(graph, machine, plan=options.plan, mapping=options.mapping, level=options.level)


def _on(names: list[str], machines: int) -> str:
    if len(names) == machines > 1:
        return f" on all {machines} machines"
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f" on {', '.join(names[:SHOWN])}{more}"


def _write(reports: list[Report], options: Namespace) -> None:
    """Files first, then what is printed: a text of one report or a table of many."""
    if not reports:
        return
    one = reports[0] if len(reports) == 1 else None
    shown: Report | Comparison = one or Comparison(tuple(reports))
    if options.trace:
        shown.write_trace(options.trace)
    printed = False
    for form, target in (
        (shown.to_json, options.json),
        (shown.to_csv, options.csv),
        (shown.to_html, options.html),
    ):
        if target == "-":
            print(form(), end="")
            printed = True
        elif target:
            form(target)
    if not printed:
        show(one.to_text(options.operators) if one else shown)
