"""`tj.share`: several networks at once on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiling.beside import in_turns, on_own_cores
from tiling.planner import Infeasible
from tiling.records import replace
from tiling.spread import SpreadProgram, plan_cores
from tosajit.compiler.planning import planned_for, stored_operands
from tosajit.compiler.segment import Groups
from tosajit.errors import CompileError, PlanError
from tosajit.graph import Graph
from tosajit.npu.simulate import Network, named_graph
from tosajit.profiles import LevelName
from tosajit.runtime.executable import Executable
from tosajit.runtime.making import machine_of

if TYPE_CHECKING:
    from sim import Machine, Report


@dataclass(frozen=True, slots=True)
class Tenant:
    """A network on a machine that it shares."""

    name: str
    share: float
    """Of the time and of the scratchpad, or of the cores, from 0 to 1."""
    alone: Report
    """With the whole machine for itself."""
    cycles: int
    """Until it ends when all have begun at once."""

    @property
    def slowdown(self) -> float:
        """How much longer it takes than alone."""
        return self.cycles / self.alone.cycles if self.alone.cycles else 1.0


@dataclass(frozen=True, slots=True)
class Sharing:
    """What several networks take that run on a machine at once."""

    tenants: tuple[Tenant, ...]
    report: Report
    """Of all together."""

    @property
    def gain(self) -> float:
        """How much sooner all have ended than one after another, each with the whole machine."""
        return (
            sum(one.alone.cycles for one in self.tenants) / self.report.cycles if self.report.cycles else 1.0
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, the reports as summaries."""
        return {
            "machine": self.report.machine,
            "cycles": self.report.cycles,
            "gain": self.gain,
            "networks": [
                {
                    "name": one.name,
                    "share": one.share,
                    "alone_cycles": one.alone.cycles,
                    "cycles": one.cycles,
                    "slowdown": one.slowdown,
                }
                for one in self.tenants
            ],
        }

    def __str__(self) -> str:
        lines = [f"{'network':<24} {'share':>6} {'alone':>14} {'together':>14} {'slower':>8}"]
        for one in self.tenants:
            times = f"{one.alone.cycles:>14,} {one.cycles:>14,} {one.slowdown:>7.2f}×"
            lines.append(f"{one.name[:24]:<24} {one.share:>6.0%} {times}")
        lines.append(f"all end after {self.report.cycles:,} cycles, {self.gain:.2f} times as fast as in turn")
        return "\n".join(lines)


def share(
    models: Sequence[Graph | Executable | str | Path],
    machine: Machine | str | Path,
    *,
    shares: Sequence[float] | None = None,
    level: LevelName = "8K",
    names: Sequence[str] | None = None,
) -> Sharing:
    """Simulate several networks at once on one machine: how long each takes alone, and with the others.

    * `models` and `level` are as in `simulate`; graphs with control flow are not taken.
    * `shares` are those of each network, equal ones if they are not given. On a machine with a topology they
      are of its cores. On others, of the time and of the scratchpad: groups take turns, and next is that
      network whose groups have taken the least for its share.
    * `names` are what reports call the networks, those of their files if they are not given.

    Raises what `simulate` raises, and `CompileError` if shares and networks do not match.
    """
    from sim.events import simulate

    if len(models) < 2:
        raise CompileError(f"give two or more networks to share a machine, not {len(models)}")
    weights = list(shares) if shares is not None else [1.0] * len(models)
    if len(weights) != len(models) or not all(0 < weight < inf for weight in weights):
        raise CompileError(
            f"shares are {weights}, but must be a positive number for each of {len(models)} networks"
        )
    if names is not None and len(names) != len(models):
        raise CompileError(f"{len(names)} names are given for {len(models)} networks; give one for each")
    parts = [weight / sum(weights) for weight in weights]
    chosen, given, names, networks = machine_of(machine), names, [], []
    for number, model in enumerate(models):
        name, graph = named_graph(model)
        name = name if given is None else given[number]
        names.append(name if name not in names else f"{name} {number}")
        networks.append(Network.of(graph, level))
    groups = [_only(network, name) for network, name in zip(networks, names, strict=True)]
    alone = [
        replace(simulate(planned_for(one, chosen).program, chosen, network.labels), program=name)
        for one, network, name in zip(groups, networks, names, strict=True)
    ]
    labels = {
        f"{name}: {node}": f"{name}: {label}"
        for network, name in zip(networks, names, strict=True)
        for node, label in network.labels.items()
    }
    together = _by_cores if chosen.topology is not None else _by_time
    report, cycles, apart = together(groups, names, chosen, parts, labels)
    # A network that is shared as it is told may be faster on its own cores than on all.
    for number, other in enumerate(apart):
        if other.cycles < alone[number].cycles:
            alone[number] = replace(other, program=names[number])
    tenants = [Tenant(*row) for row in zip(names, parts, alone, cycles, strict=True)]
    return Sharing(tuple(tenants), replace(report, program=" and ".join(names)))


def _only(network: Network, name: str) -> Groups:
    steps = network.steps
    if len(steps) != 1 or not isinstance(steps[0], Groups):
        raise CompileError(
            f"{name} has control flow or variables; networks that share a machine must have neither"
        )
    return steps[0]


def _by_cores(
    groups: Sequence[Groups],
    names: Sequence[str],
    machine: Machine,
    parts: Sequence[float],
    labels: dict[str, str],
) -> tuple[Report, list[int], list[Report]]:
    """Each network on cores of its own: all together, when each ends, and each while others do nothing."""
    from sim.events import simulate
    from sim.report.cores import CoresReport

    counts = _counts(machine.cores, parts)
    programs = [_on(one, machine, count) for one, count in zip(groups, counts, strict=True)]
    report = simulate(on_own_cores(programs, names), machine, labels)
    assert isinstance(report, CoresReport)
    found, first = [], 0
    for count in counts:
        found.append(max(core.cycles for core in report.cores[first : first + count]))
        first += count
    apart = [
        simulate(on_own_cores([program], [name]), machine, labels)
        for program, name in zip(programs, names, strict=True)
    ]
    return replace(report, split="networks"), found, apart


def _on(groups: Groups, machine: Machine, count: int) -> SpreadProgram:
    """The program of a network on so many of the cores, with their share of the bandwidth."""
    from sim.planning import estimator, judge
    from sim.spreading import spread

    assert machine.topology is not None
    changes: dict[str, object] = {"topology.columns": None, "cores": max(count, 2)}
    rate = machine.offchip.bandwidth_bytes_per_second
    if rate is not None:
        changes["offchip.bandwidth_bytes_per_second"] = rate * count / machine.cores
    if machine.topology.scratchpad == "shared":
        changes["scratchpad.bytes"] = machine.core.scratchpad.bytes * max(count, 2)
    part = machine.replace(changes)
    operands = stored_operands(groups, part)
    if count > 1:
        made = spread(groups.nests, operands, part)
    else:
        ways, core = [0] * len(groups.nests), part.core
        made = plan_cores(groups.nests, operands, machine.target, 1, ways, estimator(core), judge(core))
    if isinstance(made, Infeasible):
        raise PlanError(str(made))
    return made


def _counts(cores: int, parts: Sequence[float]) -> list[int]:
    """Cores of each network: one at least, and the others where most of a share is left."""
    if len(parts) > cores:
        raise CompileError(f"{len(parts)} networks cannot each have one of {cores} cores")
    counts = [1] * len(parts)
    for _ in range(cores - len(parts)):
        left = [part * cores - count for part, count in zip(parts, counts, strict=True)]
        counts[left.index(max(left))] += 1
    return counts


def _by_time(
    groups: Sequence[Groups],
    names: Sequence[str],
    machine: Machine,
    parts: Sequence[float],
    labels: dict[str, str],
) -> tuple[Report, list[int], list[Report]]:
    """Groups in turns, each network with its part of the scratchpad, and of level 2."""
    from sim.events import simulate

    alignment = machine.scratchpad.alignment_bytes
    programs, times = [], []
    for one, part in zip(groups, parts, strict=True):
        room = int(machine.scratchpad.bytes * part) // alignment * alignment
        smaller = machine.replace({"scratchpad.bytes": room, **_part_of_level2(machine, part)})
        program = planned_for(one, smaller).program
        taken = [0.0] * len(program.sections)
        for operator in simulate(program, smaller).operators:
            for number in operator.sections:
                taken[number] = operator.total / len(operator.sections)
        programs.append(program)
        times.append(taken)
    merged = in_turns(programs, names, _turns(times, parts), machine.scratchpad.bytes)
    report = simulate(merged, machine, labels)
    found = []
    for program, name in zip(programs, names, strict=True):
        own = {f"{name}: {member}" for section in program.sections for member in section.nest.members}
        found.append(max((one.end for one in report.operators if not own.isdisjoint(one.members)), default=0))
    return report, found, []


def _part_of_level2(machine: Machine, part: float) -> dict[str, int]:
    """A network's part of level 2, if there is one."""
    if machine.level2 is None:
        return {}
    alignment = machine.scratchpad.alignment_bytes
    return {"level2.bytes": int(machine.level2.bytes * part) // alignment * alignment}


def _turns(times: Sequence[Sequence[float]], parts: Sequence[float]) -> list[int]:
    """Whose group is next: that of the network which has had the least for its share."""
    used, at = [0.0] * len(times), [0] * len(times)
    order: list[int] = []
    while left := [tenant for tenant, own in enumerate(times) if at[tenant] < len(own)]:
        tenant = min(left, key=lambda one: used[one] / parts[one])
        used[tenant] += times[tenant][at[tenant]]
        at[tenant] += 1
        order.append(tenant)
    return order
