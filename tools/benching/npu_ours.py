"""Our simulator's speed, in a process of its own: `npu_ours.py model FOLDER SECONDS` or `large OPERATORS`.

Answers are lines of JSON.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sim import Machine
    from tosajit.graph import Graph

MACHINE = "ethos-u55-128"
FAMILY = ("ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256")
LARGE_MACHINE = "ethos-u85-256"
EXTENT, CHANNELS = 8, 16
MANY = 2000
"""Machines that are looked at together."""
clock = time.perf_counter


def model(folder: Path, seconds: float) -> dict[str, Any]:
    """Seconds of planning and simulating for new machines, of simulating again, and of the analytic mode."""
    import tosajit as tj

    graph = tj.load(folder / "model.tosa")
    machines = new_machines()
    tj.simulate(graph, next(machines))
    new = timed(lambda: tj.simulate(graph, next(machines)), seconds, 5)
    machine = next(machines)
    report = tj.simulate(graph, machine)
    again = timed(lambda: tj.simulate(graph, machine), seconds, 5)
    return {
        "new": new,
        "again": again,
        "cycles": report.cycles,
        "groups": len(report.operators),
        **analytic(graph, machines, seconds),
    }


def analytic(graph: Graph, machines: Iterator[Machine], seconds: float) -> dict[str, Any]:
    """Seconds of the closed form for a planned program, and for a network on many machines at once."""
    from sim.analytic.estimate import estimate
    from sim.analytic.search import evaluate
    from sim.analytic.workload import Workload
    from tosajit.npu.simulate import Network
    from tosajit.runtime.body import Compute

    network = Network.of(graph)
    (groups,) = (step.groups for step in network.body.steps if isinstance(step, Compute))
    machine = next(machines)
    program = network.program(groups, machine)
    planned = timed(lambda: estimate(program, next(machines)), seconds, 20)
    workload = Workload.of(groups.nests, groups.operands)
    many = designs(MANY)
    fleet = timed(lambda: evaluate(workload, many), seconds, 5)
    return {"planned": planned, "fleet": fleet, "machines": MANY, "layers": len(workload)}


def designs(count: int) -> list[Machine]:
    """Machines that differ in array, scratchpad and bandwidth."""
    from sim import machine

    found = []
    for number in range(count):
        base = machine(FAMILY[number % len(FAMILY)])
        rate = (base.offchip.bandwidth_bytes_per_second or 1e9) * (1 + number / 100)
        offchip = base.offchip.model_copy(update={"bandwidth_bytes_per_second": rate})
        scratchpad = base.scratchpad.model_copy(update={"bytes": (1 + number // 4 % 16) << 18})
        found.append(base.model_copy(update={"offchip": offchip, "scratchpad": scratchpad}))
    return found


def new_machines() -> Iterator[Machine]:
    """Machines that nobody has seen: each with a bandwidth of its own."""
    from sim import machine

    base = machine(MACHINE)
    number = 0
    while True:
        number += 1
        rate = (base.offchip.bandwidth_bytes_per_second or 1e9) * (1 + number / 1000)
        offchip = base.offchip.model_copy(update={"bandwidth_bytes_per_second": rate})
        yield base.model_copy(update={"name": f"{base.name} {number}", "offchip": offchip})


def timed(call: Callable[[], object], seconds: float, least: int) -> dict[str, Any]:
    """Seconds of a call: median and minimum over about `seconds`."""
    samples: list[float] = []
    start = clock()
    while len(samples) < least or clock() - start < seconds:
        before = clock()
        call()
        samples.append(clock() - before)
    return {"median": statistics.median(samples), "minimum": min(samples), "calls": len(samples)}


def large(operators: int) -> dict[str, Any]:
    """A long graph, from building it to its report; and the memory that took."""
    import tosajit as tj

    graph = long_graph(operators)
    start = clock()
    report = tj.simulate(graph, LARGE_MACHINE)
    return {
        "seconds": clock() - start,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "operators": sum(1 for node in graph.main.nodes if not node.operator.opcode.startswith("CONST")),
        "groups": len(report.operators),
        "cycles": report.cycles,
    }


def long_graph(operators: int) -> Graph:
    """Blocks of a convolution, its scaling, a pool and a clamp, one behind the other."""
    from tosajit.dtypes import INT8, INT32
    from tosajit.operators import CLAMP, CONV2D, MAX_POOL2D, RESCALE
    from tosajit.operators.types import AccType
    from tosajit.tracing.builder import GraphBuilder

    builder = GraphBuilder()
    value = builder.input("input", INT8, (1, EXTENT, EXTENT, CHANNELS))
    generator = np.random.default_rng(7)
    shape = (CHANNELS, 1, 1, CHANNELS)
    zeros, wide = builder.const(np.zeros(1, np.int8), INT8), builder.const(np.zeros(1, np.int32), INT32)
    multiplier = builder.const(np.full(1, 1 << 30, np.int32), INT32)
    shift = builder.const(np.full(1, 38, np.int8), INT8)
    convolution = CONV2D(
        pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32, local_bound=False
    )
    rescale = RESCALE(scale32=True, per_channel=False, input_unsigned=False, output_unsigned=False)
    for _ in range(operators // 4):
        weight = builder.const(generator.integers(-128, 128, shape, np.int8), INT8)
        value = builder.add(convolution, [value, weight, wide, zeros, zeros])
        value = builder.add(rescale, [value, multiplier, shift, wide, zeros], dtype=INT8)
        value = builder.add(MAX_POOL2D(kernel=(3, 3), stride=(1, 1), pad=(1, 1, 1, 1)), [value])
        value = builder.add(CLAMP(min_val=-100, max_val=100), [value])
    builder.output(value)
    return builder.build()


if __name__ == "__main__":
    if sys.argv[1] == "model":
        print(json.dumps(model(Path(sys.argv[2]), float(sys.argv[3]))))
    else:
        print(json.dumps(large(int(sys.argv[2]))))
