"""Graphs on modelled machines: planned, and timed by the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from tiling.expr import read
from tiling.nest import Access, Axis, Nest, Write, identity
from tiling.plan import plan as planned_alone
from tiling.planner import Infeasible
from tiling.program import Operand, Program
from tiling.records import replace
from tosajit import customs
from tosajit.checks.validation import check
from tosajit.compiler.labels import labels_of
from tosajit.compiler.options import Options
from tosajit.compiler.planning import ROOMY, planned_for
from tosajit.compiler.segment import Groups, Planned
from tosajit.compiler.verify import verified
from tosajit.errors import CompileError, PlanError
from tosajit.frontends import load
from tosajit.graph import Graph, Node, Value
from tosajit.graph.extents import Shapes
from tosajit.graph.given import graph_for
from tosajit.npu.origin import Origin
from tosajit.npu.steps import Choice, Repeat, Steps
from tosajit.operators import CUSTOM
from tosajit.plans.checks import check_parts
from tosajit.plans.given import plan_of
from tosajit.profiles import LevelName
from tosajit.runtime.body import Body, Branch, Compute, Loop
from tosajit.runtime.build import build
from tosajit.runtime.called import CustomCall
from tosajit.runtime.executable import Executable
from tosajit.runtime.making import machine_of
from tosajit.runtime.scan import Scan
from tosajit.runtime.steps import ReadVariable, WriteVariable
from tosajit.tracing.compiled import Jitted

if TYPE_CHECKING:
    from sim import Machine, Report
    from tosajit.plans.mapping import Rules
    from tosajit.plans.plan import Plan

Model = Graph | Executable | Jitted[Any] | str | Path
Mode = Literal["events", "analytic"]
Objective = str | Mapping[str, float]
"""What plans make least: `time`, `energy`, `traffic`, or a weighting of these."""
Timed = tuple["Report", int]
"""A report, and how often it happens."""


def simulate(
    model: Model,
    machine: Machine | str | Path = "ethos-u55-128",
    *,
    mode: Mode = "events",
    loop_trips: int = 1,
    level: LevelName = "8K",
    plan: Plan | str | Path | None = None,
    example_inputs: Sequence[Any] | None = None,
    objective: Objective | None = None,
) -> Report:
    """Simulate one inference of a model on a machine: cycles by cause, traffic, memory and energy.

    * `model` is a graph, an executable, the path of a model or a jitted function; nothing is compiled or run.
    * `machine` is a name, a file or a value. One of several cores with a topology gives a `CoresReport`.
    * `mode` is `events`, which follows every command of the program, or `analytic`, a closed form.
    * `loop_trips` is how often loops run whose rounds are not known; of two branches, the slower one counts.
    * `level` sets the limits that the graph must keep.
    * `plan`, a value that `tj.plan` has made or its file, says how groups run.
    * `example_inputs` are arguments of a jitted function; without them, it is the graph of its only call.
    * `objective` is what plans make least: `time`, `energy`, `traffic`, or a weighting of these, such as
      `time + 0.2 traffic` or `{"time": 1, "traffic": 0.2}`; the machine's `planner.objective` if it is not
      given.

    Raises `GraphError` if the graph violates the specification, `PlanError` if a group does not fit the
    scratchpad or the plan is not one for this graph and machine, `CompileError` if an operator has no time,
    as a user's CUSTOM operator, and `MachineError` for an invalid machine.
    """
    if mode not in ("events", "analytic"):
        raise CompileError(f"mode is {mode!r}, but must be 'events' or 'analytic'")
    if loop_trips < 0:
        raise CompileError(f"loop_trips is {loop_trips}, but must be at least 0")
    name, graph = named_graph(model, example_inputs=example_inputs)
    chosen = machine_of(machine)
    if objective is not None:
        chosen = chosen.replace({"planner.objective": objective})
    if mode == "analytic" and chosen.topology is not None:
        raise CompileError(
            f"the closed form knows no cores with a topology, as {chosen.name} has; mode='events' does"
        )
    given = plan_of(plan)

    def timed(other: Graph, on: Machine) -> Report:
        return Network.of(other, level).simulate(on, mode, loop_trips, name, given)

    made = timed(graph, chosen)
    # What a plan of one's own would become on another machine is not known.
    if given is not None:
        return made
    network = Network.of(graph, level)
    origin = Origin(graph, chosen, timed, network.sequence, lambda groups: network.program(groups, chosen))
    return replace(made, origin=origin)


def named_graph(
    model: Model,
    signature: str | None = None,
    shapes: Shapes | None = None,
    example_inputs: Sequence[Any] | None = None,
) -> tuple[str, Graph]:
    """A model with the name that reports give it."""
    name = name_of(model)
    match model:
        case Executable():
            return name, model.graph
        case str() | Path():
            return name, load(model, signature=signature, shapes=shapes)
    return name, graph_for(model, example_inputs, "a graph, an executable or the path of a model")


def name_of(model: Model) -> str:
    """The name of a model that nobody has named: that of its file or, if this is `model`, of its folder."""
    if isinstance(model, Jitted):
        return str(getattr(model, "__name__", "function"))
    if not isinstance(model, str | Path):
        return "graph"
    path = Path(model)
    return path.parent.name if path.stem == "model" and path.parent.name else path.stem


class Network:
    """A graph, checked and fused once, to be planned for any machine."""

    def __init__(self, graph: Graph, level: LevelName = "8K") -> None:
        self.body = build(check(graph, level=level), Options(ROOMY, run=False))
        self.opcodes = {node.name: node.operator.opcode for node in graph.nodes}
        self.labels = labels_of(graph)
        """Names of nodes; groups are called by those that come first."""
        customised = (node.operator for node in graph.nodes if isinstance(node.operator, CUSTOM))
        self.hosted = tuple(one.operator_name for one in customised if one.domain_name == customs.DOMAIN)
        """CUSTOM operators of tosajit's own."""
        self._programs: dict[Groups, tuple[tuple[Machine, Plan | None], Planned]] = {}

    @cached_property
    def steps(self) -> Steps[Groups | Copy]:
        """What takes time."""
        return steps_of(self.body)

    def sequence(self) -> tuple[Groups, ...]:
        """Its parts, if these are all that takes time, and each runs once."""
        found = tuple(step for step in self.steps if isinstance(step, Groups))
        return found if len(found) == len(self.steps) else ()

    @classmethod
    def of(cls, graph: Graph, level: LevelName = "8K") -> Network:
        """The network of a graph, made when first asked for; equal graphs have one."""
        known = _networks.setdefault(graph, {})
        if level not in known:
            known[level] = cls(graph, level)
        return known[level]

    def simulate(
        self, machine: Machine, mode: Mode, loop_trips: int, name: str, plan: Plan | None = None
    ) -> Report:
        """Time all programs, one after another."""
        from sim import Report

        if plan is not None:
            check_parts(plan, [groups.name for groups in self.parts])
        times = list(_Timing(self, machine, mode, loop_trips, plan).times(self.steps))
        if self.hosted:
            name = f"{name} (without {' '.join(self.hosted)}, on the host)"
        if not times:
            return Report(machine.name, name, mode, machine.clock_hz, 0, ())
        if len(times) == 1 and times[0][1] == 1:
            return replace(times[0][0], program=name)
        return Report.joined([(report.whole(), count) for report, count in times], name)

    @cached_property
    def parts(self) -> tuple[Groups, ...]:
        """The parts of the graph that are planned, each once."""
        return tuple(dict.fromkeys(_groups_of(self.steps)))

    def wished(self, groups: Groups, machine: Machine, plan: Plan | None, rules: Rules) -> Planned:
        """The program of a part of the graph, if groups run as rules say."""
        return verified("plan", planned_for(groups, machine, plan, rules.choice))

    def planned(self, groups: Groups, machine: Machine, plan: Plan | None = None) -> Planned:
        """The program of a part of the graph; that of the last machine is kept."""
        known = self._programs.get(groups)
        if known is None or known[0] != (machine, plan):
            made = verified("plan", planned_for(groups, machine, plan))
            known = self._programs[groups] = (machine, plan), made
        return known[1]

    def program(self, groups: Groups, machine: Machine, plan: Plan | None = None) -> Program:
        """The same without what it was made of."""
        return self.planned(groups, machine, plan).program


def _groups_of(steps: Steps[Groups | Copy]) -> Iterator[Groups]:
    """All parts among steps, those of other bodies too."""
    for step in steps:
        match step:
            case Choice(one, other) | Repeat(one, other):
                yield from _groups_of((*one, *other))
            case Groups():
                yield step


_networks: WeakKeyDictionary[Graph, dict[LevelName, Network]] = WeakKeyDictionary()
"""As long as the graphs live."""


class _Timing:
    """One simulation: times of blocks, in the order in which they run."""

    def __init__(self, network: Network, machine: Machine, mode: Mode, trips: int, plan: Plan | None) -> None:
        self.network, self.mode, self.trips, self.plan = network, mode, trips, plan
        self.machine = self._next = machine

    def times(self, steps: Steps[Groups | Copy]) -> Iterator[Timed]:
        """The reports of the steps; the machine is launched once."""
        for step in steps:
            match step:
                case Choice(one, other):
                    yield from max(list(self.times(one)), list(self.times(other)), key=_cycles)
                case Repeat(condition, body):
                    yield from self.times(condition)
                    trips = step.among(self.trips)
                    again = chain(self.times(body), self.times(condition)) if trips else ()
                    yield from ((report, n * trips) for report, n in again)
                case Copy():
                    yield self._timed(self._planned(step)), 1
                case Groups():
                    program = self.network.program(step, self.machine, self.plan)
                    report = self._timed(program)
                    yield self._compared(report, program, step), 1

    def _timed(self, program: Program) -> Report:
        from sim.analytic import estimate
        from sim.events import simulate

        machine = self._next
        self._next = self.machine.model_copy(update={"launch_overhead_cycles": 0})
        timed = simulate if self.mode == "events" else estimate
        return timed(program, machine, self.network.labels)

    def _compared(self, report: Report, program: Program, groups: Groups) -> Report:
        """A report of several cores, with what one of them would take."""
        from sim.report.cores import CoresReport
        from tiling.spread import SpreadProgram

        if not isinstance(report, CoresReport) or not isinstance(program, SpreadProgram):
            return report
        alone = self._timed_alone(groups)
        rest = [one.total for one in alone.operators if program.undivided.issuperset(one.members)]
        return replace(report, alone_cycles=alone.cycles, undivided_cycles=sum(rest))

    def _timed_alone(self, groups: Groups) -> Report:
        from sim.events import simulate

        machine = self.machine.core
        return simulate(planned_for(groups, machine).program, machine, self.network.labels)

    def _planned(self, copy: Copy) -> Program:
        program = planned_alone([copy.nest], copy.operands, self.machine.target)
        if isinstance(program, Infeasible):
            raise PlanError(str(program))
        return program


@dataclass(frozen=True)
class Copy:
    """A nest on its own and its operands: what moves a variable, or takes as long as a text's loops."""

    nest: Nest
    operands: Mapping[str, Operand]


def steps_of(body: Body) -> Steps[Groups | Copy]:
    """What takes time in a body; raises `CompileError` for a CUSTOM operator."""
    found: list[Groups | Copy | Choice[Groups | Copy] | Repeat[Groups | Copy]] = []
    for step in body.steps:
        match step:
            case Compute(groups):
                found.append(groups)
            case Branch():
                found.append(Choice(steps_of(step.then_body), steps_of(step.else_body)))
            case Loop():
                found.append(Repeat(steps_of(step.condition), steps_of(step.body)))
            case Scan():
                found.append(Repeat((), steps_of(step.body), step.rounds))
            case ReadVariable(node, _, value) | WriteVariable(node, _, value):
                found.append(_copy(node, value))
            case CustomCall(node) if _hosted(node):
                continue
            case CustomCall(estimates=estimates) if estimates is not None:
                found += [Copy(nest, _operands(nest)) for nest in estimates()]
            case CustomCall(node):
                text = "its time on an NPU is unknown; simulate the graph without it"
                raise CompileError(f"{node.name} (CUSTOM): {text}")
    return tuple(found)


def _hosted(node: Node) -> bool:
    """Whether a node is a CUSTOM operator of tosajit's own, which the host computes beside the machine."""
    return isinstance(node.operator, CUSTOM) and node.operator.domain_name == customs.DOMAIN


def _copy(node: str, value: Value) -> Copy:
    shape, kind = value.shape or (), value.dtype.compute
    axes = tuple(Axis(f"i{number}", extent) for number, extent in enumerate(shape))
    names = (f"{node}.from", f"{node}.to")
    one, other = (Access(name, kind, shape, identity(len(shape))) for name in names)
    nest = Nest("move", axes, (one,), (Write(other, read(0, kind)),), None, (node,))
    elements = int(nest.points)
    operands = {
        names[0]: Operand(names[0], kind, elements, "input"),
        names[1]: Operand(names[1], kind, elements, "output"),
    }
    return Copy(nest, operands)


def _operands(nest: Nest) -> Mapping[str, Operand]:
    """The operands of a nest that stands alone."""
    reads = {access.operand: access for access in nest.reads}
    found = {n: Operand(n, a.type, prod(a.shape), "input") for n, a in reads.items()}
    writes = {write.access.operand: write.access for write in nest.writes}
    return found | {n: Operand(n, a.type, prod(a.shape), "output") for n, a in writes.items()}


def _cycles(times: list[Timed]) -> int:
    return sum(report.cycles * count for report, count in times)
