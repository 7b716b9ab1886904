"""How much of a shape each set of instructions works on at a time stays as it is, and with which numbers.

What is blocked otherwise computes the same bits, more slowly or with more memory: it is seen here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from tests.test_golden_code import CPUS, VECTORS, features
from tosajit.kernels.contract.blocking import Blocking, DepthwiseBlocking
from tosajit.kernels.contract.geometry import DepthwiseGeometry, Geometry
from tosajit.kernels.sets.description import InstructionSet

SETS = ("none", *CPUS)


def described(library: str) -> InstructionSet:
    """A set of instructions as the best of its CPUs has it, or what no CPU has: registers of one word."""
    if library == "none":
        return InstructionSet("none", 1, (1, 2), 2, (1, 2), (3, 1), 4, (2, 5), block=5)
    found = VECTORS[library].describe(features(library))
    assert found is not None
    return found


def whole(extent: int, kernel: int, stride: int, pad: int, dilation: int) -> int:
    """How many places a window has; at least one, as a shape may be cut."""
    return max(1, (extent + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1)


def convolutions() -> Iterator[Geometry]:
    """Shapes of every kind: products, windows, with and without steps, of every type."""
    random = Random(1)
    for _ in range(70):
        depths = random.choice([1, 1, 1, 3])
        extents = (depths, random.choice([1, 7, 30]), random.choice([1, 5, 6, 7, 12, 33, 112]))
        kernel = (min(depths, random.choice([1, 2])), random.choice([1, 3]), random.choice([1, 1, 2, 3, 5]))
        stride, pad, dilation = ((1, random.choice(of), random.choice(of)) for of in ((1, 2), (0, 1), (1, 2)))
        pad = (0, *pad[1:])
        batch, every = random.choice([1, 2]), zip(extents, kernel, stride, pad, dilation, strict=True)
        output = (batch, *(whole(*one) for one in every))
        yield Geometry(
            (batch, *extents),
            (output[0], output[1], output[2], output[3]),
            random.choice([1, 2, 3, 4, 16, 64, 512, 1024]),
            random.choice([1, 10, 33]),
            kernel,
            stride,
            pad,
            dilation,
            size := random.choice([1, 2, 4]),
            out_strides=random.choice([None, None, (999, 99, 9, 1)]),
            in_strides=random.choice([None, None, None, (9999, 999, 99, 9)]),
            floating=size == 4,
        )


def depthwise() -> Iterator[DepthwiseGeometry]:
    """Depthwise shapes of every kind and type."""
    random = Random(2)
    for _ in range(60):
        h, w = random.choice([1, 9, 28]), random.choice([1, 4, 8, 15, 60, 224])
        kernel = random.choice([1, 2, 3, 4, 5, 8]), random.choice([1, 3, 5])
        stride, dilation = ((random.choice([1, 2, 3]), random.choice([1, 2])) for _ in range(2))
        size = random.choice([1, 2, 4])
        rows, columns = whole(h, kernel[0], stride[0], 1, dilation[0]), whole(w, kernel[1], stride[1], 0, 1)
        yield DepthwiseGeometry(
            (n := random.choice([1, 3]), h, w),
            (n, rows, columns),
            random.choice([1, 3, 16, 33, 200, 1100]),
            1 if size == 4 else random.choice([1, 1, 2]),
            kernel,
            stride,
            (1, 0),
            dilation,
            size,
            random.choice([1, 2]),
        )


@pytest.mark.parametrize("library", SETS)
def test_the_numbers_of_kernels_are_what_they_were(library: str, golden: Callable[[str, str], None]) -> None:
    isa, lines = described(library), []
    for shape in convolutions():
        blocking = Blocking(shape, isa)
        lines += [f"{shape.input} to {shape.output} {shape.in_channels}x{shape.out_channels} {shape.kernel}"]
        lines += [f"  {' '.join(map(str, blocking.slots().values()))}; scratch {blocking.scratch_bytes}"]
    for small in depthwise():
        other = DepthwiseBlocking(small, isa)
        lines += [f"{small.input} to {small.output} {small.in_channels}x{small.channel_multiplier}"]
        lines += [f"  {' '.join(map(str, other.slots().values()))}; scratch {other.scratch_bytes}"]
    golden(f"blocking_{library}", "\n".join(lines))


@pytest.mark.parametrize("library", SETS)
def test_rows_are_gathered_as_a_whole_where_they_were(
    library: str, golden: Callable[[str, str], None]
) -> None:
    isa, lines = described(library), []
    for stride, taps, channels, size in product((1, 2, 3, 4), (1, 2, 3), (1, 2, 4, 6), (1, 2)):
        base = Geometry(
            (1, 1, 9, 99), (1, 1, 9, 1), channels, 8, (1, 3, taps), (1, 1, stride), element_bytes=size
        )
        rows = [
            Blocking(replace(base, output=(1, 1, 9, width)), isa)
            for width in (*range(1, 40), 90, 239, 240, 241, 400)
        ]
        text = "".join("1" if one.segments == 3 else "0" if not one.segments else "?" for one in rows)
        lines.append(f"{stride} {taps} {channels} {size}: {text}")
    golden(f"segments_{library}", "\n".join(lines))


@pytest.mark.parametrize("library", SETS)
def test_panels_have_the_rows_that_they_had(library: str, golden: Callable[[str, str], None]) -> None:
    isa, lines = described(library), []
    for channels in (1, 16, 17, 64, 256, 819, 1000, 4096, 16384, 99999, 200000):
        counts = []
        for width in (1, 2, 11, 12, 13, 24, 240, 1000):
            shape = Geometry((1, 1, 3, width + 2), (1, 1, 1, width), channels, 8, (1, 3, 3))
            row = 2 * channels * (width + 2)
            apart = replace(shape, in_strides=(3 * row, 3 * row, row, 2 * channels))
            counts += [f"{Blocking(shape, isa).panel_rows}/{Blocking(apart, isa).panel_rows}"]
        lines.append(f"{channels}: {' '.join(counts)}")
    golden(f"panels_{library}", "\n".join(lines))


def test_shapes_are_known_for_what_they_are(golden: Callable[[str, str], None]) -> None:
    lines = []
    for shape in convolutions():
        lines.append(
            f"{shape.positions} {shape.depth} {shape.row_bytes} {shape.pitch} {shape.in_elements} "
            f"{shape.runs} {shape.is_plain:d} {shape.direct_bytes} {shape.collapsed.output}"
        )
    random = Random(3)
    for _ in range(120):
        output = tuple(random.choice([1, 1, 2, 5]) for _ in range(4))
        stride = tuple(random.choice([1, 1, 1, 1, 2]) for _ in range(3))
        inside = [
            (e - 1) * s + random.choice([0, 1, 1, 1, 1]) for e, s in zip(output[1:], stride, strict=True)
        ]
        inside = [max(1, extent) for extent in inside]
        one = Geometry(
            (output[0], inside[0], inside[1], inside[2]),
            (output[0], output[1], output[2], output[3]),
            random.choice([1, 3, 4, 1024]),
            8,
            (1, 1, 1),
            (stride[0], stride[1], stride[2]),
            random.choice([(0, 0, 0)] * 6 + [(0, 0, 1)]),
            element_bytes=(size := random.choice([1, 2, 4])),
            in_strides=random.choice([None, None, None, (999, 99, 20, 4)]),
            floating=size == 4,
        )
        text = f"{one.direct_bytes} {one.pitch} {one.is_plain:d} {one.collapsed.input} {one.collapsed.output}"
        lines.append(f"{one.input} {one.output} {one.in_channels}: {text}")
    golden("shapes_of_kernels", "\n".join(lines))


def test_channels_of_float32_stay_together_while_the_input_of_a_tile_of_pixels_fits() -> None:
    shape = DepthwiseGeometry((1, 56, 56), (1, 56, 56), 144, kernel=(3, 3), pad=(1, 1), element_bytes=4)
    assert DepthwiseBlocking(shape, described("avx512")).blocks[0] == 144
    wider = replace(shape, in_channels=288)
    assert DepthwiseBlocking(wider, described("avx512")).blocks[0] < 288


@pytest.mark.parametrize(("channels", "together"), [(576, True), (1280, True), (1800, False), (1024, False)])
def test_channels_stay_together_where_the_second_level_cache_has_a_tile_and_its_weights(
    channels: int, together: bool
) -> None:
    shape = DepthwiseGeometry((1, 14, 14), (1, 14, 14), channels, kernel=(3, 3), pad=(1, 1), element_bytes=4)
    found, pixels = DepthwiseBlocking(shape, described("avx2")).blocks
    assert (found == channels) is together
    assert pixels == 7
