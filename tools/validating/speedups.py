"""Several cores: how much sooner they end than one, beside what the cores and the memory allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import tosajit as tj
from sim import CoresReport, Report
from sim.machine.machine import Machine
from sim.report.values import moved
from tosajit.graph import Graph
from validating.causes import CORES
from validating.figures import Figure, Table
from validating.networks import resnet50
from validating.predict import loaded

SHARE = 0.85
"""Asked of the least bound: 1.7 of two cores."""
HOP_CYCLES = 20
CASES = (
    ("systolic-16", 2),
    ("systolic-32", 2),
    ("systolic-32", 4),
    ("dot-256", 2),
    ("dot-1024", 2),
    ("dot-1024", 4),
    ("simba-4", 2),
    ("simba-4", 4),
)
"""A machine, and how many of its cores."""
NETWORKS: dict[str, Callable[[], Graph | None]] = {
    "ResNet-50": resnet50,
    "mobilenet_v2": partial(loaded, "mobilenet_v2"),
}
TEXT = """One inference on several cores, against one core that has the off-chip memory for itself: the
bandwidth of the memory is that of one core. Cores are on a bus as fast as the memory, those of Simba in its
mesh; they share the network as the planner likes (`best`). Beside it stands the least of three bounds: the
number of cores; the bandwidth, by the bytes that one core or several move, whichever are fewer; and the
bandwidth layer by layer, as what a run of layers reads can come ahead only as far as the scratchpads hold
it. What is asked is 85 % of the least one, which is 1.7 for two cores that nothing else bounds."""


def tables() -> list[Table]:
    """All machines and networks."""
    graphs = {name: graph for name, make in NETWORKS.items() if (graph := make()) is not None}
    figures = [
        figure(name, graph, cores_of(base, cores)) for name, graph in graphs.items() for base, cores in CASES
    ]
    columns = ("network, cores", "speed-up", "asked")
    return [Table("Several cores: speed-up", TEXT, tuple(figures), columns, explanations=CORES)]


def cores_of(base: str, cores: int) -> Machine:
    """So many cores of a machine, with its off-chip memory."""
    machine = tj.machine(base)
    topology = {
        "network": "bus",
        "bandwidth_bytes_per_second": machine.offchip.bandwidth_bytes_per_second,
        "hop_latency_cycles": HOP_CYCLES,
    }
    own = {} if machine.topology else {"topology": topology}
    return machine.replace({"name": f"{cores} × {base}", "cores": cores, **own})


def figure(name: str, graph: Graph, machine: Machine) -> Figure:
    """The speed-up, and the bounds."""
    report, alone = tj.simulate(graph, machine), tj.simulate(graph, machine.core)
    assert isinstance(report, CoresReport)
    found = bounds(report, alone, machine)
    least = min(found.values())
    told = ", ".join(f"{bound} {value:.2f}" for bound, value in found.items())
    return Figure(
        f"{name}, {machine.name}",
        round(alone.cycles / report.cycles, 3),
        round(SHARE * least, 3),
        "×",
        "at least",
        note=f"{alone.cycles:,} → {report.cycles:,} cycles, {report.split}; {told}",
    )


def bounds(report: CoresReport, alone: Report, machine: Machine) -> dict[str, float]:
    """What bounds the speed-up."""
    found = {"cores": float(machine.cores)}
    rate = report.offchip_bytes_per_cycle
    if rate:
        found["bandwidth"] = alone.cycles * rate / min(report.offchip_bytes, alone.offchip_bytes)
        found["layer by layer"] = alone.cycles / least_cycles(works(report, alone), rooms(machine), rate)
    return found


def works(report: CoresReport, alone: Report) -> list[tuple[float, int]]:
    """Of each group in order: cycles if cores share it well, and bytes that are read."""
    read = {one.members: moved(one.traffic, "offchip", "read") for one in report.operators}
    count = len(report.cores)
    return [
        (one.total / count, min(read.get(one.members, 0), moved(one.traffic, "offchip", "read")))
        for one in alone.operators
    ]


def rooms(machine: Machine) -> int:
    """Bytes of all scratchpads."""
    topology = machine.topology
    several = topology is not None and topology.scratchpad == "own"
    return machine.scratchpad.bytes * (machine.cores if several else 1)


def least_cycles(groups: Sequence[tuple[float, int]], room: int, rate: float) -> float:
    """What all groups take at least: of each run of them the work, or what it reads beyond the room."""
    taken = [0.0]
    for end in range(1, len(groups) + 1):
        best, work, read = 0.0, 0.0, 0
        for first in range(end - 1, -1, -1):
            work, read = work + groups[first][0], read + groups[first][1]
            best = max(best, taken[first] + max(work, (read - room) / rate))
        taken.append(best)
    return taken[-1]
