"""What lies in the current folder is never run, whichever process is started there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tosajit as tj
from sim.processes import search_path

ROOT = Path(__file__).parents[1]
MODEL = tj.samples.path("ds_cnn")
SPACE = {"base": "systolic-16", "fields": {"array.rows": [8, 16, 32], "array.columns": [8, 16]}}
HOSTILE = (
    "json numpy numba llvmlite sitecustomize usercustomize pickle traceback socket cloudpickle scipy yaml "
    "argparse pathlib dataclasses hashlib tempfile subprocess threading sim tosajit tiling pydantic"
).split()
EVIL = "import os; open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ran.' + __name__), 'w')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder full of modules that must not run, with a space."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in HOSTILE:
        (folder / f"{name}.py").write_text(EVIL)
    (folder / "space.json").write_text(json.dumps(SPACE))
    return folder


def started(folder: Path, *command: object, **environment: str) -> str:
    """Run a Python in the folder with a cache of its own; asserts that nothing of the folder ran."""
    usual = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=folder,
        env={**usual, "TOSAJIT_CACHE": str(folder.parent / "cache"), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert sorted(path.name for path in folder.glob("ran.*")) == []
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", [(Path(sys.executable).with_name("tosajit"),), ("-P", "-m", "tosajit")])
def test_workers_of_an_exploration(folder: Path, script: tuple[object, ...]) -> None:
    out = folder.parent / "out"
    asked = ("space.json", MODEL, "--strategy", "grid", "--workers", 2, "--out", out)
    assert "least latency" in started(folder, *script, "explore", *asked)
    assert len((out / "results.csv").read_text().splitlines()) == 7


def test_helpers_that_compile(folder: Path) -> None:
    """What a safe Python ignores, its helpers ignore as well."""
    surprises = {"PYTHONPATH": str(folder), "PYTHONSTARTUP": str(folder / "json.py"), "PYTHONINSPECT": "1"}
    said = started(folder, "-I", "-m", "tosajit", "cache", "warm", MODEL, **surprises)
    assert int(said.split(": ")[1].split()[0]) > 4


def test_the_package_as_a_script_may_lie_in_the_current_folder() -> None:
    assert "ds_cnn" in started(ROOT, "-m", "tosajit", "simulate", MODEL)


@pytest.mark.parametrize("module", ["numpy", "json", "argparse", "sim", "tiling", "pydantic"])
def test_the_package_as_a_script_forgets_the_current_folder(tmp_path: Path, module: str) -> None:
    (tmp_path / f"{module}.py").write_text(EVIL)
    assert "ds_cnn" in started(tmp_path, "-m", "tosajit", "simulate", MODEL)


MINE = """
import sys
import tosajit as tj

def explored(workers, *objectives):
    space = tj.Space("systolic-16", {"array.rows": [8, 16]})
    asked = {"objectives": objectives, "strategy": "grid", "mode": "events", "workers": workers}
    return tj.explore(sys.argv[1], space, **asked)

if __name__ == "__main__":
    explored(1, "latency", "area")  # imports all that this process needs
    sys.path.insert(0, "")
    import mine
    print(len(explored(1, mine.idle, "area")))
"""


JOBS = """
import sys
sys.path.append({tools!r})
from workers import run_jobs

if __name__ == "__main__":
    print(sorted(run_jobs(abs, [-1, -2], lambda job, why: 0, 2, lambda job: 60.0)))
"""


def test_workers_find_modules_beside_the_user_behind_all_others(folder: Path) -> None:
    """An interactive Python finds modules in the current folder; so do its workers, but nothing is hidden."""
    (folder / "mine.py").write_text("def idle(report):\n    return report.cycles\n")
    script = folder.parent / "script.py"
    script.write_text(MINE)
    assert started(folder, script, MODEL) == "2\n"


def test_jobs_of_tools(folder: Path) -> None:
    script = folder.parent / "script.py"
    script.write_text(JOBS.format(tools=str(ROOT / "tools")))
    assert started(folder, script) == "[1, 2]\n"


def test_the_search_path_has_the_current_folder_last_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "/one", str(tmp_path), "two"])
    assert search_path() == ["/one", str(tmp_path / "two"), str(ROOT)]
    assert search_path(beside=True) == ["/one", str(tmp_path / "two"), str(ROOT), str(tmp_path)]
    monkeypatch.setattr(sys, "path", ["/one"])
    assert search_path(beside=True) == ["/one", str(ROOT)]


def test_a_package_in_the_current_folder_is_found_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", ["", "/one"])
    assert search_path() == [str(ROOT), "/one"]


def test_a_current_folder_that_is_gone_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setattr(sys, "path", ["", "/one"])
    assert search_path(beside=True) == ["/one", str(ROOT)]
