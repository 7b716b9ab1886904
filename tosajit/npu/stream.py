"""`tj.stream`: inferences that follow each other on a machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tiling.records import replace
from tosajit.compiler.planning import planned_for, planned_to_stay
from tosajit.compiler.segment import Groups
from tosajit.errors import CompileError
from tosajit.graph import Graph
from tosajit.npu.simulate import Network, named_graph
from tosajit.profiles import LevelName
from tosajit.runtime.executable import Executable
from tosajit.runtime.making import machine_of

if TYPE_CHECKING:
    from sim import Machine, Stream

LEAST, MOST = 2, 10_000


def stream(
    model: Graph | Executable | str | Path,
    machine: Machine | str | Path = "ethos-u55-128",
    *,
    inferences: int = 8,
    level: LevelName = "8K",
) -> Stream:
    """Simulate inferences that follow each other without a pause: throughput beside latency.

    * `model`, `machine` and `level` are those of `simulate`.
    * `inferences` is how many are followed; the period is that of the second half of them.

    Weights stay in the scratchpad from one to the next as far as that is faster. Graphs with control flow
    begin again only when they have ended. Raises what `simulate` raises.
    """
    from sim.events import simulate
    from sim.streams import Stream, ends, kept_bytes

    if inferences < LEAST:
        raise CompileError(f"inferences is {inferences}, but must be at least {LEAST}")
    if inferences > MOST:
        raise CompileError(f"inferences is {inferences}, but must be at most {MOST}: each is followed")
    name, graph = named_graph(model)
    chosen, network = machine_of(machine), Network.of(graph, level)
    if len(network.steps) != 1 or not isinstance(network.steps[0], Groups):
        report = network.simulate(chosen, "events", 1, name)
        return Stream(report, tuple(report.cycles * (n + 1) for n in range(inferences)), 0)
    found: list[Stream] = []
    for planned in (planned_for, planned_to_stay):
        program = planned(network.steps[0], chosen).program
        report = replace(simulate(program, chosen, network.labels), program=name)
        found.append(Stream(report, tuple(ends(program, chosen, inferences)), kept_bytes(program)))
    return min(found, key=lambda one: one.period_cycles)
