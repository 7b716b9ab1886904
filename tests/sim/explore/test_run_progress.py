"""What people see while an exploration runs."""

from __future__ import annotations

import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sim.explore.progress import Notebook, Progress, Silent, Tally, Terminal, Told, display_for
from sim.explore.work import Outcomes

PROGRESS = Progress(300, 1200, 150.0, 7, {"latency": 0.00125, "energy": 3e-6}, 2.0)


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def test_progress_says_points_rate_time_and_the_best() -> None:
    text = "300 of 1,200 points, 150 a second, 6 s left, 7 infeasible; best latency 0.00125, energy 3e-06"
    assert str(PROGRESS) == text
    assert str(Progress(3, None, 0.5, 0, {}, 6.0, "confirm")) == "3 confirmed, 0.5 a second"
    assert "1 h 23 min left" in str(Progress(0, 5000, 1.0, 0, {}, 1.0))


def test_terminals_have_a_bar_that_is_wiped_away(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    shown = display_for(None)
    assert isinstance(shown, Terminal)
    shown(PROGRESS)
    assert "█" * 7 + "░" * 23 in screen.getvalue()
    assert str(PROGRESS) in screen.getvalue()
    assert "\n" not in screen.getvalue()
    shown.close()
    assert screen.getvalue().endswith("\r\033[K")


def test_what_was_never_shown_is_not_wiped_away(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().close()
    assert capsys.readouterr() == ("", "")


def test_a_terminal_without_a_total_has_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(3, None, 0.5, 0, {}, 6.0)
    Terminal()(progress)
    assert capsys.readouterr().err == f"\r{progress}\033[K"


def test_files_and_those_who_do_not_want_it_have_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for shown in (display_for(None), display_for(False)):
        assert isinstance(shown, Silent)
        shown(PROGRESS)
        shown.close()
    assert capsys.readouterr() == ("", "")


def test_notebooks_have_one_line_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            seen.append(("again", data["text/plain"]))

    def display(data: dict[str, str], raw: bool, display_id: bool) -> Handle:
        seen.append(("new", data["text/plain"]))
        return Handle()

    module: Any = ModuleType("IPython")
    module.get_ipython = lambda: SimpleNamespace(kernel=object())
    inner: Any = ModuleType("IPython.display")
    inner.display = display
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    shown = display_for(None)
    assert isinstance(shown, Notebook)
    shown(PROGRESS)
    shown(PROGRESS)
    shown.close()
    assert seen == [("new", str(PROGRESS)), ("again", str(PROGRESS))]


def test_points_of_the_store_do_not_count_for_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("sim.explore.progress.time.monotonic", lambda: now[0])
    told: list[Progress] = []
    tally = Tally(Told(told.append), 100, {"a": "min", "b": "max"}, started=100.0)
    columns = {"a": np.array([3.0, np.nan, 2.0]), "b": np.array([5.0, np.nan, 7.0])}
    outcomes = Outcomes(columns, ("", "no", ""))
    tally.add(outcomes, fresh=False)
    now[0] += 1.5
    tally.add(outcomes)
    tally.add(outcomes)  # too soon to be told
    assert len(told) == 2
    assert (told[-1].done, told[-1].infeasible, told[-1].rate) == (6, 2, 2.0)
    assert told[-1].best == {"a": 2.0, "b": 7.0}
    assert told[-1].seconds_left == 47.0
    tally.tell(last=True)
    assert told[-1].done == 9
