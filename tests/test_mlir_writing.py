"""Graphs become texts of MLIR, and the same graphs again; Arm's translator reads them as we do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from file_seeds import seeds
from hypothesis import given, settings

import tosajit as tj
from tests import reference
from tests.mlir_graphs import deserialised, translated, unnamed
from tests.strategies import Drawn, graphs
from tosajit.cli import main
from tosajit.frontends.mlir.bytecode import MAGIC
from tosajit.frontends.mlir.writing import FORMS, module_text
from tosajit.graph import Block, Graph, Node, Region

SEEDS = seeds()


def text(graph: Graph, form: str) -> bytes:
    return "".join(module_text(graph, form)).encode()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SEEDS)
def test_what_is_written_is_the_same_graph_when_it_is_read(name: str, form: str) -> None:
    graph = SEEDS[name]
    found = tj.load(text(graph, form))
    assert unnamed(found) == unnamed(graph)
    assert (found.main.inputs, found.main.outputs) == (graph.main.inputs, graph.main.outputs)


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_any_graph_is_written_and_read(drawn: Drawn) -> None:
    for form in FORMS:
        found = tj.load(text(drawn.graph, form))
        assert unnamed(found) == unnamed(drawn.graph)
        assert {node.outputs for node in found.nodes} == {node.outputs for node in drawn.graph.nodes}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "name", ["ADD", "CONV2D", "CLAMP", "RESIZE", "COND_IF", "VARIABLE", "CUSTOM", "TRANSPOSE"]
)
def test_texts_are_as_they_were(name: str, form: str, golden: Callable[[str, str], None]) -> None:
    golden(f"mlir_{name.lower()}_{form}", text(SEEDS[name], form).decode())


@pytest.mark.parametrize("name", [name for name in SEEDS if name != "constants"])
@pytest.mark.parametrize("form", ["tosa", "generic"])
def test_arms_translator_reads_what_is_written(name: str, form: str) -> None:
    graph = SEEDS[name]
    done = translated("--mlir-print-op-generic", "-", text=text(graph, form))
    assert done.returncode == 0, done.stderr.decode()
    assert unnamed(tj.load(done.stdout)) == unnamed(graph)


@pytest.fixture(scope="module")
def tests(conformance_sample: object) -> list[Path]:
    """Valid tests of the sample, one of each operator."""
    found: dict[str, Path] = {}
    for tests in conformance_sample.values():  # type: ignore[attr-defined]
        for test, _ in tests:
            if not test.negative and "dyn" not in test.name:
                found.setdefault(test.operator, test.tosa_path)
    return list(found.values())


HEXADECIMAL = ("--mlir-print-elementsattrs-with-hex-if-larger=64",)


def use_arms_translator(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = reference.tools()
    if arm is None:
        pytest.skip("Arm's tosa-opt is missing: `make test` installs it, or set TOSAJIT_ARM")
    monkeypatch.setenv("TOSAJIT_ARM", str(arm.root))


def test_arms_text_and_bytecode_of_the_sample_are_the_same_graphs(
    tests: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert len(tests) > 60
    for number, path in enumerate(tests):
        graph = tj.load(path)
        bytecode = (
            [("--emit-bytecode",)] if number % 10 == 0 else []
        )  # each takes another run of the translator
        for arguments in ((), ("--mlir-print-op-generic",), *bytecode):
            written = tmp_path / "model"
            done = deserialised(path, "-o", str(written), *arguments, *HEXADECIMAL)
            assert done.returncode == 0, done.stderr.decode()
            use_arms_translator(monkeypatch)
            assert unnamed(tj.load(written)) == unnamed(graph), path


TARGET = (
    "--tosa-attach-target=profiles=pro_int,pro_fp extensions=int16,int4,bf16,fp8e4m3,fp8e5m2,fft,variable,"
    "controlflow,doubleround,inexactround specification_version=1.0 level=8k"
)


@pytest.mark.parametrize("name", ["ds_cnn", "resnet8"])
def test_arm_serialises_what_is_written_as_the_same_graph(name: str, tmp_path: Path) -> None:
    graph, path = tj.samples.load(name), tmp_path / "again.tosa"
    done = translated(
        TARGET, "--tosa-serialize", f"--tosa-flatbuffer-filename={path}", "-", text=text(graph, "tosa")
    )
    assert done.returncode == 0, done.stderr.decode()
    assert unnamed(tj.load(path)) == unnamed(graph)


def test_large_constants_are_written_in_pieces() -> None:
    data = np.arange(1 << 20, dtype=np.int32)
    value = tj.Value("c", tj.INT32, data.shape, data)
    from tosajit.operators import CONST

    block = Block("main", (Node(CONST(), (), ("c",)),), {"c": value}, (), ("c",))
    graph = Graph((Region("main", (block,)),))
    assert max(map(len, module_text(graph))) <= 1 << 21
    assert unnamed(tj.load(text(graph, "tosa"))) == unnamed(graph)


def test_names_that_are_no_identifiers_are_kept() -> None:
    from tosajit.operators import ABS, FLOOR

    names = ("a/b:0", "1st", "é\n")
    values = {name: tj.Value(name, tj.FP32, (2,)) for name in names}
    nodes = (Node(ABS(), names[:1], names[1:2], 'layer "1"'), Node(FLOOR(), names[1:2], names[2:]))
    graph = Graph((Region("main", (Block("main", nodes, values, names[:1], names[2:]),)),))
    for form in FORMS:
        assert tj.load(text(graph, form)) == graph


def test_graphs_that_mlir_cannot_say_are_refused() -> None:
    from tosajit.operators import ABS, COND_IF

    value = tj.Value("x", tj.FP32, (2,))
    missing = Block("main", (Node(ABS(), ("y",), ("x",)),), {"x": value}, (), ("x",))
    with pytest.raises(tj.FileError, match="x: nothing gives its input y"):
        text(Graph((Region("main", (missing,)),)), "tosa")
    condition = {"c": tj.Value("c", tj.BOOL, ())}
    again = Node(COND_IF(then_graph="main", else_graph="main"), ("c",), ())
    endless = Block("main", (again,), condition, ("c",), ())
    with pytest.raises(tj.FileError, match="region main runs itself"):
        text(Graph((Region("main", (endless,)),)), "tosa")
    with pytest.raises(tj.FileError, match="form is 'new', but must be one of tosa, llvm, generic"):
        text(SEEDS["ADD"], "new")


def test_the_command_line_converts_both_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, there, back = tj.samples.path("ds_cnn"), tmp_path / "a.mlir", tmp_path / "b.tosa"
    assert main(["convert", str(source), str(there), "--form", "llvm"]) == 0
    assert "min_val(-128 : i8)" in there.read_text()
    assert main(["convert", str(there), str(back)]) == 0
    assert unnamed(tj.load(back)) == unnamed(tj.load(source))
    assert main(["convert", str(there), str(back), "--form", "llvm"]) == 1
    assert "only texts of MLIR have several forms" in capsys.readouterr().err
    with pytest.raises(tj.FileError, match="only texts of MLIR have several forms"):
        tj.save(tj.load(source), back, form="llvm")


def test_bytecode_needs_arms_translator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TOSAJIT_ARM", raising=False)
    with pytest.raises(tj.FileError, match="needs Arm's tosa-opt: `pip install tosa-tools`"):
        tj.load(MAGIC + bytes(40))


def test_what_arms_translator_says_of_bytecode_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    use_arms_translator(monkeypatch)
    with pytest.raises(tj.FileError, match="tosa-opt cannot read this bytecode"):
        tj.load(MAGIC + bytes(40))
