"""What is handed out: the sdist has all that its tests need, the wheel all that its users need."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("sim", "tiling", "tosajit")
COMPILED = "tosajit/kernels/compiled/"
MADE_BY_SETUPTOOLS = ("PKG-INFO", "setup.cfg", "tosajit.egg-info/")
WHEEL_BYTES, KERNEL_BYTES = 6_000_000, 1_500_000
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packages")]


class Packages(NamedTuple):
    """An sdist, and the wheel that was built from it."""

    sdist: Path
    wheel: Path


class Elsewhere(NamedTuple):
    """An environment with the wheel, and a folder far from the repository."""

    binaries: Path
    folder: Path

    def run(self, *command: str | Path, folder: Path | None = None) -> str:
        """What a command of the environment prints; a warning is an error."""
        name, *words = map(str, command)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL"))}
        done = subprocess.run(
            [self.binaries / name, *words], cwd=folder or self.folder, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**kept, "MPLBACKEND": "agg"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout


def tracked() -> list[str]:
    """The files of the repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git repository: what belongs into an sdist is not known")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return sorted(name for name in done.stdout.split("\0") if name and (ROOT / name).exists())


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("packages")
    for name in tracked():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    subprocess.run([sys.executable, "-m", "build", "--outdir", made, source], check=True, capture_output=True)
    (sdist,), (wheel,) = made.glob("*.tar.gz"), made.glob("*.whl")
    return Packages(sdist, wheel)


@pytest.fixture(scope="module")
def unpacked(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with tarfile.open(packages.sdist) as archive:
        archive.extractall(folder := tmp_path_factory.mktemp("sdist"), filter="data")
    (top,) = folder.iterdir()
    return top


@pytest.fixture(scope="module")
def elsewhere(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    place = tmp_path_factory.mktemp("environment")
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--python", sys.executable, place / "venv"], check=True)
    binaries = place / "venv" / "bin"
    install = [*uv, "pip", "install", "--python", str(binaries / "python"), f"{packages.wheel}[test]"]
    subprocess.run(install, check=True)
    return Elsewhere(binaries, tmp_path_factory.mktemp("elsewhere"))


def names(wheel: Path) -> set[str]:
    return set(ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def metadata(packages: Packages) -> bytes:
    with ZipFile(packages.wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name)


def test_the_sdist_has_the_files_of_the_repository(unpacked: Path) -> None:
    found = (path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file())
    assert sorted(name for name in found if not name.startswith(MADE_BY_SETUPTOOLS)) == tracked()


def test_the_wheel_has_the_files_of_the_packages(packages: Packages) -> None:
    found = names(packages.wheel)
    assert {name for name in found if ".dist-info/" not in name and not name.startswith(COMPILED)} == {
        name for name in tracked() if name.startswith(tuple(f"{package}/" for package in PACKAGES))
    }
    assert {f"{package}/py.typed" for package in PACKAGES} <= found
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in found)
    with ZipFile(packages.wheel) as archive:
        kernels = sum(one.compress_size for one in archive.infolist() if one.filename.startswith(COMPILED))
    assert kernels < KERNEL_BYTES
    assert packages.wheel.stat().st_size - kernels < WHEEL_BYTES


def test_the_wheel_has_kernels_for_this_machine_and_its_name_says_so(packages: Packages) -> None:
    compiled = [name for name in names(packages.wheel) if name.startswith(COMPILED)]
    assert len(compiled) > 50
    assert all(name.startswith(f"{COMPILED}native/") for name in compiled)
    assert not packages.wheel.name.endswith("-any.whl")


def test_the_metadata_are_valid_and_complete(metadata: bytes) -> None:
    from packaging.metadata import Metadata

    valid = Metadata.from_email(metadata, validate=True)
    assert valid.license_expression == "Apache-2.0"
    assert valid.license_files == ["LICENSE"]
    assert valid.description_content_type == "text/markdown"
    assert str(valid.requires_python) == ">=3.11"
    assert (valid.description or "").strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


def test_the_wheel_is_used_far_from_the_repository(elsewhere: Elsewhere) -> None:
    program = elsewhere.folder / "program.py"
    program.write_text(
        "import numpy as np, tosajit as tj, sim, tiling\n"
        "print(*sorted({module.__file__ for module in (tj, sim, tiling)}), sep='\\n')\n"
        "for name in tj.samples.names():\n"
        "    graph, case = tj.samples.load(name), tj.samples.cases(name)[0]\n"
        "    outputs = tj.compile(graph)(*case.inputs)\n"
        "    outputs = outputs if isinstance(outputs, tuple) else (outputs,)\n"
        "    assert all(map(np.array_equal, outputs, case.outputs))\n"
        "    assert tj.simulate(graph, 'ethos-u55-128').cycles\n"
    )
    files = elsewhere.run("python", "-W", "error", program).splitlines()
    assert len(files) == 3
    assert all(Path(file).is_relative_to(elsewhere.binaries.parent) for file in files)


NOTHING_COMPILED = """
import numpy as np, tosajit as tj
from tosajit.kernels import native, objects
native.compile_object = None  # would fail
objects.helpers = None
for name in tj.samples.names():
    graph, case = tj.samples.load(name), tj.samples.cases(name)[0]
    outputs = tj.compile(graph)(*case.inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    assert all(map(np.array_equal, outputs, case.outputs))
"""


def test_the_samples_compile_nothing_where_the_wheel_is_installed(
    elsewhere: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CACHE", str(tmp_path))
    (program := elsewhere.folder / "nothing.py").write_text(NOTHING_COMPILED)
    elsewhere.run("python", "-W", "error", program)
    assert not list(tmp_path.glob("*.o"))


NEW = """
import numpy as np
import tosajit as tj
from tosajit.kernels import native
from tosajit.operators import ADD, BITWISE_XOR, SUB
native.compile_object = None  # would fail
graph = tj.GraphBuilder()
x, y = (graph.input(name, tj.INT32, (9, 5)) for name in "xy")
for operator in (ADD(), BITWISE_XOR(), SUB(), SUB(), BITWISE_XOR(), ADD(), BITWISE_XOR()):
    x = graph.add(operator, [x, y])
graph.output(x)
a, b = np.arange(45, dtype=np.int32).reshape(9, 5), np.full((9, 5), 11, np.int32)
found = tj.compile(graph.build(), generic="always")(a, b)
assert np.array_equal(found, (((((a + b) ^ b) - b - b) ^ b) + b) ^ b)
"""


def test_a_group_that_nobody_has_compiled_runs_where_the_wheel_is_installed(
    elsewhere: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CACHE", str(tmp_path))
    (program := elsewhere.folder / "new.py").write_text(NEW)
    elsewhere.run("python", "-W", "error", program)
    assert not list(tmp_path.glob("*.o"))


def test_the_command_works_far_from_the_repository(elsewhere: Elsewhere) -> None:
    assert elsewhere.run("tosajit", "--version").startswith("tosajit 0.1.0")
    elsewhere.run("tosajit", "samples", "resnet8")
    assert "no violations" in elsewhere.run("tosajit", "check", "resnet8/model.tosa")
    found = elsewhere.run("tosajit", "run", "resnet8/model.tosa", "--random", "--json")
    assert json.loads(found)
    elsewhere.run("tosajit", "simulate", "resnet8/model.tosa", "--html", "page.html")
    assert "<title>resnet8" in (elsewhere.folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_far_from_the_repository(path: Path, elsewhere: Elsewhere) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    program = elsewhere.folder / f"{path.stem}.py"
    program.write_text("\n".join(code), encoding="utf-8")
    elsewhere.run("python", program)


TESTS_OF_THE_SDIST = (
    "test_exports.py",
    "test_files.py",
    "test_files_fuzz.py",
    "test_layers.py",
    "test_notebooks.py",
    "test_readme.py",
    "test_samples.py",
    "sim/test_machines_files.py",
    "sim/test_validation.py",
)


def test_the_tests_of_the_sdist_run_where_it_is_unpacked(unpacked: Path, elsewhere: Elsewhere) -> None:
    tests = [unpacked / "tests" / name for name in TESTS_OF_THE_SDIST]
    said = elsewhere.run("python", "-m", "pytest", "-q", *tests, folder=unpacked)
    assert " passed" in said
    assert " skipped" not in said
