"""What networks take on machines drawn by chance stays what it is: cycles by cause, traffic, energy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import numpy as np
import pytest

import sim
import tosajit as tj
from sim.analytic import Workload, evaluate
from tests.golden_networks import attention, moving, recurrent, residual, resized
from tests.sim.ranking import mixed
from tosajit import ops
from tosajit.compiler.options import Options
from tosajit.compiler.planning import ROOMY
from tosajit.runtime.body import Compute
from tosajit.runtime.build import build

NETWORKS = {maker.__name__: maker for maker in (residual, attention, moving, resized, recurrent)}
FEW, MANY, ODDS = 6, 48, 150
"""Machines whose commands are followed for each network, and for which the closed form is asked."""


def machines(seed: str, count: int) -> list[sim.Machine]:
    """So many machines whose scratchpads are about as large as the tensors of the networks."""
    chance = Random(seed)
    found: list[sim.Machine] = []
    while len(found) < count:
        base, changes = mixed(chance)
        changes |= {
            "name": f"{base} {len(found)}",
            "scratchpad.bytes": chance.choice((3, 4, 6)) << chance.randrange(9, 15),
            "memory.compressed_weights": chance.random() < 0.3,
            "dma.setup_cycles": chance.choice((0, 7, 40)),
            "dma.strided": chance.random() < 0.7,
            "launch_overhead_cycles": chance.choice((0, 500)),
            "energy": {
                "picojoules_per_mac": chance.randrange(1, 9),
                "picojoules_per_operation": chance.randrange(1, 9),
                "picojoules_per_scratchpad_byte": chance.randrange(1, 9),
                "picojoules_per_offchip_byte": chance.randrange(50, 99),
                "leakage_watts": chance.choice((0, 1e-3)),
            },
        }
        if sim.machine(base).offchip.kind == "flash":  # no activations can be written to it
            changes["memory.activations"] = "scratchpad"
        found.append(sim.machine(base).replace(changes))
    return found


@pytest.mark.parametrize("name", NETWORKS)
def test_closed_forms_give_what_they_gave(name: str, golden: Callable[[str, str], None]) -> None:
    (step,) = build(NETWORKS[name](), Options(ROOMY, run=False)).steps
    assert isinstance(step, Compute)
    drawn = machines(name, MANY)
    found = evaluate(Workload.of(step.groups.nests, step.groups.operands), drawn)
    columns = found.cycles, found.offchip_bytes, found.joules * 1e9, found.reasons
    golden(
        f"closed_{name}",
        "\n".join(
            f"{machine.name:18} {cycles:12.0f} cycles {moved:12.0f} bytes {energy:10.1f} nJ {why}".rstrip()
            for machine, cycles, moved, energy, why in zip(drawn, *columns, strict=True)
        ),
    )


def odd(seed: str, count: int) -> list[sim.Machine]:
    """Machines whose memories are slow in one way or another, and of which some are very small."""
    chance, found = Random(f"{seed} odd"), []
    for machine in machines(seed, count):
        here = chance.choice(("offchip", "offchip", "scratchpad"))
        changes = {
            "cores": chance.choice((1, 1, 2)) if machine.name.startswith("systolic") else 1,
            "scratchpad.bytes": chance.choice((2, 3)) << chance.randrange(6, 14),
            "scratchpad.bytes_per_cycle": chance.choice((None, 1.5, 8, 64)),
            "scratchpad.banks": chance.choice((1, 2, 4)),
            "scratchpad.ports": chance.choice((1, 2, 4)),
            "scratchpad.read_latency_cycles": chance.choice((0, 3, 60)),
            "scratchpad.alignment_bytes": chance.choice((1, 16)),
            "offchip.bandwidth_bytes_per_second": chance.choice((None, 1e8, 1e9, 2e10)),
            "offchip.read_latency_cycles": chance.choice((0, 9, 500)),
            "offchip.write_latency_cycles": chance.choice((0, 11, 300)),
            "offchip.burst_bytes": chance.choice((1, 16, 128)),
            "dma.channels": chance.choice((1, 2)),
            "dma.outstanding_requests": chance.choice((1, 4, 64)),
            "dma.gathered": chance.random() < 0.5,
            "memory.direct": chance.random() < 0.6,
            "memory.activations": here if machine.offchip.kind != "flash" else "scratchpad",
            "memory.weights": (weights := chance.choice(("offchip", "offchip", "scratchpad"))),
            "memory.constants": weights,
            "planner.double_buffering": chance.random() < 0.5,
            "vector.table_lookups_per_cycle": chance.choice((0.25, 1, 16)),
            "vector.fill_cycles": chance.choice((0, 13)),
            "reduction.fill_cycles": chance.choice((0, 17)),
        }
        found.append(machine.replace(changes))
    return found


def looking_up() -> tj.Graph:
    """Rows of tables that are larger than most scratchpads, chosen by data and computed with."""
    random = np.random.default_rng(5)
    table = random.integers(-128, 128, (1, 900, 24)).astype(np.int8)
    kernel = random.integers(-128, 128, (16, 1, 1, 24)).astype(np.int8)

    def network(indices: tj.Array, rows: tj.Array, others: tj.Array) -> list[tj.Array]:
        one, other = ops.gather(table, indices), ops.gather(rows, others)
        sums = ops.conv2d(ops.reshape(one, (1, 10, 7, 24)), kernel, np.zeros(16, np.int32))
        return [sums, ops.abs(ops.cast(other, dtype=tj.INT32)), ops.scatter(rows, others, other)]

    return tj.trace(
        network,
        np.zeros((1, 70), np.int32),
        np.zeros((2, 300, 40), np.int16),
        np.arange(50).astype(np.int32).reshape(2, 25),
    )


ODD = {**NETWORKS, "looking_up": looking_up}


@pytest.mark.parametrize("name", ODD)
def test_closed_forms_of_odd_machines_give_what_they_gave(
    name: str, golden: Callable[[str, str], None]
) -> None:
    (step,) = build(ODD[name](), Options(ROOMY, run=False)).steps
    assert isinstance(step, Compute)
    found = evaluate(Workload.of(step.groups.nests, step.groups.operands), odd(name, ODDS))
    columns = found.cycles, found.offchip_bytes, found.joules * 1e9
    lines = [f"{cycles:.0f} {moved:.0f} {energy:.1f}" for cycles, moved, energy in zip(*columns, strict=True)]
    golden(f"closed_odd_{name}", "\n".join(lines))


@pytest.mark.parametrize("name", NETWORKS)
def test_followed_commands_take_what_they_took(name: str, golden: Callable[[str, str], None]) -> None:
    graph = NETWORKS[name]()
    found = [line for machine in machines(f"{name} followed", FEW) for line in followed(graph, machine)]
    golden(f"followed_{name}", "\n".join(found))


def followed(graph: tj.Graph, machine: sim.Machine) -> Iterator[str]:
    """A line for the machine, and one for each group of operators."""
    try:
        report = tj.simulate(graph, machine)
    except tj.TosaError as error:
        yield f"{machine.name}: {error}"
        return
    yield f"{machine.name}: {report.cycles} cycles, {report.peak_scratchpad_bytes} bytes of the scratchpad"
    for one in report.operators:
        causes = " ".join(f"{cause} {count}" for cause, count in one.cycles.items() if count)
        traffic = " ".join(f"{' '.join(key)} {size}" for key, size in sorted(one.traffic.items()) if size)
        busy = " ".join(f"{unit} {count}" for unit, count in one.busy.items())
        energy = " ".join(f"{part} {joules * 1e9:.2f}" for part, joules in one.energy.items() if joules)
        where = f"{one.label} [{one.unit}] from {one.start} to {one.end}"
        yield f"  {where}: {causes}; {busy} busy; {traffic}; {energy} nJ"
