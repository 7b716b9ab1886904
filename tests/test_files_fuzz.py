"""Damaged files end in an error of ours or in a graph; `make fuzz-files` tries many more."""

from __future__ import annotations

import time
from random import Random

import pytest
from file_edits import edit
from file_mutations import MUTATIONS, damage
from file_seeds import graph_of, region, shape, tensor
from fuzz_files import (
    SECONDS,
    Job,
    attempt,
    damaged,
    npy_files,
    read_npy,
    read_text,
    read_tosa,
    read_weights,
    table,
    text_files,
    tosa_files,
    weight_files,
)
from text_mutations import MUTATIONS as TEXTS

from tosajit.dtypes import BOOL, INT8
from tosajit.files import to_bytes
from tosajit.graph import Graph, Node, Value
from tosajit.operators import COND_IF, IDENTITY

CASES, SHARE = 600, 50


@pytest.mark.parametrize("first", range(0, CASES, SHARE))
def test_damaged_files_are_refused_or_read(first: int) -> None:
    outcomes = [attempt(Job(99, case, run=False), limited=False) for case in range(first, first + SHARE)]
    failed = [f"--seed 99 --case {o.job.case}: {o.message}" for o in outcomes if o.end == "failed"]
    assert not failed, "\n".join(failed)
    assert max(outcome.seconds for outcome in outcomes) < SECONDS


def chain(length: int, step: int) -> Graph:
    """IDENTITY after IDENTITY, listed from first to last or from last to first."""
    values = [Value(f"v{i}", INT8, (2,)) for i in range(length + 1)]
    nodes = [Node(IDENTITY(), (f"v{i}",), (f"v{i + 1}",)) for i in range(length)]
    return Graph((region("main", nodes[::step], values, ["v0"], [f"v{length}"]),))


def tower(height: int) -> Graph:
    """Regions that run the next one twice: two to the power of the height in all."""
    test, x, y = Value("test", BOOL, ()), Value("x", INT8, (2,)), Value("y", INT8, (2,))
    regions = []
    for floor in range(height):
        above = f"r{(floor + 1) % height}"
        node = Node(COND_IF(then_graph=above, else_graph=above), ("test", "test", "x"), ("y",))
        regions.append(region(f"r{floor}", [node], [test, x, y], ["test", "x"], ["y"]))
    return Graph(tuple(regions))


HOSTILE = {
    "a long chain": chain(5000, 1),
    "a long chain from behind": chain(5000, -1),
    "regions in regions": tower(500),
    "a region in itself": tower(1),
    "one tensor written often": Graph(
        (region("main", [Node(IDENTITY(), ("x",), ("x",))] * 5000, [Value("x", INT8, (2,))], ["x"], ["x"]),)
    ),
    "a long list": Graph((region("main", [], [Value("x", INT8, (2,))], ["x"] * 5000, ["x"] * 5000),)),
    "huge extents": graph_of(
        "RESHAPE", [tensor(INT8, *[(1 << 31) - 1] * 64), shape(*[(1 << 63) - 1] * 128)], [tensor(INT8)]
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_graphs_are_read_and_checked_in_time(name: str) -> None:
    data = to_bytes(HOSTILE[name])
    started = time.process_time()
    assert read_tosa(data, run=False)[0] in ("valid", "faulty")
    assert time.process_time() - started < SECONDS


def test_the_files_that_are_damaged_are_valid() -> None:
    assert {read_tosa(data, run=False) for data in tosa_files()} == {("valid", "")}
    assert {read_npy(data) for data in npy_files()} == {("valid", "")}
    assert {read_weights(data) for data in weight_files()} == {("valid", "")}


def test_the_texts_that_are_damaged_are_valid() -> None:
    assert {read_text(data) for data in text_files()[::5]} == {("valid", "")}


def test_a_case_is_the_same_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [damaged(Job(5, case, False)) for case in range(40)]
    monkeypatch.setattr(time, "time", lambda: 1e9)
    assert [damaged(Job(5, case, False)) for case in range(40)] == found


@pytest.mark.parametrize("name", [*MUTATIONS, "edit"])
def test_every_damage_changes_files(name: str) -> None:
    random, files = Random(3), tosa_files()
    mutations = {**MUTATIONS, "edit": edit}
    changed = [damage(random, data, files, {name: mutations[name]})[0] != data for data in files]
    assert sum(changed) > len(files) / 2


@pytest.mark.parametrize("name", TEXTS)
def test_every_damage_changes_texts(name: str) -> None:
    random, files = Random(3), text_files()
    changed = [damage(random, data, files, {name: TEXTS[name]})[0] != data for data in files]
    assert sum(changed) > len(files) / 2


def test_a_failure_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(data: bytes, run: bool) -> tuple[str, str]:
        raise ZeroDivisionError

    monkeypatch.setattr("fuzz_files.read_tosa", broken)
    outcome = next(
        o for case in range(20) if (o := attempt(Job(1, case, False), limited=False)).kind == "tosa"
    )
    assert outcome.end == "failed"
    assert "ZeroDivisionError" in outcome.message
    assert table([outcome]).splitlines()[-1].split()[:7] == ["all", "1", "0", "0", "0", "0", "1"]
