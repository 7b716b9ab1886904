"""Names of tensors are any text: they never meet names of our own, files or code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tests import oracle
from tests.strategies import TARGETS, difference
from tosajit.operators import CLAMP, CONV2D, RESCALE, SCATTER, TABLE, TRANSPOSE_CONV2D, AccType, RoundingMode

ODD = [
    " ", ".", "..", "x.y", "a/b", "../../x", "\\", "'", '"', "%s", "{x}", "$(x)", "\n", "\t", "\x00", "\x7f",
    "0", "None", "kernel", "args", "acc", "p0", "t1", "n0", "main", "lambda", "import os", "#", "é", "名",
    "🙂", "\ud7ff", "a" * 5000, "a." * 1000, "<b>", "&amp;", "conv.0.packed",
]  # fmt: skip


def network() -> tj.Graph:
    """Every kind of group that has operands of its own."""
    graph, random = tj.GraphBuilder(), np.random.default_rng(4)

    def const(shape: tuple[int, ...], dtype: tj.DType, low: int, high: int) -> str:
        return graph.const(random.integers(low, high, shape).astype(dtype.storage), dtype)

    x = graph.input("x", tj.INT8, (1, 6, 6, 4))
    zeros = [const((1,), tj.INT8, 0, 1) for _ in range(2)]
    weight, bias = const((8, 3, 3, 4), tj.INT8, -128, 128), const((8,), tj.INT32, -500, 500)
    operator = CONV2D(pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=AccType.INT32)
    sums = graph.add(operator, [x, weight, bias, *zeros], name="conv")
    scaling = RESCALE(
        scale32=True,
        rounding_mode=RoundingMode.SINGLE_ROUND,
        per_channel=True,
        input_unsigned=False,
        output_unsigned=False,
    )
    scales = [const((8,), tj.INT32, 1 << 30, (1 << 31) - 1), const((8,), tj.INT8, 38, 41)]
    points = [const((1,), tj.INT32, 0, 1), const((1,), tj.INT8, 5, 6)]
    small = graph.add(scaling, [sums, *scales, *points], dtype=tj.INT8, name="scaled")
    cut = graph.add(CLAMP(min_val=-90, max_val=90), [small], name="clamped")
    looked = graph.add(TABLE(), [cut, const((256,), tj.INT8, -128, 128)], name="looked")
    wide = TRANSPOSE_CONV2D(out_pad=(-1, 0, 0, -1), stride=(2, 2), acc_type=AccType.INT32)
    weight = const((3, 2, 2, 8), tj.INT8, -128, 128)
    grown = graph.add(wide, [looked, weight, const((3,), tj.INT32, -9, 9), *zeros], name="grown")
    values, indices = const((1, 7, 2), tj.INT32, 0, 9), const((1, 3), tj.INT32, 0, 1)
    indices = graph.const(np.array([[5, 2, 6]], np.int32), tj.INT32)
    scattered = graph.add(SCATTER(), [values, indices, const((1, 3, 2), tj.INT32, 0, 9)], name="scattered")
    graph.output(sums, looked, grown, scattered)
    return graph.build()


def renamed(graph: tj.Graph, names: dict[str, str]) -> tj.Graph:
    """The graph with other names for some of its tensors."""
    block = graph.main

    def new(old: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in old)

    values = {new((name,))[0]: replace(value, name=new((name,))[0]) for name, value in block.values.items()}
    nodes = tuple(replace(node, inputs=new(node.inputs), outputs=new(node.outputs)) for node in block.nodes)
    changed = replace(block, nodes=nodes, values=values, inputs=new(block.inputs), outputs=new(block.outputs))
    return replace(graph, regions=(replace(graph.regions[0], blocks=(changed,)),))


def check(graph: tj.Graph, target: str) -> None:
    x = np.random.default_rng(0).integers(-128, 128, (1, 6, 6, 4)).astype(np.int8)
    executable = tj.compile(graph, target=TARGETS[target])
    expected = oracle.run_graph(graph, [x])
    for array, wanted in zip(executable(x), expected, strict=True):
        fault = difference(array, wanted)
        assert not fault, fault
    assert list(executable.run({graph.main.inputs[0]: x})) == list(graph.main.outputs)


def own_names(target: str) -> list[str]:
    """What we call operands of our own."""
    graph = network()
    executable = tj.compile(graph, target=TARGETS[target])
    (runner,) = executable.body.runners
    return sorted({*executable.program.operands, *runner.constants} - set(graph.main.values))


@pytest.mark.parametrize("target", TARGETS)
def test_tensors_may_be_called_what_we_call_operands_of_our_own(target: str) -> None:
    names = own_names(target)
    assert len(names) > (5 if target == "host" else 1)
    for name in names:
        for old in ("x", "const_1", "looked"):
            assert old in network().main.values
            check(renamed(network(), {old: name}), target)


@pytest.mark.parametrize("target", TARGETS)
def test_all_of_them_at_once(target: str) -> None:
    values = [name for name in network().main.values if name not in ("conv", "scaled", "grown")]
    check(renamed(network(), dict(zip(values, own_names(target), strict=False))), target)


@pytest.mark.parametrize("name", ODD, ids=lambda name: ascii(name)[:20])
def test_names_may_be_any_text(name: str, tmp_path: Path) -> None:
    for old in ("x", "conv", "looked"):
        graph = renamed(network(), {old: name})
        check(graph, "host")
        executable = tj.compile(graph)
        for shown in (graph, executable, executable.program):
            assert str(shown)
            assert repr(shown)
            assert shown._repr_html_()
        tj.save(graph, tmp_path / "graph.tosa")
        assert tj.load(tmp_path / "graph.tosa") == graph


def test_a_file_holds_no_empty_name(tmp_path: Path) -> None:
    graph = renamed(network(), {"x": ""})
    check(graph, "host")
    with pytest.raises(tj.FileError, match="empty name"):
        tj.save(graph, tmp_path / "graph.tosa")
    assert not list(tmp_path.iterdir())
