"""The packages depend on each other in one direction, and importing them is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORBIDDEN = {"tiling": {"tosajit", "sim", "numba", "llvmlite"}, "sim": {"tosajit", "numba", "llvmlite"}}
SOURCES = [path for package in FORBIDDEN for path in sorted((ROOT / package).rglob("*.py"))]


def imported(path: Path) -> Iterator[str]:
    """Yield the packages that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (name.name.split(".")[0] for name in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.split(".")[0]


def test_sources_of_the_lower_layers_are_found() -> None:
    assert any(path.is_relative_to(ROOT / "tiling") for path in SOURCES)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_lower_layers_do_not_import_upper_ones(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    assert FORBIDDEN[package].isdisjoint(imported(path))


IMPORTS = ["import tiling", "import tosajit", "import tosajit.conformance", "import tosajit.cli"]
LOADS = "import tosajit as tj; g = tj.samples.load('ds_cnn'); tj.validate(g); str(g); repr(g)"


@pytest.mark.parametrize("code", [*IMPORTS, LOADS])
def test_what_compiles_nothing_does_not_import_numba(code: str) -> None:
    said = "import sys; print(sorted({'numba', 'llvmlite'} & set(sys.modules)))"
    command = [sys.executable, "-c", f"{code}; {said}"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
