"""VGG-16 on the Eyeriss chip: passes of the mapping that the chip had, against its times."""

from __future__ import annotations

from collections.abc import Iterator

from sim import machine
from sim.cost.arrays.passes import WORD, Layer, Mapping, Passes, passes
from sim.machine.arrays import RowStationary
from validating.facts import Facts, rows
from validating.figures import Figure, Table

CHIP = "eyeriss-v1"
BATCH, KERNEL = 3, 3
BOUND = 0.1
MAPPINGS = {
    "CONV1": Mapping(n=1, e=13, p=8, q=1, r=1, t=4, g=1, rows=3, taps=3),
    "CONV2": Mapping(n=1, e=13, p=8, q=1, r=1, t=4, g=1, rows=3, taps=3),
    "CONV3": Mapping(n=1, e=13, p=16, q=2, r=1, t=4, g=1, rows=3, taps=3),
    "CONV4": Mapping(n=1, e=28, p=16, q=4, r=1, t=2, g=1, rows=3, taps=3),
    "CONV5": Mapping(n=3, e=14, p=16, q=4, r=2, t=2, g=1, rows=3, taps=3),
}
"""With the letters of the papers."""
WIDEST = 112
"""Wider maps go in halves."""
MIB = 1 << 20
KINDS = "CNN, 16 bits", "row-stationary"
TEXT = """VGG-16's convolutions on the Eyeriss chip at batch 3 (Chen et al., JSSC 52(1), 2017, table VI):
processing latency, against the passes of our array with the mapping that the chip had. That mapping is
not published. It is read off the table's other columns, none of which is a time: active elements (156 are
strips of 13 rows, 168 whole maps or 14), accesses of the global buffer (each pass reads and writes its
partial sums, which tells how many channels it adds up), and bytes of the DRAM (how often weights and
inputs are read); the sums of as many filters as 100,000 bytes hold. Nothing is fitted to a time. Below
it, not judged, the accesses of the global buffer, and the energy, whose constant part is fitted on
AlexNet's power alone. `tj.simulate` does not use that mapping, but the fastest one: where the chip adds
up one or two channels a pass, its bus of partial sums, four words a cycle, takes two to four times as
long as the products, and the planner's passes, which add up more, need 0.3 to 0.5 of the chip's time;
where a tile holds all channels of few filters (the fourth and fifth stage), they need 1.3 to 2.0 of it."""


def vgg() -> Table:
    """The layers with the chip's mapping: times and accesses."""
    chip = machine(CHIP)
    assert isinstance(chip.array, RowStationary)
    judged, accesses, total, joules = [], [], 0.0, 0.0
    for fact in rows("eyeriss_vgg16"):
        done = list(parts(fact))
        took = 1e3 * sum(one.total for one in done) / chip.clock_hz
        total += took
        name = f"VGG-16 {fact['layer']}"
        measured = float(fact["processing_ms"])
        judged.append(Figure(name, took, measured, "ms", "within", BOUND, "", *KINDS))
        words = sum(one.number * (one.input_words + 2 * one.sum_words) for one in done)
        accessed = words * WORD / MIB
        joules += 1e-12 * chip.energy.picojoules_per_scratchpad_byte * words * WORD
        joules += 1e-12 * chip.energy.picojoules_per_mac * _products(fact)
        accesses.append(Figure(f"{name}, global buffer", accessed, float(fact["buffer_mb"]), "MB"))
    whole = sum(float(fact["processing_ms"]) for fact in rows("eyeriss_vgg16"))
    judged.append(Figure("VGG-16, all thirteen", total, whole, "ms", bound=BOUND))
    joules += 1e-3 * total * chip.energy.leakage_watts
    spent = sum(
        1e-6 * float(fact["power_mw"]) * float(fact["processing_ms"]) for fact in rows("eyeriss_vgg16")
    )
    accesses.append(Figure("VGG-16, energy without the DRAM", 1e3 * joules, 1e3 * spent, "mJ"))
    columns = ("what", "ours", "measured")
    return Table("Silicon: Eyeriss, VGG-16", TEXT, (*judged, *accesses), columns, "eyeriss-vgg-16")


def _products(fact: Facts) -> int:
    """Of a layer."""
    size, channels, filters = (int(fact[key]) for key in ("size", "channels", "filters"))
    return BATCH * size**2 * KERNEL**2 * channels * filters


def parts(fact: Facts) -> Iterator[Passes]:
    """The passes of a layer: those of whole strips, and of the last one, where it has fewer rows."""
    size, mapping = int(fact["size"]), MAPPINGS[fact["layer"].split("-")[0]]
    width = min(size, WIDEST)
    layer = Layer(
        groups=1,
        images=BATCH * size // width,
        filters=int(fact["filters"]),
        channels=int(fact["channels"]),
        height=size,
        width=width,
        kernel=(KERNEL, KERNEL),
        stride=1,
        input_width=width + KERNEL - 1,
    )
    rest = size % mapping.e
    yield passes(layer._replace(height=size - rest), mapping)
    if rest:
        yield passes(layer._replace(height=rest), mapping._replace(e=rest))
