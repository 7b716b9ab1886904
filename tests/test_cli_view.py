"""`tosajit view`: a page with the graph, in a browser or in a file."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

import pytest

from tests.sim.test_page import data_of
from tosajit import samples
from tosajit.cli import main

MODEL = str(samples.path("ds_cnn"))


def test_the_page_is_written_and_names_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: pytest.fail(url))
    path = tmp_path / "page.html"
    assert main(["view", MODEL, "--machine", "systolic-16", "-o", str(path)]) == 0
    assert capsys.readouterr().out == f"written to {path}\n"
    text = path.read_text(encoding="utf-8")
    assert "<title>ds_cnn on systolic-16</title>" in text
    (report,) = data_of(text)["reports"]
    operators = report["operators"]
    assert operators["after"][1] == [0]
    assert operators["layer"][0]["channels"] == 1
    assert operators["why"][0].startswith("Waits for weights")
    assert operators["program"][0].startswith("group 0: contract")
    assert len(report["whatif"]["cycles"]) == 5 * 5 * 3 * 5


def test_without_a_file_a_browser_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    asked: list[str] = []

    def opens(url: str) -> bool:
        asked.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", opens)
    assert main(["view", MODEL]) == 0
    (page,) = tmp_path.rglob("page.html")
    assert asked == [page.as_uri()]
    assert capsys.readouterr().out == f"opened {page}\n"
    page.unlink()
    assert main(["view", MODEL, "--json"]) == 0
    (page,) = tmp_path.rglob("page.html")
    assert json.loads(capsys.readouterr().out) == {"page": str(page), "opened": True}


def test_a_folder_that_is_not_there_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", MODEL, "-o", str(tmp_path / "none" / "page.html")]) == 1
    assert "none" in capsys.readouterr().err
