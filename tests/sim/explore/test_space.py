"""Spaces: their values, their machines, what is refused, and files."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sim
from sim.explore.area import AREA, Area
from sim.explore.values import Axis, Continuous

FIELDS: dict[str, Any] = {
    "array.rows": [8, 16, 32],
    "array.dataflow": ["weight", "output"],
    "scratchpad.bytes": sim.Range(64 << 10, 1 << 20, scale="log", steps=5),
    "offchip.bandwidth_bytes_per_second": [None, 1e9],
    "vector.lanes.i8": sim.Range(8, 64, scale="power_of_two"),
    "clock_hz": sim.Range(5e8, 1e9, step=2.5e8),
    "planner.cascading": [True, False],
}
ARRAYS = [
    {"kind": "systolic", "rows": 4, "columns": 3},
    {"kind": "block", "family": "u55", "macs_per_cycle": 32},
]


def space(**options: Any) -> sim.Space:
    return sim.Space("systolic-16", FIELDS, **options)


def fault(fields: Any, *constraints: str, base: Any = "systolic-16") -> str:
    """What is said of a space that cannot be."""
    with pytest.raises(sim.SpaceError) as caught:
        sim.Space(base, fields, constraints)
    return str(caught.value)


def listed(axis: Axis) -> list[Any]:
    assert axis.size is not None
    return [axis.value(number) for number in range(axis.size)]


def values(whole: bool, low: float, high: float, **options: Any) -> list[Any]:
    return listed(sim.Range(low, high, **options).axis(whole))


def test_ranges_have_the_values_that_they_say() -> None:
    assert values(True, 8, 32, step=8) == [8, 16, 24, 32]
    assert values(True, 8, 30, step=8) == [8, 16, 24]
    assert values(True, 1, 4) == [1, 2, 3, 4]
    assert values(True, 1, 64, scale="log", steps=4) == [1, 4, 16, 64]
    assert values(True, 1, 4, scale="log", steps=9) == [1, 2, 3, 4]
    assert values(True, 3, 100, scale="power_of_two") == [4, 8, 16, 32, 64]
    assert values(True, 3, 24, scale="log", step=2) == [3, 6, 12, 24]
    assert values(False, 0, 1, steps=5) == [0, 0.25, 0.5, 0.75, 1]
    assert values(False, 0.1, 0.3, step=0.1) == pytest.approx([0.1, 0.2, 0.3])
    assert sim.Range(0.5, 2).axis(whole=False).size is None


def between(ends: tuple[int, int], **options: Any) -> sim.Range:
    return sim.Range(*ends, **options)


bounds = st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)).filter(lambda one: one[0] < one[1])
ranges = st.one_of(
    st.builds(between, bounds, scale=st.sampled_from(["linear", "log"])),
    st.builds(between, bounds, scale=st.sampled_from(["linear", "log"]), steps=st.integers(2, 50)),
    st.builds(between, bounds, step=st.integers(1, 10**5)),
    st.builds(between, bounds, scale=st.just("log"), step=st.floats(1.01, 9)),
)
places = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=8).map(np.array)


@settings(max_examples=60)
@given(ranges, st.booleans(), places)
def test_values_of_ranges_are_inside_and_are_those_that_are_counted(
    one: sim.Range, whole: bool, at: Any
) -> None:
    axis = one.axis(whole)
    found = axis.at(at)
    assert all(one.low <= value <= one.high for value in found)
    assert all(isinstance(value, int) for value in found) or not whole
    if axis.size is not None:
        numbers = sorted({0, axis.size // 2, axis.size - 1})
        some = [axis.value(number) for number in numbers]
        assert some == sorted(some)
        assert all(one.low <= value <= one.high for value in some)
        if axis.size < 2000:
            every = listed(axis)
            assert set(found) <= set(every)
            assert all(low < high for low, high in pairwise(every))


def test_rounding_does_not_lead_out_of_ranges() -> None:
    assert values(False, 0.1, 0.3, step=0.1) == [0.1, 0.2, 0.3]
    ends = np.random.default_rng(0).uniform(1, 10, (200, 2))
    last = np.array([0.0, np.nextafter(1.0, 0.0)])
    for low, high in np.sort(ends).tolist():
        for options in ({}, {"scale": "log"}, {"scale": "log", "steps": 3}, {"step": (high - low) / 7}):
            found = sim.Range(low, high, **options).axis(whole=False).at(last)
            assert low <= min(found) <= max(found) <= high


@settings(max_examples=40)
@given(st.integers(1, 40), st.integers(1, 200), st.booleans(), st.booleans())
def test_places_reach_every_value(low: int, more: int, logarithmic: bool, whole: bool) -> None:
    one = sim.Range(low, low + more, "log" if logarithmic else "linear", steps=None if whole else 7)
    axis = one.axis(whole)
    assume(axis.size is not None and axis.size < 100)
    assert set(axis.at(np.arange(0, 1, 1e-4))) == set(listed(axis))


def test_places_of_a_logarithmic_range_are_even_in_octaves() -> None:
    for axis in (sim.Range(1, 1 << 20, "log").axis(True), Continuous(1, 1 << 20, True)):
        found = axis.at((np.arange(2000) + 0.5) / 2000)
        assert sum(one < 1 << 10 for one in found) == pytest.approx(1000, abs=30)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"low": 8, "high": 8}, "low is 8, but must be below high, 8; one value is a list"),
        ({"low": "8", "high": 9}, "low: '8' is not a number"),
        ({"low": 0, "high": float("nan")}, "high: nan is not a number"),
        ({"low": 0, "high": 9, "scale": "log"}, "begins above 0"),
        ({"low": 1, "high": 9, "scale": "logarithmic"}, "is not one of linear, log, power_of_two"),
        ({"low": 1, "high": 9, "steps": 3, "step": 1}, "steps and step are both given"),
        ({"low": 1, "high": 9, "steps": 1}, "steps: 1 is not a number of values"),
        ({"low": 1, "high": 9, "step": 0}, "step is 0, but must be above 0"),
        (
            {"low": 0, "high": 1e300, "step": 1e-300},
            "step is 1e-300, too small for 0 to 1e300; take a larger one",
        ),
        (
            {"low": 1, "high": 2, "step": 5e-324},
            "step is 4.94066e-324, too small for 1 to 2; take a larger one",
        ),
        (
            {"low": 1e-320, "high": 1e300, "scale": "log", "step": 2},
            "are too far apart; take a smaller range",
        ),
        ({"low": 1e-320, "high": 1e300, "scale": "log"}, "are too far apart; take a smaller range"),
        ({"low": -1.7e308, "high": 1.7e308}, "are too far apart; take a smaller range"),
        ({"low": -1.7e308, "high": 1.7e308, "step": 1}, "are too far apart; take a smaller range"),
        ({"low": 1, "high": 9, "scale": "log", "step": 1}, "step is 1, but must be above 1"),
        ({"low": 1, "high": 9, "scale": "log", "step": 1.0000001}, "take a larger one"),
        ({"low": 9, "high": 15, "scale": "power_of_two"}, "9 to 15, power of two has no power of two"),
        ({"low": 1, "high": 9, "scale": "power_of_two", "steps": 3}, "leave them out"),
        ({"low": 1, "hihg": 9}, "'hihg' is not a key of a range"),
        ({"low": 1}, "a range has low and high"),
    ],
)
def test_ranges_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(sim.SpaceError) as caught:
        sim.Range.from_dict(options)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"array.rowz": [8]}, "array.rowz: no such field; did you mean array.rows"),
        ({"array.macs_per_cycle": [32]}, "array.macs_per_cycle: no such field"),
        ({"name": ["a"]}, "name: no such field"),
        ({"arrays.x": [1]}, "arrays.x: no such field"),
        ({"array.rows.x": [1]}, "array.rows.x: no such field"),
        ({"array.rows": 8}, "array.rows: 8 is not a list or a range; write a single value as [8]"),
        ({"array.rows": "88"}, "is not a list or a range"),
        ({"array.rows": {"rows": 8}}, "is not a list or a range"),
        ({"array.rows": []}, "array.rows: has no values"),
        ({"array.rows": [8, 16, 8.0]}, "array.rows: 8.0 occurs twice"),
        ({"array.rows": sim.Range(8.2, 8.9)}, "array.rows: 8.2 to 8.9 has no whole number"),
        ({"array.rows": sim.Range(8, 9, step=0.5)}, "8 to 9, step 0.5 has values that are not whole"),
        ({"array.rows": {"low": 9, "high": 8}}, "array.rows: low is 9, but must be below high, 8"),
        ({"array.dataflow": sim.Range(1, 2)}, "list values, e.g. [output, weight, input]"),
        ({"planner.cascading": sim.Range(0, 1)}, "list values, e.g. [true, false]"),
        ({"scratchpad.alignment_bytes": sim.Range(4, 64)}, "5 is not a power of two"),
        ({"vector.lanes.i9": [8]}, "vector.lanes: 'i9' is not a type of elements"),
        ({}, "the space has no fields"),
        ({1: [2]}, "are lists or ranges by path"),
        ({"base": ["tiny"]}, "pass a list of machines as the base"),
    ],
)  # fmt: skip
def test_slips_in_fields_are_told_with_a_remedy(fields: Any, said: str) -> None:
    assert said in fault(fields)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("array.rows", 0),
        ("array.rows", "x"),
        ("array.rows", True),
        ("array.dataflow", "weigth"),
        ("scratchpad.bytes", 63),
        ("offchip.bandwidth_bytes_per_second", float("nan")),
        ("clock_hz", None),
        ("memory.direct", "maybe"),
        ("vector.lanes.i8", 0),
        ("vector.lanes", {"i9": 4}),
        ("array", {"kind": "systolic", "rows": 0, "columns": 8}),
        ("array", {"kind": "triangular"}),
        ("scratchpad", {"bytes": 64, "alignment_bytes": 64}),
    ],
)
def test_values_are_refused_with_the_words_of_machines(path: str, value: Any) -> None:
    with pytest.raises(sim.MachineError) as caught:
        sim.machine("systolic-16").replace({path: value})
    assert fault({path: [value]}) == str(caught.value).removeprefix("systolic-16: ")


def test_all_faults_are_told_at_once() -> None:
    text = fault({"array.rowz": [8], "array.columns": [0, -1]}, "colums < 3", "1 +")
    assert text.startswith("3 faults\n  array.rowz: no such field")
    assert "array.columns: -1 is not a count" in text
    text = fault({"array.rows": [8]}, "colums < 3", "1 +")
    assert text == (
        "2 faults\n"
        "  constraint 1: 'colums' is not a known name; did you mean columns?\n"
        "    colums < 3\n"
        "    ^\n"
        "  constraint 2: is not an expression: invalid syntax\n"
        "    1 +\n"
        "       ^"
    )


def test_a_machine_of_a_space_is_the_base_with_the_values() -> None:
    one = space()
    for number in range(0, one.size or 0, 97):
        candidate = one.number(number)
        expected = one.base.replace(dict(zip(one.names, candidate, strict=True)), "chosen in an exploration")
        assert one.machine(candidate) == expected


@settings(max_examples=30)
@given(st.integers(0, 10**9))
def test_numbers_of_candidates_are_digits_of_their_values(number: int) -> None:
    one = space()
    assert one.size == 3 * 2 * 5 * 2 * 4 * 3 * 2
    number %= one.size
    again = 0
    for axis, value in zip(one.axes, one.number(number), strict=True):
        again = again * (axis.size or 1) + listed(axis).index(value)
    assert again == number


def test_sizes_may_be_beyond_all_bounds_and_infinite() -> None:
    large = sim.Space("tiny", {"scratchpad.bytes": sim.Range(64, 1 << 44), "cores": sim.Range(1, 1024)})
    assert large.size == ((1 << 44) - 63) * 1024
    assert large.number(large.size - 1) == (1 << 44, 1024)
    assert "about 1.8e+16 machines" in str(large)
    endless = sim.Space("tiny", {"clock_hz": sim.Range(1e6, 1e9)})
    assert endless.size is None
    with pytest.raises(sim.SpaceError, match="continuous; give the range a step or a number of steps"):
        endless.number(0)


def test_parts_and_bases_can_be_chosen_as_a_whole() -> None:
    bases = [sim.machine("systolic-16"), sim.machine("tiny")]
    one = sim.Space(["systolic-16", sim.machine("tiny")], {"array": ARRAYS, "cores": [1, 2]}, ["macs != 64"])
    assert one.names == ("base", "array", "cores")
    assert one.size == 8
    for number in range(8):
        made = one.machines([one.number(number)])[0]
        base, array, cores = bases[number // 4], ARRAYS[number // 2 % 2], number % 2 + 1
        if array["kind"] == "block" and cores == 2:
            assert made == "constraint does not hold: macs != 64 (it is 64)"
        else:
            assert isinstance(made, sim.Machine)
            assert made.scratchpad == base.scratchpad
            assert made.array is not None
            assert made.array == type(made.array).model_validate(array)
            assert made.macs_per_cycle == (12 if array["kind"] == "systolic" else 32) * cores


def test_fields_inside_of_a_part_that_is_chosen_are_fields() -> None:
    one = sim.Space("systolic-16", {"array": ARRAYS, "array.rows": [5], "array.macs_per_cycle": [64]})
    assert one.machines([one.number(0)]) == [
        "array.macs_per_cycle: no such field; there are kind, rows, columns, dataflow, weight_preload, "
        "packed_depthwise, whole_tiles, rates"
    ]
    one = sim.Space("systolic-16", {"array.rows": [5, 6], "array": ARRAYS[:1]})
    assert one.machine(one.number(1)).array == sim.Systolic(rows=6, columns=3)


def test_what_a_machine_refuses_is_the_reason() -> None:
    one = sim.Space("ethos-u55-128", {"cores": [1, 2], "array.macs_per_cycle": [128]})
    first, second = one.machines([one.number(0), one.number(1)])
    assert isinstance(first, sim.Machine)
    assert second == "cores: 2 is not a number of cores of this family; the u65 has 1 or 2, others have 1"
    with pytest.raises(sim.SpaceError, match="2 is not a number of cores"):
        one.machine(one.number(1))
    with pytest.raises(sim.SpaceError, match="a candidate has 1 values, but the space has 2 names: cores"):
        one.machines([(1,)])


NAMES = [
    "scratchpad.bytes",
    "clock_hz",
    "array.rows",
    "array.columns",
    "cores",
    "vector.lanes.i8",
    "offchip.ports",
]


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 100), st.sampled_from(NAMES), st.integers(1, 300))
def test_constraints_see_what_the_machines_have(seed: int, name: str, bound: int) -> None:
    fields = {
        **FIELDS,
        "array": [
            {"kind": "systolic", "rows": 8, "columns": 8},
            {"kind": "systolic", "rows": 2, "columns": 99},
        ],
    }
    free = sim.Space(["systolic-16", "tiny"], fields)
    candidates = free.at(np.random.default_rng(seed).random((20, len(free.names))))
    machines = [free.machine(one) for one in candidates]
    underscores = name.replace(".", "_")
    for text, figures in (
        (f"{name} < {bound}", [figure(one, name) for one in machines]),
        (f"{underscores} < {bound}", [figure(one, name) for one in machines]),
        (f"macs < {bound}", [one.macs_per_cycle for one in machines]),
        (f"area * 100 < {bound}", (AREA.of(machines) * 100).tolist()),
    ):
        held = sim.Space(["systolic-16", "tiny"], fields, [text])
        assert [not one for one in held.violations(candidates)] == [one < bound for one in figures]


def figure(machine: sim.Machine, path: str) -> float:
    found: Any = machine
    for step in path.split("."):
        found = found[step] if isinstance(found, dict) else getattr(found, step)
    return float(found)


def test_unlimited_is_more_than_any_number_and_missing_fields_hold_nothing() -> None:
    one = sim.Space(
        "systolic-16",
        {"offchip.bandwidth_bytes_per_second": [None, 1e9]},
        ["offchip.bandwidth_bytes_per_second > 2e9"],
    )
    assert [bool(reason) for reason in one.violations([(None,), (1e9,)])] == [False, True]
    one = sim.Space("systolic-16", {"array": ARRAYS}, ["rows < 99 and array.kind == 'systolic'"])
    held, missing = one.violations([one.number(0), one.number(1)])
    assert not held
    assert missing.endswith("(a field that the machine lacks)")


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
@pytest.mark.parametrize("bases", ["systolic-16", ["systolic-16"], ["tiny", "ethos-u65-512"], "own"])
def test_files_and_dictionaries_round_trip(tmp_path: Path, suffix: str, bases: Any) -> None:
    own = sim.machine("tiny").replace({"cores": 2, "name": "mine"})
    fields = {"scratchpad.bytes": FIELDS["scratchpad.bytes"], "planner.cascading": [True, False]}
    area = Area(per_scratchpad_kib=5000)
    one = sim.Space(own if bases == "own" else bases, fields, ["area < 3"], area)
    path = tmp_path / f"space{suffix}"
    one.save(path)
    for again in (sim.Space.load(path), sim.Space.from_dict(one.to_dict()), pickle.loads(pickle.dumps(one))):
        assert again == one
        assert hash(again) == hash(one)
        assert again.to_dict() == one.to_dict()
        assert again.area == area
        assert again.number(3) == one.number(3)


def test_digests_change_with_everything() -> None:
    fields = {"array.rows": [8, 16]}
    spaces = [
        sim.Space("systolic-16", fields),
        sim.Space("systolic-32", fields),
        sim.Space(sim.machine("systolic-16").replace({"cores": 2}), fields),
        sim.Space(["systolic-16"], fields),
        sim.Space("systolic-16", {"array.rows": [16, 8]}),
        sim.Space("systolic-16", {"array.rows": sim.Range(8, 16)}),
        sim.Space("systolic-16", fields, ["area < 3"]),
        sim.Space("systolic-16", fields, area=Area(fixed=1)),
        sim.Space("systolic-16", {"array.rows": [8, 16], "cores": [1]}),
        sim.Space("systolic-16", {"cores": [1], "array.rows": [8, 16]}),
    ]
    assert len({one.digest for one in spaces}) == len(spaces)


def test_a_base_in_a_file_is_looked_for_beside_it(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("base: tiny\ncores: 2\n")
    path = tmp_path / "space.yaml"
    path.write_text("base: mine.yaml\nfields:\n  array.rows: [4, 8]\n  clock_hz: {low: 1e8, high: 1e9}\n")
    assert sim.Space.load(path).machine((8, 2e8)).cores == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("base: tiny\n", "fields: missing"),
        ("base: tiny\nfields: [1]\n", "fields: [1] is not a table of lists or ranges by path"),
        ("base: tiny\nfields: {array.rows: [0]}\n", "array.rows: 0 is not a count"),
        (
            "base: tinny\nfields: {array.rows: [8]}\n",
            "base: no machine is called 'tinny'; did you mean tiny?",
        ),
        ("base: {name: x}\nfields: {array.rows: [8]}\n", "base.clock_hz: missing"),
        ("base: 5\nfields: {array.rows: [8]}\n", "base: 5 is not the name of a machine"),
        ("base: none.yaml\nfields: {array.rows: [8]}\n", "cannot be read: No such file"),
        (
            "base: tiny\nfeilds: {}\n",
            "'feilds': is not a key of a space; keys are base, fields, constraints, area",
        ),
        (
            "base: tiny\nfields: {cores: [1]}\nconstraints: [5]\n",
            "constraint 1: 5 is not the text of an expression",
        ),
        ("base: tiny\nfields: {cores: [1]}\narea: {per_kib: 1}\n", "area.per_kib: no such field"),
        ("base: tiny\nfields: {cores: {low: 1, hihg: 2}}\n", "cores: 'hihg' is not a key of a range"),
        ("base: [\n", "is not YAML"),
        ("a: !!python/object/apply:os.system [true]\n", "is not YAML"),
        ("- 1\n", "is not a table of a space's fields, such as base, fields"),
        ("x" * (1 << 18), "more than 65536 bytes, too many for a space"),
    ],
)
def test_bad_files_are_refused_with_the_reason(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(text)
    with pytest.raises(sim.SpaceError) as caught:
        sim.Space.load(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))


def test_files_that_cannot_be_written_are_told(tmp_path: Path) -> None:
    with pytest.raises(sim.SpaceError, match=r"the file of a space must end with \.json, \.yaml, \.yml"):
        space().save(tmp_path / "space.toml")
    with pytest.raises(sim.SpaceError, match="cannot be written"):
        space().save(tmp_path / "none" / "space.json")


def test_a_space_shows_what_varies() -> None:
    assert str(sim.Space("systolic-16", FIELDS, ["area<=2"])) == (
        "1,440 machines around systolic-16\n"
        "field                               values                         number\n"
        "array.rows                          8, 16, 32                           3\n"
        "array.dataflow                      weight, output                      2\n"
        "scratchpad.bytes                    64 KiB to 1 MiB, log, 5 steps       5\n"
        "offchip.bandwidth_bytes_per_second  unlimited, 1 GB/s                   2\n"
        "vector.lanes.i8                     8 to 64, power of two               4\n"
        "clock_hz                            500 MHz to 1 GHz, step 2.5e8        3\n"
        "planner.cascading                   yes, no                             2\n"
        "constraint  area<=2"
    )
    assert (
        repr(sim.Space("tiny", {"clock_hz": sim.Range(1e6, 1e7)}))
        == "Space(infinitely many machines around tiny: clock_hz)"
    )
    html = sim.Space("tiny", {"array": ARRAYS}, ["cores < 3"])._repr_html_()
    assert "systolic 4 × 3" in html
    assert "<code>cores &lt; 3</code>" in html
