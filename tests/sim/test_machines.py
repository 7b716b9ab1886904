"""Machines: those with names, what they are made of, and what is said of impossible ones."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim
import tosajit
from sim.machine.parts import LANES, RATES
from sim.machine.paths import leaves, paths

EVERY = sim.configurations()


def make(**changes: object) -> sim.Machine:
    """A small machine with other fields."""
    fields: dict[str, object] = {
        "name": "made",
        "clock_hz": 1e9,
        "scratchpad": {"bytes": 1 << 16},
        "offchip": {"bandwidth_bytes_per_second": 1e9},
        "array": {"kind": "systolic", "rows": 4, "columns": 4},
    }
    return sim.Machine(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", EVERY)
def test_every_figure_has_a_source(name: str) -> None:
    machine = sim.machine(name)
    for path, value, default in leaves(machine):
        if value != default and isinstance(value, int | float | dict) and not isinstance(value, bool):
            assert machine.source(path), path


@pytest.mark.parametrize("name", EVERY)
def test_machines_round_trip_and_are_values(name: str) -> None:
    machine = sim.machine(name)
    again = sim.Machine(**machine.to_dict())
    assert again == machine
    assert hash(again) == hash(machine)
    assert pickle.loads(pickle.dumps(machine)) == machine
    assert machine.target.scratch_bytes == machine.scratchpad.bytes


def test_a_machine_that_cannot_reach_its_bandwidth_says_so() -> None:
    base = sim.machine("systolic-16")
    with pytest.warns(sim.MachineWarning, match=r"16 bursts of 64 bytes.* 10\.24 .* has 50; 79 would reach"):
        fast = base.replace({"offchip.bandwidth_bytes_per_second": 50e9})
    assert "note: dma.outstanding_requests: 16 bursts" in str(fast)
    assert "16 bursts" in fast._repr_html_()
    assert not list(fast.replace({"dma.outstanding_requests": 79}).notes())


@pytest.mark.parametrize("name", EVERY)
def test_named_machines_reach_their_bandwidth(name: str) -> None:
    assert not list(sim.machine(name).notes())


def test_names_are_listed_once_and_resolve_to_themselves() -> None:
    assert len(set(sim.machines())) == len(sim.machines()) == 25
    assert len(set(EVERY)) == len(EVERY)
    assert [sim.machine(name).name for name in sim.machines()] == list(sim.machines())
    for name in EVERY:
        machine = sim.machine(name)
        assert sim.machine(machine.name) is machine


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("ethos-u55-128", "ethos-u55-128/high-end-embedded/shared-sram-2mb"),
        ("ethos-u65-256", "ethos-u65-256/high-end/dedicated-sram-384kb"),
        ("ethos-u85-256", "ethos-u85-256/sys-dram-mid/dedicated-sram-384kb"),
        ("ETHOS_U85_256/Ethos_U85_SYS_DRAM_Mid/Sram_Only", "ethos-u85-256/sys-dram-mid/sram-only"),
        ("ethos-u85-256/sram-only", "ethos-u85-256/sys-dram-mid/sram-only"),
        ("ethos-u85-256/sram-only/sys-dram-low", "ethos-u85-256/sys-dram-low/sram-only"),
        ("ethos-u85-128/sys-flash-low", "ethos-u85-128/sys-flash-low/shared-sram"),
        ("ethos-u65-512/Dedicated_Sram_256KB", "ethos-u65-512/high-end/dedicated-sram-256kb"),
    ],
)
def test_parts_of_a_name_can_be_left_out_or_spelt_as_vela_does(name: str, full: str) -> None:
    assert sim.machine(name) is sim.machine(full)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ethos-u55-129", "ethos-u55-128"),
        ("ethos-u85-256/sram_onl", "ethos-u85-256/sys-dram-mid/sram-only"),
        ("systolic_33", "systolic-32"),
        ("tiny/sram-only", "tiny"),
        ("quite another thing", "eyeriss-v1"),
        ("", "known are"),
        ("/", "known are"),
        ("ethos-u65-256/embedded/dedicated-sram", "flash cannot be written"),
        ("ethos-u55-32/high-end", "high-end-embedded"),
        ("ethos-u85-256/sram-only/sram-only", "no machine"),
    ],
)
def test_unknown_names_are_told_what_is_near(name: str, said: str) -> None:
    with pytest.raises(sim.UnknownMachineError) as caught:
        sim.machine(name)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("name", "mhz", "sram", "latency", "second", "latencies"),
    [
        ("ethos-u55-128/deep-embedded", 200, 1.6, 32, 0.1, (64, 0)),
        ("ethos-u55-128/high-end-embedded", 500, 4, 32, 0.5, (64, 0)),
        ("ethos-u65-256/embedded", 500, 8, 32, 0.5, (64, 0)),
        ("ethos-u65-256/mid-end", 500, 8, 32, 3.75, (500, 250)),
        ("ethos-u65-256/high-end", 1000, 16, 32, 3.75, (500, 250)),
        ("ethos-u65-256/client-server", 1000, 16, 32, 12, (500, 250)),
        ("ethos-u85-256/sys-flash-low", 200, 6.4, 8, 0.2, (32, 0)),
        ("ethos-u85-256/sys-flash-high", 500, 16, 32, 0.5, (64, 0)),
        ("ethos-u85-256/sys-dram-low", 500, 16, 16, 3.75, (500, 250)),
        ("ethos-u85-256/sys-dram-mid", 1000, 32, 32, 12, (500, 250)),
        ("ethos-u85-256/sys-dram-high", 1000, 64, 32, 24, (500, 250)),
    ],
)
def test_system_configurations_are_those_that_arm_publishes(
    name: str, mhz: float, sram: float, latency: int, second: float, latencies: tuple[int, int]
) -> None:
    machine = sim.machine(name)
    scratchpad, offchip = machine.scratchpad, machine.offchip
    assert machine.clock_hz == mhz * 1e6
    assert scratchpad.bytes_per_cycle is not None
    assert scratchpad.bytes_per_cycle * machine.clock_hz == pytest.approx(sram * 1e9)
    assert offchip.bandwidth_bytes_per_second == pytest.approx(second * 1e9)
    assert scratchpad.read_latency_cycles == latency
    assert (offchip.read_latency_cycles, offchip.write_latency_cycles) == latencies


def test_memory_modes_say_where_things_live() -> None:
    def lives(name: str) -> tuple[str, str, str]:
        memory = sim.machine(name).memory
        return memory.weights, memory.constants, memory.activations

    assert lives("ethos-u85-256/sram-only") == ("scratchpad",) * 3
    assert lives("ethos-u85-256/shared-sram") == ("offchip", "offchip", "scratchpad")
    assert lives("ethos-u85-256/dedicated-sram-512kb") == ("offchip",) * 3


def test_peaks_count_all_cores() -> None:
    assert sim.machine("ethos-u65-512").macs_per_cycle == 512
    assert sim.machine("ethos-u85-2048").macs_per_cycle == 2048
    assert sim.machine("tpu-v1").macs_per_cycle == 65536
    assert sim.machine("eyeriss-v1").macs_per_cycle == 168
    assert make(array=None).macs_per_cycle == 0


def test_all_faults_are_told_at_once_with_paths_and_remedies() -> None:
    with pytest.raises(sim.MachineError) as caught:
        make(
            clock_hz=float("nan"),
            scratchpad={"bytes": -5, "alignment_bytes": 3, "bank": 2},
            array={"kind": "systolic", "rows": 0, "columns": 4, "rates": {"8x8": 0}},
            vector={"lanes": {"i8": 1.5}},
        )
    assert {fault.path for fault in caught.value.faults} == {
        "clock_hz",
        "scratchpad.bytes",
        "scratchpad.alignment_bytes",
        "scratchpad.bank",
        "array.rows",
        "array.rates.8x8",
        "vector.lanes.i8",
    }
    text = str(caught.value)
    assert "scratchpad.bytes: -5 is not a size; a scratchpad has 64 to" in text
    assert "e.g. 262144" in text
    assert "did you mean banks?" in text
    assert "pydantic" not in text


@pytest.mark.parametrize(
    ("changes", "path", "said"),
    [
        ({"clock_hz": "fast"}, "clock_hz", "not a number"),
        ({"clock_hz": True}, "clock_hz", "not a number"),
        ({"clock_hz": 1e40}, "clock_hz", "1000 to 1e12 Hz"),
        ({"clock_hz": 0}, "clock_hz", "0 is not a clock"),
        ({"cores": 0}, "cores", "not a count"),
        ({"cores": 10**5000}, "cores", "not a count"),
        ({"scratchpad": {}}, "scratchpad.bytes", "missing; a scratchpad has"),
        ({"scratchpad": {"bytes": 64, "alignment_bytes": 64}}, "scratchpad.alignment_bytes", "too coarse"),
        ({"scratchpad": 7}, "scratchpad", "table of fields"),
        ({"offchip": {"kind": "flash"}}, "memory.activations", "flash cannot be written"),
        ({"offchip": {"bandwidth_bytes_per_second": float("inf")}}, "offchip.bandwidth_bytes_per_second",
         "not a bandwidth"),
        ({"clock_hz": 1e3, "offchip": {"bandwidth_bytes_per_second": 1e16}},
         "offchip.bandwidth_bytes_per_second", "beyond any memory"),
        ({"array": {"rows": 4, "columns": 4}}, "array", "kind is missing"),
        ({"array": {"kind": "cubic"}}, "array", "systolic, block, row-stationary, dot-product"),
        ({"array": {"kind": "block", "family": "u55", "macs_per_cycle": 300}}, "array.macs_per_cycle",
         "32, 64, 128, 256"),
        ({"array": {"kind": "block", "family": "u85", "macs_per_cycle": 256}, "cores": 2}, "cores", "others"),
        ({"array": {"kind": "systolic", "rows": 4, "columns": 4, "rates": {"9x9": 1}}}, "array.rates", "8x8"),
        ({"vector": {"lanes": {"int8": 4}}}, "vector.lanes", "i8"),
        ({"vector": {"cycles": {"no word!": 4}}}, "vector.cycles", "known are simple, multiply, rescale"),
        ({"vector": {"cycles": {"sqrt": 4}}}, "vector.cycles", "did you mean rsqrt?"),
        ({"array": None, "memory": {"compressed_weights": True}}, "memory.compressed_weights", "array"),
        ({"memory": {"weights": "cloud"}}, "memory.weights", "scratchpad, offchip"),
        ({"dma": {"strided": "perhaps"}}, "dma.strided", "true or false"),
        ({"sources": {"scratchpad.byte": "me"}}, "sources.scratchpad.byte", "path of a field"),
        ({"name": "two\nlines"}, "name", "one line"),
        ({"name": 3}, "name", "not text"),
        ({"energy": {"leakage_watts": -1}}, "energy.leakage_watts", "not a power"),
        ({"missing_types": "guess"}, "missing_types", "emulate, refuse"),
        ({"x" * 1000: 1}, "", "no such field"),
    ],
)  # fmt: skip
def test_a_fault_names_its_field_and_what_is_sensible(
    changes: dict[str, object], path: str, said: str
) -> None:
    with pytest.raises(sim.MachineError) as caught:
        make(**changes)
    (fault,) = caught.value.faults
    assert said in fault.text
    assert fault.path == path or not path
    assert len(str(caught.value)) < 1000


def test_parts_are_checked_when_they_are_made_alone() -> None:
    with pytest.raises(sim.MachineError, match="rows: -1 is not a count"):
        sim.Systolic(rows=-1, columns=4)
    with pytest.raises(sim.MachineError, match="not from int"):
        sim.Machine.model_validate(3)


def test_another_kind_of_memory_keeps_the_other_figures_and_their_sources() -> None:
    machine = sim.machine("ethos-u85-256/sys-dram-mid/dedicated-sram-384kb")
    other = machine.replace({"offchip.kind": "sram"}, source="a guess")
    assert other.offchip == machine.offchip.model_copy(update={"kind": "sram"})
    assert other.source("offchip.kind") == "a guess"
    latency = "offchip.read_latency_cycles"
    assert other.source(latency) == machine.source(latency) != ""
    assert sim.Machine(**other.to_dict()) == other


def test_replaced_figures_are_checked_and_lose_their_source() -> None:
    machine = sim.machine("ethos-u85-256")
    larger = machine.replace({"scratchpad.bytes": 1 << 20, "array.rates.16x8": 0.25}, source="a guess")
    assert larger.scratchpad.bytes == larger.target.scratch_bytes == 1 << 20
    assert larger.source("scratchpad.bytes") == "a guess"
    assert larger.source("clock_hz") == machine.source("clock_hz")
    assert "scratchpad.bytes" not in machine.replace({"scratchpad.bytes": 1 << 20}).sources
    with pytest.raises(sim.MachineError, match=r"scratchpad\.bytes"):
        machine.replace({"scratchpad.bytes": 0})
    with pytest.raises(sim.MachineError, match="not a time"):
        machine.model_copy(update={"launch_overhead_cycles": -1})
    other = machine.replace({"array": {"kind": "systolic", "rows": 8, "columns": 8}})
    assert other.macs_per_cycle == 64
    assert "array.macs_per_cycle" not in other.sources


def test_copies_do_not_keep_what_was_derived() -> None:
    machine = make()
    assert machine.offchip_bytes_per_cycle == 1.0
    assert machine.model_copy(update={"clock_hz": 5e8}).offchip_bytes_per_cycle == 2.0


def test_machines_do_not_change() -> None:
    machine = make()
    with pytest.raises(ValueError, match="frozen"):
        machine.clock_hz = 1.0
    with pytest.raises(TypeError, match="replace"):
        machine.vector.lanes["i8"] = 3


def test_texts_have_units_and_sources() -> None:
    machine = sim.machine("ethos-u55-128")
    assert repr(machine).count("\n") == 0
    assert len(repr(machine)) < 160
    for text in (str(machine), machine._repr_html_()):
        assert "500 MHz" in text
        assert "500 MB/s" in text
        assert "vela.ini" in text
    assert "&lt;b&gt;" in make(name="<b>")._repr_html_()


def test_every_field_can_be_a_source() -> None:
    machine = sim.machine("tiny")
    assert {"scratchpad.bytes", "array.rates.8x8", "dma", "cores"} <= set(paths(machine))
    assert machine.replace({"sources": dict.fromkeys(paths(machine), "me")}).source("energy") == "me"


@given(
    st.sampled_from(
        ["clock_hz", "cores", "scratchpad", "offchip", "dma", "array", "vector", "memory", "name"]
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from([*RATES, *LANES, "bytes", "kind", "rows", "rates", "lanes"])
                | st.text(max_size=4),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ),
)
def test_anything_in_a_field_makes_a_machine_or_a_clear_error(field: str, value: object) -> None:
    try:
        machine = make(**{field: value})
    except sim.MachineError as error:
        faults = error.faults
    else:
        faults = ()
        assert sim.Machine(**machine.to_dict()) == machine
    assert all(fault.text and "pydantic" not in fault.text for fault in faults)


def test_importing_is_fast_until_a_machine_is_asked_for() -> None:
    code = "import sys, sim; sim.machines(); assert not {'pydantic', 'yaml', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import sys, sim; sim.machine('tiny'); assert not {'yaml', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tables_that_replace_is_given_stay_as_they_are() -> None:
    given = {"picojoules_per_mac": 1.0}
    found = make().replace({"energy": given, "energy.leakage_watts": 0.5})
    assert (found.energy.picojoules_per_mac, found.energy.leakage_watts) == (1, 0.5)
    assert given == {"picojoules_per_mac": 1.0}


def test_the_launch_of_the_board_is_what_its_measurement_has_beyond_the_prediction() -> None:
    """NXP measured 0.143 ms for the autoencoder, as Linux sees it."""
    report = tosajit.simulate(tosajit.samples.path("autoencoder"), "imx93")
    assert report.causes["launch"] == sim.machine("imx93").launch_overhead_cycles
    assert report.latency_seconds == pytest.approx(143e-6, rel=0.05)
