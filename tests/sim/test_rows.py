"""The row-stationary array, held against the chip and against what its scratchpads hold."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, prod
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tosajit as tj
from sim import machine
from sim.analytic.search import evaluate
from sim.analytic.workload import Workload
from sim.cost.arrays.elements import array_words, element_words
from sim.cost.arrays.passes import BUS, Layer, Mapping, best, cycles, mappings, passes, strips
from sim.cost.arrays.row_stationary import layer_of
from sim.cost.arrays.sparing import sparing
from sim.cost.costs import Costs
from sim.cost.geometry import geometry
from sim.cost.work import ARRAY_BYTES, ELEMENT_BYTES
from sim.machine.arrays import RowStationary
from tests.sim.nests import convolution
from tosajit.npu.simulate import Network
from tosajit.runtime.body import Compute

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


def published(name: str) -> list[dict[str, str]]:
    with (Path(__file__).parent.parent / "data" / "npu" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def measured() -> dict[str, float]:
    rows = [row for row in published("silicon") if row["device"].startswith("Eyeriss")]
    return {row["model"].split()[-1]: float(row["value"]) for row in rows}


@pytest.mark.parametrize("name", ALEXNET)
def test_layers_take_what_the_chip_takes(name: str) -> None:
    found = best(ARRAY, BUFFER, ALEXNET[name][0])
    assert 1e3 * cycles(found) / CLOCK == pytest.approx(measured()[name], rel=0.1)


@pytest.mark.parametrize("name", ALEXNET)
def test_as_many_elements_work_as_on_the_chip(name: str) -> None:
    layer, active = ALEXNET[name]
    assert best(ARRAY, BUFFER, layer)[0].active == active


@pytest.mark.parametrize("name", ALEXNET)
def test_the_rule_found_with_vgg_16_maps_alexnet_as_the_chip_does(name: str) -> None:
    layer, active = ALEXNET[name]
    done = strips(layer, sparing(ARRAY, layer))
    assert done[0].active == active
    assert 1e3 * cycles(done) / CLOCK == pytest.approx(measured()[name], rel=0.1)


@pytest.mark.parametrize("fact", published("eyeriss_vgg16"), ids=lambda fact: fact["layer"])
def test_maps_of_vgg_16_take_what_the_chip_takes(fact: dict[str, str]) -> None:
    size = int(fact["size"])
    layer = Layer(1, 3, int(fact["filters"]), int(fact["channels"]), size, size, (3, 3), 1, size + 2)
    done = strips(layer, sparing(ARRAY, layer))
    assert done[0].active == int(fact["active"])
    assert 1e3 * cycles(done) / CLOCK == pytest.approx(float(fact["processing_ms"]), rel=0.15)


@given(layers)
def test_mappings_fit_the_array_and_its_scratchpads(layer: Layer) -> None:
    for one in (*mappings(ARRAY, layer, BUFFER), sparing(ARRAY, layer)):
        assert passes(layer, one).active <= ARRAY.rows * ARRAY.columns
        assert one.q * one.taps <= ARRAY.input_words
        assert one.p * one.q * one.taps <= ARRAY.filter_words
        assert one.p <= ARRAY.sum_words


@given(layers)
def test_no_layer_takes_less_than_its_products_and_its_sums(layer: Layer) -> None:
    kernel = layer.kernel[0] * layer.kernel[1]
    outputs = layer.groups * layer.images * layer.filters * layer.height * layer.width
    for done in (best(ARRAY, BUFFER, layer), strips(layer, sparing(ARRAY, layer))):
        assert cycles(done) * ARRAY.rows * ARRAY.columns >= outputs * layer.channels * kernel
        assert cycles(done) * BUS >= outputs
        assert all(part.cycles >= ceil(part.filter_words / BUS) for part in done)


@given(layers, st.integers(1, 60))
def test_a_last_strip_has_the_rows_that_are_left(layer: Layer, e: int) -> None:
    one = next(mappings(ARRAY, layer, BUFFER))._replace(e=min(e, ARRAY.columns))
    done = strips(layer, one)
    e = min(one.e, layer.height)
    assert [part.mapping.e for part in done] == [e, *([layer.height % e] if layer.height % e else [])]
    assert cycles(done) <= passes(layer, one.of(layer)).total


@pytest.mark.parametrize("extents", [(3, 26, 28, 64), (1, 13, 14, 16)])
def test_a_tile_takes_its_share_of_the_passes_of_its_layer(extents: tuple[int, ...]) -> None:
    chip = machine("eyeriss-v1")
    nest = convolution((3, 58, 58, 32), (64, 3, 3, 32))
    whole = Costs.of(chip).work(nest, nest.extents)
    tile = (*extents, *nest.extents[4:])
    share = Fraction(prod(extents), prod(nest.extents[:4]))
    assert Costs.of(chip).work(nest, tile).cycles == ceil(whole.cycles * share)


def test_words_in_elements_are_those_of_a_loop_over_all_products() -> None:
    layer = Layer(1, 2, 6, 4, 5, 7, (3, 2), 2, 14)
    one = Mapping(2, 5, 7, 3, 2, 2, 2, 1, 3, 2)
    part = passes(layer, one)
    read = summed = sent = 0
    for _ in range(one.rows * one.e * one.r * one.t):  # elements at work
        sent += one.p * one.q * one.taps + one.n * one.q * layer.input_width
        for _ in range(one.n * one.f * one.p):  # sums of an element
            for added in range(one.q * one.taps):
                read += 2
                summed += 2 if added else 0
    up = one.n * one.p * one.t * one.e * one.f * (one.rows * one.r - 1)
    assert element_words(part, 0.0) == read + summed
    assert element_words(part, 1.0) == read // 2
    assert array_words(layer, part) == sent + up


def test_reports_tell_the_elements_at_work_not_their_sum_over_tiles() -> None:
    chip = machine("eyeriss-v1")
    report = tj.simulate(tj.samples.load("resnet8"), chip)
    told = [operator.detail for operator in report.operators if "active_elements" in operator.detail]
    assert any(one["passes"] > 1 for one in told)
    assert all(0 < one["active_elements"] <= 12 * 14 for one in told)


def test_inputs_that_are_zero_take_time_but_little_energy() -> None:
    chip = machine("eyeriss-v1")
    dense, half = (
        tj.simulate(tj.samples.load("ds_cnn"), chip.replace({"array.zero_inputs": zeros}), mode="events")
        for zeros in (0.0, 0.5)
    )
    assert half.cycles == dense.cycles
    assert half.energy["macs"] == pytest.approx(dense.energy["macs"] / 2, rel=1e-3)
    assert dense.energy["elements"] / 2 < half.energy["elements"] < dense.energy["elements"] * 0.75


def test_explorations_know_the_energy_in_elements() -> None:
    chip = machine("eyeriss-v1")
    free = chip.replace({"energy.picojoules_per_element_byte": 0, "energy.picojoules_per_array_byte": 0})
    (step,) = (one for one in Network(tj.samples.load("ds_cnn")).body.steps if isinstance(one, Compute))
    paid, unpaid = evaluate(Workload.of(step.groups.nests, step.groups.operands), [chip, free]).joules
    details = [dict(Costs.of(chip).work(nest, nest.extents).detail) for nest in step.groups.nests]
    bytes_ = (sum(one.get(name, 0) for one in details) for name in (ELEMENT_BYTES, ARRAY_BYTES))
    inside = chip.energy.inside(*bytes_)
    assert paid - unpaid == pytest.approx(1e-12 * inside)


def test_layers_are_mapped_as_they_were(golden: Callable[[str, str], None]) -> None:
    golden("row_stationary", "\n".join(mapped()))


def mapped() -> Iterator[str]:
    """Passes of layers drawn by chance, on the array of the paper and on others."""
    chance = Random("rows")
    for _ in range(120):
        array = RowStationary(
            rows=chance.choice((3, 12, 12, 16)),
            columns=chance.choice((4, 14, 14, 32)),
            filter_words=chance.choice((12, 64, 224)),
            input_words=chance.choice((6, 12)),
            sum_words=chance.choice((5, 24)),
        )
        width, stride = chance.randrange(1, 40), chance.choice((1, 2, 4))
        kernel = chance.choice(((1, 1), (3, 3), (5, 5), (3, 1), (11, 11), (17, 13)))
        options = ((1, 1, 2, 40), (1, 4), (1, 6, 64), (1, 3, 30))
        groups, images, filters, channels = map(chance.choice, options)
        height, reads = chance.randrange(1, 60), (width - 1) * stride + kernel[1]
        layer = Layer(groups, images, filters, channels, height, width, kernel, stride, reads)
        buffer = chance.choice((1 << 10, 20 << 10, 108 << 10))
        count = len(list(mappings(array, layer, buffer)))
        words = " ".join(map(str, (number for part in best(array, buffer, layer) for number in part)))
        yield f"{array.describe()} {buffer}: {tuple(layer)}: {words}; {count} mappings"


def test_each_core_has_an_equal_share_of_groups_or_images_or_rows() -> None:
    nest = convolution((4, 9, 9, 6), (8, 3, 3, 6))
    whole = geometry(nest, nest.extents)
    assert whole is not None
    for cores, images, height in ((1, 4, 7), (2, 2, 7), (3, 2, 7), (4, 1, 7), (5, 4, 2), (8, 4, 1)):
        found = layer_of(whole, cores)
        assert (found.groups, found.images, found.height) == (1, images, height)
    grouped = whole._replace(groups=5)
    for cores, groups in ((1, 5), (2, 3), (5, 1)):
        found = layer_of(grouped, cores)
        assert (found.groups, found.images, found.height) == (groups, 4, 7)
