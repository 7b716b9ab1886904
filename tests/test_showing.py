"""While kernels compile, terminals and notebooks show how many are done."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit.kernels import objects, showing
from tosajit.kernels.showing import shown


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _without_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(showing, "FOLDER", tmp_path / "tosajit" / "kernels" / "compiled")
    showing._tell_remedy.cache_clear()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error as a terminal, where everything is shown at once."""
    made = Terminal()
    monkeypatch.setattr(showing, "sys", SimpleNamespace(stderr=made))
    monkeypatch.setattr(showing, "AFTER_SECONDS", 0.0)
    return made


def test_a_terminal_has_a_line_that_goes_away(terminal: Terminal) -> None:
    with shown(None) as tell:
        tell(1, 4)
        assert terminal.getvalue().endswith(" 1 of 4 kernels compiled, 3 left\033[K")
        tell(4, 4)
    assert terminal.getvalue().endswith("4 of 4 kernels compiled, 0 left\033[K\r\033[K")


def test_a_copy_of_the_repository_without_kernels_tells_once_what_makes_them(
    terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "Makefile").touch()
    for _ in range(2):
        with shown(None) as tell:
            tell(1, 4)
    assert terminal.getvalue().count("`make kernels`") == 1


@pytest.mark.parametrize("there", ["Makefile", "tosajit/kernels/compiled/native"])
def test_what_has_kernels_or_is_installed_tells_of_no_remedy(
    there: str, terminal: Terminal, tmp_path: Path
) -> None:
    (tmp_path / there).mkdir(parents=True)
    with shown(None) as tell:
        tell(1, 4)
    assert "make" not in terminal.getvalue()


def test_what_is_quick_is_not_shown(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(showing, "AFTER_SECONDS", 1e9)
    with shown(None) as tell:
        tell(1, 4)
    assert terminal.getvalue() == ""


def test_nothing_is_shown_to_those_who_do_not_want_it_or_look_themselves(terminal: Terminal) -> None:
    seen: list[tuple[int, int]] = []
    for progress in (False, lambda done, total: seen.append((done, total))):
        with shown(progress) as tell:
            tell(1, 4)
    assert seen == [(1, 4)]
    assert terminal.getvalue() == ""


def test_nothing_is_written_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    made = io.StringIO()
    monkeypatch.setattr(showing, "sys", SimpleNamespace(stderr=made))
    monkeypatch.setattr(showing, "AFTER_SECONDS", 0.0)
    with shown(None) as tell:
        tell(1, 4)
    assert made.getvalue() == ""


def test_a_notebook_has_a_line_that_stays(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []

    def display(data: dict[str, str], **options: Any) -> Any:
        lines.append(data["text/plain"])
        return SimpleNamespace(update=display)

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr(showing, "in_notebook", lambda: True)
    with shown(None) as tell:
        tell(1, 4)
        tell(4, 4)
    assert lines[0] == "1 of 4 kernels compiled, 3 left"
    assert lines[1].startswith("4 of 4 kernels compiled in ")
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_compiles_nothing(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function: Callable[[Any], Any] = lambda x: tj.ops.abs(x) + x  # noqa: E731
    executable = tj.compile(tj.trace(function, np.zeros((512, 512), np.int32)), threads=threads)
    monkeypatch.setattr(objects, "_compile_missing", None)
    monkeypatch.setattr(objects, "_found", None)
    executable(np.zeros((512, 512), np.int32))
