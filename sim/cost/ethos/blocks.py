"""Contractions and reductions on arrays that work in blocks, as the Ethos-U does."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, prod
from typing import NamedTuple

from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import (
    CHANNELS,
    SCALE_BYTES,
    Cycles,
    Map,
    Maps,
    block_transfer,
    layer_cycles,
    microblock,
    products_of,
    read_run,
    written_run,
)
from sim.cost.ethos.parts import Choice, Layer, Part55, Part85, Shape, up
from sim.cost.ethos.passes import (
    CHAIN,
    Core,
    chain_length,
    chained_rate,
    chains,
    commanded,
    commands,
    integer,
    passed,
    pooled,
    table_cycles,
    transposed,
    where,
)
from sim.cost.ethos.passes import work as pass_work
from sim.cost.ethos.stages import Stage, scales, stages_of
from sim.cost.ethos.u55 import parted, products_block
from sim.cost.geometry import Geometry, contracts_constant, geometry, skipped_macs, squarest
from sim.cost.lanes import Ladder, Lanes
from sim.cost.reach import Reach, reaches
from sim.cost.sites import NEAR, Site, Sites
from sim.cost.work import Work
from tiling.expr import BYTES
from tiling.nest import Nest

WIDEST, FARTHEST = 2, 3
"""The largest dilation of a kernel, and its largest stride."""


def work(core: Core, nest: Nest, tile: tuple[int, ...], sites: Sites = ()) -> Work | None:
    """The cost of a tile of a contraction or reduction, or of passes; None for types that are not there."""
    shape = shape_of(nest, tile)
    if shape is None:
        return pass_work(core, nest, tile, sites)
    hardware, memory, stages = core.hardware, core.memory, stages_of(nest)
    sites, reads = where(nest, sites), len(nest.reads)
    layer, choice, cycles, repeats, behind = _primary(core, nest, shape, sites)
    own = max(cycles.total, scale_cycles(core, layer, choice)) * repeats
    hides = _hides(core, nest, shape, own, sites)
    found = passed(nest, sites)
    # What is summed over channels cannot be in bricks of them.
    before = chains(core, stages.before, tile, plain=layer.op == "sum", sites=(*found[:reads], NEAR))
    after = chains(core, stages.after, tile, behind, hides, _map(layer, shape), sites=found)
    turned = transposed(hardware, memory, nest, tile)
    passes = sum(one.cycles for one in (*before, *after)) + turned
    macs = shape.macs if nest.verb == "contract" else 0
    skipped = skipped_macs(shape) if layer.pruned and layer.sparse else 0
    return Work(
        "array",
        own + passes,
        min(cycles.fill, cycles.total),
        macs - skipped,
        shape.macs - macs,
        _traffic(core, nest, tile, shape, layer, choice, sites),
        (
            ("mac_cycles", cycles.products * repeats),
            ("output_cycles", cycles.results * repeats),
            ("command_cycles", cycles.commands),
            ("pass_cycles", passes),
            ("block_height", choice.output.height),
            ("block_width", choice.output.width),
            ("block_channels", choice.output.depth),
            ("part_kernel", int(choice.part_kernel)),
            *((("skipped_macs", skipped),) if skipped else ()),
        ),
        table_cycles(core, stages.before[0]) if stages.before else 0,
        after[-1].hides if after else hides,
        pays_latencies=True,
        commands=commands(nest, turned, before, cycles.total * repeats, after),
    )


def scale_cycles(core: Core, layer: Layer, choice: Choice) -> int:
    """Cycles of the channel of the U85 that reads biases and scales for each block of positions.

    It has few beats under way. Vela counts the latency of the memory with constants, copied or not.
    """
    beats, latency = core.bytes_under_way("scales"), core.constants[1]
    if beats is None or layer.dynamic or layer.op not in ("convolution", "depthwise"):
        return 0
    blocks = layer.output.over(choice.output.within(layer.output))
    return int(blocks.area * SCALE_BYTES * up(layer.output.depth, CHANNELS) * latency / beats)


def lanes(core: Core, nest: Nest, tile: tuple[int, ...], sites: Sites, work: Work) -> Lanes:
    """What the array does in the cycles of such a tile."""
    shape, full = (shape_of(nest, extents) for extents in (tile, nest.extents))
    if shape is None or full is None:
        return Ladder(work.cycles - work.fill).end(work)
    hardware, detail = core.hardware, dict(work.detail)
    layer, choice, cycles, repeats, _ = _primary(core, nest, shape, where(nest, sites))
    full, _ = apart(full)
    repeats *= detail.get("passes", 1)
    skipping = 2 if layer.pruned and layer.sparse else 1
    found = Ladder(Fraction(shape.macs, skipping * hardware.macs * _cores(hardware)))
    if isinstance(hardware, Part55) and layer.dynamic:
        return found.end(work, "results")
    micro, output = microblock(hardware, layer, choice), layer.output
    found.grow("types", detail.get("passes", 1) * layer.bits // 8)
    found.fill("filters", output.depth, full.columns, micro.depth)
    found.fill("positions", output.height, full.height, micro.height)
    found.fill("positions", output.width, full.width, micro.width)
    if layer.op == "depthwise" or (layer.op == "convolution" and choice.part_kernel):
        taps = layer.kernel[0] * layer.kernel[1]
        found.grow("window", Fraction(-(-taps // 4) * 4, taps))
    units = output.over(micro).elements * repeats
    blocks = Fraction(units, choice.output.within(output).over(micro).elements)
    alone = layer.op in ("depthwise", "pool")
    few = "channels" if full.in_channels < choice.input.depth else "edges"
    ideal = products_of(hardware, layer, choice, micro, waiting=False)
    found.reach("depthwise" if alone else few, ideal * blocks)
    found.reach("feeding", products_of(hardware, layer, choice, micro) * blocks)
    found.reach("results", (cycles.total - cycles.fill) * repeats)
    found.reach("feeding", work.cycles - work.fill - detail["pass_cycles"] * detail.get("passes", 1))
    return found.end(work, "passes")


def _map(layer: Layer, shape: Geometry) -> Shape | None:
    """What passes go over behind the array, if that is one map."""
    return layer.output if shape.groups == 1 and (layer.op == "pool" or shape.images == 1) else None


class Primary(NamedTuple):
    """How the array does a contraction or reduction."""

    layer: Layer
    choice: Choice
    cycles: Cycles
    repeats: int
    behind: int
    """Stages that are chained behind it."""


def _primary(core: Core, nest: Nest, shape: Geometry, sites: Sites) -> Primary:
    hardware, stages = core.hardware, stages_of(nest)
    assert stages.primary is not None
    shape, single = apart(shape)
    layer = layer_of(hardware, nest, shape, stages.primary)
    behind = behind_of(hardware, stages.after)
    if isinstance(hardware, Part55) and layer.dynamic:
        cycles, choice = matmul(core, shape, layer, sites)
        return Primary(layer, choice, cycles, 1, behind)
    repeats = single * shape.groups * (1 if layer.op == "pool" or shape.weights is None else shape.images)
    chained = chained_rate(hardware, stages.after[:behind])
    choice = chosen(hardware, layer)
    place = "scratchpad" if shape.weights is None else sites[shape.weights].place
    maps = Maps(
        core.at(sites[shape.data]),
        core.at(sites[len(nest.reads)]),
        core.at(Site(place)).memory.read_latency,
    )
    cycles = layer_cycles(hardware, layer, choice, maps, chained)
    if isinstance(hardware, Part85) and shape.kind != "window" and layer.op == "pool":
        other = turned_maximum(hardware, layer, maps, chained)
        cycles = min(cycles, other, key=lambda one: one.total)
    return Primary(layer, choice, cycles, repeats, behind)


def turned_maximum(hardware: Part85, layer: Layer, maps: Maps, chained: float) -> Cycles:
    """A maximum over channels as one over rows: a copy of the map is turned first.

    Rows can have any shape: a square, or one that fills bricks.
    """
    rows = layer.output.height
    shapes = {squarest(rows)} | ({(rows // CHANNELS, CHANNELS)} if rows % CHANNELS == 0 else set())
    found = (turned_as(hardware, layer, maps, chained, shape) for shape in sorted(shapes))
    return min(found, key=lambda one: one.total)


def turned_as(hardware: Part85, layer: Layer, maps: Maps, chained: float, first: tuple[int, int]) -> Cycles:
    """The same with its rows in such a shape."""
    deep = layer.input.width
    map, copy = Shape(*first, deep), Shape(deep, *first)
    turn = layer._replace(output=copy, input=map, kernel=(1, 1), table=False)
    pool = layer._replace(output=Shape(1, *first), input=copy, kernel=(deep, 1))
    # Blocks are the copy's, or those of the map, as far as the copy has such.
    blocks = (chosen(hardware, turn._replace(output=one, input=one)) for one in (map, copy))
    turned = min((layer_cycles(hardware, turn, one, maps) for one in blocks), key=lambda one: one.total)
    found = layer_cycles(hardware, pool, chosen(hardware, pool), maps, chained)
    return found._replace(total=found.total + turned.total, products=found.products + turned.products)


def _hides(core: Core, nest: Nest, shape: Geometry, cycles: int, sites: Sites) -> int:
    """In which of its cycles tables of what follows come: all, as if maps were where they live."""
    if core.home is core.memory:
        return cycles
    live = (site if n == shape.weights else Site("offchip", site.plain) for n, site in enumerate(sites))
    found = _primary(core, nest, shape, tuple(live))
    return found.cycles.total * found.repeats


def _cores(hardware: Part55 | Part85) -> int:
    return hardware.cores if isinstance(hardware, Part55) else 1


def behind_of(hardware: Part55 | Part85, stages: tuple[Stage, ...]) -> int:
    """How many stages the U85 chains behind a contraction."""
    alone = isinstance(hardware, Part55) or not stages or pooled(stages[0])
    return 0 if alone else chain_length(stages, CHAIN - 1)


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
    kernel, dilation = able(shape.kernel, shape.dilation)
    window = plain._replace(kernel=kernel, stride=shape.stride, dilation=dilation)
    of_channels = Shape(*shape.input, shape.columns)
    if shape.weights is not None and shape.kind == "depthwise":
        return window._replace(op="depthwise", input=of_channels)
    if shape.weights is not None:
        pruned = isinstance(hardware, Part85) and nest.reads[shape.weights].pruned
        return window._replace(op="convolution", dynamic=not contracts_constant(nest), pruned=pruned)
    if shape.kind == "window" and shape.op == "add" and plain.bits <= 16 and plain.output_bits >= 32:
        # Pools cannot write sums: those are products with ones.
        images = Shape(plain.output.height * shape.images, plain.output.width, plain.output.depth)
        return window._replace(op="depthwise", output=images, input=of_channels)
    if shape.kind == "window":
        high, wide, depth = window.output
        images = Shape(high * shape.images, wide, depth)
        return window._replace(op="pool", output=images, input=of_channels, maximum=shape.op != "add")
    if shape.op == "add":
        return plain
    # A maximum over channels is one over columns of a map of one channel.
    output, source = Shape(shape.rows, 1, 1), Shape(shape.rows, shape.in_channels, 1)
    kernel, bits = (1, shape.in_channels), min(plain.bits, 16)
    return plain._replace(op="pool", output=output, input=source, kernel=kernel, bits=bits, maximum=True)


def shape_of(nest: Nest, tile: tuple[int, ...]) -> Geometry | None:
    """The extents of what the array does; None if it does not.

    Images are rows of one where each position's channels are multiplied with constants.
    """
    shape = geometry(nest, tile) if integer(nest) else None
    if shape is None or shape.weights is None or shape.kind == "depthwise" or not contracts_constant(nest):
        return shape
    if shape.images == 1 or shape.kernel != (1, 1) or shape.stride != (1, 1):
        return shape
    high, wide = shape.input
    rows = shape.images * shape.height
    return shape._replace(images=1, height=rows, input=(shape.images * high, wide))


def apart(shape: Geometry) -> tuple[Geometry, int]:
    """What is done at a time, and how often: one by one positions that no stride reaches."""
    positions = shape.height, shape.width
    if all(count == 1 or step <= FARTHEST for count, step in zip(positions, shape.stride, strict=True)):
        return shape, 1
    high, wide = ((size - 1) * step + 1 for size, step in zip(shape.kernel, shape.dilation, strict=True))
    return shape._replace(height=1, width=1, input=(high, wide), stride=(1, 1)), prod(positions)


def able(kernel: tuple[int, int], dilation: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """A kernel with a dilation that the hardware has, one or two: more takes zeros in between."""
    if max(dilation) <= WIDEST:
        return kernel, dilation
    own = tuple(WIDEST if step % WIDEST == 0 else 1 for step in dilation)
    (high, wide), (down, right) = kernel, (step // one for step, one in zip(dilation, own, strict=True))
    return ((high - 1) * down + 1, (wide - 1) * right + 1), (own[0], own[1])


def matmul(core: Core, shape: Geometry, layer: Layer, sites: Sites) -> tuple[Cycles, Choice]:
    """A product of two feature maps, which parts without a second stream do column by column.

    A pass multiplies one map with a row of the other, and a sum over channels adds up the products. These
    are where maps live by default, as nobody gives them a place; blocks are so small that neither waits for
    the whole of the other. Vela 5.2.0 has products read as if they were as narrow as the maps.
    """
    hardware = core.hardware
    assert isinstance(hardware, Part55)
    assert shape.weights is not None
    rows, columns = sorted((shape.rows, shape.columns), reverse=True)
    source = Shape(shape.groups, rows, shape.window)
    part = parted(source)
    product = products_block(hardware, part, layer.bits)
    multiplied = layer._replace(output=source, input=source, kernel=(1, 1), output_bits=32)
    places = [core.at(sites[number]) for number in (shape.data, shape.weights)]
    plain = [Map(one.memory, plain=True) for one in (*places, core.at(sites[-1]))]
    products = Map(core.home, plain=True)
    choice = Choice(product, product, hardware.microblock, part_kernel=False)
    blocks = [block_transfer(hardware, multiplied, choice, Maps(one, products, 0)) for one in plain[:2]]
    rate, waiting = hardware.output_cycles[2], max(max(one) for one in blocks)
    taken = ceil(rate * source.elements)
    ahead = ceil((waiting / product.elements + rate) / 4 * source.elements)
    sums = Layer("sum", parted(Shape(shape.groups, rows, 1)), part, bits=32, output_bits=layer.output_bits)
    block = chosen(hardware, sums)
    whole = sums._replace(output=source._replace(depth=1), input=source, bits=layer.bits)
    cycles = layer_cycles(hardware, whole, block, Maps(products, plain[2], core.memory.read_latency))
    return (
        Cycles(
            (max(taken, ahead) + cycles.total) * columns,
            cycles.fill,
            cycles.products * columns,
            (taken + cycles.results) * columns,
            cycles.commands,
        ),
        block,
    )


def reached(nest: Nest) -> frozenset[int]:
    """Accesses of a contraction of which `_traffic` says no less than tiles reach."""
    if shape_of(nest, nest.extents) is None:
        return frozenset()
    plain = (number for number, reach in enumerate(reaches(nest)) if not reach.indirect)
    return frozenset(plain) - commanded(nest)


def _traffic(
    core: Core,
    nest: Nest,
    tile: tuple[int, ...],
    shape: Geometry,
    layer: Layer,
    choice: Choice,
    sites: Sites,
) -> tuple[int, ...]:
    """Bytes of each access: the map once for each block of channels, weights for each block of positions."""
    found = []
    shape, times = apart(shape)
    positions = times * layer.output.over(choice.output.within(layer.output)).area
    constants, free = scales(nest), commanded(nest)
    for number, (reach, site) in enumerate(zip(reaches(nest), sites, strict=False)):
        if number in free:
            found.append(0)
        elif number == shape.data:
            site = site._replace(plain=site.plain or layer.op == "sum")
            size = max(reach.touched(tile), times * _fetched(reach, shape, layer, choice, site))
            found.append(core.at(site).moved(size, read_run(layer, choice, site.plain)))
        elif number in constants or (number == shape.weights and not layer.dynamic):
            found.append(reach.touched(tile) * positions * shape.images)
        elif number < len(nest.reads):
            found.append(reach.spread(tile, core.at(site).memory.burst))
        else:
            run = written_run(core.hardware, layer, choice, site.plain)
            found.append(core.at(site).moved(_bricks(reach.touched(tile), layer.output.depth, site), run))
    return tuple(found)


def _fetched(reach: Reach, shape: Geometry, layer: Layer, choice: Choice, site: Site) -> int:
    """Bytes of the map in all blocks of it, bricks of channels included."""
    source, blocks = choice.input.within(layer.input), layer.output.over(choice.output.within(layer.output))
    alone = layer.op in ("depthwise", "pool")
    parts = -(-shape.kernel[0] // 8) * -(-shape.kernel[1] // 8) * blocks.area * (1 if alone else blocks.depth)
    size = source.area * layer.input.depth * reach.element * parts * shape.groups
    return _bricks(size * (1 if layer.op == "pool" else shape.images), layer.input.depth, site)


def _bricks(size: int, depth: int, site: Site) -> int:
    """Bytes with the channels that fill up the last brick; single ones are rows."""
    return size if site.plain or depth == 1 else size * up(depth, CHANNELS) // depth
