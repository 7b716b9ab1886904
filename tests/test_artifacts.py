"""Executables that are stored and loaded: by every path the same bits, and damage is noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests import models, test_control_flow, test_variables
from tests.building import add_all
from tests.test_cache import as_root, given_away, writable, writable_by_all
from tosajit import customs
from tosajit.arrays import Array
from tosajit.cli import main
from tosajit.compiler.options import Options
from tosajit.customs.attributes import written
from tosajit.graph import Graph
from tosajit.kernels import cache
from tosajit.operators import CUSTOM
from tosajit.runtime import kept
from tosajit.runtime.archive import packed, unpacked
from tosajit.runtime.executable import Executable
from tosajit.runtime.keeping import EXPLAINED


def suppression() -> Graph:
    """An operator whose meaning tosajit knows, with operands that are constants, between others."""
    builder = tj.GraphBuilder()
    boxes, scores = builder.input("boxes", tj.FP32, (6, 4)), builder.input("scores", tj.FP32, (6,))
    numbers = [builder.const(np.array([one], np.float32), tj.FP32) for one in (0.5, 0.0, 0.0)]
    given = written(max_output_size=3)
    operator = CUSTOM(
        operator_name="NON_MAX_SUPPRESSION", domain_name=customs.DOMAIN, implementation_attrs=given
    )
    outputs = [(tj.INT32, (3,)), (tj.FP32, (3,)), (tj.INT32, ())]
    places, best, count = add_all(builder, operator, [boxes, scores, *numbers], outputs)
    builder.output(builder.add(tj.OPERATORS["ABS"](), [places]), best, count)
    return builder.build()


def squares(domain: str = "mine", operator_name: str = "square") -> Graph:
    """An operator of the user's."""
    builder = tj.GraphBuilder()
    operator = CUSTOM(operator_name=operator_name, domain_name=domain)
    builder.output(*add_all(builder, operator, [builder.input("x", tj.FP32, (3,))], [(tj.FP32, (3,))]))
    return builder.build()


MORE: dict[str, Callable[[], Graph]] = {
    "suppression": suppression,
    "choice": test_control_flow.choice,
    "variables": test_variables.accumulator,
}


def drawn(graph: Graph, seed: int = 0) -> list[Array]:
    """Random inputs."""
    random = np.random.default_rng(seed)
    return [
        random.integers(0, 2 if v.dtype is tj.BOOL else 50, v.shape).astype(v.dtype.storage)
        for v in graph.inputs
    ]


def results(executable: Executable, inputs: Sequence[Array]) -> list[tuple[str, bytes]]:
    """Types and bits of two runs, one after the other."""
    found = []
    for _ in range(2):
        given = executable(*inputs)
        arrays = given if isinstance(given, tuple) else (given,)
        found += [(str(array.dtype) + str(array.shape), array.tobytes()) for array in arrays]
    return found


@pytest.fixture
def keeping(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache with the user's kernels that keeps all executables, whatever they cost."""
    for variable in EXPLAINED:
        monkeypatch.delenv(variable, raising=False)
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    for kernel in (cache.cache_folder() or folder).glob("*.o"):
        with suppress(OSError):  # of another disk: it is compiled
            (folder / kernel.name).hardlink_to(kernel)
    monkeypatch.setenv("TOSAJIT_CACHE", str(folder))
    monkeypatch.setattr(kept, "WORTH_SECONDS", 0.0)
    return folder


def kept_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tjx"))


OPTIONS: dict[str, dict[str, Any]] = {
    "host": {},
    "threads": {"threads": 2},
    "tiny": {"target": tj.TINY},
    "checked": {"checked": True},
}
GRAPHS = {"ds_cnn": lambda: tj.samples.load("ds_cnn"), **MORE}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", GRAPHS)
def test_every_path_gives_the_same_bits(name: str, options: str, keeping: Path) -> None:
    graph, asked = GRAPHS[name](), OPTIONS[options]
    inputs = drawn(graph)
    made = tj.compile(graph, **asked)
    expected = results(made, inputs)
    assert len(kept_files(keeping)) == 1
    made.save(keeping / "saved")
    from_cache, from_file = tj.compile(graph, **asked), tj.load_executable(keeping / "saved")
    assert results(from_cache, inputs) == expected
    assert results(from_file, inputs) == expected
    assert repr(from_cache) == repr(from_file) == repr(made)
    assert str(from_cache) == str(made)
    from_file.save(keeping / "again")
    assert (keeping / "again").read_bytes() == (keeping / "saved").read_bytes()


def test_weights_that_are_packed_are_held_as_such_alone() -> None:
    graph = models.graph("mobilenet_v2")
    (runner,) = tj.compile(graph).body.runners
    weights = {node.inputs[1] for node in graph.main.nodes if "CONV2D" in node.operator.opcode}
    assert len(weights) > 50
    assert weights.isdisjoint(runner.program.constants)


def test_what_comes_from_the_cache_has_programs_and_stages(keeping: Path) -> None:
    graph = tj.samples.load("ds_cnn")
    made, again = tj.compile(graph), tj.compile(graph)
    assert again.program == made.program
    assert str(again.explain()) == str(made.explain())
    assert list(again.stages) == list(made.stages)


TEXT = """operator square {{
    @input {{ x: real[s..]; }} @output {{ y: real[s..]; }} @lower {{ y[i..] = {}, i < s; }}
}}"""


def test_what_texts_say_is_kept_and_saved_until_they_say_something_else(keeping: Path) -> None:
    x = np.full(3, 3, np.float32)
    for text, expected in (("x[i..] * x[i..]", 9), ("-x[i..]", -3), ("x[i..] * x[i..]", 9)):
        meaning = {("mine", "square"): tj.Custom(nnef=TEXT.format(text))}
        made = tj.compile(squares(), custom=meaning)
        assert made(x).tolist() == [expected] * 3
    assert len(kept_files(keeping)) == 2
    made.save(keeping / "saved")
    assert tj.load_executable(keeping / "saved")(x).tolist() == [9, 9, 9]


def test_what_is_a_function_of_the_users_is_neither_kept_nor_saved(keeping: Path) -> None:
    meaning = {("mine", "square"): tj.Custom(lambda x: x * x)}
    made = tj.compile(squares(), custom=meaning)
    assert made(np.full(3, 3, np.float32)).tolist() == [9, 9, 9]
    assert not kept_files(keeping)
    with pytest.raises(tj.CompileError, match=r"CUSTOM, 'square' of domain 'mine'.*Python runs it"):
        made.save(keeping / "saved")


def test_an_operator_of_ours_that_the_user_has_given_another_meaning_is_not_kept(keeping: Path) -> None:
    meaning = {(customs.DOMAIN, "WHERE"): tj.Custom(lambda x: x)}
    made = tj.compile(squares(customs.DOMAIN, "WHERE"), custom=meaning)
    assert not kept_files(keeping)
    with pytest.raises(tj.CompileError, match="Python runs it"):
        made.save(keeping / "saved")


def test_a_file_that_names_an_operator_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "made"
    tj.compile(suppression()).save(path)

    def change(made: dict[str, Any]) -> None:
        (step,) = [one for body in made["bodies"] for one in body["steps"] if one[0] == "known"]
        step[2] = "os.system"

    rewritten(path, change)
    with pytest.raises(tj.FileError, match=r"there is no operator 'os\.system'"):
        tj.load_executable(path)


def test_a_checked_executable_of_a_file_still_tells_what_is_broken(tmp_path: Path) -> None:
    graph = tj.trace(tj.ops.intdiv, np.ones(3, np.int32), np.ones(3, np.int32))
    tj.compile(graph, checked=True).save(tmp_path / "made")
    loaded = tj.load_executable(tmp_path / "made")
    with pytest.raises(tj.RequireError, match=r"intdiv.*at i0=1"):
        loaded(np.ones(3, np.int32), np.array([1, 0, 1], np.int32))


def test_a_file_runs_without_what_compiles(tmp_path: Path) -> None:
    graph = tj.samples.load("ds_cnn")
    executable, (image,) = tj.compile(graph), drawn(graph)
    executable.save(tmp_path / "made")
    np.save(tmp_path / "image.npy", image)
    code = """
import sys
import numpy as np
import tosajit as tj
found, *_ = tj.load_executable(sys.argv[1])(np.load(sys.argv[2]))
heavy = {
    "numba", "pydantic", "html", "logging", "numpy.typing", "ml_dtypes", "tiling.plan",
    "tosajit.graph.operator", "tosajit.compiler.stages", "tosajit.operators", "tosajit.checks",
    "tosajit.kernels.sets.description", "sim.machine.formats",
}
print(found.tobytes().hex(), sorted(heavy & set(sys.modules)))
"""
    command = [sys.executable, "-c", code, str(tmp_path / "made"), str(tmp_path / "image.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == f"{executable(image)[0].tobytes().hex()} []\n"


def test_what_the_cache_has_is_found_without_the_stages(keeping: Path) -> None:
    code = """
import sys
import tosajit as tj
from tosajit.runtime import kept
kept.WORTH_SECONDS = 0.0
made = tj.compile(tj.samples.load("ds_cnn"))
heavy = {
    "numba", "pydantic", "logging", "tosajit.compiler.stages", "tosajit.checks.validation", "tiling.plan",
}
print(len(heavy & set(sys.modules)) == 0)
"""
    said = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(2)]
    assert [(one.stdout, one.stderr) for one in said] == [("False\n", ""), ("True\n", "")]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A small executable in a file."""
    path = tmp_path / "saved.tjx"
    tj.compile(tj.trace(tj.ops.abs, np.zeros(5, np.int32))).save(path)
    return path


def test_a_damaged_file_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    random = np.random.default_rng(0)
    for length in [0, 1, 15, 63, 64, len(whole) - 1, *random.integers(64, len(whole), 5)]:
        saved.write_bytes(whole[:length])
        with pytest.raises(tj.FileError, match=r"saved\.tjx"):
            tj.load_executable(saved)
    for place in [0, 16, 24, 32, 64, len(whole) - 1, *random.integers(64, len(whole), 20)]:
        spoiled = bytearray(whole)
        spoiled[place] ^= 1 << random.integers(8)
        saved.write_bytes(spoiled)
        with pytest.raises(tj.FileError, match=r"saved\.tjx"):
            tj.load_executable(saved)
    saved.write_bytes(whole + b"\0")
    with pytest.raises(tj.FileError, match="begins like one of"):
        tj.load_executable(saved)


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Write a file again, with a right digest."""
    header, blobs = unpacked(memoryview(path.read_bytes()))
    change(header)
    path.write_bytes(b"".join(packed(header, blobs)))


def test_a_file_for_another_machine_or_version_is_refused_by_name(saved: Path) -> None:
    whole = saved.read_bytes()
    faults: dict[str, Callable[[dict[str, Any]], None]] = {
        r"for the CPU nonesuch, but this one \(.*\) lacks teleport": lambda made: made["for"].update(
            cpu="nonesuch", features=[*made["for"]["features"], "teleport"]
        ),
        "written by version 9.9 of tosajit, but this is": lambda made: made["for"].update(version="9.9"),
        "written by another build of tosajit": lambda made: made["for"].update(abi="?"),
        "is for mips-unknown, but this is": lambda made: made["for"].update(triple="mips-unknown"),
    }
    for message, change in faults.items():
        saved.write_bytes(whole)
        rewritten(saved, change)
        with pytest.raises(tj.FileError, match=message):
            tj.load_executable(saved)


def test_a_file_of_another_form_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    changes: list[Callable[[dict[str, Any]], Any]] = [
        lambda made: made.pop("for"),
        lambda made: made.pop("bodies"),
        lambda made: made.update(main=7),
        lambda made: made.update(kernels=[]),
        lambda made: made["bodies"][0]["steps"][0].__setitem__(0, "fly"),
        lambda made: made["bodies"][0]["steps"][0][1].update(results=[[[1], "object"]]),
        lambda made: made["bodies"][0]["steps"][0][1].update(numbers=["int64", [3], 99]),
        lambda made: made["bodies"][0]["steps"][0][1].update(driver=None, calls=[[0, "?"]]),
    ]
    for change in changes:
        saved.write_bytes(whole)
        rewritten(saved, change)
        with pytest.raises(tj.FileError, match="no executable that can be loaded"):
            tj.load_executable(saved)


def test_what_python_takes_part_in_is_not_saved(tmp_path: Path) -> None:
    builder = tj.GraphBuilder()
    x = builder.input("x", tj.INT32, (3,))
    builder.output(builder.add(tj.OPERATORS["ABS"](), [x]))
    interpreted = tj.compile(builder.build(), interpret=True)
    with pytest.raises(tj.CompileError, match="interpreted executable"):
        interpreted.save(tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_a_model_file_does_not_become_machine_code(saved: Path) -> None:
    with pytest.raises(tj.FileError):
        tj.load(saved)
    with pytest.raises(tj.FileError, match="no executable"):
        tj.load_executable(saved.parent / "saved.tjx" if saved.write_bytes(b"TOSA") else saved)


def test_an_executable_of_a_file_has_no_graph(saved: Path) -> None:
    loaded = tj.load_executable(saved)
    for ask in (lambda: loaded.graph, lambda: loaded.program, lambda: loaded.stages, loaded.explain):
        with pytest.raises(tj.InputError, match="compile the model"):
            ask()


# In the cache.


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-70])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def other_form(path: Path) -> None:
    rewritten(path, lambda made: made.update(main="?"))


def gone_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [cut, flip, empty, other_form, gone_folder])
def test_what_is_damaged_in_the_cache_is_compiled_again(spoil: Callable[[Path], None], keeping: Path) -> None:
    graph = tj.trace(lambda x: tj.ops.abs(x) + x, np.zeros(7, np.int32))
    expected = results(tj.compile(graph), drawn(graph))
    (path,) = kept_files(keeping)
    spoil(path)
    assert results(tj.compile(graph), drawn(graph)) == expected


@pytest.mark.parametrize("spoil", [pytest.param(given_away, marks=as_root), writable, writable_by_all])
def test_what_others_could_have_written_is_not_loaded(
    spoil: Callable[[Path], str], keeping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = tj.trace(lambda x: tj.ops.abs(x) + x, np.zeros(7, np.int32))
    expected = results(tj.compile(graph), drawn(graph))
    (path,) = kept_files(keeping)
    reason = spoil(path)
    monkeypatch.setattr(cache, "_told", set())
    monkeypatch.setattr(kept, "restored", None)  # would fail
    with pytest.warns(cache.CacheWarning, match=reason):
        again = tj.compile(graph)
    assert results(again, drawn(graph)) == expected


def named(graph: Graph, **changes: Any) -> str:
    return kept.name_of(graph, replace(Options(), **changes))


def test_the_name_says_all_that_an_executable_depends_on(
    keeping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def graph(weight: int = 1, name: str = "x", shift: int = 0, length: int = 4) -> Graph:
        builder = tj.GraphBuilder()
        x = builder.input(name, tj.INT32, (length,))
        y = builder.const(np.full(length, weight, np.int32))
        scale = builder.const(np.array([shift], np.int8))
        builder.output(builder.add(tj.OPERATORS["MUL"](), [x, y, scale]))
        return builder.build()

    graphs = [graph(), graph(weight=2), graph(name="z"), graph(shift=1), graph(length=5)]
    names = [named(one) for one in graphs]
    names += [
        named(graph(), checked=True),
        named(graph(), limits={"level": "none"}),
        named(graph(), target=tj.TINY),
        named(graph(), target=replace(tj.HOST, cores=2)),
        named(replace(graph(), outside={"x": "uint32"})),
    ]
    monkeypatch.setenv("TOSAJIT_CPU", "portable")
    names.append(named(graph()))
    assert "" not in names
    assert len({*names}) == len(names)
    monkeypatch.delenv("TOSAJIT_CPU")
    assert named(graph()) == names[0]


def test_the_executables_that_are_used_least_recently_make_room(
    keeping: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = [tj.trace(lambda x: tj.ops.abs(x) + x, np.zeros(n, np.int32)) for n in (3, 4, 5)]
    tj.compile(graphs[0])
    (first,) = kept_files(keeping)
    monkeypatch.setattr("tosajit.runtime.keeping.MOST_BYTES", int(first.stat().st_size * 2.5))
    monkeypatch.setattr("tosajit.runtime.keeping.MOST_SHARE", 1)
    tj.compile(graphs[1])
    assert len(kept_files(keeping)) == 2
    for path in kept_files(keeping):
        os.utime(path, (0, 0))  # clocks of file systems tick every few milliseconds
    tj.compile(graphs[0])
    tj.compile(graphs[2])
    assert first in kept_files(keeping)
    assert len(kept_files(keeping)) == 2


# On the command line.


def test_a_model_is_built_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = tj.samples.load("ds_cnn")
    tj.save(graph, tmp_path / "model.tosa")
    output = tmp_path / "made.tjx"
    assert main(["build", str(tmp_path / "model.tosa"), "-o", str(output), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["bytes"] == output.stat().st_size
    assert results(tj.load_executable(output), drawn(graph)) == results(tj.compile(graph), drawn(graph))
