"""What weights take as Ethos-U stores them stays what it is, where each way of coding ends."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from random import Random

import numpy as np
import pytest

from sim.cost import weights
from sim.cost.weights import coded_bytes, ordered, scale_bytes
from tosajit.arrays import Array

Golden = Callable[[str, str], None]


def histogram(values: dict[int, int]) -> Array:
    """How often each value from -256 to 255 occurs."""
    found = np.zeros(512, np.int64)
    for value, count in values.items():
        found[value + 256] = count
    return found


def histograms() -> list[Array]:
    """Sections of few values and of many, with and without zeros, small and large."""
    random, found = Random(3), []
    for size in (1, 2, 3, 4, 16, 31, 32, 33, 64, 255):
        for largest in (1, 3, 31, 32, 127, 255):
            near = sorted(range(-256, 256), key=abs)[: max(2 * largest, size)]
            values = {value: random.choice((1, 5, 60, 300)) for value in random.sample(near, size)}
            found.append(histogram(values))
            for zeros in (1, 449, 450, 451, 3000):
                found.append(histogram({**values, 0: zeros}))
    return found


def test_sections_take_the_bits_that_they_took(golden: Golden) -> None:
    counts = np.array(histograms())
    columns = weights._plain_bits(counts), weights._section_bits(counts)
    runs = weights._run_bits(counts[:, 256], counts.sum(axis=1) - counts[:, 256])
    golden("weights_bits", "\n".join(f"{a} {b} {c}" for a, b, c in zip(*columns, runs, strict=True)))


@pytest.mark.parametrize("family", ["u55", "u85"])
def test_weights_have_the_order_and_the_size_that_they_had(family: str, golden: Golden) -> None:
    random, lines = np.random.default_rng(4), []
    for rows, columns, channels in product((1, 2, 3, 5), (1, 3), (1, 8, 9, 16, 17, 33, 64, 65)):
        for depthwise in (False, True):
            for shape in [(rows, columns, channels, 1)] if depthwise else [(7, rows, columns, channels)]:
                values = random.integers(-128, 128, shape) // random.choice([1, 9, 50])
                stream = ordered(values, depthwise, family)
                place = int((stream.astype(np.int64) * np.arange(stream.size)).sum())
                size = coded_bytes(values.astype(np.int8), depthwise, family)
                lines.append(f"{shape} {depthwise:d}: {stream.size} {place} {size}")
    golden(f"weights_{family}", "\n".join(lines))


def test_nothing_takes_nothing_and_scales_ten_bytes_each() -> None:
    assert coded_bytes(np.zeros((0, 1, 1, 8), np.int8)) == 0
    assert [scale_bytes(channels, "u55") for channels in (0, 1, 2, 8, 9)] == [0, 16, 32, 80, 96]


VELA = {
    (24, 1, 1, 40): (1040, 992),
    (36, 1, 1, 10): (480, 432),
    (36, 1, 1, 12): (576, 464),
    (16, 3, 3, 12): (1920, 1840),
    (40, 3, 3, 20): (7808, 7456),
    (30, 1, 1, 70): (2224, 2144),
}
"""Bytes that Vela 5.2.0 codes drawn weights in for an U55, where what they meet has 8 bits and 16."""


def test_weights_take_what_vela_codes_them_in() -> None:
    random = np.random.default_rng(5)
    for shape, known in VELA.items():
        values = np.clip(np.rint(random.standard_normal(shape) * 30), -127, 127).astype(np.int8)
        found = [coded_bytes(values, bits=bits) for bits in (8, 16)]
        assert found == pytest.approx(known, rel=0.08)
