"""What each stage of the pipeline makes can be looked at: in Python, and as files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.test_control_flow import choice
from tiling.expr import call, read
from tiling.nest import Access, Affine, Axis, Nest, Write, along
from tiling.program import Program
from tosajit.compiler import stages
from tosajit.compiler.constants import _foldable
from tosajit.compiler.names import MARK, distinct
from tosajit.dtypes import INT32
from tosajit.host.simplify import simplify
from tosajit.operators import ADD
from tosajit.ops import conv2d
from tosajit.tracing.builder import GraphBuilder

NAMES = ["validate", "lower", "precompute", "fuse", "simplify", "prepare", "plan", "emit", "link"]
COMPILES = "import tosajit as tj; tj.compile(tj.samples.load('ds_cnn'))"


@pytest.fixture(scope="module")
def network() -> tj.Executable:
    return tj.compile(tj.samples.load("ds_cnn"))


def test_the_stages_of_an_executable_are_those_of_the_list_in_order(network: tj.Executable) -> None:
    assert list(network.stages) == [stage.name for stage in stages.STAGES] == NAMES


def test_each_stage_says_what_it_does_and_prints_what_it_made(network: tj.Executable) -> None:
    for stage in stages.STAGES:
        made = network.stages[stage.name]
        text = str(made)
        assert text.startswith(f"{stage.name}: {stage.summary}\n")
        assert list(made.values) == (["graph"] if stage.name == "validate" else ["main"])
        assert made._repr_html_().startswith("<pre>")
        assert " at 0x" not in text


def test_values_of_stages_are_those_that_run(network: tj.Executable) -> None:
    made = {name: network.stages[name].values["main"] for name in NAMES[1:]}
    assert all(isinstance(nest, Nest) for nest in made["lower"].nests)
    assert len(made["fuse"].nests) < len(made["precompute"].nests) < len(made["lower"].nests)
    assert isinstance(network.program, Program)
    assert made["plan"].program is network.program
    assert len(made["emit"].codes) == len(network.program.sections) == len(made["link"].image.kernels)


def test_a_stage_that_there_is_not_is_named(network: tj.Executable) -> None:
    with pytest.raises(KeyError, match="no stage 'fusion' ran; the stages were validate, lower"):
        network.stages["fusion"]


@pytest.mark.parametrize("target", [tj.HOST, tj.TINY], ids=["host", "tiny"])
def test_each_part_of_a_graph_with_control_flow_goes_through_all_stages(target: tj.Target) -> None:
    made = tj.compile(choice(), target=target).stages
    parts = list(made["lower"].values)
    assert len(parts) >= 2
    assert all(list(made[name].values) == parts for name in NAMES[2:])
    text = str(made["plan"])
    assert all(f"part {part}: " in text for part in parts)


def test_constants_of_rank_zero_and_names_of_strangers_are_shown_as_they_are() -> None:
    builder = GraphBuilder()
    x = builder.input("x\x1b[31m", INT32, ())
    builder.output(builder.add(ADD(), [x, builder.const(np.array(3, np.int32))]))
    made = tj.compile(builder.build()).stages
    texts = [str(made[name]) for name in NAMES[1:]]
    assert not any("\x1b" in text for text in texts)
    assert r"input    x\x1b[31m: INT32[]" in texts[0]


def dumped(folder: Path, stages: str = "all", code: str = COMPILES, **variables: str) -> dict[str, str]:
    """The files that a process writes."""
    environment = {**os.environ, "TOSAJIT_DUMP": stages, "TOSAJIT_DUMP_DIR": str(folder), **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.txt"))}


def test_two_processes_write_the_same(tmp_path: Path) -> None:
    first = dumped(tmp_path / "a", PYTHONHASHSEED="1")
    assert list(first) == [f"001/{number}-{name}.txt" for number, name in enumerate(NAMES, 1)]
    assert dumped(tmp_path / "b", PYTHONHASHSEED="2") == first


def test_only_the_named_stages_are_written_and_each_compilation_apart(tmp_path: Path) -> None:
    code = f"{COMPILES}; tj.compile(tj.samples.load('resnet8'), target=tj.TINY)"
    found = dumped(tmp_path, " fuse, plan", code)
    assert list(found) == ["001/4-fuse.txt", "001/7-plan.txt", "002/4-fuse.txt", "002/7-plan.txt"]
    assert "program for host" in found["001/7-plan.txt"]
    assert "program for tiny" in found["002/7-plan.txt"]
    assert dumped(tmp_path, "plan", code)["001/7-plan.txt"] == found["001/7-plan.txt"]


def test_all_parts_are_in_the_file_of_a_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_DUMP", "lower")
    monkeypatch.setenv("TOSAJIT_DUMP_DIR", str(tmp_path))
    made = tj.compile(choice()).stages["lower"]
    (path,) = tmp_path.rglob("*.txt")
    assert path.read_text() == f"{made}\n"


def test_what_is_no_stage_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_DUMP", "fuse,plann")
    with pytest.raises(
        tj.CompileError, match=r"no stage plann; use validate, .* or all; did you mean plan\?"
    ):
        tj.compile(choice())


@pytest.mark.parametrize("place", ["folder", "number", "file", "hard link"])
def test_links_are_not_followed(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_DUMP", "plan")
    monkeypatch.setenv("TOSAJIT_DUMP_DIR", str(tmp_path / "dump"))
    monkeypatch.setattr("tosajit.compiler.dump._numbers", iter([1]))
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "7-plan.txt").write_text("mine")
    if place == "folder":
        (tmp_path / "dump").symlink_to(theirs, target_is_directory=True)
    elif place == "number":
        (tmp_path / "dump").mkdir()
        (tmp_path / "dump" / "001").symlink_to(theirs, target_is_directory=True)
    else:
        (tmp_path / "dump" / "001").mkdir(parents=True)
        path = tmp_path / "dump" / "001" / "7-plan.txt"
        (path.symlink_to if place == "file" else path.hardlink_to)(theirs / "7-plan.txt")
    if place in ("folder", "number"):
        with pytest.raises(tj.CompileError, match="is a link, which is not followed"):
            tj.compile(choice())
    else:
        tj.compile(choice())
    assert [path.name for path in theirs.iterdir()] == ["7-plan.txt"]
    assert (theirs / "7-plan.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TOSAJIT_DUMP", "plan")
    monkeypatch.setenv("TOSAJIT_DUMP_DIR", str(tmp_path / "file" / "dump"))
    with pytest.raises(
        tj.CompileError, match=r"TOSAJIT_DUMP: .*7-plan.txt cannot be written: Not a directory"
    ):
        tj.compile(choice())


def test_of_similar_stages_the_nearest_is_suggested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_DUMP", "prepair")
    with pytest.raises(tj.CompileError, match=r"did you mean prepare\?$"):
        tj.compile(choice())


def test_others_may_not_run_what_is_written_nor_look_into_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_DUMP", "fuse")
    monkeypatch.setenv("TOSAJIT_DUMP_DIR", str(tmp_path / "dump"))
    before = os.umask(0)
    try:
        tj.compile(choice())
    finally:
        os.umask(before)
    (path,) = (tmp_path / "dump").rglob("*.txt")
    modes = [one.stat().st_mode & 0o777 for one in (path, path.parent, tmp_path / "dump")]
    assert modes == [0o666, 0o700, 0o700]


def test_results_of_constants_are_computed_once_and_thus_not_made_cheaper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []

    def noted(nests: Sequence[Nest], *others: Any) -> Any:
        seen.append(len(nests))
        return simplify(nests, *others)

    monkeypatch.setattr(stages, "simplified", noted)
    builder = GraphBuilder()
    x, one = builder.input("x", INT32, (3,)), builder.const(np.array([1, 2, 3], np.int32))
    builder.output(builder.add(ADD(), [x, builder.add(ADD(), [one, one])]))
    made = tj.compile(builder.build())
    assert made(np.zeros(3, np.int32)).tolist() == [2, 4, 6]
    assert seen == [1]


def test_a_constant_is_computed_beforehand_as_long_as_it_is_not_too_large() -> None:
    def sums(elements: int) -> Nest:
        whole = Access("sum", "i32", (elements,), (along(0, 1),))
        value = call("add_i32", read(0, "i32"), read(0, "i32"), type="i32")
        one = Access("one", "i32", (1,), (Affine((0,)),))
        return Nest("map", (Axis("i", elements),), (one,), (Write(whole, value),), members=("sum",))

    for elements, expected in ((1 << 24, {"one", "sum"}), ((1 << 24) + 1, {"one"})):
        assert _foldable([sums(elements)], {"one"}, set()) == expected
        assert _foldable([sums(elements)], {"one"}, {"sum"}) == {"one"}
        assert _foldable([sums(elements)], set(), set()) == set()


def test_threads_are_made_where_a_group_is_shared() -> None:
    builder = GraphBuilder()
    x, y = builder.input("x", INT32, (256, 512)), builder.input("y", INT32, (3,))
    builder.output(builder.add(ADD(), [x, x]), builder.add(ADD(), [y, y]))
    for graph, threads in ((builder.build(), 2), (small(), 1)):
        made = tj.compile(graph, threads=2)
        shared = [section.shared for section in made.program.sections]
        assert (threads == 2) == any(shared)
        assert not all(shared)
        assert made.stages["link"].values["main"].threads == threads


@pytest.mark.parametrize(("columns", "expected"), [(160, 80), (288, 144)])
def test_two_threads_share_columns_of_float32_by_cache_lines(columns: int, expected: int) -> None:
    weights, bias = np.ones((columns, 1, 1, 960), np.float32), np.zeros(columns, np.float32)
    made = tj.compile(
        tj.trace(lambda x: conv2d(x, weights, bias), np.zeros((1, 7, 7, 960), np.float32)), threads=2
    )
    (section,) = made.program.sections
    assert [loop.step for loop in section.loops] == [expected]


def small() -> tj.Graph:
    """A graph with so little to do that one core does it all."""
    builder = GraphBuilder()
    x = builder.input("x", INT32, (3,))
    builder.output(builder.add(ADD(), [x, x]))
    return builder.build()


def test_names_that_lie_within_others_are_marked_wherever_the_dot_is() -> None:
    builder = GraphBuilder()
    names = ["a", "a.b", "a..c", "b.c", ".", ".a", "x.y.z", "x.y", ""]
    for name in names:
        builder.input(name, INT32, (1,))
    found = distinct(builder.build().main)
    within = {"a.b", "a..c", "x.y.z", ".", ".a"}  # the last two in the name that is empty
    assert list(found.inputs) == [name + MARK if name in within else name for name in names]
    assert list(found.values) == list(found.inputs)
    assert [value.name for value in found.values.values()] == list(found.inputs)
