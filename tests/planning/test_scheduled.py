"""A program's schedule gives that program back; what a schedule leaves open is planned."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings

from sim.machine.machine import Machine
from sim.planning import estimator
from tests.sim.drawing import Layers, layers, machines
from tiling.plan import plan
from tiling.planner import Infeasible
from tiling.program import Program
from tiling.schedule import Box, Schedule, schedule_of
from tiling.scheduled import program_after
from tiling.verify_program import verify_program


def assert_same(found: object, expected: Program) -> None:
    """Compare all that a program is made of."""
    assert isinstance(found, Program), found
    assert found.sections == expected.sections
    assert dict(found.operands) == dict(expected.operands)
    assert (found.arena_bytes, found.scratch_bytes) == (expected.arena_bytes, expected.scratch_bytes)


@settings(max_examples=60, deadline=None)
@given(layers(), machines())
def test_the_schedule_of_a_program_gives_it_back(drawn: Layers, machine: Machine) -> None:
    nests, operands = drawn
    program = plan(nests, operands, machine.target, estimator(machine))
    assume(isinstance(program, Program))
    assert isinstance(program, Program)
    schedule = schedule_of(program, nests, operands)
    assert_same(program_after(schedule, nests, operands, machine.target), program)


@settings(max_examples=40, deadline=None)
@given(layers(), machines())
def test_addresses_that_are_left_out_are_given_out(drawn: Layers, machine: Machine) -> None:
    nests, operands = drawn
    program = plan(nests, operands, machine.target, estimator(machine))
    assume(isinstance(program, Program))
    assert isinstance(program, Program)
    schedule = without_addresses(schedule_of(program, nests, operands))
    found = program_after(schedule, nests, operands, machine.target, estimator(machine))
    if isinstance(found, Infeasible):  # another order of the same buffers may leave no gap
        assert "gap" in found.remedy
        return
    assert isinstance(found, Program)
    assert without_addresses(schedule_of(found, nests, operands)) == schedule
    assert verify_program(found, buffers=found.operands.keys() - operands.keys()) == []


def without_addresses(schedule: Schedule) -> Schedule:
    """The schedule with nothing said of where things are in the scratchpad."""
    groups = {
        name: replace(
            choice,
            boxes={n: tuple(Box(box.copies) for box in boxes) for n, boxes in (choice.boxes or {}).items()},
            accumulator=None,
        )
        for name, choice in schedule.groups.items()
    }
    return Schedule(groups, schedule.cascades, dict.fromkeys(schedule.scratchpad or ()))


@settings(max_examples=30, deadline=None)
@given(layers(), machines())
def test_an_empty_schedule_leaves_all_to_the_planner(drawn: Layers, machine: Machine) -> None:
    nests, operands = drawn
    program = plan(nests, operands, machine.target, estimator(machine))
    found = program_after(Schedule(), nests, operands, machine.target, estimator(machine))
    assert isinstance(found, type(program))
