"""Systolic arrays: the event simulator with ideal memory against SCALE-Sim and its closed forms."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from math import prod

from tiling.nest import Affine, Nest
from tiling.program import Operand
from validating.facts import Layer, layer, layers, rows
from validating.figures import Figure, Table
from validating.graphs import convolutions
from validating.predict import Dataflow, groups, ideal, program, simulated

DATAFLOWS: dict[str, Dataflow] = {"os": "output", "ws": "weight", "is": "input"}
TOTALS = {
    "alexnet": {"os": 850_960, "ws": 1_136_239, "is": 1_158_205},
    "resnet18": {"os": 1_718_353, "ws": 2_519_815, "is": 2_838_997},
}
SIZES = (4, 8, 12, 16, 32, 64)
TEXT = """SCALE-Sim 3.0.0 steps through every cycle of an array; with ideal memory its results have closed
forms. The layers are compiled from graphs, put in one tile, and run by the event simulator on machines
whose memories hold everything and take no time. SCALE-Sim numbers a layer's cycles from zero, so its figures
are one less than the number of cycles; here, 1 is added for each layer. Rows marked `USER` were measured with
a memory bandwidth of 10 words a cycle; for these, only the cycles of the array are compared, without waiting,
because the memory behind SCALE-Sim's buffers differs from ours."""


def formula(layer: Layer, dataflow: str, height: int, width: int) -> int:
    """Cycles of a layer, counted from one."""
    pixels, window, filters = layer.pixels, layer.window, layer.filters
    match dataflow:
        case "os":
            return -(-pixels // height) * -(-filters // width) * (window + height + width - 2)
        case "ws":
            return -(-window // height) * -(-filters // width) * (pixels + 2 * height + width - 2)
        case _:
            return -(-window // height) * -(-pixels // width) * (filters + 2 * height + width - 2)


def table(count: int) -> tuple[Table, dict[str, list[Figure]]]:
    """All that is known of systolic arrays, with so many random layers; and what is pictured."""
    known = published()
    figures = (*known, *totals(), *random_layers(count))
    columns = ("layer", "ours", "SCALE-Sim + 1")
    pictured: dict[str, list[Figure]] = {}
    for figure in known:
        pictured.setdefault(figure.case.split(", ")[1], []).append(figure)
    return Table("Systolic arrays", TEXT, figures, columns, "systolic"), pictured


def published() -> list[Figure]:
    """The rows of `systolic.csv`."""
    figures = []
    for fact in rows("systolic"):
        height, width, dataflow = int(fact["rows"]), int(fact["cols"]), fact["dataflow"]
        case = f"{fact['net']} {fact['layer']}, {dataflow.upper()} {height} × {width}, {fact['mode']}"
        found = whole(layer(fact), dataflow, height, width)
        known = int(fact["compute_cycles"]) + 1
        figures.append(Figure(case, found, known, relation="exact", network="CNN, int8", machine="systolic"))
    return figures


def totals() -> list[Figure]:
    """Networks: each layer once."""
    figures = []
    for net, known in TOTALS.items():
        found = layers(net)
        for dataflow, total in known.items():
            cycles = sum(whole(one, dataflow, 32, 32) for one in found)
            case = f"{net}, {len(found)} layers, {dataflow.upper()} 32 × 32"
            figures.append(Figure(case, cycles, total + len(found), relation="exact"))
    return figures


def random_layers(count: int) -> list[Figure]:
    """Random layers in one tile, and in the tiles in which the array folds them."""
    drawn = draw(count)
    right = {(dataflow, way): 0 for dataflow in DATAFLOWS for way in ("whole", "tiled")}
    tiles = dict.fromkeys(DATAFLOWS, 0)
    for one, height, width in drawn:
        for dataflow in DATAFLOWS:
            expected = formula(one, dataflow, height, width)
            right[dataflow, "whole"] += whole(one, dataflow, height, width) == expected
            cycles, made = tiled(one, dataflow, height, width)
            right[dataflow, "tiled"] += cycles == expected
            tiles[dataflow] += made
    return [
        Figure(
            f"{count} random layers {way}, {dataflow.upper()}",
            good,
            count,
            "layers exact",
            "exact",
            note=f"{tiles[dataflow]:,} tiles" if way == "tiled" else "",
        )
        for (dataflow, way), good in right.items()
    ]


def draw(count: int) -> list[tuple[Layer, int, int]]:
    """Random layers and array sizes, the same ones each time; every third one has folds that are boxes."""
    generator = random.Random(42)
    found = []
    for number in range(count):
        height, width = generator.choice(SIZES), generator.choice(SIZES)
        kernel = generator.choice((1, 1, 3, 5, 7))
        size = (kernel + generator.randrange(24), kernel + generator.randrange(24))
        channels = generator.randint(1, 96)
        if number % 3 == 0:
            kernel, size, channels = 1, (1, generator.randint(1, 300)), generator.randint(1, 200)
        elif number % 3 == 1:
            channels = height * generator.randint(1, 4)
        stride = generator.choice((1, 1, 2, 3)) if kernel > 1 else 1
        name = f"random{number}"
        one = Layer("random", name, *size, kernel, kernel, channels, generator.randint(1, 200), stride)
        found.append((one, height, width))
    return found


def whole(one: Layer, dataflow: str, height: int, width: int) -> int:
    """Cycles of a layer in one tile."""
    machine = ideal(height, width, DATAFLOWS[dataflow])
    nest, operands = compiled(one)
    return simulated(program(nest, operands, machine, nest.extents), machine).cycles


def tiled(one: Layer, dataflow: str, height: int, width: int) -> tuple[int, int]:
    """Cycles in the tiles in which the array folds the layer, and how many these are."""
    machine = ideal(height, width, DATAFLOWS[dataflow])
    nest, operands = compiled(one)
    constants = [operand for operand in operands.values() if operand.kind == "constant"]
    weights = max(constants, key=lambda operand: (operand.elements, operand.type == "i8"))
    made = program(nest, operands, machine, folds(nest, weights.name, dataflow, height, width))
    return simulated(made, machine).cycles, made.sections[0].tiles


@cache
def compiled(one: Layer) -> tuple[Nest, dict[str, Operand]]:
    """The nest of a layer, with its operands."""
    (found,) = groups(convolutions((one,)))
    return found


def folds(nest: Nest, weights: str, dataflow: str, height: int, width: int) -> tuple[int, ...]:
    """The tile that is one fold, along the axes where a fold is a box of the nest."""
    filters = _moves(nest, weights)
    outer, inner = range(nest.outer), range(nest.outer, len(nest.axes))
    pixels = [number for number in outer if number not in filters]
    channels = [number for number in outer if number in filters]
    folded = {
        "os": ((pixels, height), (channels, width)),
        "ws": ((inner, height), (channels, width)),
        "is": ((inner, height), (pixels, width)),
    }[dataflow]
    tile = list(nest.extents)
    for axes, fold in folded:
        for number, step in zip(axes, _box([nest.extents[n] for n in axes], fold), strict=True):
            tile[number] = step
    return tuple(tile)


def _moves(nest: Nest, operand: str) -> set[int]:
    """Axes along which the box of an operand moves."""
    (access,) = (read for read in nest.reads if read.operand == operand)
    indices = [index for index in access.index if isinstance(index, Affine)]
    return {n for n in range(len(nest.axes)) if any(index.coefficients[n] for index in indices)}


def _box(extents: Sequence[int], fold: int) -> Sequence[int]:
    """Steps along flattened axes that make as many tiles as there are folds; everything if there are none."""
    for place in range(len(extents)):
        behind, here, before = prod(extents[place + 1 :]), extents[place], prod(extents[:place])
        step = min(here, fold // behind)
        if fold % behind == 0 and before * -(-here // step) == -(-prod(extents) // fold):
            return (*(1,) * place, step, *extents[place + 1 :])
    return extents
