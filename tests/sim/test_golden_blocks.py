"""Sums over much drawn work of what the Ethos-U's rules give: a rule that changes anywhere changes a sum.

The rules are held against Vela's estimates elsewhere; here is what those few networks do not reach.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from random import Random

import pytest

from sim.cost.ethos import u55, u85
from sim.cost.ethos.area import area_block, even
from sim.cost.ethos.cycles import Map, Maps, Memory, layer_cycles
from sim.cost.ethos.parts import Choice, Layer, Op, Part55, Part85, Shape, part
from tests.sim.test_block import ACCELERATORS

DRAWN = 300
KERNELS = (1, 1), (1, 2), (1, 3), (2, 2), (3, 3), (1, 5), (5, 5), (7, 7), (9, 10), (1, 17)
OPS: tuple[Op, ...] = ("convolution", "depthwise", "pool", "sum")


def layer(chance: Random, op: Op) -> Layer:
    """Work of a kind, of any size and element."""
    kernel = (1, 1) if op == "sum" else chance.choice(KERNELS)
    output = Shape(
        chance.choice((1, 2, 5, 16, 33)), chance.choice((1, 2, 7, 20)), chance.choice((1, 8, 24, 70))
    )
    depth = output.depth if op in ("depthwise", "pool") else chance.choice((1, 2, 3, 8, 20, 64, 200))
    return Layer(
        op,
        output,
        Shape(output.height + kernel[0] - 1, output.width + kernel[1] - 1, depth),
        kernel,
        chance.choice(((1, 1), (2, 1))),
        chance.choice(((1, 1), (1, 2))),
        bits=chance.choice((8, 16, 32) if op == "sum" else (8, 16)),
        output_bits=chance.choice((8, 16, 32)),
        wide=chance.random() < 0.4,
        table=chance.random() < 0.3,
        dynamic=op == "convolution" and chance.random() < 0.3,
        maximum=op == "pool" and chance.random() < 0.5,
    )


def choice(chance: Random, hardware: Part55 | Part85, given: Layer) -> Choice:
    """Any blocks for it, the best ones or not."""
    micro = hardware.microblock if isinstance(hardware, Part55) else chance.choice(hardware.microblocks)
    block = Shape(*(n * chance.choice((1, 2, 4)) for n in micro))
    source = Shape(*given.needed(block), chance.choice((8, 16, 32)))
    return Choice(block, source, micro, given.op == "convolution" and chance.random() < 0.5)


@pytest.mark.parametrize("accelerator", ACCELERATORS)
def test_sums_are_what_they_were(accelerator: str, golden: Callable[[str, str], None]) -> None:
    family, macs = accelerator.split("-")[1:]
    hardware = part(family, int(macs))
    golden(f"sums_{accelerator}", "\n".join([*cycles(hardware), *rules(hardware)]))


def cycles(hardware: Part55 | Part85) -> Iterator[str]:
    """For each kind of work: all its cycles, and what they are made of."""
    chance = Random(hardware.macs)
    for op in OPS:
        total: Counter[str] = Counter()
        for _ in range(DRAWN):
            given = layer(chance, op)
            rate, *latencies = [chance.choice(some) for some in ((None, 1.5, 16), (0, 32, 200), (0, 32, 200))]
            memory = Memory(rate, int(latencies[0] or 0), int(latencies[1] or 0), 64)
            maps = Maps(Map(memory), Map(memory), 100)
            found = layer_cycles(
                hardware, given, choice(chance, hardware, given), maps, chance.choice((0.0, 0.5))
            )
            for name in ("total", "fill", "products", "results", "commands"):
                total[name] += getattr(found, name)
        yield f"{op}: {' '.join(f'{name} {count}' for name, count in total.items())}"


def rules(hardware: Part55 | Part85) -> Iterator[str]:
    """How often each rule says what, over all depths and kernels."""
    chance = Random(hardware.macs)
    partly: Counter[object] = Counter()
    rule = u55.part_kernel if isinstance(hardware, Part55) else u85.part_kernel
    for depth, kernel, bits in product(range(1, 140), KERNELS, (8, 16)):
        given = Layer("convolution", Shape(4, 4, 16), Shape(8, 8, depth), kernel, bits=bits)
        partly[kernel, bits] += rule(given)
    yield f"part kernel: {' '.join(map(str, partly.values()))}"
    if isinstance(hardware, Part55):
        return
    micros: Counter[object] = Counter()
    held: Counter[object] = Counter()
    for op in OPS:
        for _ in range(DRAWN):
            given = layer(chance, op)
            part_kernel = chance.random() < 0.5
            micro = u85.microblock(hardware, given, part_kernel)
            micros[op, micro and tuple(micro)] += 1
            if micro is not None:
                held[op, u85.input_depth(hardware, given, part_kernel, micro)] += 1
    for kind, counts in (("microblock", micros), ("depth held", held)):
        yield from (f"{kind} {what}: {count}" for what, count in sorted(counts.items(), key=str))
    areas: Counter[str] = Counter()
    for _ in range(12):
        given = layer(chance, chance.choice(("depthwise", "pool", "sum")))
        block, source = area_block(hardware, given, hardware.microblocks[0], 32 if given.op == "sum" else 0)
        areas.update(dict(zip(("rows", "columns", "channels"), block, strict=True)))
        areas.update(dict(zip(("rows read", "columns read", "channels read"), source, strict=True)))
    yield " ".join(f"{name} {count}" for name, count in areas.items())


def test_even_tiles_leave_as_large_a_last_one_as_can_be() -> None:
    for whole, granule in product(range(1, 60), (1, 2, 4)):
        for tile in range(granule, whole + granule, granule):
            found = even(whole, granule, tile)
            assert found == tile if whole % tile == 0 else granule <= found <= tile
            if whole % tile:
                # Of multiples down to about the size that as many tiles need: the largest rest.
                other = max(-(-(whole // (whole // tile + 1)) // granule) * granule, granule)
                least = max(other - 2 * granule, granule)
                rests = {size: whole % size or size for size in range(tile, least - 1, -granule)}
                rests = {tile: whole % tile, **rests}
                assert rests[found] == max(rests.values())
                assert found == max(size for size, rest in rests.items() if rest == rests[found])
