"""Kernels as LLVM's code: what Python does with the same text, the compiled kernel does too."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tosajit.kernels.intrinsics import exactly
from tosajit.kernels.loops import overlaps
from tosajit.kernels.native import llvm_text
from tosajit.kernels.objects import compile_kernel
from tosajit.kernels.sets.cpus import foreign
from tosajit.kernels.sets.registry import compiling_for

HEAD = (
    "import numpy as np\n"
    "from tosajit.kernels.intrinsics import by_halves, by_masks, by_registers, exactly, interleaved, "
    "interleaved_at_need, load_i64, overlapping_at_need, store_i64, store_f64, store_i8\n"
)
FUNCTIONS = """
def first_multiple(n, limit):
    for i in range(1, limit):
        if i % n == 0:
            return i
    return -1

def is_odd(n):
    if n & 1:
        return True
    return False

def count(args):
    if load_i64(args, 0) < 0:
        return
    store_i64(args, 1, 7)
"""


def kernel(body: str, functions: str = "") -> str:
    """A module text: `a` and `b` are given, `r` and `s` are the results."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return (
        f"{HEAD}{functions}\ndef kernel(args):\n    a, b = load_i64(args, 0), load_i64(args, 1)\n"
        f"    r, s = 0, 0\n{lines}\n"
        "    store_i64(args, 2, np.int64(r))\n    store_i64(args, 3, np.int64(s))\n"
    )


def compiled(body: str, a: int, b: int, functions: str = "") -> list[int]:
    """What a compiled kernel leaves in `r` and `s`."""
    array = np.array([a, b, 0, 0], np.int64)
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(kernel(body, functions)).address)(array.ctypes.data)
    return [int(number) for number in array[2:]]


def plain(body: str, a: int, b: int, functions: str = "") -> list[int]:
    """What Python leaves there."""
    names: dict[str, Any] = {
        "a": a,
        "b": b,
        "r": 0,
        "s": 0,
        "np": np,
        "load_i64": lambda args, place: args[place],
        "interleaved": range,
        "interleaved_at_need": range,
        "by_registers": range,
        "by_halves": range,
        "by_masks": range,
        "overlapping_at_need": range,
        "exactly": exactly,
    }
    exec(functions + "\n" + body, names)
    return [int(names["r"]), int(names["s"])]


BODIES = {
    "a chain of comparisons": "r = 1 if 0 <= a < b else 2\ns = 1 if not (a < 3 <= b != 7) else 0",
    "and, or": "r = 1 if a > 2 and b > 2 or a == b else 0\ns = (a and b) + (a or b)",
    "division": "r = a // 3 + b % 5\ns = a // -2",
    "bits": "r = (a << 2 | b & 12) ^ ~a\ns = a >> 1",
    "numbers of the text": "r = a + (1 << 31) - -5\ns = ~(3 - 1) * 2",
    "a choice within a choice": "r = (1 if a > b else 2) if a > 0 else (3 if b > 0 else 4)",
    "names of one way": "if a > b:\n    t = a\n    r = t\nelse:\n    u = b\n    r = u + 1",
    "ways that differ in type": "x = 1\nif a > b:\n    x = np.float64(0.5)\nr = np.int64(x * 4)",
    "values that change places": "r, s = a, b\nfor i in range(3):\n    r, s = s, r + i",
    "turns beside each other": "for i in interleaved(a, b):\n    r += i * i\n    s = s ^ i",
    "turns beside each other at need": "for i in interleaved_at_need(a, b):\n    r += i * i\n    s = s ^ i",
    "short loops": "for i in by_registers(0, b):\n    r += i * a\nfor i in by_masks(a, 19):\n    s += i",
    "loops that could overlap": "for i in overlapping_at_need(a, 75):\n    r += i * b",
    "loops of few turns": "for i in exactly(a, b, 4):\n    r += i * b\n    s = s ^ r",
    "loops of few turns in a loop": "for j in range(b):\n    for i in exactly(0, a, 3):\n        r += i * j",
    "short loops of halves": "for i in by_halves(a, 24):\n    r += i * b",
    "a loop within a loop": "for i in range(a):\n    for j in range(i, b):\n        r += i * j\n    s += 1",
    "a loop over nothing": "for i in range(5, 5):\n    r = 9\nfor i in range(7, 2):\n    s = 9",
    "steps": "for i in range(a, 40, 7):\n    r += i\nfor i in range(40, a, -7):\n    s += i",
    "a step that is a variable": "t = b - 4 if b != 4 else 3\nfor i in range(0, 10 * t, t):\n    r += i",
    "a loop that widens": "x = np.int8(1)\nfor i in range(9):\n    x = np.int64(x) * 2 + a\nr = x",
    "an inner loop that widens": (
        "x = np.int32(1)\nfor i in range(3):\n    y = x\n"
        "    for j in range(3):\n        x = y + np.int64(j)\nr = x"
    ),
    "a loop that becomes a float": "x = 0\nfor i in range(4):\n    x = x + 0.25\nr = np.int64(x)",
    "while": "r = a\nwhile r > 1 and s < 60:\n    r = r // 2 if r % 2 == 0 else 3 * r + 1\n    s += 1",
    "a counter that is changed": "for i in range(5):\n    i = i * 2\n    r += i",
}


@pytest.mark.parametrize(("a", "b"), [(3, 7), (-4, 4), (12, 5), (0, 0)])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_kernel_computes_what_python_does(body: str, a: int, b: int) -> None:
    assert compiled(body, a, b) == plain(body, a, b)


@pytest.mark.parametrize("kind", ["by_masks", "overlapping_at_need"])
@pytest.mark.parametrize(("low", "high"), [(0, 19), (2, 21), (5, 13), (5, 12), (4, 4), (6, 3)])
def test_points_of_a_row_that_fills_no_register_are_each_done(kind: str, low: int, high: int) -> None:
    body = f"for i in {kind}(a, b):\n    store_i64(args, 4 + i, np.int64(3 * i + a))"
    array = np.zeros(32, np.int64)
    array[:2] = low, high
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(kernel(body)).address)(array.ctypes.data)
    expected = [3 * i + low if low <= i < high else 0 for i in range(28)]
    assert array[4:].tolist() == expected


@pytest.mark.parametrize("kind", ["by_masks", "overlapping_at_need", "range"])
def test_the_last_register_of_avx2_does_points_of_the_one_before(kind: str) -> None:
    body = f"for i in {kind}(a, b):\n    store_i64(args, 2, reload_i64(args, 2) + 1)"
    array = np.array([0, 19, 0, 0], np.int64)
    source = kernel(body).replace("    store_i64(args, 2, np.int64(r))\n", "")
    source = f"from tosajit.kernels.intrinsics import reload_i64\n{source}"
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(source).address)(array.ctypes.data)
    assert array[2] == (24 if overlaps(kind) else 19)


@pytest.mark.parametrize(("name", "overlapping"), [("haswell", True), ("skylake-avx512", False)])
def test_registers_overlap_where_there_are_no_masks(name: str, overlapping: bool) -> None:
    with compiling_for(foreign("x86_64-unknown-linux-gnu", name)):
        assert overlaps("by_masks") is overlapping
        assert not overlaps("by_registers")


@pytest.mark.parametrize(("a", "b"), [(3, 17), (4, 2), (7, 7)])
def test_functions_may_return_early_and_numbers_of_any_type(a: int, b: int) -> None:
    body = "r = first_multiple(a, b)\ns = 5 if is_odd(a) and not is_odd(b) else 6"
    assert compiled(body, a, b, FUNCTIONS) == plain(body, a, b, FUNCTIONS)


def test_a_function_without_result_is_called_for_what_it_does() -> None:
    body = "count(args)\nr = reload_i64(args, 1)"
    functions = f"from tosajit.kernels.intrinsics import reload_i64\n{FUNCTIONS}"
    assert compiled(body, 1, 3, functions) == [7, 0]
    assert compiled(body, -1, 3, functions) == [3, 0]


def test_what_is_not_reached_is_not_evaluated() -> None:
    body = "r = 1 if a != 0 and load_i64(a, 0) == 3 else 2\ns = 1 if 0 < a < load_i64(a, 0) else 2"
    assert compiled(body, 0, 0) == [2, 2]


def test_a_literal_stays_one_under_a_name() -> None:
    assert "store i8 7" in llvm_text(kernel("t = 7\nstore_i8(args, 0, t)"))


def test_the_code_is_the_same_every_time() -> None:
    body = BODIES["a loop within a loop"]
    assert llvm_text(kernel(body)) == llvm_text(kernel(body))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("if a > 0:\n    t = 1\nr = t", "line 9: a kernel has scalars alone: t has no value here"),
        ("for i in range(a):\n    t = 1\nr = t", "t has no value here"),
        ("for i in [1, 2]:\n    r = i", "not [1, 2] to loop over"),
        ("r = [a][0]", "not [a][0]"),
        ("with a:\n    r = 1", "not with a"),
        ("a.b = 3", "not a.b = 3"),
        ("r = max(a, key=b)", "no arguments by keyword"),
        ("while a:\n    r = 1\nelse:\n    r = 2", "no else of a loop"),
        ("r = nobody(a)", "not nobody"),
    ],
)
def test_what_a_kernel_cannot_have_is_refused_with_its_line(body: str, message: str) -> None:
    with pytest.raises(ValueError, match="a kernel has scalars alone") as caught:
        llvm_text(kernel(body))
    assert message in str(caught.value)


def test_a_function_that_returns_sometimes_is_refused() -> None:
    functions = "def half(n):\n    if n > 0:\n        return n // 2\n"
    with pytest.raises(ValueError, match="half does not always return a value"):
        llvm_text(kernel("r = half(a)", functions))
