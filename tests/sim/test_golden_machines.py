"""What networks take on machines drawn by chance stays what it is: cycles by cause, traffic, energy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

import sim
import tosajit as tj
from sim.analytic import Workload, evaluate
from tests.golden_networks import attention, moving, recurrent, residual, resized
from tests.sim.ranking import mixed
from tosajit.compiler.options import Options
from tosajit.compiler.planning import ROOMY
from tosajit.runtime.body import Compute
from tosajit.runtime.build import build

NETWORKS = {maker.__name__: maker for maker in (residual, attention, moving, resized, recurrent)}
FEW, MANY = 6, 48
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
