"""Variants of a machine are those that `replace` makes, one by one, errors and all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sim
from sim.machine.paths import paths
from sim.machine.variants import variants

BASES = ("systolic-16", "eyeriss-v1", "ethos-u55-128", "ethos-u65-512", "tpu-v1", "tiny")
PATHS = tuple(
    dict.fromkeys(
        [path for name in BASES for path in paths(sim.machine(name))]
        + ["name", "description", "sources", "array.kind", "array.nothing", "nothing", "cores.more", ""]
    )
)
NUMBERS = st.sampled_from([-1, 0, 1, 2, 3, 4, 16, 256, 1 << 16, 1e9, 0.5, 1.0, float("inf"), float("nan")])
WORDS = st.sampled_from(
    [
        "offchip",
        "scratchpad",
        "weight",
        "input",
        "flash",
        "sram",
        "refuse",
        "u85",
        "block",
        "systolic",
        "x",
        "",
    ]
)
TABLES = st.dictionaries(st.sampled_from(["i8", "8x8", "kind", "rows", "bytes"]), NUMBERS | WORDS, max_size=3)
PARTS = st.sampled_from(
    [
        sim.Systolic(rows=4, columns=8),
        sim.Block(family="u55", macs_per_cycle=64),
        sim.MemoryMode(activations="scratchpad"),
        sim.Scratchpad(bytes=1 << 20, banks=2),
        sim.Planner(cascading=False),
        sim.machine("tiny"),
    ]
)
VALUES = st.one_of(
    NUMBERS, NUMBERS, WORDS, st.booleans(), st.none(), TABLES, PARTS, st.lists(NUMBERS, max_size=2)
)
RIGHT: dict[str, tuple[Any, ...]] = {
    "scratchpad.bytes": (1 << 15, 1 << 20, 64),
    "scratchpad.alignment_bytes": (16, 64),
    "offchip.bandwidth_bytes_per_second": (None, 1e9, 1e16),
    "offchip.kind": ("dram", "flash"),
    "clock_hz": (1e6, 1e9, 2),
    "cores": (1, 2),
    "dma.channels": (1, True, 1.0, 2, 0),
    "memory.activations": ("offchip", "scratchpad"),
    "memory.compressed_weights": (True, False),
    "planner.cascading": (True, False),
    "array": (
        None,
        {"rows": 8},
        sim.Systolic(rows=4, columns=8),
        {"kind": "block", "family": "u85", "macs_per_cycle": 256},
    ),
    "vector.lanes": ({"i8": 4}, {"i8": 8, "i16": 4}),
    "vector.lanes.i8": (4, 8),
    "name": ("one", "other", ""),
}


def by_one(base: sim.Machine, paths: tuple[str, ...], row: tuple[Any, ...], source: str) -> object:
    """What `replace` makes of a row: a machine, or an error."""
    try:
        return base.replace(dict(zip(paths, row, strict=True)), source)
    except (sim.MachineError, AttributeError, TypeError) as error:
        return error


def check(base: sim.Machine, paths: tuple[str, ...], rows: list[tuple[Any, ...]], source: str) -> None:
    """Rows together are as they are one by one."""
    expected = [by_one(base, paths, row, source) for row in rows]
    stray = [one for one in expected if isinstance(one, AttributeError | TypeError)]
    if stray:
        with pytest.raises((AttributeError, TypeError)):
            variants(base, paths, rows, source)
        return
    for one, other in zip(variants(base, paths, rows, source), expected, strict=True):
        assert type(one) is type(other)
        if isinstance(one, sim.Machine) and isinstance(other, sim.Machine):
            assert one == other
            assert hash(one) == hash(other)
            assert one.to_json() == other.to_json()
            assert one.target == other.target
            assert one.model_fields_set == other.model_fields_set
        else:
            assert str(one) == str(other)
            assert one.faults == other.faults  # type: ignore[union-attr]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(BASES), st.data(), st.sampled_from(["", "a sketch"]))
def test_variants_of_values_that_mostly_fit_are_replacements(
    name: str, data: st.DataObject, source: str
) -> None:
    chosen = tuple(data.draw(st.lists(st.sampled_from(list(RIGHT)), min_size=1, max_size=6, unique=True)))
    row = st.tuples(*(st.sampled_from(RIGHT[path]) for path in chosen))
    check(sim.machine(name), chosen, data.draw(st.lists(row, max_size=8)), source)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(BASES), st.data())
def test_variants_of_any_values_are_replacements(name: str, data: st.DataObject) -> None:
    chosen = tuple(data.draw(st.lists(st.sampled_from(PATHS), max_size=3, unique=True)))
    rows = data.draw(st.lists(st.tuples(*(VALUES for _ in chosen)), max_size=4))
    check(sim.machine(name), chosen, rows, "")


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a row has 1 values, but there are 2 paths"):
        variants(sim.machine("tiny"), ("clock_hz", "cores"), [(1e9,)])
