"""The notebooks: committed without output, and every cell runs."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@each_notebook
def test_it_is_committed_without_output(path: Path) -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells(path))


def test_each_notebook_leads_to_the_next_and_no_link_is_dead() -> None:
    for path, follower in zip(NOTEBOOKS, [*NOTEBOOKS[1:], None], strict=True):
        notebook = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in notebook if cell["cell_type"] == "markdown"]
        links = re.findall(r"\]\(([^):]+)\)", "".join(texts))
        assert all((path.parent / link).is_file() for link in links)
        assert follower is None or f"({follower.name})" in texts[-1]


@each_notebook
def test_its_cells_run_in_order(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for number, cell in enumerate(cells(path)):
        code = compile("".join(cell["source"]), f"{path.name}, code cell {number}", "exec")
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, names)
    assert list(tmp_path.iterdir()) == []


def test_the_quickstart_says_what_its_text_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    said = []
    for cell in cells(ROOT / "notebooks" / "1_quickstart.ipynb"):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec("".join(cell["source"]), names)
        said.append(output.getvalue())
    text = "".join(said)
    assert "I see a 5" in text
    assert "program for tiny" in text
    assert "[TOSA 1.0.1 section 2.3.3]" in text
    assert "no overflow" in text
    assert "at i0=2" in text
    assert "27 takes 111 steps" in text


@pytest.mark.slow
@each_notebook
def test_it_runs_in_a_kernel(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [
        name for name in ("nbclient", "nbformat", "ipykernel") if importlib.util.find_spec(name) is None
    ]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install '.[test]'")
    import nbclient
    import nbformat

    paths = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    html = [output.data for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    assert any("text/html" in data for data in html)
