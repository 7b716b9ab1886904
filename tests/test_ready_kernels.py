"""Which kernels a wheel brings along, and what building it takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import archives
import kernel_networks
import package_build
import pytest
import ready_kernels
import varied_networks
from setuptools import build_meta

import tosajit as tj
from tosajit.kernels import ready
from tosajit.kernels.sets.cpus import named
from tosajit.kernels.sets.registry import SETS

MADE = """
from pathlib import Path
Path(os.environ["TOSAJIT_CACHE"], "kernel.o").touch()
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("host", ("native",)),
        ("none", ()),
        ("", ()),
        ("x86-64-v3, host,x86-64-v3", ("x86-64-v3", "native")),
        ("all", ready_kernels.WORDS["all"]),
    ],
)
def test_words_and_names_say_which_cpus(text: str, names: tuple[str, ...]) -> None:
    assert ready_kernels.cpus(text) == names


def test_all_has_every_set_of_this_architecture() -> None:
    features = [named("x86_64")[name] for name in ready_kernels.WORDS["all"]]
    best = {next(name for name, made in SETS.items() if made(one)) for one in features}
    assert best == set(SETS) - {"neon"}


def test_a_cpu_that_nobody_knows_is_refused_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ready_kernels, "FOLDER", tmp_path / "compiled")
    with pytest.raises(SystemExit, match=r"(?s)named 'z80'.*kernels for z80 .*TOSAJIT_KERNELS=none"):
        ready_kernels.compiled("z80", [Path("model.tosa")])
    assert not (tmp_path / "compiled").exists()


BUSY = {
    "itself": "while True: pass",
    "by a thread": "thread = Thread(target=exec, args=('while True: pass',)); thread.start(); thread.join()",
    "by processes that it waits for": """
import subprocess, sys
while True: subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"])
""",
}


@pytest.mark.parametrize("how", BUSY)
def test_a_build_that_takes_too_long_says_that_kernels_are_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    monkeypatch.setattr(ready_kernels, "FOLDER", tmp_path / "compiled")
    monkeypatch.setattr(ready_kernels, "MINUTES", 0.005)
    monkeypatch.setattr(ready_kernels, "COMPILE", MADE + BUSY[how])
    assert ready_kernels.compiled("native", [Path("model.tosa")]) == 1
    told = capsys.readouterr().out
    assert "stopped after 0.005 minutes of processor time, the rest is left to its first use" in told


def test_a_build_that_waits_for_a_busy_machine_has_all_its_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its limit is processor time; a process that sleeps stands for one that others keep waiting."""
    monkeypatch.setattr(ready_kernels, "FOLDER", tmp_path / "compiled")
    monkeypatch.setattr(ready_kernels, "MINUTES", 0.02)
    monkeypatch.setattr(ready_kernels, "COMPILE", "time.sleep(1.5)\n" + MADE)
    assert ready_kernels.compiled("native", [Path("model.tosa")]) == 1
    assert "stopped" not in capsys.readouterr().out


def test_kernels_are_put_where_they_are_looked_for() -> None:
    assert Path(ready.__file__).with_name("compiled") == ready_kernels.FOLDER


def test_our_models_are_there_in_both_of_their_forms() -> None:
    """The first line of the README compiles a sample from its TFLite file."""
    models = {path.parent.name: set[str]() for path in ready_kernels.ours()}
    for path in ready_kernels.ours():
        models[path.parent.name].add(path.name)
    assert {*tj.samples.names()} < models.keys()
    assert all(forms == {"model.tosa", "model.tflite"} for forms in models.values())


def test_the_networks_whose_kernels_come_along_are_there(tmp_path: Path) -> None:
    for archive in ready_kernels.NETWORKS:
        archives.unpack(archive, tmp_path)
    names = {path.stem for path in tmp_path.iterdir()}
    assert {name.rpartition("_")[2] for name in names} == {"f32", "i8", "i16x8", "qdq"}
    assert {f"{name}_i8" for name in (*kernel_networks.NETWORKS, *varied_networks.NETWORKS)} <= names
    kinds = {path.suffix for path in tmp_path.iterdir()}
    assert kinds == {".tflite", ".pt2", ".onnx"}


@pytest.mark.parametrize(("value", "needed"), [("none", False), ("host", True), (None, True)])
def test_only_a_build_that_compiles_needs_what_compiles(
    monkeypatch: pytest.MonkeyPatch, value: str | None, needed: bool
) -> None:
    monkeypatch.setattr(build_meta, "get_requires_for_build_wheel", lambda settings: ["wheel"])
    monkeypatch.delenv(ready_kernels.VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(ready_kernels.VARIABLE, value)
    found = package_build.get_requires_for_build_wheel()
    assert found[0] == "wheel"
    assert any(name.startswith("numba") for name in found[1:]) == needed


def built(monkeypatch: pytest.MonkeyPatch, count: int, settings: package_build.Settings) -> object:
    """What setuptools is asked for, where so many kernels have been compiled."""
    asked: list[object] = []

    def build(folder: str, settings: object, metadata: str | None) -> str:
        asked.append(settings)
        return "name.whl"

    monkeypatch.setattr(ready_kernels, "make", lambda names: count)
    monkeypatch.setattr(build_meta, "build_wheel", build)
    assert package_build.build_wheel("folder", settings) == "name.whl"
    return asked[0]


def test_a_wheel_with_kernels_is_one_of_a_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysconfig.get_platform", lambda: "amiga-68k")
    assert built(monkeypatch, 0, None) == {}
    assert built(monkeypatch, 9, None) == {"--build-option": ["--plat-name=amiga-68k"]}
    assert built(monkeypatch, 9, {"--build-option": "-v"}) == {
        "--build-option": ["-v", "--plat-name=amiga-68k"]
    }
    own = {"--build-option": ["--plat-name=manylinux_2_28_x86_64"]}
    assert built(monkeypatch, 9, own) == own


def test_a_process_that_compiles_finds_what_the_build_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What pip installs to build a wheel is on the path of the build's process, and nowhere else."""
    (tmp_path / "installed_for_the_build.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    found = ready_kernels.environment("native", "cache")
    assert (found["TOSAJIT_CPU"], found["TOSAJIT_CACHE"]) == ("native", "cache")
    code = "import installed_for_the_build, llvmlite, tosajit; print(tosajit.__file__)"
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, env=found, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(ready_kernels.ROOT)
