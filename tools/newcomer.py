"""Time what a newcomer waits for: a copy's first simulated model, a help text, a notebook's first result.

`make newcomer` clones the repository to a temporary folder and runs `make demo` there, with no package and no
kernel in a cache; needs nothing but Python, git and make. Prints one closing line; 1 if a bound is missed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
HELPS = 9
FIRST_CELLS = """
import io, json, sys, time
from contextlib import redirect_stdout
cells = [cell for cell in json.load(open(sys.argv[1]))["cells"] if cell["cell_type"] == "code"]
names, started = {}, time.perf_counter()
for cell in cells:
    with redirect_stdout(io.StringIO()) as said:
        exec("".join(cell["source"]), names)
    if "I see a" in said.getvalue():
        break
else:
    sys.exit("no cell says what it sees")
print(json.dumps(time.perf_counter() - started))
"""
"""Runs the cells of the first notebook up to its first result, in an interpreter of its own."""


@dataclass(frozen=True)
class Wait:
    """Something that takes time, and how long it may take."""

    what: str
    seconds: float
    bound: float

    def __str__(self) -> str:
        verdict = "" if self.seconds <= self.bound else ", missed"
        return f"{self.what} {self.seconds:.2f} s (≤ {self.bound:g} s{verdict})"


def main() -> int:
    """Measure everything; say it in a line."""
    waits = []
    with tempfile.TemporaryDirectory() as folder:
        for wait in measured(Path(folder)):
            print(wait, flush=True)
            waits.append(wait)
    failed = sum(wait.seconds > wait.bound for wait in waits)
    print(f"newcomer: {'; '.join(map(str, waits))}: {'pass' if not failed else f'{failed} missed'}")
    return int(failed > 0)


def measured(folder: Path) -> Iterator[Wait]:
    """All waits, one after another, in a new copy of the repository."""
    copy = folder / "tosajit"
    environment = {name: text for name, text in os.environ.items() if not name.startswith("TOSAJIT_")}
    environment.update(
        PIP_NO_CACHE_DIR="1",
        PYTHONUNBUFFERED="1",
        TOSAJIT_CACHE=str(folder / "kernels"),
        PYTHON=sys.executable,
    )
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.pop("MAKEFLAGS", None)
    first, whole = demo(copy, environment)
    yield Wait("clone to first simulated model", first, 180)
    yield Wait("clone to the end of make demo", whole, 180)
    command = [str(copy / ".venv" / "bin" / "tosajit"), "--help"]
    yield Wait("tosajit --help", statistics.median(duration(command, environment) for _ in range(HELPS)), 0.3)
    environment["TOSAJIT_CACHE"] = str(folder / "other kernels")
    for state in ("cold", "warm"):
        yield Wait(f"notebook 1 to first result, {state}", first_result(copy, environment), 10)


def demo(copy: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds from cloning to the first report of the simulator, and to the end of the demonstration."""
    started = time.perf_counter()
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
    first = 0.0
    command = ["make", "demo", f"PYTHON={sys.executable}"]
    with subprocess.Popen(command, cwd=copy, env=environment, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout or ():
            if not first and "inferences/s" in line:
                first = time.perf_counter() - started
    if running.returncode or not first:
        raise SystemExit(f"make demo ended with {running.returncode}, and showed no simulated model")
    return first, time.perf_counter() - started


def duration(command: list[str], environment: dict[str, str]) -> float:
    """Seconds of a process."""
    started = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def first_result(copy: Path, environment: dict[str, str]) -> float:
    """Seconds from the first cell of the first notebook to its first result."""
    notebook = copy / "notebooks" / "1_quickstart.ipynb"
    (copy / "build").mkdir(exist_ok=True)
    command = [str(copy / ".venv" / "bin" / "python"), "-P", "-c", FIRST_CELLS, str(notebook)]
    done = subprocess.run(
        command, cwd=copy / "build", env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return float(json.loads(done.stdout))


if __name__ == "__main__":
    sys.exit(main())
