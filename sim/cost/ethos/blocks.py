"""Contractions and reductions on arrays that work in blocks, as the Ethos-U does."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import Cycles, Memory, layer_cycles
from sim.cost.ethos.parts import Choice, Layer, Part55, Part85, Shape
from sim.cost.ethos.passes import (
    CHAIN,
    Core,
    chain_length,
    chain_rate,
    chains,
    integer,
    pooled,
    transposed,
)
from sim.cost.ethos.passes import work as pass_work
from sim.cost.ethos.stages import Stage, stages_of
from sim.cost.geometry import Geometry, contracts_constant, geometry
from sim.cost.reach import reaches, scales
from sim.cost.work import Work
from tiling.expr import BYTES
from tiling.nest import Nest


def work(core: Core, nest: Nest, tile: tuple[int, ...]) -> Work | None:
    """The cost of a tile of a contraction or reduction, or of passes; None for types that are not there."""
    shape = geometry(nest, tile) if integer(nest) else None
    if shape is None:
        return pass_work(core, nest, tile)
    hardware, memory = core.hardware, core.memory
    stages = stages_of(nest)
    assert stages.primary is not None
    layer = layer_of(hardware, nest, shape, stages.primary)
    repeats = shape.groups * (1 if layer.op == "pool" else shape.images)
    behind = _behind(hardware, stages.after)
    chained = _chained_rate(hardware, stages.after[:behind])
    if isinstance(hardware, Part55) and layer.dynamic:
        cycles, choice = matmul(hardware, shape, layer, memory)
        repeats = 1
    else:
        choice = chosen(hardware, layer)
        once = layer.output.over(choice.output).area * shape.images == 1
        cycles = layer_cycles(hardware, layer, choice, core.direct if once else memory, chained)
    before, _ = chains(hardware, memory, stages.before, tile, 0)
    after, _ = chains(hardware, memory, stages.after, tile, behind)
    passes = before + after + transposed(hardware, memory, nest, tile)
    macs = shape.macs if nest.verb == "contract" else 0
    return Work(
        "array",
        cycles.total * repeats + passes,
        min(cycles.fill, cycles.total),
        macs,
        shape.macs - macs,
        _traffic(nest, tile, shape, layer, choice, memory),
        (
            ("mac_cycles", cycles.products * repeats),
            ("output_cycles", cycles.results * repeats),
            ("command_cycles", cycles.commands),
            ("pass_cycles", passes),
            ("block_height", choice.output.height),
            ("block_width", choice.output.width),
            ("block_channels", choice.output.depth),
            ("part_kernel", int(choice.part_kernel)),
        ),
    )


def _behind(hardware: Part55 | Part85, stages: tuple[Stage, ...]) -> int:
    """How many stages the U85 chains behind a contraction."""
    alone = isinstance(hardware, Part55) or not stages or pooled(stages[0])
    return 0 if alone else chain_length(stages, CHAIN - 1)


def _chained_rate(hardware: Part55 | Part85, stages: tuple[Stage, ...]) -> float:
    if isinstance(hardware, Part55):
        return 0.0
    return sum(chain_rate(hardware, stage, last=stage is stages[-1]) * stage.times for stage in stages)


def layer_of(hardware: Part55 | Part85, nest: Nest, shape: Geometry, primary: Stage) -> Layer:
    """What the array is asked for: for a contraction as it is, for a reduction as pooling."""
    plain = Layer(
        "sum",
        Shape(shape.height, shape.width, shape.columns),
        Shape(*shape.input, shape.in_channels),
        bits=min(shape.data_bits, 32 if shape.weights is None else 16),
        output_bits=min(8 * BYTES[primary.type], 64),
        wide=shape.sum_type == "i64" and shape.data_bits == 16 and shape.weights is not None,
        table=primary.table,
    )
    window = replace(plain, kernel=shape.kernel, stride=shape.stride, dilation=shape.dilation)
    of_channels = Shape(*shape.input, shape.columns)
    if shape.weights is not None and shape.kind == "depthwise":
        return replace(window, op="depthwise", input=of_channels)
    if shape.weights is not None:
        return replace(window, op="convolution", dynamic=not contracts_constant(nest))
    if shape.kind == "window":
        high, wide, depth = window.output
        images = Shape(high * shape.images, wide, depth)
        return replace(window, op="pool", output=images, input=of_channels, maximum=shape.op != "add")
    if shape.op == "add":
        return plain
    # A maximum over channels is one over columns of a map of one channel.
    output, source = Shape(shape.rows, 1, 1), Shape(shape.rows, shape.in_channels, 1)
    kernel, bits = (1, shape.in_channels), min(plain.bits, 16)
    return replace(plain, op="pool", output=output, input=source, kernel=kernel, bits=bits, maximum=True)


def matmul(hardware: Part55, shape: Geometry, layer: Layer, memory: Memory) -> tuple[Cycles, Choice]:
    """A product of two feature maps, which parts without a second stream do column by column.

    A pass multiplies one map with a row of the other, and a sum over channels adds up the products.
    """
    rows, columns = sorted((shape.rows, shape.columns), reverse=True)
    count = shape.groups * rows
    moved = 2 * layer.bits // 8 + 4
    rate = hardware.output_cycles[2]
    if memory.bytes_per_cycle is not None:
        rate = max(rate, moved / memory.bytes_per_cycle / 2)
    product = ceil(rate * count * shape.window)
    sums = Layer(
        "sum", Shape(shape.groups, rows, 1), Shape(shape.groups, rows, shape.window), bits=32,
        output_bits=layer.output_bits,
    )  # fmt: skip
    choice = chosen(hardware, sums)
    cycles = layer_cycles(hardware, sums, choice, memory)
    results = ceil(hardware.output_cycles[2] * count * shape.window) + cycles.results
    return (
        Cycles(
            (product + cycles.total) * columns,
            cycles.fill,
            cycles.products * columns,
            results * columns,
            cycles.commands,
        ),
        choice,
    )


def _traffic(
    nest: Nest, tile: tuple[int, ...], shape: Geometry, layer: Layer, choice: Choice, memory: Memory
) -> tuple[int, ...]:
    """Bytes of each access: the map once for each block of channels, weights for each block of positions.

    Single numbers come with the command.
    """
    found = []
    blocks = layer.output.over(choice.output.within(layer.output))
    deep = 1 if layer.op in ("depthwise", "pool") else blocks.depth
    source = choice.input.within(layer.input)
    repeats = -(-shape.kernel[0] // 8) * -(-shape.kernel[1] // 8)
    constants = scales(nest)
    for number, reach in enumerate(reaches(nest)):
        if number == shape.data:
            size = reach.touched(tile)
            fetched = source.area * layer.input.depth * blocks.area * repeats * reach.element
            again = max(size, fetched * shape.groups * shape.images) * deep
            found.append(size if layer.op == "pool" else again)
        elif number < len(nest.reads) and reach.bytes == reach.element:
            found.append(0)
        elif number in constants or (number == shape.weights and not layer.dynamic):
            found.append(reach.touched(tile) * blocks.area * shape.images)
        else:
            found.append(reach.spread(tile, memory.burst))
    return tuple(found)
