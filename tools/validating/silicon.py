"""Published figures: an i.MX 93 board, Arm's virtual platform, the Eyeriss chip, NVDLA's configurations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil

from sim import machine
from sim.machine.nvdla import nvdla
from tosajit.graph import Graph
from validating import eyeriss, tpu
from validating.causes import SILICON
from validating.facts import Configuration, Facts, rows
from validating.figures import Figure, Table
from validating.networks import convolutions, mobilenet_v1, resnet50
from validating.predict import loaded, report

PLATFORM = Configuration("ethos-u85-128", "Ethos_U85_SYS_DRAM_Mid", "Sram_Only")
FITTED_ON = "autoencoder"
MODELS = {"1": FITTED_ON, "2": "ds_cnn", "4": "resnet8", "6": "mobilenet_v2"}
"""By the row of the published figure: models that we have."""
BUILT: dict[str, tuple[str, Callable[[], Graph]]] = {
    "3": ("MobileNetV1 0.25, 96 × 96", partial(mobilenet_v1, 96, 8, 2)),
    "5": ("MobileNetV1 0.25, 128 × 128", partial(mobilenet_v1, 128, 8, 1001)),
    "7": ("ResNet-50", resnet50),
}
"""Others, made with random weights."""
BOUND, LEAST = 0.15, 1.0
"""Latencies of so many milliseconds are judged: of shorter ones the launch is a large part."""
NVDLA = (
    (32, 64, 512, 20.0, 269.0),
    (16, 64, 256, 15.0, 153.0),
    (16, 32, 256, 10.0, 93.0),
    (8, 32, 256, 5.0, 46.0),
    (8, 16, 256, 2.0, 20.0),
    (8, 8, 128, 1.0, 7.3),
    (4, 8, 128, 0.5, 3.6),
)
"""Filters, channels, KiB of convolution buffer, GB/s, and inferences a second as published."""
SMALL = 64
"""Products a cycle up to which the units are those of nv_small."""
BOARD_TEXT = """NXP's figures for the i.MX 93 (Ethos-U65-256, 1 GHz, DRAM 7.5 GB/s, 384 KiB of SRAM for
the NPU) are times as Linux sees them, driver and messages included. One launch overhead of {overhead:,}
cycles is added to all models: what the autoencoder takes beyond our prediction of {own:,} cycles. It is
fitted on that model alone. Judged are latencies of a millisecond and more; of the others the launch is a
fourth or more. MobileNetV1 and ResNet-50 have random weights, whose coding may take more bytes than that of
trained ones. What is measured beyond our prediction without a launch is, of the small ones, {beyond} cycles.
A launch that is the same for all cannot bring these together, whatever the model of the machine says."""
PLATFORM_TEXT = """Arm's Corstone-320 virtual platform counted the cycles of a MobileNetV2 on an
Ethos-U85-128 (`{machine}`). That network ends in 1,000 classes; ours is that of the tests.
Vela's own estimate, printed in the same run, is 4,942,076 cycles (+4.3 %)."""
NVDLA_TEXT = """ResNet-50 in int8 on seven configurations of NVDLA at 1 GHz: inferences a second, from the
table of example area and performance in NVDLA's primer. It gives products a cycle, convolution buffer and
bandwidth; how products are split into filters and channels is assumed, and so is that the two smallest have
the units of nv_small and the others those of nv_large. The rules are the primer's and the estimator's: layers
go from memory to memory, as there is no SRAM on the chip; latency is hidden; a convolution with a stride has
weights for whole strides, so that a 1 × 1 of stride 2 has four times its own (12 MB of ResNet-50's 38). The
figures are the sum of layers, each as long as the slowest of input, output and products; ours has loads that
nothing hides, the single data point processor's rate, and the pooling engine as well: its documentation gives
results a cycle; that it takes as many inputs, those of overlapping windows once, is assumed.
In brackets stands what a plain rule gives: weights and images get halves of the buffer, where neither fits
the cheaper of them is read anew for each part of the other, and a layer is as long as its products or its
bytes. Nothing is fitted."""


def tables() -> list[Table]:
    """All of them."""
    return [board(), platform(), eyeriss.alexnet(), eyeriss.vgg(), eyeriss.power(), nvdlas(), tpu.table()]


def board() -> Table:
    """The i.MX 93."""
    base = machine("imx93").model_copy(update={"launch_overhead_cycles": 0})
    own, _ = report(loaded(FITTED_ON), base)
    if own is None:
        text = f"Not predicted: {FITTED_ON}, which the overhead is fitted on, is missing."
        return _table("Silicon: i.MX 93", text, [])
    facts = {f["id"]: f for f in rows("silicon") if f["id"] in MODELS or f["id"] in BUILT}
    fitted = next(f for number, f in facts.items() if MODELS.get(number) == FITTED_ON)
    overhead = max(0, round(_cycles(fitted)) - own.cycles)
    launched = base.model_copy(update={"launch_overhead_cycles": overhead})
    figures, beyond = [], list[str]()
    for number, fact in facts.items():
        model, make = BUILT.get(number) or (MODELS[number], partial(loaded, MODELS[number]))
        found, note = report(make(), launched)
        note = "fitted on this" if model == FITTED_ON else note
        predicted = found.latency_seconds * 1e3 if found else None
        measured = float(fact["value"])
        if found and measured < LEAST:
            beyond.append(f"{round(_cycles(fact)) - found.cycles + overhead:,} ({model})")
        if model != FITTED_ON:
            kinds = "CNN, int8", "i.MX 93"
        else:
            kinds = "", ""
        bound = BOUND if measured >= LEAST else None
        figures.append(Figure(model, predicted, measured, "ms", "within", bound, note, *kinds))
    text = BOARD_TEXT.format(overhead=overhead, own=own.cycles, beyond=", ".join(beyond))
    table = _table("Silicon: i.MX 93", text, figures)
    return replace(table, fitted="a launch, on the autoencoder")


def platform() -> Table:
    """The virtual platform."""
    (fact,) = (f for f in rows("silicon") if f["kind"] == "fvp")
    found, note = report(loaded("mobilenet_v2"), machine(PLATFORM.machine))
    predicted = found.cycles if found else None
    kinds = "CNN, int8", "U85, virtual platform"
    case, measured = f"mobilenet_v2, {PLATFORM}", float(fact["value"])
    figure = Figure(case, predicted, measured, "cycles", "within", 0.05, note, *kinds)
    return _table("Arm's virtual platform", PLATFORM_TEXT.format(machine=PLATFORM), [figure])


def nvdlas() -> Table:
    """NVDLA's configurations."""
    graph, figures = resnet50(), []
    for filters, channels, buffer, bandwidth, published in NVDLA:
        products = filters * channels
        small = products <= SMALL
        one = nvdla(f"nvdla-{products}", filters, channels, buffer << 10, bandwidth * 1e9, small=small)
        found, note = report(graph, one)
        plain = halved(graph, filters, channels, buffer << 10, bandwidth)
        note = note or f"with halves of the buffer {plain:.3g}"
        rate = 1 / found.latency_seconds if found else None
        case, kinds = f"ResNet-50, {products} products a cycle", ("CNN, int8", "dot-product")
        figures.append(Figure(case, rate, published, "/s", "within", 0.15, note, *kinds))
    return _table("Published: NVDLA", NVDLA_TEXT, figures)


def halved(graph: Graph, filters: int, channels: int, buffer: int, bandwidth: float) -> float:
    """Inferences of a network's convolutions a second where weights and images get halves of the buffer.

    A layer takes as long as its products or its bytes, whichever is slower.
    """
    half, total = buffer // 2, 0.0
    for side, kernel, stride, read, made in convolutions(graph):
        taps, deep = ceil(kernel / stride) ** 2, read * stride**2
        image, weights = (side * stride) ** 2 * read, taps * deep * made
        anew = [
            one * ceil(other / half) + other if one > half else one + other
            for one, other in ((image, weights), (weights, image))
        ]
        products = side**2 * taps * ceil(deep / channels) * ceil(made / filters)
        total += max(products, (min(anew) + side**2 * made) / bandwidth)
    return 1e9 / total


def _cycles(fact: Facts) -> float:
    """Cycles of a latency."""
    return float(fact["value"]) * 1e-3 * float(fact["clock_mhz"]) * 1e6


def _table(title: str, text: str, figures: list[Figure]) -> Table:
    picture = title.split(":")[-1].strip().lower().replace(" ", "-").replace("'", "").replace(".", "")
    if len(figures) < 2:
        picture = ""
    columns = ("what", "ours", "measured")
    return Table(title, text, tuple(figures), columns, picture, explanations=SILICON)
