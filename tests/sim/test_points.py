"""Operating points: a clock and its supply, what they change of a machine, and what follows for a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sim
import tosajit as tj

POINTS = (
    {"name": "low", "clock_hz": 2e8, "volts": 0.6},
    {"name": "high", "clock_hz": 1e9, "volts": 0.9, "leakage_watts": 0.02},
)
ENERGY = {
    "picojoules_per_mac": 0.3,
    "picojoules_per_operation": 0.1,
    "picojoules_per_scratchpad_byte": 2.0,
    "picojoules_per_offchip_byte": 100.0,
    "leakage_watts": 0.01,
    "volts": 0.8,
}


def machine(**changes: Any) -> sim.Machine:
    return sim.machine("systolic-16").replace({"energy": ENERGY, "dvfs": POINTS, **changes})


def test_a_point_changes_the_clock_the_energies_and_what_lies_outside() -> None:
    low = machine(launch_overhead_cycles=1001).at("low")
    assert low.name == "systolic-16@low"
    assert low.clock_hz == 2e8
    assert low.energy.picojoules_per_mac == pytest.approx(0.3 * (0.6 / 0.8) ** 2)
    assert low.energy.picojoules_per_scratchpad_byte == pytest.approx(2 * (0.6 / 0.8) ** 2)
    assert low.energy.picojoules_per_offchip_byte == 100
    assert low.energy.leakage_watts == pytest.approx(0.01 * 0.6 / 0.8)
    assert low.offchip.read_latency_cycles == 20
    assert low.launch_overhead_cycles == 201
    assert low.offchip_bytes_per_cycle == 40


def test_a_point_may_state_its_leakage() -> None:
    assert machine().at("high").energy.leakage_watts == 0.02


def test_machines_at_a_point_are_values_that_round_trip() -> None:
    for point in ("low", "high"):
        one = machine().at(point)
        assert sim.Machine(**one.to_dict()) == one
        assert one.at(point) == one
        assert one.model_copy(update={"description": "same"}).energy == one.energy


def test_names_and_files_take_a_point(tmp_path: Path) -> None:
    assert sim.machine("eyeriss-v1@low") == sim.machine("eyeriss-v1").at("low")
    path = tmp_path / "mine@home.json"
    machine(name="mine").save(path)
    assert sim.machine(str(path)) == machine(name="mine")
    assert sim.machine(f"{path}@low") == machine(name="mine").at("low")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"operating_point": "fast"}, "operating_point: no point is called 'fast'; there are low, high"),
        ({"dvfs": [], "operating_point": "low"}, "dvfs lists none"),
        ({"dvfs": (*POINTS, POINTS[0])}, "several points are called low"),
        ({"energy.volts": None}, "energy.volts: with points in dvfs, energies need the supply"),
        ({"dvfs": [{"name": "a b", "clock_hz": 1e9, "volts": 1}]}, "dvfs.0.name: a name is 1 to 40 letters"),
        ({"dvfs": [{"name": "a", "clock_hz": -1}]}, "dvfs.0.clock_hz: -1 is not a clock"),
        ({"dvfs": [{"name": "a", "clock_hz": 1e9, "volts": 0}]}, "dvfs.0.volts: 0 is not a voltage"),
        ({"dvfs": "low"}, "dvfs: 'low'"),
        ({"dvfs": [POINTS[0]] * 65}, "dvfs"),
    ],
)
def test_impossible_points_say_what_is_wrong(changes: dict[str, object], said: str) -> None:
    with pytest.raises(sim.MachineError) as caught:
        machine(**changes)
    assert said in str(caught.value)


@pytest.mark.parametrize("mode", ["events", "analytic"])
def test_energy_follows_the_square_of_the_supply_and_time_the_clock(mode: tj.npu.simulate.Mode) -> None:
    """Without an off-chip memory to wait for, cycles are equal, and all energies follow from the supply."""
    free = machine(**{"offchip.bandwidth_bytes_per_second": None, "offchip.read_latency_cycles": 0,
                      "offchip.write_latency_cycles": 0})  # fmt: skip
    stated = tj.simulate(tj.samples.path("ds_cnn"), free, mode=mode)
    for point, volts, clock, leakage in (("low", 0.6, 2e8, 0.0075), ("high", 0.9, 1e9, 0.02)):
        found = tj.simulate(tj.samples.path("ds_cnn"), free.at(point), mode=mode)
        assert found.cycles == stated.cycles
        assert found.latency_seconds == stated.cycles / clock
        for part in ("macs", "operations", "scratchpad"):
            assert found.energy[part] == pytest.approx(stated.energy[part] * (volts / 0.8) ** 2)
        assert found.energy["offchip"] == pytest.approx(stated.energy["offchip"])
        assert found.energy["leakage"] == pytest.approx(leakage * found.latency_seconds)


@settings(max_examples=12)
@given(st.sampled_from(["systolic-16", "dot-256", "nvdla-small", "ethos-u55-128"]), st.floats(1.0, 20.0))
def test_a_faster_clock_never_takes_longer_and_a_lower_supply_never_more_energy(
    base: str, ratio: float
) -> None:
    """Cycles grow by no more than what the memory, whose time is its own, asks for."""
    stated = sim.machine(base)
    points = (
        {"name": "slow", "clock_hz": stated.clock_hz / ratio, "volts": 0.6},
        {"name": "fast", "clock_hz": stated.clock_hz, "volts": 0.8},
    )
    one = stated.replace({"energy.volts": 0.8, "dvfs": points})
    slow, fast = (tj.simulate(tj.samples.path("ds_cnn"), one.at(name)) for name in ("slow", "fast"))
    assert fast.latency_seconds <= 1.005 * slow.latency_seconds
    assert slow.cycles <= 1.005 * fast.cycles
    assert slow.energy["macs"] <= fast.energy["macs"]


def test_explorations_choose_a_point() -> None:
    space = tj.Space(machine(), {"operating_point": ["low", "high"]})
    found = tj.explore(tj.samples.path("ds_cnn"), space, workers=0)
    each = {point: tj.simulate(tj.samples.path("ds_cnn"), machine().at(point)) for point in ("low", "high")}
    assert found.best("latency").values["operating_point"] == "high"
    assert found.best("energy").values["operating_point"] == "low"
    assert each["low"].joules < each["high"].joules
