"""The table of all front ends: what their tests say is counted as it is said."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import frontends
import pytest
from frontends import DOORS, Door, Row, read, reasons, run, summary, table

DOOR = Door("Odd", "drawn", ())


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (
            "refused     3: x: no form\njax: 1,200 of 1,204 passed, 3 refused, 1 failed (2 s)",
            {"passed": 1200, "refused": 3, "failed": 1},
        ),
        ("frontends: 7 of 9 passed, 1 refused, 0 failed, 1 not run (3 s)",
         {"passed": 7, "refused": 1, "failed": 0, "not run": 1}),
        ("== 2 failed, 30 passed, 4 skipped, 1 error in 3.2s ==", {"passed": 30, "failed": 3, "not run": 4}),
        ("NNEF: 130 standard operators; 2,345 passed", {"passed": 2345}),
        ("Traceback: nothing is there", {}),
    ],
)  # fmt: skip
def test_counts_are_those_of_the_last_line_that_has_some(text: str, counts: dict[str, int]) -> None:
    assert read(DOOR, text).counts == Counter(counts)


def test_reasons_are_told_with_their_front_end() -> None:
    row = read(DOOR, "refused     3: x: no form\nrefused 1,000: y: too large\n1 passed")
    assert reasons([row]) == ["Odd: refused 1,000: y: too large", "Odd: refused 3: x: no form"]


def test_a_front_end_without_results_is_not_good() -> None:
    rows = [read(DOOR, "no module\nexit code 2"), read(Door("Even", "own", ()), "5 passed\nexit code 0")]
    assert [one.is_good for one in rows] == [False, True]
    assert table(rows)[1].endswith("no result (exit code 2)")
    assert summary(rows) == (
        "frontends: 2 doors, 5 of 5 passed, 0 refused, 0 failed, 0 not run: not good: Odd"
    )


def test_failures_and_exit_codes_are_not_good() -> None:
    assert not read(DOOR, "4 of 5 passed, 1 failed\nexit code 0").is_good
    assert not read(DOOR, "5 passed\nexit code 1").is_good
    assert not read(DOOR, "5 passed").is_good
    assert not Row(DOOR).is_good


def test_a_front_end_runs_in_a_process_whose_messages_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frontends, "LOGS", tmp_path)
    row = run(
        Door("Odd", "drawn", ("-c", "print('3 of 4 passed, 1 refused, 0 failed'); raise SystemExit(0)"))
    )
    assert (row.counts["passed"], row.counts["refused"], row.is_good) == (3, 1, True)
    assert "3 of 4" in (tmp_path / "odd.log").read_text()


def test_doors_that_have_been_run_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontends, "LOGS", tmp_path)
    log = tmp_path / "odd.log"
    log.write_text("7 of 7 passed\nexit code 0\n")
    fresh = Door("Odd", "drawn", ("-c", "print('1 of 1 passed')"))
    assert run(fresh, kept=True).counts["passed"] == 7
    log.write_text("7 of 7 passed, and then nothing")
    assert run(fresh, kept=True).counts["passed"] == 1


def test_the_largest_suites_run_a_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontends, "LOGS", tmp_path)
    told = ("-c", "import sys; print(len(sys.argv), 'passed')")
    assert run(Door("Odd", "drawn", told), share=4).counts["passed"] == 1
    assert run(Door("Odd", "drawn", told, shared=True), share=4).counts["passed"] == 3


def test_every_door_names_tests_that_are_there() -> None:
    for door in DOORS:
        files = [Path(one) for one in door.command if one.endswith(".py")]
        assert files, f"{door.name} has no tests"
        assert all((frontends.TOOLS.parent / one).is_file() for one in files)
