"""Damaged files end in an error of ours or in a graph; `make fuzz-files` tries many more."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from file_edits import edit
from file_mutations import MUTATIONS, damage
from fuzz_files import SECONDS, Job, attempt, damaged, npy_files, read_npy, read_tosa, table, tosa_files

CASES, SHARE = 600, 50


@pytest.mark.parametrize("first", range(0, CASES, SHARE))
def test_damaged_files_are_refused_or_read(first: int) -> None:
    outcomes = [attempt(Job(99, case, run=False), limited=False) for case in range(first, first + SHARE)]
    failed = [f"--seed 99 --case {o.job.case}: {o.message}" for o in outcomes if o.end == "failed"]
    assert not failed, "\n".join(failed)
    assert max(outcome.seconds for outcome in outcomes) < SECONDS


def test_the_files_that_are_damaged_are_valid() -> None:
    assert {read_tosa(data, run=False) for data in tosa_files()} == {("valid", "")}
    assert {read_npy(data) for data in npy_files()} == {("valid", "")}


def test_a_case_is_always_the_same() -> None:
    assert [damaged(Job(5, case, False)) for case in range(40)] == [
        damaged(Job(5, case, False)) for case in range(40)
    ]


@pytest.mark.parametrize("name", [*MUTATIONS, "edit"])
def test_every_damage_changes_files(name: str) -> None:
    random, files = Random(3), tosa_files()
    mutations = {**MUTATIONS, "edit": edit}
    changed = [damage(random, data, files, {name: mutations[name]})[0] != data for data in files]
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
