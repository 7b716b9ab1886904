"""What one core can do at most: products of a type a second, and bytes a second out of each cache.

Both are measured when they are first asked for. Products are those of the largest register tile of the
instruction set with operands in the first-level cache; bytes are read from arrays of half a cache's size.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np

from tosajit.kernels.contract.slots import TileJob
from tosajit.kernels.contract.source import tile_source, vector_imports
from tosajit.kernels.contract.spec import ContractSpec
from tosajit.kernels.lines import address_of, aligned
from tosajit.kernels.objects import compile_kernel
from tosajit.kernels.sets.registry import instruction_set

SIZES = {"L1": 32 << 10, "L2": 1 << 20, "L3": 16 << 20}
"""Caches of a common core, for systems that do not tell."""
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
"""Where Linux tells them."""
MEMORY = "memory"
BEYOND = 64 << 20
"""Bytes of an array that stands for memory, where caches are smaller."""
SECONDS = 1e-3
"""The least time of a measurement; the best of several counts."""
ROUNDS = 5
STEPS = 64
"""Of a register tile: its operands stay in the first-level cache."""

REPEATED = '''"""Another kernel, again and again."""

from tosajit.kernels.intrinsics import call, reload_i64


def kernel(args):
    for _ in range(reload_i64(args, 0)):
        call(reload_i64(args, 1), reload_i64(args, 2))
'''
AMONG_ROWS = '''"""The same between a beginning and an end with registers of rows."""

from tosajit.kernels.intrinsics import call, reload_i64
{imports}


def kernel(args):
    start_matrices(reload_i64(args, 3))
    for _ in range(reload_i64(args, 0)):
        call(reload_i64(args, 1), reload_i64(args, 2))
    end_matrices()
'''
READING = '''"""The sum of an array, again and again."""

from tosajit.kernels.intrinsics import load_i64, reload_i64, store_i64


def kernel(args):
    total, words, source = 0, reload_i64(args, 1), reload_i64(args, 2)
    for _ in range(reload_i64(args, 0)):
        for i in range(words):
            total += load_i64(source, i)
    store_i64(args, 3, total)
'''


@dataclass(frozen=True, slots=True)
class Level:
    """A cache, or memory behind all caches."""

    name: str
    bytes: int | None
    """What fits; None if everything does."""
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Peaks:
    """What one core can do at most."""

    macs_per_second: Callable[[str, str], float | None]
    """Of activations and weights of two types; None if no array kernel multiplies these."""
    levels: tuple[Level, ...]
    """The caches, the fastest first, and memory."""

    def level(self, size: int) -> Level:
        """Where so many bytes can stay."""
        return next(one for one in self.levels if one.bytes is None or size <= one.bytes)


@cache
def core_peaks() -> Peaks:
    """The figures of this machine."""
    sizes = cache_sizes()
    levels = [Level(name, size, _reading(size // 2)) for name, size in sizes.items()]
    beyond = max(BEYOND, 2 * max(sizes.values()))
    return Peaks(_products, (*levels, Level(MEMORY, None, _reading(beyond))))


def cache_sizes(folder: Path = CACHES) -> Mapping[str, int]:
    """Bytes of each level of cache, as the system tells them."""
    sizes = dict(SIZES)
    for place in sorted(folder.glob("index*")):
        try:
            level, kind, size = ((place / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if f"L{level}" in sizes and kind != "Instruction" and size.endswith("K"):
            sizes[f"L{level}"] = int(size[:-1]) << 10
    return sizes


@cache
def _products(left: str, right: str) -> float | None:
    """Products a second in the largest register tile."""
    isa = instruction_set()
    pairs = {("i8", "i8"), ("i16", "i8"), ("f32", "f32"), ("f16", "f16"), ("bf16", "bf16")}
    if isa is None or (left, right) not in pairs or (left == "f16" and not isa.half_rows):
        return None
    isa = isa.tiles_of(left)
    tile = compile_kernel(tile_source(ContractSpec(isa, "convolution", left, right)))
    matrices, register = isa.matrices_of(left), isa.register_bytes
    rows = matrices.height if matrices else isa.heights[-1]
    a, b = aligned(rows * STEPS * 4), aligned(isa.panels * STEPS * register)
    start, sums = aligned(2 * register), aligned(rows * 4 * register)
    for array in (a, b, start):
        array[:] = 0
    given = {TileJob.A: a, TileJob.B: b, TileJob.INITIAL: start, TileJob.WORDS: sums}
    numbers = {TileJob.A_ROW: STEPS * 4, TileJob.SEGMENTS: 1, TileJob.STEPS: STEPS}
    numbers |= {TileJob.B_PANEL: STEPS * register, TileJob.HEIGHT: rows, TileJob.PANELS: isa.panels}
    words = {**numbers, **{slot: address_of(array) for slot, array in given.items()}}
    job = np.array([words.get(slot, 0) for slot in TileJob], np.int64)
    elements = {"i8": 4 // isa.byte_width, "f32": 1}.get(left, 2)
    repeated, places = REPEATED, [tile.address, address_of(job)]
    if matrices:
        imports = vector_imports(isa, ["start_matrices", "end_matrices"])
        repeated, places = AMONG_ROWS.format(imports=imports), [*places, matrices.rows]
    return rows * isa.panels * isa.lanes * STEPS * elements / _fastest(repeated, *places)


def _reading(size: int) -> float:
    """Bytes a second of an array."""
    array = aligned(size)
    array[:] = 1
    return size / _fastest(READING, size // 8, address_of(array))


def _fastest(source: str, *arguments: int) -> float:
    """Seconds of one repetition of a kernel, in the fastest of some rounds."""
    words = np.array([1, *arguments, 0], np.int64)
    run, where = ctypes.CFUNCTYPE(None, ctypes.c_int64)(compile_kernel(source).address), address_of(words)
    best = np.inf
    for _ in range(ROUNDS):
        while True:
            began = perf_counter()
            run(where)
            seconds = perf_counter() - began
            if seconds >= SECONDS:
                break
            words[0] *= 2
        best = min(best, seconds / int(words[0]))
    return float(best)
