"""The event simulator against one that follows every command by the plain rules."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.events import Simulator
from sim.machine.machine import Machine
from tests.sim.following import Follower
from tests.sim.programs import SimpleCosts, machines, programs
from tiling.program import Program


@settings(max_examples=150, deadline=None)
@given(programs(), machines(), st.sampled_from([1, 4, 64]))
def test_a_simulation_is_what_following_every_command_gives(
    program: Program, machine: Machine, points: int
) -> None:
    costs = SimpleCosts(points, 0)
    assert Simulator(machine, costs).simulate(program).cycles == Follower(program, machine, costs).cycles()
