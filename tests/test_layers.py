"""The packages depend on each other in one direction, and importing them is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
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


ROOMS = {
    "sim": [
        {"arrays", "files", "processes", "tables", "bar"},
        {"machine", "report"},
        {"cost"},
        {"events"},
        {"planning"},
        {"ahead"},
        {"spreading"},
        {"spread_after"},
        {"streams"},
        {"analytic"},
        {"explore"},
        {""},
    ],
    "tosajit": [
        {"arrays", "errors", "dtypes", "garbage", "log", "profiles", "version"},
        {"storage"},
        {"graph", "accuracy"},
        {"operators"},
        {"checks", "files"},
        {"kernels"},
        {"customs", "host", "display"},
        {"plans"},
        {"compiler"},
        {"runtime"},
        {"tracing"},
        {"ops"},
        {"frontends"},
        {"compiling", "samples", "npu", "nnef", "nn"},
        {"modules", "quantization"},
        {""},
        {"conformance", "cli"},
        {"__main__"},
    ],
}
"""What the packages consist of, lowest first: a room imports only lower ones. `""` is the package itself."""
ROW = {
    (package, name): row for package in ROOMS for row, names in enumerate(ROOMS[package]) for name in names
}
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ROOMS
    for path in sorted((ROOT / package).rglob("*.py"))
}


def room(module: str) -> tuple[str, str]:
    """A package, and the package or module below it that a module belongs to."""
    package, _, rest = module.partition(".")
    return package, rest.partition(".")[0]


def modules_imported(path: Path) -> Iterator[str]:
    """The modules of these packages that a file imports, wherever in the file, for types alone too."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name in MODULES)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                found = {f"{module}.{name.name}" for name in names}
                yield from found & MODULES.keys()
                if module in MODULES and not found <= MODULES.keys():
                    yield module


def test_every_room_has_its_place() -> None:
    assert {room(module) for module in MODULES} == set(ROW)


@pytest.mark.parametrize("module", MODULES)
def test_rooms_import_only_lower_ones(module: str) -> None:
    own = room(module)
    inside = [one for one in map(room, modules_imported(MODULES[module])) if one[0] == own[0]]
    upper = [one for one in inside if one != own and ROW[one] >= ROW[own]]
    assert upper == [] or module in ROOMS


def test_no_modules_import_each_other() -> None:
    inside = {module: path for module, path in MODULES.items() if module not in ROOMS}
    found = {module: set(modules_imported(path)) - {module, *ROOMS} for module, path in inside.items()}
    TopologicalSorter(found).prepare()


IMPORTS = [
    *("import tiling", "import tosajit", "import tosajit.conformance", "import tosajit.cli"),
    "import tosajit.runtime.building",
]
LOADS = "import tosajit as tj; g = tj.samples.load('ds_cnn'); tj.validate(g); str(g); repr(g)"


@pytest.mark.parametrize("code", [*IMPORTS, LOADS])
def test_what_compiles_nothing_does_not_import_numba(code: str) -> None:
    said = "import sys; print(sorted({'numba', 'llvmlite'} & set(sys.modules)))"
    command = [sys.executable, "-c", f"{code}; {said}"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.parametrize("name", ["model.tosa", "model.tflite"])
def test_a_load_imports_only_what_it_needs(name: str) -> None:
    path = ROOT / "tosajit" / "samples" / "ds_cnn" / name
    heavy = {
        "numba",
        "llvmlite",
        "pydantic",
        "sim.machine.parts",
        "tosajit.kernels.objects",
        "tosajit.compiler",
        "asyncio",
    }
    code = f"import sys, tosajit; tosajit.load({str(path)!r}); print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_a_warm_run_imports_no_model_of_machines() -> None:
    code = "import tosajit as tj; tj.compile(tj.samples.load('ds_cnn'))"
    said = "import sys; print(sorted({'numba', 'pydantic', 'sim.machine.parts'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    command = [sys.executable, "-c", f"{code}; {said}"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
