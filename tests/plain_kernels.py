"""Array kernels in plain Python: the same texts and the same vector code, on ints and NumPy arrays."""

from __future__ import annotations

import ast
import ctypes
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from tosajit.kernels.contract.procedures import PROCEDURES
from tosajit.kernels.instances import written_out
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.vectors import Block, Vectors

Plain = Any
"""An int or an array, where kernels have values and registers of LLVM."""

DTYPES: dict[str, type[np.generic]] = {
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.uint16,
}


def at(address: int, dtype: Any, number: int) -> np.ndarray:
    """Memory as an array."""
    size = np.dtype(dtype).itemsize * number
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(int(address))).view(dtype)


def widened(register: np.ndarray) -> np.ndarray:
    """bfloat16 as float32; those that are subnormal as zeros, as products of pairs have them."""
    wide = (register.astype(np.uint32) << 16).view(np.float32)
    return np.where(np.abs(wide) < np.finfo(np.float32).tiny, np.float32(0), wide)


class PlainVectors(Vectors):
    """The primitives on NumPy arrays, by their definitions and nothing else."""

    def __init__(self, isa: InstructionSet) -> None:
        super().__init__(None, isa)
        self.fetched: list[int] = []
        self.to_write: list[int] = []

    def _lanes(self, kind: str, lanes: int | None) -> int:
        return lanes or self.isa.register_bytes // np.dtype(DTYPES[kind]).itemsize

    def number(self, value: Plain) -> Plain:
        return int(value)

    def loaded(self, where: Plain) -> Plain:
        return int(at(where, np.int64, 1)[0])

    def loaded_word(self, where: Plain) -> Plain:
        return int(at(where, np.int32, 1)[0])

    def choose(self, condition: Plain, yes: Plain, no: Plain) -> Plain:
        return np.where(condition, yes, no) if isinstance(condition, np.ndarray) else yes if condition else no

    def greater(self, first: Plain, second: Plain) -> Plain:
        return np.where(first > second, first, second)

    def unordered(self, first: Plain, second: Plain) -> Plain:
        return -(np.isnan(first) | np.isnan(second)).astype(np.int32)

    def least_unsigned(self, first: Plain, second: Plain) -> Plain:
        unsigned = [number.view(f"u{number.itemsize}") for number in (first, second)]
        return np.minimum(*unsigned).view(first.dtype)

    def equal(self, first: Plain, second: Plain) -> Plain:
        return first == second

    def loop(
        self, count: Plain, carried: Sequence[Plain], body: Callable[..., Sequence[Plain]]
    ) -> list[Plain]:
        values = list(carried)
        for index in range(count):
            values = list(body(index, values))
        return values

    def when(self, condition: Plain, yes: Block, no: Block | None = None) -> None:
        if condition:
            yes()
        elif no is not None:
            no()

    def usually(self, condition: Plain, value: Plain, otherwise: Callable[[], Plain]) -> Plain:
        return value if condition else otherwise()

    def switch(self, choice: Plain, cases: Mapping[int, Block]) -> None:
        cases[choice]()

    def call(self, name: str, body: Callable[..., None], *arguments: Plain) -> None:
        body(self, *arguments)

    def load(self, where: Plain, kind: str, lanes: int | None = None) -> Plain:
        return at(where, DTYPES[kind], self._lanes(kind, lanes)).copy()

    def store(self, register: Plain, where: Plain) -> None:
        at(where, register.dtype, register.size)[...] = register

    def fetch(self, where: Plain) -> None:
        self.fetched.append(where)

    def fetch_to_write(self, where: Plain) -> None:
        self.to_write.append(where)

    def constant(self, value: Plain, kind: str, lanes: int | None = None) -> Plain:
        return np.full(self._lanes(kind, lanes), np.array(value).astype(DTYPES[kind]))

    def broadcast(self, where: Plain) -> Plain:
        return np.repeat(at(where, np.int32, 1), self.isa.lanes)

    def splat(self, number: Plain, kind: str, lanes: int | None = None) -> Plain:
        return self.constant(np.int64(number), kind, lanes)

    def view(self, register: Plain, kind: str) -> Plain:
        return register.view(DTYPES[kind])

    def lanes_of(self, register: Plain) -> int:
        return int(register.size)

    def down(self, register: Plain, bits: Plain) -> Plain:
        if isinstance(register, int):
            return (register & (1 << 64) - 1) >> bits
        return (register.view(f"u{register.itemsize}") >> bits).view(register.dtype)

    def extended(self, register: Plain, kind: str) -> Plain:
        return register.astype(DTYPES[kind])

    def converted(self, register: Plain, kind: str) -> Plain:
        return register.astype(DTYPES[kind])

    def truncated(self, register: Plain) -> Plain:
        return register.astype(np.int32)

    def shortened(self, register: Plain, kind: str) -> Plain:
        return register.astype(DTYPES[kind])

    def shuffled(self, first: Plain, second: Plain, lanes: Sequence[int]) -> Plain:
        return np.concatenate([first, second])[list(lanes)]

    def zipped(self, first: Plain, second: Plain) -> tuple[Plain, Plain]:
        both = np.stack([first, second], axis=1).reshape(2, -1)
        return both[0], both[1]

    def between(self, low: Plain, high: Plain) -> Plain:
        return (1 << max(high, 0)) - 1 & -(1 << low)

    def load_part(
        self, where: Plain, mask: Plain, kind: str, other: Plain = None, lanes: int | None = None
    ) -> Plain:
        register = self.constant(0, kind, lanes) if other is None else other.copy()
        size = register.itemsize
        for lane in range(register.size):
            if mask >> lane & 1:
                register[lane] = at(where + lane * size, register.dtype, 1)[0]
        return register

    def store_part(self, register: Plain, where: Plain, mask: Plain) -> None:
        for lane in range(register.size):
            if mask >> lane & 1:
                at(where + lane * register.itemsize, register.dtype, 1)[0] = register[lane]

    def dot_bytes(self, total: Plain, left: Plain, right: Plain) -> Plain:
        first = left.view(np.uint8 if self.isa.bias else np.int8).astype(np.int32)
        return total + (first * right.view(np.int8)).reshape(-1, 4).sum(axis=1, dtype=np.int32)

    def dot_pairs(self, total: Plain, left: Plain, right: Plain) -> Plain:
        products = widened(left) * widened(right)
        return total + products.reshape(-1, 2).sum(axis=1)

    def multiply_pairs(self, total: Plain, left: Plain, right: Plain) -> Plain:
        if left.dtype == DTYPES["bf16"]:
            fours, others = (widened(one).reshape(-1, 2, 4) for one in (left, right))
            return total + (fours @ others.transpose(0, 2, 1)).reshape(-1)
        rows, columns = (one.view(np.int8).astype(np.int32).reshape(-1, 2, 8) for one in (left, right))
        return total + (rows @ columns.transpose(0, 2, 1)).astype(np.int32).reshape(-1)

    def dot_halves(self, total: Plain, left: Plain, right: Plain) -> Plain:
        products = left.view(np.int16).astype(np.int32) * right.view(np.int16)
        return total + products.reshape(-1, 2).sum(axis=1, dtype=np.int32)

    def widened(self, register: Plain) -> Plain:
        return register.astype(np.float32)

    def fused(self, total: Plain, left: Plain, right: Plain) -> Plain:
        return (left.astype(np.float64) * right + total).astype(np.float32)

    def even_products(self, left: Plain, right: Plain) -> Plain:
        low = np.uint64(0xFFFFFFFF)
        return ((left.view(np.uint64) & low) * (right.view(np.uint64) & low)).view(np.int64)

    def start_matrices(self, heights: Collection[tuple[int, Plain]]) -> None:
        self._heights = [self.isa.lanes] * 8
        for number, rows in heights:
            self._heights[number] = rows
        self._rows = [np.zeros(0, np.int8)] * 8

    def end_matrices(self) -> None:
        del self._heights, self._rows

    def load_rows(self, number: int, where: Plain, pitch: Plain) -> None:
        step = self.isa.register_bytes
        rows = [at(where + row * pitch, np.int8, step).copy() for row in range(self._heights[number])]
        self._rows[number] = np.stack(rows)

    def store_rows(self, number: int, where: Plain, pitch: Plain) -> None:
        for place, row in enumerate(self._rows[number]):
            at(where + place * pitch, np.int8, row.size)[...] = row

    def clear_rows(self, number: int) -> None:
        self._rows[number] = np.zeros((self._heights[number], self.isa.register_bytes), np.int8)

    def multiply_rows(self, kind: str, total: int, left: int, right: int) -> None:
        if kind == "bf16":
            left_rows, columns = (widened(self._rows[number].view(np.uint16)) for number in (left, right))
            pairs = columns.reshape(len(columns), -1, 2).transpose(0, 2, 1).reshape(2 * len(columns), -1)
            products = (left_rows @ pairs).astype(np.float32)
            self._rows[total] = (self._rows[total].view(np.float32) + products).view(np.int8)
            return
        a, b = (self._rows[number].astype(np.int32) for number in (left, right))
        quads = b.reshape(len(b), -1, 4).transpose(0, 2, 1).reshape(4 * len(b), -1)
        sums = self._rows[total].view(np.int32) + (a @ quads).astype(np.int32)
        self._rows[total] = sums.astype(np.int32).view(np.int8)

    def sum(self, words: Plain) -> Plain:
        return int(words.sum(dtype=np.int32))

    def narrow(self, words: Plain, low: Plain, high: Plain) -> Plain:
        least, most = (int(np.array(limit).astype(np.int8)) for limit in (low, high))
        return np.clip(words, least, most).astype(np.int8)


class Kernels:
    """Kernels by their texts; what stands for the address of one is its number."""

    def __init__(self, isa: InstructionSet) -> None:
        self.vectors = PlainVectors(isa)
        self._known: dict[int, Any] = {}
        self._numbers = count(1)
        self._kept: list[Any] = []

    def address(self, source: str) -> int:
        """A number for a kernel."""
        namespace: dict[str, Any] = {"np": np, "procedure": self._procedure, "VECTORS": None}
        namespace |= {"local": self._local, "call": lambda number, args: self._known[number](args)}
        for kind, dtype in DTYPES.items():
            namespace[f"load_{kind}"] = namespace[f"reload_{kind}"] = partial(self._load, dtype)
            namespace[f"store_{kind}"] = partial(self._store, dtype)
        text = ast.unparse(written_out(ast.parse(source)))
        exec(re.sub(r"^from .*$", "", text, flags=re.MULTILINE), namespace)
        number = next(self._numbers)
        self._known[number] = namespace["kernel"]
        return number

    def run(self, source: str, args: np.ndarray) -> None:
        """Run a kernel."""
        self._known[self.address(source)](args.ctypes.data)

    def _procedure(self, name: str, _: None) -> Any:
        return partial(PROCEDURES[name].body, self.vectors)

    def _local(self, size: int) -> int:
        self._kept.append(np.zeros(size + 64, np.uint8))
        address: int = self._kept[-1].ctypes.data
        return -(-address // 64) * 64

    def _load(self, dtype: Any, pointer: int, index: int) -> Any:
        value = at(pointer + index * np.dtype(dtype).itemsize, dtype, 1)[0]
        return int(value) if np.issubdtype(dtype, np.integer) else value

    def _store(self, dtype: Any, pointer: int, index: int, value: Any) -> None:
        at(pointer + index * np.dtype(dtype).itemsize, dtype, 1)[0] = value
