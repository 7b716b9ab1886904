"""What units take for work drawn by chance stays what it is: blocks, mappings and cycles of each array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from random import Random

import numpy as np
import pytest

import sim
import tosajit as tj
from sim.cost.costs import Costs
from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import Map, Maps, Memory, layer_cycles
from sim.cost.ethos.parts import Layer, Op, Shape, part
from sim.cost.support import UnsupportedError
from tests.golden_networks import attention, moving, recurrent, residual, resized
from tests.sim.nests import convolution, groups
from tests.sim.test_block import ACCELERATORS
from tiling.nest import Nest
from tosajit import ops
from tosajit.tracing.tensor import Tensor

JOBS = 40
"""Pieces of work for each accelerator."""
MACHINES = (
    "ethos-u55-128",
    "ethos-u65-512",
    "ethos-u85-256",
    "systolic-16",
    "tpu-v1",
    "eyeriss-v1",
    "gemmini-16",
    "tiny",
)
OPS: tuple[Op, ...] = ("convolution", "convolution", "depthwise", "pool", "sum")


def layer(chance: Random) -> Layer:
    """Work of any kind and size."""
    op = chance.choice(OPS)
    kernel = (1, 1) if op == "sum" else (chance.choice((1, 1, 2, 3, 5, 7)), chance.choice((1, 2, 3, 5, 7)))
    stride = chance.choice(((1, 1), (1, 1), (2, 2), (1, 2), (3, 1)))
    dilation = chance.choice(((1, 1), (1, 1), (2, 2))) if op == "convolution" else (1, 1)
    high, wide = chance.randrange(1, 60), chance.randrange(1, 60)
    deep = chance.choice((1, 2, 3, 8, 16, 24, 40, 64, 200))
    read = chance.choice((1, 2, 3, 8, 16, 24, 40, 64, 200)) if op in ("convolution", "sum") else deep
    rows, columns = (
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip((high, wide), stride, kernel, dilation, strict=True)
    )
    return Layer(
        op,
        Shape(high, wide, deep),
        Shape(rows, columns, read),
        kernel,
        stride,
        dilation,
        bits=chance.choice((8, 8, 16, 32) if op == "sum" else (8, 8, 16)),
        output_bits=chance.choice((8, 16, 32)),
        wide=chance.random() < 0.2,
        table=chance.random() < 0.2,
        dynamic=op == "convolution" and chance.random() < 0.2,
        maximum=op == "pool" and chance.random() < 0.5,
    )


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_blocks_and_cycles_of_jobs(accelerator: str, golden: Callable[[str, str], None]) -> None:
    golden(f"jobs_{accelerator}", "\n".join(jobs(accelerator)))


def jobs(accelerator: str) -> Iterator[str]:
    """A line for each piece of work."""
    family, macs = accelerator.split("-")[1:]
    hardware, chance = part(family, int(macs)), Random(accelerator)
    for _ in range(JOBS):
        drawn = layer(chance)
        choice = chosen(hardware, drawn)
        rate: float | None = chance.choice((None, 1.5, 16))
        reads, writes = (chance.choice((0, 32, 200)) for _ in range(2))
        memory = Memory(rate, reads, writes, 64)
        what = f"{drawn.op} {tuple(drawn.output)} from {tuple(drawn.input)} of {drawn.bits} bits"
        cycles = layer_cycles(
            hardware, drawn, choice, Maps(Map(memory), Map(memory), 100), chance.choice((0.0, 0.5))
        )
        blocks = f"{tuple(choice.output)} {tuple(choice.input)} {'kernel' if choice.part_kernel else 'depth'}"
        yield (
            f"{what}: {blocks}: {cycles.total} = {cycles.products} {cycles.results} "
            f"{cycles.fill} {cycles.commands}"
        )


@cache
def nests() -> tuple[Nest, ...]:
    """Groups of all verbs, those of networks among them."""
    chance = Random("nests")
    found = [
        convolution(
            (chance.choice((1, 1, 2)), 3 + chance.randrange(30), 3 + chance.randrange(30), deep),
            (high, wide, deep, chance.choice((1, 2))) if depthwise else (filters, high, wide, deep),
            stride=(1, 1),
            pad=(high // 2, high - 1 - high // 2, wide // 2, wide - 1 - wide // 2),
            depthwise=depthwise,
        )
        for depthwise in (False, False, True)
        for deep in (1, 3, 16, 48)
        for high, wide, filters in [
            (chance.choice((1, 2, 3, 5)), chance.choice((1, 3, 4)), chance.choice((4, 17, 64)))
        ]
    ]
    for maker in (residual, attention, moving, resized):
        found += groups(maker())
    found += groups(recurrent())[:4]
    return (*found, *groups(tj.trace(mixture, *INPUTS)), *groups(tj.trace(kinds, *INPUTS)))


INPUTS = np.zeros((2, 9, 31), np.float32), np.zeros((2, 9, 31), np.int16), np.zeros((2, 9, 31), np.int8)


def mixture(real: Tensor, short: Tensor, small: Tensor) -> tuple[Tensor, ...]:
    """Elementwise work, reductions and choices in several types."""
    logic = ops.greater(real, ops.tanh(real))
    return (
        ops.select(logic, ops.sigmoid(real), ops.pow(real, real)),
        ops.reduce_any(logic, axis=1),
        ops.reduce_max(small, axis=2),
        ops.reduce_product(real, axis=0),
        ops.argmax(short, axis=2),
        ops.add(ops.cast(short, dtype=tj.INT32), ops.cast(small, dtype=tj.INT32)),
        ops.transpose(short, perms=(2, 0, 1)),
        ops.cast(real, dtype=tj.INT8),
        ops.clamp(small, min_val=-3, max_val=9),
    )


def kinds(real: Tensor, short: Tensor, small: Tensor) -> tuple[Tensor, ...]:
    """The same few operators in every type that they have."""
    narrow = [ops.cast(real, dtype=dtype) for dtype in (tj.FP16, tj.BF16)]
    bytes_ = [ops.cast(one, dtype=tj.FP8E4M3) for one in narrow[1:]]
    wide, small_wide = ops.cast(short, dtype=tj.INT32), ops.cast(small, dtype=tj.INT32)
    results = tj.FP32, tj.FP32, tj.FP16, tj.INT48
    products = [
        ops.matmul(one, ops.transpose(one, perms=(0, 2, 1)), dtype=dtype)
        for one, dtype in zip((*narrow, *bytes_, short), results, strict=True)
    ]
    products += [
        ops.mul(wide, small_wide),
        ops.mul(short, short),
        ops.mul(narrow[0], narrow[0]),
    ]
    sums = [ops.reduce_sum(one, axis=1) for one in (*narrow, wide)]
    functions = [ops.exp(narrow[0]), ops.abs(narrow[1]), ops.clz(wide), ops.maximum(wide, wide)]
    return (*products, *sums, *functions, ops.add(ops.mul(wide, wide), small_wide), *bytes_)


@pytest.mark.parametrize("machine", MACHINES)
def test_cycles_of_tiles(machine: str, golden: Callable[[str, str], None]) -> None:
    golden(f"tiles_{machine}", "\n".join(tiles(machine)))


def tiles(machine: str) -> Iterator[str]:
    """A line for each group: all of it, and a part of it, as cycles and what they are made of."""
    costs, chance = Costs.of(sim.machine(machine)), Random(machine)
    for nest in nests():
        part = tuple(max(1, extent // chance.choice((1, 2, 3))) for extent in nest.extents)
        for tile in (nest.extents, part):
            try:
                work = costs.work(nest, tile)
            except UnsupportedError as error:
                yield f"{nest.verb} {tile}: {error}"
                continue
            detail = " ".join(f"{name} {count}" for name, count in work.detail)
            yield (
                f"{nest.verb} {tile}: {work.unit} {work.cycles} fill {work.fill} macs {work.macs} "
                f"operations {work.operations} traffic {' '.join(map(str, work.traffic))}; {detail}"
            )
