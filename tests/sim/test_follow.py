"""What a judge of plans asks, held against the report of the same program."""

from __future__ import annotations

import pytest

import sim
from sim.events.simulate import Simulator, follow
from tests.golden_networks import networks
from tosajit.npu.simulate import Network


@pytest.mark.parametrize("machine", ["ethos-u65-256", "ethos-u85-512", "systolic-16"])
@pytest.mark.parametrize("name", ["residual", "attention"])
def test_what_is_followed_is_what_reports_say(name: str, machine: str) -> None:
    chosen, network = sim.machine(machine), Network.of(networks()[name]())
    (groups,) = network.sequence()
    program = network.program(groups, chosen)
    report = Simulator(chosen).simulate(program, launch_overhead_cycles=0)
    assert follow(program, chosen) == (report.cycles, report.traffic)
