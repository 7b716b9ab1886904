"""The Eyeriss chip: published times of AlexNet's and VGG-16's convolutions, and those of our plans."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import tosajit as tj
from sim import machine
from sim.cost.arrays.passes import WORD, strips
from sim.cost.arrays.passes import Layer as Mapped
from sim.cost.arrays.sparing import sparing
from sim.machine.arrays import RowStationary
from sim.report import Report
from validating.causes import EYERISS
from validating.facts import Facts, Layer, rows
from validating.figures import Figure, Table
from validating.graphs import convolutions

CHIP = "eyeriss-v1"
BOUND, POWER_BOUND = 0.1, 0.15
MIB = 1 << 20
KINDS = "CNN, 16 bits", "row-stationary"
POWER_KINDS = "CNN, 16 bits: power", "row-stationary"
ALEXNET_BATCH, VGG_BATCH, KERNEL = 4, 3, 3
ALEXNET = {
    "CONV1": (Layer("alexnet", "CONV1", 227, 227, 11, 11, 3, 96, 4), 1),
    "CONV2": (Layer("alexnet", "CONV2", 31, 31, 5, 5, 48, 128, 1), 2),
    "CONV3": (Layer("alexnet", "CONV3", 15, 15, 3, 3, 256, 384, 1), 1),
    "CONV4": (Layer("alexnet", "CONV4", 15, 15, 3, 3, 192, 192, 1), 2),
    "CONV5": (Layer("alexnet", "CONV5", 15, 15, 3, 3, 192, 128, 1), 2),
}
"""Layers as the network has them, their inputs padded, and in how many groups."""
ALEXNET_TEXT = """AlexNet's convolutions on the Eyeriss chip at batch 4: processing latency, without waiting
for the DRAM, against the cycles in which our array works. Layers in two groups are two convolutions.
Mappings are the planner's own, by the rule of `sim/cost/arrays/sparing.py`, most of which was found with
VGG-16's figures; that a mapping may leave one column of the array more idle than any must is what the
chip's 154, 135, 156, 156 and 156 elements at work say, with none or two of them they would be others. Words
of the chip have 16 bits, sums included; our layers have data of 8 bits, which count as words of the array,
and sums of 32. Below it, not judged, the total latency with waiting."""
VGG_TEXT = """VGG-16's convolutions on the Eyeriss chip at batch 3 (Chen et al., JSSC 52(1), 2017, table
VI): processing latency, against the cycles in which our array works, with the planner's own mappings. Their
rule was found with these figures (what it puts first, that inputs of one image more are held, that maps of
224 columns go in halves), but for the column that may be idle, which is AlexNet's; no time of AlexNet's was
used. Below it, not judged, the total latency with waiting, and the accesses of the global buffer. Weights
of the fifth stage are waited for: sums of 32 bits, twice the chip's, leave no room in our plans to read
them once."""

POWER_TEXT = """The power of the chip without its DRAM, against ours while the array works, and the energy
that VGG-16 takes by it. A product takes what Horowitz has for it, a word of a memory in an element as much,
one on its way in the array twice and one of the global buffer six times that (Chen et al., ISCA 2016, whose
way to count words we follow). The constant part, 149 mW, is what the chip's paper leaves of 332 mW for
AlexNet's first layer: less than 10 % are products and up to 45 % data. So this layer is not judged; nothing
is fitted to the others. Inputs have the published shares of zeros. The paper says that with a zero an
element reads no filter and does not multiply, and that this saves it 45 %; that it neither reads nor writes
a sum is assumed, and saves 46 % with AlexNet's zeros."""


def alexnet() -> Table:
    """AlexNet's five."""
    facts = {f["model"].split()[-1]: f for f in rows("silicon") if f["device"].startswith("Eyeriss")}
    judged, waiting, working = [], [], 0.0
    for name, (layer, count) in ALEXNET.items():
        found = _simulated(layer, count, ALEXNET_BATCH)
        busy, fact = _busy(found), facts[name]
        working += busy
        judged.append(_judged(f"AlexNet {name}", busy, fact["value"]))
        waiting.append(_waiting(f"AlexNet {name}", found, fact["total_ms"]))
    judged.append(Figure("AlexNet, all five", working, float(facts["Total"]["value"]), "ms"))
    return _table("Silicon: Eyeriss", ALEXNET_TEXT, [*judged, *waiting], "eyeriss", "nothing")


def vgg() -> Table:
    """VGG-16's thirteen."""
    judged, others, total = [], [], 0.0
    for fact in rows("eyeriss_vgg16"):
        name = f"VGG-16 {fact['layer']}"
        found = _simulated(_layer(fact), 1, VGG_BATCH)
        busy = _busy(found)
        total += busy
        judged.append(_judged(name, busy, fact["processing_ms"]))
        others.append(_waiting(name, found, fact["total_ms"]))
        others.append(Figure(f"{name}, global buffer", _accessed(fact), float(fact["buffer_mb"]), "MB"))
    whole = sum(float(fact["processing_ms"]) for fact in rows("eyeriss_vgg16"))
    judged.append(Figure("VGG-16, all thirteen", total, whole, "ms", bound=BOUND))
    fitted = "the rule for mappings, on these"
    return _table("Silicon: Eyeriss, VGG-16", VGG_TEXT, [*judged, *others], "eyeriss-vgg-16", fitted)


def power() -> Table:
    """The chip's power for the layers of both, and what VGG-16 takes in all."""
    figures, joules, spent = [], 0.0, 0.0
    for fact in rows("eyeriss_alexnet"):
        found = _simulated(*ALEXNET[fact["layer"]], ALEXNET_BATCH, fact["zeros"])
        figures.append(_drawn(f"AlexNet {fact['layer']}", found, fact["power_mw"]))
    figures[0] = replace(figures[0], bound=None)
    for fact in rows("eyeriss_vgg16"):
        found = _simulated(_layer(fact), 1, VGG_BATCH, fact["zeros"])
        figures.append(_drawn(f"VGG-16 {fact['layer']}", found, fact["power_mw"]))
        joules += 1e-3 * _busy(found) * _watts(found)
        spent += 1e-6 * float(fact["power_mw"]) * float(fact["processing_ms"])
    whole = "VGG-16, energy without the DRAM"
    figures.append(Figure(whole, 1e3 * joules, 1e3 * spent, "mJ", "within", POWER_BOUND))
    return _table("Silicon: Eyeriss, power", POWER_TEXT, figures, "", "nothing")


def _layer(fact: Facts) -> Layer:
    """One of VGG-16's, with its padding."""
    padded, channels, filters = int(fact["size"]) + KERNEL - 1, int(fact["channels"]), int(fact["filters"])
    return Layer("vgg-16", fact["layer"], padded, padded, KERNEL, KERNEL, channels, filters, 1)


@cache
def _simulated(layer: Layer, count: int, batch: int, zeros: str = "0") -> Report:
    """Convolutions alike, with results of 8 bits, and so much of their inputs zero."""
    chip = machine(CHIP).replace({"array.zero_inputs": float(zeros)})
    return tj.simulate(convolutions((layer,) * count, batch, scaled=True), chip)


def _busy(found: Report) -> float:
    """Milliseconds in which the array works."""
    return 1e3 * found.busy.get("array", 0) / found.clock_hz


def _watts(found: Report) -> float:
    """Of the chip alone, while the array works."""
    own = sum(joules for part, joules in found.energy.items() if part not in ("offchip", "leakage"))
    return 1e3 * own / _busy(found) + machine(CHIP).energy.leakage_watts


def _drawn(name: str, found: Report, measured: str) -> Figure:
    watts = 1e3 * _watts(found)
    return Figure(f"{name}, power", watts, float(measured), "mW", "within", POWER_BOUND, "", *POWER_KINDS)


def _judged(name: str, busy: float, measured: str) -> Figure:
    return Figure(name, busy, float(measured), "ms", "within", BOUND, "", *KINDS)


def _waiting(name: str, found: Report, measured: str) -> Figure:
    return Figure(f"{name}, with waiting", 1e3 * found.latency_seconds, float(measured), "ms")


def _accessed(fact: Facts) -> float:
    """Megabytes that passes read and write in the global buffer."""
    array = machine(CHIP).array
    assert isinstance(array, RowStationary)
    size, channels, filters = (int(fact[key]) for key in ("size", "channels", "filters"))
    kernel, reads = (KERNEL, KERNEL), size + KERNEL - 1
    layer = Mapped(1, VGG_BATCH, filters, channels, size, size, kernel, 1, reads)
    done = strips(layer, sparing(array, layer))
    words = sum(part.number * (part.input_words + 2 * part.sum_words) for part in done)
    return words * WORD / MIB


def _table(title: str, text: str, figures: list[Figure], picture: str, fitted: str) -> Table:
    columns = ("what", "ours", "measured")
    return Table(title, text, tuple(figures), columns, picture, EYERISS, fitted)
