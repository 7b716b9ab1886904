"""The event simulator against one that follows every command by the plain rules."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.events import Simulator
from sim.machine.machine import Machine
from tests.sim.following import Follower
from tests.sim.programs import SimpleCosts, machines, programs


@settings(max_examples=150, deadline=None)
@given(st.data(), machines(), st.sampled_from([1, 4, 64]))
def test_a_simulation_is_what_following_every_command_gives(
    data: st.DataObject, machine: Machine, points: int
) -> None:
    program = data.draw(programs(levels=machine.level2 is not None))
    costs = SimpleCosts(points, 0)
    assert Simulator(machine, costs).simulate(program).cycles == Follower(program, machine, costs).cycles()
