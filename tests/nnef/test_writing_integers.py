"""Graphs of integers, control flow and variables are written as models of NNEF: the same bits again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.nnef import test_writing
from tests.nnef.test_writing import listed
from tosajit import ops
from tosajit.frontends.nnef.forms import FORMS
from tosajit.frontends.nnef.writing import Text, save_model

Array = np.ndarray[Any, Any]
KINDS = {"i": np.int32, "f": np.float32, "b": np.bool_}


def drawn(dtype: str, *shape: int) -> Array:
    """Integers of all sizes, with both ends among them."""
    ends = np.iinfo(dtype)
    found = np.random.default_rng(shape).integers(ends.min, ends.max + 1, shape).astype(dtype)
    found.reshape(-1)[:2] = ends.min, ends.max
    return found


def small(dtype: str, *shape: int) -> Array:
    found: Array = drawn(dtype, *shape) >> np.array(np.iinfo(dtype).bits // 2, dtype)
    return found


def zero(value: int, dtype: str = "int8") -> Array:
    return np.array([value], dtype)


BYTES, WORDS, WHOLE = drawn("int8", 3, 5), drawn("int16", 3, 5), drawn("int32", 3, 5)
FEW = WHOLE >> 17
IMAGE, WIDE = drawn("int8", 1, 7, 6, 3), drawn("int16", 1, 7, 6, 3)
KERNEL, CHANNELS = drawn("int8", 4, 3, 2, 3), drawn("int8", 3, 2, 3, 2)
BIAS = drawn("int32", 4) >> 8
WINDOW: dict[str, Any] = {"pad": (1, 1, 1, 1), "stride": (2, 1)}
LONG = np.array([2**46, -(2**46), 77, -1], np.int64)
REALS = np.concatenate(
    [np.arange(-9, 9) / 2, [np.inf, -np.inf, np.nan, 2.0**31, -(2.0**31), 1e-9, 127.5, -32768.5]]
).astype(np.float32)
MULTIPLIERS, SHIFTS = (
    np.array([1 << 30, (1 << 31) - 1, 1234567890, 1 << 20, 99], np.int32),
    [31, 38, 40, 33, 60],
)
ROUND = {"rounding_mode": "DOUBLE_ROUND"}
Drawn = tuple[Callable[..., Any], tuple[Array, ...]]


def rescaled(value: Any, dtype: str, **given: Any) -> Any:
    """A tensor with a factor for each channel."""
    return ops.rescale(value, MULTIPLIERS, np.array(SHIFTS, np.int8), dtype=dtype, **given)


def shifted(name: str, dtype: str, **given: bool) -> Drawn:
    steps = np.arange(np.iinfo(dtype).bits, dtype=dtype)[None, :]
    return lambda x: getattr(ops, name)(x, steps, **given), (drawn(dtype, 3, 1),)


def resized(mode: str, value: Array) -> Drawn:
    return lambda x: ops.resize(x, (6, 4, 4, 2), (-1, 1), (-1, 1), mode=mode), (value,)


def reshaped(name: str) -> Drawn:
    functions: dict[str, Callable[..., Any]] = {
        "concat": lambda x: ops.concat([x, x], axis=1), "reshape": lambda x: ops.reshape(x, (5, 3)),
        "reverse": lambda x: ops.reverse(x, axis=0), "slice": lambda x: ops.slice(x, (1, 0), (2, 2)),
        "tile": lambda x: ops.tile(x, (2, 1)), "transpose": lambda x: ops.transpose(x, perms=(1, 0)),
        "pad": lambda x: ops.pad(x, (0, 1, 2, 0), zero(7)), "identity": ops.identity,
        "select": lambda x: ops.select(ops.equal(ops.cast(x, dtype="INT32"), WHOLE), x, x),
        "reduce_max": lambda x: ops.reduce_max(x, axis=1), "reduce_min": lambda x: ops.reduce_min(x, axis=0),
        "argmax": lambda x: ops.argmax(x, axis=1), "clamp": lambda x: ops.clamp(x, min_val=-3, max_val=5),
    }  # fmt: skip
    return functions[name], (BYTES,)


FUNCTIONS: dict[str, Drawn] = {
    **{f"{name} {dtype}": shifted(name, dtype) for dtype in ("int8", "int16", "int32") for name in (
        "logical_left_shift", "logical_right_shift", "arithmetic_right_shift",
    )},
    "rounded shift": shifted("arithmetic_right_shift", "int32", round=True),
    **{f"{name} {x.dtype}": (getattr(ops, name), (x, x[:, :1])) for x in (BYTES, WHOLE) for name in (
        "bitwise_and", "bitwise_or", "bitwise_xor",
    )},
    "bitwise_not": (ops.bitwise_not, (WORDS,)),
    "clz": (ops.clz, (np.append(WHOLE >> 20, [0, 1, 2**30]).astype(np.int32),)),
    "intdiv": (ops.intdiv, (WHOLE >> 3, np.array([[-7, 7, 1, 2, -3]], np.int32))),
    **{f"mul by {shift}": (lambda x, y, n=shift: ops.mul(x, y, zero(n)), (WHOLE, WHOLE[:1]))
       for shift in (32, 40, 62)},
    **{f"mul of few by {shift}": (lambda x, y, n=shift: ops.mul(x, y, zero(n)), (FEW, FEW[:1]))
       for shift in (0, 1, 2, 31)},
    "mul of bytes": (ops.mul, (BYTES, BYTES[:1])),
    "negate": (lambda x: ops.negate(x, zero(-5), zero(9)), (BYTES,)),
    "negate words": (ops.negate, (WORDS,)),
    "table": (lambda x: ops.table(x, drawn("int8", 256)), (BYTES,)),
    "table of words": (lambda x: ops.table(x, small("int16", 513)), (WORDS,)),
    **{f"cast to {dtype}": (lambda x, to=dtype: ops.cast(x, dtype=to), (REALS,))
       for dtype in ("INT8", "INT16", "INT32")},
    **{f"cast from {x.dtype} to {to}": (lambda x, to=to: ops.cast(x, dtype=to), (x,)) for x, to in (
        (WHOLE, "INT8"), (WHOLE, "INT16"), (WORDS, "INT8"), (BYTES, "INT32"), (WORDS, "FP32"),
        (WHOLE, "BOOL"), (BYTES > 0, "INT8"),
    )},
    "rescale": (lambda x: rescaled(x, "INT8", output_zp=zero(-3)), (WHOLE,)),
    "rescale twice rounded": (lambda x: rescaled(x, "INT16", **ROUND), (WHOLE,)),
    "rescale bytes": (lambda x: rescaled(x, "INT8", input_zp=zero(-128), output_zp=zero(5)), (BYTES,)),
    "rescale to 32 bits": (lambda x: rescaled(x, "INT32", **ROUND), (WHOLE >> 4,)),
    "rescale from unsigned": (lambda x: ops.rescale(
        x, [1 << 30], np.array([30], np.int8), zero(-56), zero(0), dtype="INT8", input_unsigned=True
    ), (BYTES,)),
    "rescale to unsigned": (lambda x: ops.rescale(
        x, [1 << 30], np.array([32], np.int8), zero(0, "int16"), zero(-128),
        dtype="INT8", output_unsigned=True
    ), (WORDS >> 6,)),
    "rescale of one number": (lambda x: ops.rescale(x, [1 << 30], np.array([34], np.int8), dtype="INT8"), (
        np.array(-1234, np.int32),
    )),
    "rescale by 16 bits": (lambda x: ops.rescale(
        x, np.array([32767], np.int16), np.array([20], np.int8), dtype="INT8"
    ), (WHOLE >> 6,)),
    "conv2d": (lambda x: ops.conv2d(x, KERNEL, BIAS, zero(-7), zero(3), **WINDOW), (IMAGE,)),
    "conv2d of 4 bits": (
        lambda x: ops.conv2d(x, ops.const(KERNEL >> 5, "INT4"), BIAS[:1], zero(9)), (IMAGE,)
    ),
    "conv3d": (lambda x: ops.conv3d(x, drawn("int8", 2, 2, 2, 2, 3), BIAS[:2], zero(4)), (
        drawn("int8", 1, 4, 4, 4, 3),
    )),
    "depthwise": (
        lambda x: ops.depthwise_conv2d(x, CHANNELS, BIAS[:1], zero(4), zero(-2), **WINDOW), (IMAGE,)
    ),
    "transpose_conv2d": (lambda x: ops.transpose_conv2d(
        x, KERNEL, BIAS, zero(2), out_pad=(-1, 1, 0, 0), stride=(2, 1)
    ), (IMAGE,)),
    "matmul": (lambda x, y: ops.matmul(x, y, zero(3), zero(-4)), (
        drawn("int8", 2, 3, 4), drawn("int8", 2, 4, 5),
    )),
    "conv2d of words": (lambda x: ops.rescale(
        ops.conv2d(x, KERNEL, ops.const(LONG, "INT48"), **WINDOW),
        np.array([32767, 20000, 1, 16384], np.int16), np.array([47, 46, 10, 30], np.int8), dtype="INT16"
    ), (WIDE,)),
    "depthwise of words": (lambda x: ops.rescale(
        ops.depthwise_conv2d(x, CHANNELS, ops.const(LONG[:1] >> 20, "INT48")), np.array([32767], np.int16),
        np.array([24], np.int8), dtype="INT32"
    ), (WIDE,)),
    "transpose_conv2d of words": (lambda x: ops.rescale(
        ops.transpose_conv2d(x, KERNEL, ops.const(LONG, "INT48"), out_pad=(0, 0, 0, 0)),
        np.array([3], np.int16), np.array([30], np.int8), dtype="INT8"
    ), (WIDE,)),
    "conv3d of words": (lambda x: ops.rescale(
        ops.conv3d(x, drawn("int8", 2, 2, 2, 2, 3), ops.const(LONG[:2], "INT48")), np.array([9], np.int16),
        np.array([32], np.int8), dtype="INT32"
    ), (drawn("int16", 1, 4, 4, 4, 3),)),
    "matmul of words": (lambda x, y: ops.rescale(
        ops.matmul(x, y), np.array([32767], np.int16), np.array([33], np.int8), dtype="INT32"
    ), (drawn("int16", 2, 3, 4), drawn("int16", 2, 4, 5))),
    "avg_pool2d": (lambda x: ops.avg_pool2d(
        x, zero(-3), zero(8), kernel=(3, 2), stride=(2, 1), pad=(1, 1, 1, 0)
    ), (IMAGE,)),
    "avg_pool2d of words": (lambda x: ops.avg_pool2d(x, kernel=(5, 5)), (WIDE,)),
    "max_pool2d": (lambda x: ops.max_pool2d(x, kernel=(3, 2), pad=(1, 1, 1, 0)), (IMAGE,)),
    **{f"resize {mode} {x.dtype}": resized(mode, x) for mode in ("NEAREST", "BILINEAR") for x in (
        IMAGE, IMAGE.astype(np.float32) / 7,
    )},
    **{f"{name} of bytes": reshaped(name) for name in (
        "concat", "reshape", "reverse", "slice", "tile", "transpose", "pad", "identity", "select",
        "reduce_max", "reduce_min", "argmax", "clamp",
    )},
    "gather of bytes": (ops.gather, (drawn("int8", 2, 3, 4), np.array([[2, 0], [1, 1]], np.int32))),
    "scatter": (ops.scatter, (
        drawn("int8", 2, 3, 4), np.array([[2], [1]], np.int32), drawn("int8", 2, 1, 4),
    )),
    "cond_if": (lambda x, y: ops.cond_if(
        ops.equal(x, np.array([3], np.int32)), lambda: (ops.add(y, y), y),
        lambda: (ops.sub(y, x), ops.mul(y, y)),
    ), (np.array([3], np.int32), WHOLE[:, 0] >> 16)),
    "while_loop": (lambda x, y: ops.while_loop(
        lambda i, s: ops.greater(np.array([9], np.int32), i),
        lambda i, s: (ops.add(i, np.array([2], np.int32)), ops.add(s, ops.mul(s, ops.reshape(i, (1, 1))))),
        x, y,
    ), (np.array([1], np.int32), WHOLE[:, :1] >> 20)),
    "loop in a branch": (lambda x, y: ops.cond_if(
        ops.greater(x, np.int32(0)),
        lambda: ops.while_loop(
            lambda i, s: ops.greater(i, np.int32(0)), lambda i, s: (ops.sub(i, np.int32(1)), ops.add(s, s)),
            x, y,
        ),
        lambda: (x, ops.bitwise_not(y)),
    ), (np.array(3, np.int32), WHOLE[:, :1] >> 20)),
}  # fmt: skip


def again(graph: tj.Graph, folder: Path) -> tj.Graph:
    """A graph, written and read."""
    save_model(graph, folder)
    return tj.load(folder)


def same(found: Any, expected: Any) -> None:
    """The same numbers; integers of fewer bits have become integers of 32."""
    assert len(listed(found)) == len(listed(expected))
    for one, other in zip(listed(found), listed(expected), strict=True):
        assert one.dtype == KINDS[other.dtype.kind]
        np.testing.assert_array_equal(one, other)


FORMULAS = [
    name
    for name, (function, arrays) in FUNCTIONS.items()
    if any("tosa." in line for line in Text(tj.trace(function, *arrays)).written()["main"].splitlines())
]


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_give_the_same_bits_to_any_reader(name: str, tmp_path: Path) -> None:
    function, arrays = FUNCTIONS[name]
    graph, folder = tj.trace(function, *arrays), tmp_path / "model.nnef2"
    save_model(graph, folder)
    with (folder / "tosa.sknd").open("a") as file:
        file.write("# Not ours any more: what it says is all that is known of it.\n")
    read = tj.load(folder)
    assert any(node.operator.opcode == "CUSTOM" for node in read.nodes)
    same(tj.compile(read)(*(x.astype(KINDS[x.dtype.kind]) for x in arrays)), tj.compile(graph)(*arrays))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_are_the_same_when_a_graph_is_read_again(name: str, tmp_path: Path) -> None:
    function, arrays = FUNCTIONS[name]
    graph = tj.trace(function, *arrays)
    read = again(graph, tmp_path / "model.nnef2")
    same(tj.compile(read)(*(x.astype(KINDS[x.dtype.kind]) for x in arrays)), tj.compile(graph)(*arrays))


def test_variables_are_updated_from_run_to_run(tmp_path: Path) -> None:
    def step(x: Any) -> Any:
        total = ops.variable("total", np.array([1, 2], np.int8))
        other = ops.variable("other", np.array([[0.5]], np.float32))
        before = total.read()
        total.write(ops.cast(ops.maximum(ops.cast(before, dtype="INT32"), x), dtype="INT8"))
        held = other.read()
        other.write(ops.add(held, held))
        return before, total.read(), held, other.read()

    x = np.array([3, 0], np.int32)
    graph = tj.trace(step, x)
    executables = [tj.compile(one) for one in (again(graph, tmp_path / "model.nnef2"), graph)]
    for number in range(3):
        found, expected = (one(x + number) for one in executables)
        same(found, expected)


def test_quantised_operators_are_those_of_tosa_again(tmp_path: Path) -> None:
    """No casts are left between them, and none of the 32 bits that NNEF has for them."""

    def layer(x: Any) -> Any:
        first = ops.conv2d(x, KERNEL, BIAS, zero(-7), **WINDOW)
        found = ops.rescale(first, [1 << 30], np.array([40], np.int8), output_zp=zero(5), dtype="INT8")
        kept = ops.clamp(found, min_val=0, max_val=99)
        return ops.max_pool2d(ops.reverse(kept, axis=1), kernel=(2, 2))

    read = again(tj.trace(layer, IMAGE), tmp_path / "model.nnef2")
    found = [node.operator.opcode for node in read.nodes if not node.operator.opcode.startswith("CONST")]
    assert found == ["CAST", "CONV2D", "RESCALE", "CLAMP", "CLAMP", "REVERSE", "MAX_POOL2D", "CAST"]


def test_every_form_is_tried() -> None:
    tried = {"VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE", "CUSTOM"}
    for function, arrays in (*FUNCTIONS.values(), *test_writing.FUNCTIONS.values()):
        tried |= {node.operator.opcode for node in tj.trace(function, *arrays).nodes}
    assert sorted(set(FORMS) - tried) == []


def test_an_operator_of_ones_own_is_written_with_its_text(tmp_path: Path) -> None:
    text = """operator f {
        @attrib { a: int; } @input { x: int[s..]; y: optional int[]; } @output { z: int[s..]; }
        @lower { z[i..] = x[i..] * a + (y[] ?? 7), i < s; }
    }"""
    scaled = tj.nnef.operator(text, a=3)
    graph = tj.trace(lambda x: ops.add(scaled(x), scaled(x, np.array(2, np.int32))), WHOLE >> 4)
    read = again(graph, tmp_path / "model.nnef2")
    assert (tmp_path / "model.nnef2" / "custom.sknd").read_text() == text
    same(tj.compile(read)(WHOLE >> 4), tj.compile(graph)(WHOLE >> 4))


def test_writes_inside_of_control_flow_are_refused(tmp_path: Path) -> None:
    def step(x: Any) -> Any:
        total = ops.variable("total", np.array([1.0], np.float32))

        def keep() -> Any:
            total.write(x)
            return x

        return ops.cond_if(ops.greater(ops.reduce_sum(x, axis=0), x), keep, lambda: x)

    graph = tj.trace(step, np.array([3], np.float32))
    with pytest.raises(tj.ModelError, match="NNEF updates variables after everything else") as caught:
        save_model(graph, tmp_path / "model.nnef2")
    assert [one.operator for one in caught.value.refusals] == ["VARIABLE_WRITE"]


@pytest.mark.parametrize("name", ["mobilenet_v2", "transformer_tiny_f32"])
def test_networks_give_the_same_bits(name: str, tmp_path: Path) -> None:
    folder = Path(__file__).parents[1] / "data" / name
    graph, x = tj.load(folder / "model.tosa"), np.load(folder / "case0_in0.npy")
    read = again(graph, tmp_path / "model.nnef2")
    found, expected = tj.compile(read)(x.astype(KINDS[x.dtype.kind])), tj.compile(graph)(x)
    same(found, expected)
