"""What a judge of plans asks, held against the report of the same program."""

from __future__ import annotations

from math import ceil

import pytest

import sim
from sim.events.simulate import Simulator, follow, seconds_of
from tests.golden_networks import networks
from tosajit.npu.simulate import Network


@pytest.mark.parametrize("machine", ["ethos-u65-256", "ethos-u85-512", "systolic-16"])
@pytest.mark.parametrize("name", ["residual", "attention"])
def test_what_is_followed_is_what_reports_say(name: str, machine: str) -> None:
    chosen, network = sim.machine(machine), Network.of(networks()[name]())
    (groups,) = network.sequence()
    program = network.program(groups, chosen)
    report = Simulator(chosen).simulate(program, launch_overhead_cycles=0)
    cycles, traffic = follow(program, chosen)
    assert (ceil(cycles), traffic) == (report.cycles, report.traffic)
    assert seconds_of(program, chosen) == cycles / chosen.clock_hz
