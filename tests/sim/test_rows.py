"""The row-stationary array, held against the chip and against what its scratchpads hold."""

from __future__ import annotations

import csv
from math import ceil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.cost.arrays.row_stationary import BUS, Layer, best, mappings, passes
from sim.machine.arrays import RowStationary

ARRAY = RowStationary(rows=12, columns=14, rates={"16x16": 1.0})
BUFFER = 108 * 1024
CLOCK = 200e6
ALEXNET = {
    "CONV1": (Layer(1, 4, 96, 3, 55, 55, (11, 11), 4, 227), 154),
    "CONV2": (Layer(2, 4, 128, 48, 27, 27, (5, 5), 1, 31), 135),
    "CONV3": (Layer(1, 4, 384, 256, 13, 13, (3, 3), 1, 15), 156),
    "CONV4": (Layer(2, 4, 192, 192, 13, 13, (3, 3), 1, 15), 156),
    "CONV5": (Layer(2, 4, 128, 192, 13, 13, (3, 3), 1, 15), 156),
}

layers = st.builds(
    Layer,
    groups=st.integers(1, 40),
    images=st.integers(1, 4),
    filters=st.integers(1, 100),
    channels=st.integers(1, 70),
    height=st.integers(1, 60),
    width=st.integers(1, 60),
    kernel=st.tuples(st.integers(1, 15), st.integers(1, 15)),
    stride=st.integers(1, 4),
    input_width=st.integers(1, 200),
)


def measured() -> dict[str, float]:
    path = Path(__file__).parent.parent / "data" / "npu" / "silicon.csv"
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["device"].startswith("Eyeriss")]
    return {row["model"].split()[-1]: float(row["value"]) for row in rows}


@pytest.mark.parametrize("name", ALEXNET)
def test_layers_take_what_the_chip_takes(name: str) -> None:
    found = best(ARRAY, BUFFER, ALEXNET[name][0])
    assert 1e3 * found.total / CLOCK == pytest.approx(measured()[name], rel=0.1)


@pytest.mark.parametrize("name", ALEXNET)
def test_as_many_elements_work_as_on_the_chip(name: str) -> None:
    layer, active = ALEXNET[name]
    assert best(ARRAY, BUFFER, layer).active == active


@given(layers)
def test_mappings_fit_the_array_and_its_scratchpads(layer: Layer) -> None:
    for one in mappings(ARRAY, layer, BUFFER):
        assert passes(layer, one).active <= ARRAY.rows * ARRAY.columns
        assert one.q * one.taps <= ARRAY.input_words
        assert one.p * one.q * one.taps <= ARRAY.filter_words
        assert one.p <= ARRAY.sum_words


@given(layers)
def test_no_layer_takes_less_than_its_products_and_its_sums(layer: Layer) -> None:
    found = best(ARRAY, BUFFER, layer)
    kernel = layer.kernel[0] * layer.kernel[1]
    outputs = layer.groups * layer.images * layer.filters * layer.height * layer.width
    assert found.total * ARRAY.rows * ARRAY.columns >= outputs * layer.channels * kernel
    assert found.total * BUS >= outputs
    assert found.total >= found.number * ceil(found.filter_words / BUS)
