"""Each step of the generic kernel does to vectors what its scalar does to numbers, bit for bit."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tiling.expr import BYTES
from tiling.scalars import SCALARS, TABLE
from tosajit.arrays import Array
from tosajit.kernels.generic import words as at
from tosajit.kernels.generic.steps import BY_BITS, CLASSES, MOVES, Step, libraries, step_of, widest
from tosajit.kernels.objects import compile_kernel
from tosajit.kernels.scalars import vectorised

STORED: dict[str, Any] = {
    "bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32,
    "i64": np.int64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip
RANGES = {"i8": (-128, 127), "u8": (0, 255), "i16": (-(1 << 15), (1 << 15) - 1), "u16": (0, (1 << 16) - 1),
          "i32": (-(1 << 31), (1 << 31) - 1), "i64": (-(1 << 47), (1 << 47) - 1)}  # fmt: skip
SPECIAL = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    1e-40,
    -1e-45,
    65504.0,
    65520.0,
    2.0**31,
    -(2.0**31),
    np.inf,
    -np.inf,
)
COUNT = 1 << 12
COMPUTING = [step for steps in libraries().values() for step in steps if step.name not in MOVES]
MOVING = [(name, type) for name, types in MOVES.items() for type in types]


class Frame:
    """A frame with registers for whole arrays."""

    def __init__(
        self, arrays: Sequence[Array], columns: int, rows: int = 1, places: Sequence[int] = ()
    ) -> None:
        count = rows * columns
        self.size, self.head = 8 * (count + 64), 8 * (at.FRAME_PLACES + len(places))
        self.memory = np.zeros(self.head + self.size * (len(arrays) + 1) + 64, np.uint8)
        self.head += -(self.memory.ctypes.data + self.head) % 64
        words = self.memory[: 8 * at.FRAME_PLACES].view(np.int64)
        words[[at.COUNT, at.ROWS, at.COLUMNS]] = count, rows, columns
        self.memory[8 * at.FRAME_PLACES :][: 8 * len(places)].view(np.int64)[:] = places
        for number, array in enumerate(arrays, 1):
            self.register(number, array.dtype, array.size)[:] = array

    def offset(self, number: int) -> int:
        """Where a register is."""
        return self.head + number * self.size

    def register(self, number: int, type: Any, count: int) -> Array:
        """A register as an array."""
        bytes = count * np.dtype(type).itemsize
        found: Array = self.memory[self.offset(number) :][:bytes].view(type)
        return found

    def run(self, name: str, kinds: Sequence[str], operands: Sequence[int]) -> None:
        """Call a step."""
        text, number = step_of(name, *kinds)
        words = np.array([0, 0, number, self.memory.ctypes.data, *operands], np.int64)
        assert at.RESULT == 4
        kernel(text)(ctypes.c_int64(words.ctypes.data))


@cache
def kernel(text: str) -> Any:
    """A library as a function."""
    return ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(text).address)


def drawn(type: str, seed: int, count: int = COUNT) -> Array:
    """Values of a type as registers have them, its ends more often than chance has it."""
    rng = np.random.default_rng([seed, len(type)])
    kind = STORED[CLASSES[type]]
    if type == "bool":
        return rng.integers(0, 2, count).astype(kind)
    if CLASSES[type] == "f32":
        numbers = np.where(rng.random(count) < 0.3, rng.choice(SPECIAL, count), 0).astype(np.float32)
        any_bits = rng.integers(0, 1 << 32, count).astype(np.uint32).view(np.float32)
        near = rng.standard_normal(count).astype(np.float32)
        ways = rng.integers(0, 3, count)
        with np.errstate(all="ignore"):
            made: Array = np.choose(ways, [numbers, any_bits, near]).astype(STORED[type]).astype(kind)
        return made
    low, high = RANGES[type]
    ends = rng.choice([low, low + 1, -1 if low else 1, 0, 1, 2, 7, 31, high - 1, high], count)
    return np.where(rng.random(count) < 0.3, ends, rng.integers(low, high, count, endpoint=True)).astype(kind)


def operands_of(step: Step) -> list[Array]:
    """Values for each operand: all pairs of int8, or drawn ones."""
    types = [*step.kinds] if step.name in BY_BITS else [_type(step, n) for n in range(len(step.kinds))]
    if set(types) == {"i8"} and len(types) <= 2:
        every = np.array(list(product(range(-128, 128), repeat=len(types))), np.int32)
        return [np.ascontiguousarray(every[:, n]) for n in range(len(types))]
    if step.name in BY_BITS:
        types = ["i16"] * len(types)
    return [drawn(type, number) for number, type in enumerate(types)]


def _type(step: Step, number: int) -> str:
    """The widest type of a class that an operand may have."""
    allowed = [type for type in SCALARS[step.name].operands[number] if CLASSES[type] == step.kinds[number]]
    return max(allowed, key=lambda type: (BYTES[type], type.startswith("i"), type == "bf16"))


def same(found: Array, expected: Array) -> None:
    """Compare bits, but those of NaN."""
    if found.dtype.kind == "f":
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        number = ~np.isnan(expected)
        found, expected = found[number].view(np.int32), expected[number].view(np.int32)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("step", COMPUTING, ids=lambda step: "-".join([step.name, *step.kinds]))
def test_a_step_gives_the_bits_of_its_scalar(step: Step) -> None:
    operands = operands_of(step)
    with np.errstate(all="ignore"):
        expected = np.asarray(vectorised(step.name)(*operands))
    kind = "i32" if step.name in BY_BITS else CLASSES[SCALARS[step.name].result]
    frame = Frame(operands, operands[0].size)
    frame.run(step.name, step.kinds, [frame.offset(n) for n in range(len(operands) + 1)])
    same(frame.register(0, STORED[kind], operands[0].size), expected.astype(STORED[kind]))


def test_every_scalar_of_the_table_has_a_step() -> None:
    lacking = [row.name for row in TABLE if not _has_step(row.name)]
    assert not lacking


def _has_step(name: str) -> bool:
    kinds = tuple(map(widest, SCALARS[name].operands))
    return any(step.name == name and step.kinds == kinds for step in COMPUTING)


def test_a_scalar_that_has_no_step_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.COMPUTING", [step for step in COMPUTING if step.name != "clz_i32"])
    with pytest.raises(AssertionError, match="clz_i32"):
        test_every_scalar_of_the_table_has_a_step()


def memory_of(type: str, count: int) -> Array:
    """Elements of a type, all bits that a number can have."""
    kind = STORED[type]
    if type == "bool":
        return drawn("bool", 5, count)
    size = count * np.dtype(kind).itemsize
    made: Array = np.random.default_rng(len(type)).integers(0, 256, size, np.uint8).view(kind)
    return made


@pytest.mark.parametrize(("near", "far"), [(1, 40), (3, 90), (0, 1), (-1, 32)])
@pytest.mark.parametrize("type", MOVES["load"])
def test_rows_and_columns_are_loaded(type: str, near: int, far: int) -> None:
    memory, size, rows, columns = memory_of(type, 1000), BYTES[type], 5, 29
    frame = Frame([], columns, rows, [memory.ctypes.data + 100 * size])
    frame.run("load", [type], [frame.offset(0), at.FRAME_PLACES, near, far * size])
    where = 100 + far * np.arange(rows)[:, None] + near * np.arange(columns)
    kind = STORED[CLASSES[type]]
    same(frame.register(0, kind, rows * columns), memory[where].astype(kind).reshape(-1))


@pytest.mark.parametrize(("near", "far"), [(1, 40), (3, 90), (-1, 32)])
@pytest.mark.parametrize(("name", "type"), [move for move in MOVING if move[0] in ("store", "put")])
def test_rows_and_columns_are_stored(name: str, type: str, near: int, far: int) -> None:
    rows, columns, size = 5, 29, BYTES[type]
    given = drawn("f32" if name == "store" and CLASSES[type] == "f32" else type, 3, rows * columns)
    memory = np.zeros(1000, STORED[type])
    frame = Frame([given], columns, rows, [memory.ctypes.data + 100 * size])
    frame.run(name, [type], [frame.offset(1), at.FRAME_PLACES, near, far * size])
    expected = np.zeros(1000, STORED[type])
    where = 100 + far * np.arange(rows)[:, None] + near * np.arange(columns)
    with np.errstate(all="ignore"):
        expected[where] = given.reshape(rows, columns).astype(STORED[type])
    same(memory.astype(STORED[CLASSES[type]]), expected.astype(STORED[CLASSES[type]]))


@pytest.mark.parametrize("type", MOVES["gather"])
def test_elements_are_gathered_where_they_are_inside(type: str) -> None:
    memory, kind, count = memory_of(type, 300), STORED[CLASSES[type]], 77
    rng = np.random.default_rng(1)
    inside, fill = rng.integers(0, 2, count).astype(bool), drawn(type, 8, count)
    index = np.where(inside, rng.integers(0, 300, count), 1 << 40)
    frame = Frame([index, inside, fill], count, 1, [memory.ctypes.data])
    frame.run("gather", [type], [frame.offset(0), at.FRAME_PLACES, 0, 0, *map(frame.offset, (1, 2, 3))])
    expected = np.where(inside, memory[np.where(inside, index, 0)].astype(kind), fill)
    same(frame.register(0, kind, count), expected)


@pytest.mark.parametrize(("name", "type"), [move for move in MOVING if move[0].startswith("scatter")])
def test_elements_are_scattered_in_order(name: str, type: str) -> None:
    count, stored = 77, STORED[type]
    given, index = drawn(type, 4, count), np.random.default_rng(2).integers(0, 40, count)
    memory, expected = np.zeros(40, stored), np.zeros(40, stored)
    frame = Frame([given, index], count, 1, [memory.ctypes.data])
    frame.run(name, [type], [frame.offset(1), at.FRAME_PLACES, 0, 0, frame.offset(2)])
    for place, value in zip(index, given.astype(stored), strict=True):
        expected[place] = value
    same(memory.astype(STORED[CLASSES[type]]), expected.astype(STORED[CLASSES[type]]))


@pytest.mark.parametrize("kind", MOVES["fill"])
def test_a_number_fills_a_register(kind: str) -> None:
    value = np.array([1 if kind == "bool" else -3], STORED[kind])
    frame = Frame([], 50)
    bits = int(value.view(np.int32)[0]) if kind == "f32" else int(value[0])
    frame.run("fill", [kind], [frame.offset(0), bits])
    same(frame.register(0, STORED[kind], 50), np.full(50, value[0], STORED[kind]))


def test_a_ramp_grows_along_columns_and_rows() -> None:
    frame = Frame([], 7, 4, [-11])
    frame.run("ramp", ["i64"], [frame.offset(0), at.FRAME_PLACES, 3, 100])
    expected = -11 + 100 * np.arange(4)[:, None] + 3 * np.arange(7)
    np.testing.assert_array_equal(frame.register(0, np.int64, 28), expected.reshape(-1))
