"""What terminals show: tables in their width, colours where there are some."""

from __future__ import annotations

import io

import pytest

import tosajit as tj
from tosajit.display.screen import fitted, has_colours, show, styled


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


TEXT = str(tj.simulate(tj.samples.path("ds_cnn", "model.tflite"), "ethos-u55-128"))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_reports_fit_and_keep_their_numbers(width: int) -> None:
    found = fitted(TEXT, width)
    assert max(map(len, found.splitlines())) <= width
    assert found.split()[:3] == TEXT.split()[:3]
    if width == 100:
        rows = [line.split()[-1] for line in TEXT.splitlines() if line.startswith("CONV2D")]
        assert [line.split()[-1] for line in found.splitlines() if line.startswith("CONV2D")] == rows


def test_text_that_fits_is_left_alone() -> None:
    assert fitted(TEXT, 500) == TEXT


def test_sentences_are_wrapped_below_their_text() -> None:
    assert fitted("cause  one two three four", 16) == "cause  one two\n       three\n       four"


def test_columns_align_after_names_are_shortened() -> None:
    table = f"name{' ' * 26}  count\n{'─' * 37}\n{'a' * 30}     12\n{'b' * 10}{' ' * 20}      3"
    lines = fitted(table, 30).splitlines()
    assert {len(line) for line in lines} == {30}
    assert lines[2].endswith("     12")
    assert "…" in lines[2]
    assert "…" not in lines[3]


def test_pipes_get_text_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    show(TEXT)
    assert capsys.readouterr().out == TEXT + "\n"


def test_terminals_get_colours_unless_they_do_not_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    show("title\nrest", terminal)
    assert terminal.getvalue() == "\x1b[1mtitle\x1b[0m\nrest\n"
    assert styled("", "red", terminal) == ""
    assert not has_colours(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("title", "red", terminal) == "title"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert styled("title", "red", terminal) == "title"
