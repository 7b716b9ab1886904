"""Graphs are written as models of NNEF, which give the same when they are read again."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.nnef.test_networks import written_in_tosa
from tosajit import ops
from tosajit.cli.arguments import main
from tosajit.frontends.nnef.writing import save_model

Array = np.ndarray[Any, Any]


def drawn(*shape: int) -> Array:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


X, IMAGE = drawn(2, 3, 4), drawn(1, 6, 7, 3)
WHOLE, TRUTHS = np.arange(-6, 6, dtype=np.int32).reshape(3, 4), X > 0
KERNEL, CHANNELS, BACK = drawn(4, 3, 3, 3), drawn(3, 3, 3, 2), drawn(4, 3, 3, 3)

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Array, ...]]] = {
    **{name: (getattr(ops, name), (np.abs(X) + 1,)) for name in (
        "abs", "ceil", "cos", "exp", "floor", "log", "reciprocal", "rsqrt", "sin", "tanh", "negate",
        "identity", "sigmoid", "erf",
    )},
    **{name: (getattr(ops, name), (np.abs(X), X[:1])) for name in (
        "add", "sub", "mul", "maximum", "minimum", "greater", "greater_equal", "equal",
    )},
    **{f"int {name}": (getattr(ops, name), (WHOLE, WHOLE[:1])) for name in ("add", "sub", "mul", "equal")},
    **{name: (getattr(ops, name), (TRUTHS, TRUTHS[:1])) for name in (
        "logical_and", "logical_or", "logical_xor",
    )},
    **{name: (lambda x, name=name: getattr(ops, name)(x, axis=1), (X,)) for name in (
        "reduce_max", "reduce_min", "reduce_product", "reduce_sum", "argmax", "reverse",
    )},
    **{name: (lambda x, name=name: getattr(ops, name)(x, axis=1), (TRUTHS,)) for name in (
        "reduce_all", "reduce_any",
    )},
    "pow": (ops.pow, (np.abs(X), np.abs(X[:1]))),
    "logical_not": (ops.logical_not, (TRUTHS,)),
    "select": (ops.select, (TRUTHS, X, -X)),
    "constant": (lambda x: ops.add(x, drawn(1, 1, 4)), (X,)),
    "clamp": (lambda x: ops.clamp(x, min_val=-0.5, max_val=0.5), (X,)),
    "clamp from below": (lambda x: ops.clamp(x, min_val=-0.5, max_val=np.inf), (X,)),
    "clamp from above": (lambda x: ops.clamp(x, min_val=-np.inf, max_val=0.5), (X,)),
    "relu": (lambda x: ops.clamp(x, min_val=0.0, max_val=np.inf), (X,)),
    "concat": (lambda x: ops.concat([x, x], axis=2), (X,)),
    "reshape": (lambda x: ops.reshape(x, (4, 6)), (X,)),
    "reshape to none": (lambda x: ops.reshape(ops.reshape(x, ()), (1, 1)), (X[:1, :1, :1],)),
    "slice": (lambda x: ops.slice(x, (0, 1, 1), (2, 2, 2)), (X,)),
    "tile": (lambda x: ops.tile(x, (1, 2, 3)), (X,)),
    "transpose": (lambda x: ops.transpose(x, perms=(2, 0, 1)), (X,)),
    "pad": (lambda x: ops.pad(x, (0, 1, 2, 3, 4, 5), np.array([0.5], np.float32)), (X,)),
    "gather": (ops.gather, (X, np.array([[2, 0], [1, 1]], np.int32))),
    "cast": (lambda x: ops.cast(x, dtype="FP32"), (WHOLE,)),
    "matmul": (ops.matmul, (X, drawn(2, 4, 5))),
    "conv2d": (lambda x: ops.conv2d(x, KERNEL, drawn(4), pad=(1, 0, 1, 1), stride=(1, 2)), (IMAGE,)),
    "conv2d without bias": (lambda x: ops.conv2d(x, KERNEL), (IMAGE,)),
    "conv3d": (lambda x: ops.conv3d(x, drawn(2, 2, 2, 2, 3)), (drawn(1, 4, 4, 4, 3),)),
    "depthwise": (lambda x: ops.depthwise_conv2d(x, CHANNELS, drawn(6), pad=(1, 1, 1, 1)), (IMAGE,)),
    "transpose_conv2d": (
        lambda x: ops.transpose_conv2d(x, BACK, out_pad=(-1, 1, 0, 0), stride=(2, 2)), (IMAGE,)
    ),
    "max_pool2d": (lambda x: ops.max_pool2d(x, kernel=(2, 3), stride=(2, 2), pad=(0, 0, 1, 1)), (IMAGE,)),
    "avg_pool2d": (lambda x: ops.avg_pool2d(x, kernel=(2, 3), stride=(2, 2), pad=(0, 0, 1, 1)), (IMAGE,)),
    "fft2d": (lambda x, y: ops.fft2d(x, y), (drawn(2, 4, 8), drawn(2, 4, 8))),
    "inverse fft2d": (lambda x, y: ops.fft2d(x, y, inverse=True), (drawn(2, 4, 8), drawn(2, 4, 8))),
    "rfft2d": (ops.rfft2d, (drawn(2, 8, 4),)),
    "input that is an output": (lambda x: (x, ops.tanh(x)), (X,)),
    "network": (written_in_tosa, (drawn(1, 64, 64, 3),)),
}  # fmt: skip


def listed(found: Any) -> list[Array]:
    return list(found) if isinstance(found, list | tuple) else [found]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_graph_is_the_same_when_it_is_read_again(name: str, tmp_path: Path) -> None:
    function, arrays = FUNCTIONS[name]
    graph = tj.trace(function, *arrays)
    save_model(graph, tmp_path / "model.nnef2")
    again = tj.load(tmp_path / "model.nnef2")
    found, expected = (listed(tj.compile(one)(*arrays)) for one in (again, graph))
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        if other.dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["fft2d", "inverse fft2d", "rfft2d"])
def test_formulas_of_transforms_give_the_same_to_any_reader(name: str, tmp_path: Path) -> None:
    """In another order of sums than ours, which are fast transforms."""
    function, arrays = FUNCTIONS[name]
    graph, folder = tj.trace(function, *arrays), tmp_path / "model.nnef2"
    save_model(graph, folder)
    with (folder / "tosa.sknd").open("a") as file:
        file.write("# Not ours any more.\n")
    again = tj.load(folder)
    assert [node.operator.opcode for node in again.nodes] == ["CUSTOM"]
    for found, expected in zip(tj.compile(again)(*arrays), tj.compile(graph)(*arrays), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_the_command_converts_to_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tj.save(tj.trace(ops.tanh, X), tmp_path / "model.tosa")
    assert main(["convert", str(tmp_path / "model.tosa"), str(tmp_path / "model.nnef2")]) == 0
    size = sum(one.stat().st_size for one in (tmp_path / "model.nnef2").iterdir())
    assert capsys.readouterr().out.endswith(f"model.nnef2: 1 nodes, {size:,} bytes\n")
    np.testing.assert_allclose(tj.compile(tj.load(tmp_path / "model.nnef2"))(X), np.tanh(X), rtol=1e-5)


def test_what_nnef_lacks_is_listed_at_once(tmp_path: Path) -> None:
    def function(x: Any, y: Any) -> tuple[Any, Any]:
        return ops.cast(x, dtype="FP16"), ops.maximum(x, y, nan_mode="IGNORE")

    graph = tj.trace(function, X, X)
    with pytest.raises(tj.ModelError, match="have no form in NNEF") as caught:
        save_model(graph, tmp_path / "model.nnef2")
    assert [one.operator for one in caught.value.refusals] == ["CAST", "MAXIMUM"]
    assert "no text can say how to round to FP16" in str(caught.value)
    assert not (tmp_path / "model.nnef2").exists()


@pytest.mark.parametrize("dtype", ["INT48", "FP16"])
def test_outputs_that_are_constants_of_other_types_are_listed(dtype: str, tmp_path: Path) -> None:
    values = np.array([1], np.int64 if dtype == "INT48" else np.float16)
    graph = tj.trace(lambda x: (x, ops.const(values, dtype)), X)
    with pytest.raises(tj.ModelError, match=f"it is {dtype}, and NNEF's") as caught:
        save_model(graph, tmp_path / "model.nnef2")
    assert len(caught.value.refusals) == 1


def test_the_table_of_what_is_written_is_up_to_date() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, str(root / "tools" / "generate_nnef_export.py"), "--check"]
    stale = subprocess.run(command, check=False, cwd=root).returncode
    assert stale == 0, "run tools/generate_nnef_export.py"


def test_a_graph_has_the_blocks_that_it_needs(tmp_path: Path) -> None:
    def blocks(graph: tj.Graph) -> list[str]:
        save_model(graph, tmp_path / "model.nnef2")
        return re.findall(r"@\w+(?= {)", (tmp_path / "model.nnef2" / "main.sknd").read_text())

    assert blocks(tj.trace(ops.tanh, X)) == ["@input", "@output", "@compose"]
    constant = tj.trace(lambda: ops.const(X))
    assert blocks(constant) == ["@input", "@output", "@variable", "@compose"]


def test_save_writes_what_the_name_says(tmp_path: Path) -> None:
    graph = tj.trace(ops.tanh, X)
    tj.save(graph, tmp_path / "model.nnef2")
    tj.save(graph, tmp_path / "model.tosa")
    assert (tmp_path / "model.nnef2" / "main.sknd").is_file()
    assert tj.load(tmp_path / "model.tosa") == graph
    np.testing.assert_allclose(tj.compile(tj.load(tmp_path / "model.nnef2"))(X), np.tanh(X), rtol=1e-5)
