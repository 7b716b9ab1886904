"""Two runs of the benchmark are compared by rounds, against the peer that took turns with us."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from bench_compare import change, changes, error, main


def timing(*rounds: float) -> dict[str, Any]:
    return {"median": sorted(rounds)[len(rounds) // 2], "minimum": min(rounds), "rounds": list(rounds)}


def row(case: str, **timings: Any) -> dict[str, Any]:
    return {"case": case, "detail": timings}


def test_a_machine_that_was_slower_makes_no_case_slower() -> None:
    before = {"tosajit": timing(1.0, 1.1, 1.2), "litert": timing(2.0, 2.2, 2.4)}
    after = {name: timing(*(2 * one for one in part["rounds"])) for name, part in before.items()}
    found = change("model", before, after)
    assert found.ratio == pytest.approx(1.0)
    assert (found.against, found.verdict(0.02)) == ("litert", "same")
    assert (found.before, found.after) == (1.1, 2.2)


def test_the_fastest_peer_of_both_runs_counts() -> None:
    before = {"tosajit": timing(1.0), "iree": timing(0.5), "litert": timing(2.0), "openvino": timing(3.0)}
    after = {"tosajit": timing(1.0), "litert": timing(1.0), "openvino": timing(3.0)}
    assert change("model", before, after).against == "litert"
    assert change("model", {"tosajit": timing(1.0)}, after).against == ""


@pytest.mark.parametrize(
    ("factor", "verdict"), [(0.9, "faster"), (1.0, "same"), (1.1, "slower"), (1.015, "same")]
)
def test_quiet_rounds_show_small_changes_but_not_the_least(factor: float, verdict: str) -> None:
    before = {"tosajit": timing(1.0, 1.001, 1.002)}
    after = {"tosajit": timing(*(factor * one for one in (1.0, 1.001, 1.002)))}
    assert change("model", before, after).verdict(0.02) == verdict


def test_noise_hides_a_change() -> None:
    loud = timing(0.7, 1.0, 1.3)
    assert error(loud["rounds"]) > 0.5
    assert change("model", {"tosajit": loud}, {"tosajit": timing(0.77, 1.1, 1.43)}).verdict(0.02) == "same"
    assert error([1.0] * 5) == 0.0


def test_only_cases_of_both_runs_that_time_us_are_compared() -> None:
    before = [row("a", tosajit=timing(1.0)), row("b", tosajit=timing(1.0)), row("c", other=timing(1.0))]
    after = [row("a", tosajit=timing(1.0)), row("c", other=timing(1.0)), row("d", tosajit=timing(1.0))]
    assert [one.case for one in changes(before, after)] == ["a"]


def test_the_command_fails_if_something_is_slower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for name, seconds in (("before", 1.0), ("after", 2.0)):
        path = tmp_path / f"{name}.json"
        path.write_text(
            json.dumps({"machine": {"commit": name}, "rows": [row("a", tosajit=timing(seconds))]})
        )
        paths.append(str(path))
    monkeypatch.setattr(sys, "argv", ["bench_compare.py", *paths])
    assert main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("commit before")
    assert lines[-2].split()[-1] == "slower"
    assert lines[-1] == "0 faster, 0 same, 1 slower"
    monkeypatch.setattr(sys, "argv", ["bench_compare.py", *reversed(paths)])
    assert main() == 0
