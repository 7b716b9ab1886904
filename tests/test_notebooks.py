"""The notebooks: every cell runs, and what they are committed with is what they show."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
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
def test_it_is_committed_with_what_it_shows(path: Path) -> None:
    counts = [cell["execution_count"] for cell in cells(path)]
    assert counts == list(range(1, len(counts) + 1)), "run tools/notebooks.py"
    kinds = {output["output_type"] for cell in cells(path) for output in cell["outputs"]}
    assert "error" not in kinds
    data = [kind for cell in cells(path) for output in cell["outputs"] for kind in output.get("data", {})]
    assert "text/html" in data


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
def test_what_it_shows_is_current(path: Path) -> None:
    missing = [
        name for name in ("nbclient", "nbformat", "ipykernel") if importlib.util.find_spec(name) is None
    ]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install '.[test]'")
    import notebooks

    assert list(notebooks.compared(notebooks.read(path), notebooks.executed(path))) == []


def test_times_are_free_and_cycles_are_not() -> None:
    import notebooks

    def cell(text: str) -> Any:
        return {"outputs": [nbformat_stream(text)]}

    first, second = cell("12 µs a picture, 100 cycles"), cell("900.5 µs a picture, 100 cycles")
    assert notebooks.shown(first) == notebooks.shown(second)
    assert notebooks.shown(first) != notebooks.shown(cell("12 µs a picture, 101 cycles"))


def nbformat_stream(text: str) -> Any:
    from nbformat.v4 import new_output

    return new_output("stream", name="stdout", text=text)


@each_notebook
def test_the_site_has_a_page_of_it(path: Path) -> None:
    import docs_notebooks

    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f": notebooks/{path.stem}.md\n" in menu
    text = docs_notebooks.markdown(path.stem)
    assert text.count("```python\n") == len(cells(path))
    marks = re.findall(r"<!-- shown .* -->", text)
    assert len(marks) == sum(bool(cell["outputs"]) for cell in cells(path))
    assert "<!-- shown" not in docs_notebooks.filled("\n".join(marks))
