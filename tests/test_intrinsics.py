"""Memory access, calls and atomics inside kernels."""

from __future__ import annotations

import ctypes
import re
import threading

import numpy as np
import pytest
from numba.core.errors import TypingError

from tosajit.arrays import Array
from tosajit.kernels.native import llvm_text
from tosajit.kernels.objects import compile_kernel

HEAD = "import numpy as np\nfrom tosajit.kernels.intrinsics import *\n\n\n"
TYPES = {
    "bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32,
    "u32": np.uint32, "i64": np.int64, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def kernel(*lines: str) -> str:
    return HEAD + "def kernel(args):\n" + "".join(f"    {line}\n" for line in lines)


def run(source: str, *arguments: int) -> Array:
    array = np.array(arguments, np.int64)
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(source).address)(array.ctypes.data)
    return array


def loop(body: str, *before: str) -> str:
    return kernel(
        "a = load_i64(args, 0)", "b = load_i64(args, 1)", "o = load_i64(args, 2)", "n = load_i64(args, 3)",
        *before, "for i in range(n):", f"    {body}",
    )  # fmt: skip


@pytest.mark.parametrize("form", ["load", "reload"])
@pytest.mark.parametrize("type", TYPES)
def test_elements_are_copied_from_and_to_any_address(type: str, form: str) -> None:
    size = np.dtype(TYPES[type]).itemsize
    source, target = np.arange(7 * size + 1, dtype=np.uint8) % 2, np.full(7 * size + 1, 9, np.uint8)
    text = loop(f"store_{type}(o, i, {form}_{type}(a, i))")
    run(text, source.ctypes.data + 1, 0, target.ctypes.data + 1, 6)
    assert target[1 : 6 * size + 1].tolist() == source[1 : 6 * size + 1].tolist()
    assert set(target[6 * size + 1 :]) == {9}


@pytest.mark.parametrize("value", ["np.int32(1)", "np.int64(args)", "np.float32(1)", "1.5"])
def test_a_store_takes_its_own_type_only(value: str) -> None:
    with pytest.raises(TypingError, match="cast it first"):
        llvm_text(kernel(f"store_i8(args, 0, {value})"))


def test_a_store_takes_a_literal() -> None:
    assert run(kernel("store_i64(args, 0, 7)"), 0).tolist() == [7]


def test_a_pointer_is_an_integer() -> None:
    with pytest.raises(TypingError, match="must be an integer"):
        llvm_text(kernel("store_i64(1.0, 0, 7)"))


@pytest.mark.parametrize("type", ["i8", "i16", "i32", "f32"])
def test_loops_are_vectorised_without_overlap_checks(type: str) -> None:
    cast = TYPES[type].__name__
    text = llvm_text(loop(f"store_{type}(o, i, np.{cast}(load_{type}(a, i) + load_{type}(b, i)))"))
    assert re.search(r"load <\d+ x ", text)
    assert "memcheck" not in text


def test_loads_of_operands_leave_the_loop() -> None:
    text = llvm_text(loop("store_i32(o, i, np.int32(load_i32(a, i) * load_i32(b, 0)))"))
    body = text[text.index("vector.body") :]
    assert re.search(r"load <\d+ x i32>", body)
    assert body.count("load i32") <= 2


def test_a_reload_sees_what_was_stored() -> None:
    total = np.zeros(1, np.int32)
    values = np.arange(100, dtype=np.int32)
    source = loop("store_i32(o, 0, np.int32(reload_i32(o, 0) + load_i32(a, i)))")
    run(source, values.ctypes.data, 0, total.ctypes.data, 100)
    assert total[0] == values.sum()


def test_a_kernel_calls_another() -> None:
    callee = compile_kernel(kernel("store_i64(args, 1, load_i64(args, 0) + 1)"))
    source = kernel("call(load_i64(args, 0), load_i64(args, 1))")
    inner = np.array([41, 0], np.int64)
    run(source, callee.address, inner.ctypes.data)
    assert inner[1] == 42


def test_local_memory_is_aligned_and_apart() -> None:
    found = run(
        kernel(
            "p = local(40)", "q = local(8)",
            "for i in range(5):", "    store_i64(p, i, i)",
            "store_i64(q, 0, 100)",
            "store_i64(args, 0, reload_i64(p, 4) + reload_i64(q, 0))",
            "store_i64(args, 1, p & 63 | q & 63)",
        ), 0, 1,
    )  # fmt: skip
    assert found.tolist() == [104, 0]


def test_bytes_are_copied_and_filled() -> None:
    source, target = np.arange(1000, dtype=np.uint8), np.zeros(1002, np.uint8)
    text = kernel("copy_bytes(load_i64(args, 1), load_i64(args, 0), load_i64(args, 2))")
    run(text, source.ctypes.data, target.ctypes.data + 1, 1000)
    assert target.tolist() == [0, *source.tolist(), 0]
    run(kernel("fill_bytes(load_i64(args, 0), load_i64(args, 1), 500)"), target.ctypes.data + 1, 0x1FE)
    assert target[:502].tolist() == [0, *[0xFE] * 500, source[500]]


def test_atomics_give_what_was_there() -> None:
    source = kernel(
        "store_i64(args, 1, fetch_add(args, 0, 5))",
        "store_i64(args, 2, exchange(args, 0, 50))",
        "store_i64(args, 3, compare_exchange(args, 0, 50, 60))",
        "store_i64(args, 4, compare_exchange(args, 0, 50, 70))",
        "store_release(args, 5, load_acquire(args, 0))",
    )
    assert run(source, 1, 0, 0, 0, 0, 0).tolist() == [60, 1, 6, 50, 60, 60]


def test_counting_together_loses_nothing() -> None:
    source = kernel(
        "for i in range(20000):", "    fetch_add(load_i64(args, 0), 0, 1)", "    pause()", "rest()"
    )
    count = np.zeros(1, np.int64)
    array = np.array([count.ctypes.data], np.int64)
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(source).address)
    counters = [threading.Thread(target=function, args=(array.ctypes.data,)) for _ in range(4)]
    for counter in counters:
        counter.start()
    for counter in counters:
        counter.join()
    assert count[0] == 80000
