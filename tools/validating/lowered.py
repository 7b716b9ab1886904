"""Operators that Vela takes apart into other ones than our programs do, on an Ethos-U.

It squares differences in 32 bits, with a copy of each map and a product for its scale; maxima over channels
are pools over columns, for which softmax turns a map where it has enough rows;
on the U55 and U65 a transposed convolution is one over a map with zeros in between; what several heads of an
attention make is joined by a transposition, and multiplied after it. Ours scale maps where they subtract
them, take a maximum in the cheaper way, leave zeros out, and have a window over the heads. Both are timed by
our model of the machine, so that a difference is none of the machine's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from sim.cost.ethos.blocks import layer_of, scale_cycles, shape_of, turned_maximum
from sim.cost.ethos.choosing import chosen
from sim.cost.ethos.cycles import CHANNELS, Map, Maps, layer_cycles
from sim.cost.ethos.parts import Layer, Op, Part55, Part85, Shape, up
from sim.cost.ethos.passes import Core, chained_rate, chains
from sim.cost.ethos.stages import Source, Stage, StageKind, stages_of
from tiling.nest import Nest
from validating.charges import copy_cycles
from validating.copies import BROADCAST, kept, passed_on, tensors_of
from validating.schedules import Operation

KINDS: Mapping[str, StageKind] = {"Mul": "multiply", "Sub": "add", "Add": "add"}
BRICKS = "NHCWB16"
"""How Vela calls the order of maps in bricks of channels."""
WIDENED = "_32bit"
"""How Vela calls a map of 32 bits that it copies one to."""
OPS: Mapping[str, Op] = {
    **{"Conv2D": "convolution", "FullyConnected": "convolution", "DepthwiseConv2D": "depthwise"},
    **{"MaxPool": "pool", "AvgPool": "pool"},
}
"""Kinds of operations of the array, as layers."""
AXES = frozenset({0, 1})


def lowered(
    found: Sequence[Operation],
    core: Core,
    places: Mapping[str, str],
    nests: Sequence[Nest] = (),
    stored: Mapping[str, tuple[int, str]] | None = None,
) -> int:
    """Cycles of what Vela does instead, less what our programs, which are made of nests, take for it.

    `stored` has bytes and order of each tensor.
    """
    total = 0
    if isinstance(core.hardware, Part55):
        for front, one in pairwise((None, *found)):
            if one is not None and one.source == "TransposeConv2D":
                total += with_zeros(one, core, stored or {}, front)
    for source, some in groupby(found, lambda one: one.source):
        match source:
            case "SquaredDifference":
                total += squared(list(some), core, places, stored or {})
            case "FullyConnected":
                total += sum(in_one(one, core, nests) for one in some)
            case "Conv2D":
                total += sum(in_rows(one, core, nests) for one in some)
            case "Softmax":
                total += sum(over_channels(one, core) for one in some)
    return total


def squared(
    some: Sequence[Operation],
    core: Core,
    places: Mapping[str, str],
    stored: Mapping[str, tuple[int, str]],
) -> int:
    """A squared difference in 32 bits, less a difference and a product."""
    total = 0
    for one in some:
        if one.kind == "MemoryCopy":
            total += widened(one, core, places)
        elif one.kind in KINDS and not one.own.endswith(BROADCAST):
            bricks = stored.get(one.names[0], (0, BRICKS))[1] == BRICKS  # as what is stored nowhere
            total += passes(core, [stage(KINDS[one.kind], "i32", "i32")] * (1 + one.behind), one, bricks)
    ours = [stage("add", "i8", "i32"), stage("multiply", "i32", "i8")]
    return total - passes(core, ours, some[-1])


def widened(one: Operation, core: Core, places: Mapping[str, str]) -> int:
    """A copy of a map as 32 bits, and what is done along with it."""
    *_, high, wide, deep = (1, 1, *one.shape)
    shape = Shape(high, wide, deep)
    layer = Layer("pool", shape, shape, bits=8, output_bits=32)
    near = places.get(one.names[0].removesuffix(WIDENED)) == "Sram"
    source = Map(core.memory if near else core.home, plain=True)
    chained = chained_rate(core.hardware, [stage("multiply", "i32", "i32")] * one.behind)
    return passed_on(core, one, layer, source, plain=True, chained=chained)


def with_zeros(
    one: Operation,
    core: Core,
    stored: Mapping[str, tuple[int, str]] | None = None,
    front: Operation | None = None,
) -> int:
    """A transposed convolution over zeros, less its parts: each has some rows and columns of the kernel.

    Where its weights have a buffer, Vela counts it with maps where they live by default, and the copy, less
    what the operation in front hides of that.
    """
    if one.kind != "Conv2D" or len(one.read) < 3:
        return 0
    # A result may be some channels of a joined map.
    deep = one.slices[-1] - one.slices[0] if one.slices else one.shape[-1]
    output, source = Shape(*one.shape[-3:])._replace(depth=deep), Shape(*one.read[-3:])
    down, across = output.height // source.height, output.width // source.width
    if down * across == 1:
        return 0
    maps = Maps(Map(core.memory), Map(core.memory), core.constants[1])
    wide = Shape(output.height, output.width, source.depth)
    whole = Layer("convolution", output, wide, kernel=(one.kernel[0], one.kernel[1]))
    block = chosen(core.hardware, whole)
    known = stored or {}
    rows = bool(one.names) and one.names[0] in known and kept(one, known)[1]
    total, live = (
        layer_cycles(
            core.hardware,
            whole._replace(input=source),
            block,
            Maps(Map(place), Map(place, rows), core.constants[1]),
        ).total
        for place in (core.memory, core.home)
    )
    if one.copies and front is not None and (taken := hides(front, core)) is not None:
        total = max(total, live + copy_cycles(core, one.buffer) - taken)
    part = Shape(source.height, source.width, output.depth)
    for y in range(down):
        for x in range(across):
            kernel = -(-(one.kernel[0] - y) // down), -(-(one.kernel[1] - x) // across)
            total -= cycles(core, Layer("convolution", part, source, kernel=kernel), maps)
    return total


def hides(front: Operation, core: Core) -> int | None:
    """Cycles of an operation of the array with maps where they live by default; None if it is no such."""
    if front.kind not in OPS or len(front.read) < 3:
        return None
    output, source = Shape(*front.shape[-3:]), Shape(*front.read[-3:])
    stride = max(1, source.height // output.height), max(1, source.width // output.width)
    maximum = front.kind == "MaxPool"
    layer = Layer(
        OPS[front.kind], output, source, (front.kernel[0], front.kernel[1]), stride, maximum=maximum
    )
    return cycles(core, layer, Maps(Map(core.home), Map(core.home), core.constants[1]))


def in_one(one: Operation, core: Core, nests: Sequence[Nest]) -> int:
    """Products with channels that come from several maps, joined first, less a window over these maps."""
    if one.kind != "FullyConnected":
        return 0
    maps = Maps(Map(core.memory), Map(core.memory), core.constants[1])
    for nest in nests:
        shape, primary = shape_of(nest, nest.extents), stages_of(nest).primary
        if shape is None or primary is None or shape.kernel == (1, 1):
            continue
        if shape.kind == "contract" and not tensors_of(nest.members).isdisjoint(one.names):
            joined = Layer("convolution", Shape(*one.shape[-3:]), Shape(*one.read[-3:]))
            return cycles(core, joined, maps) - cycles(
                core, layer_of(core.hardware, nest, shape, primary), maps
            )
    return 0


def in_rows(one: Operation, core: Core, nests: Sequence[Nest]) -> int:
    """A convolution of single positions in blocks of rows and columns, less ours, whose map is one row."""
    if one.kind != "Conv2D" or one.kernel != (1, 1) or one.shape[-3:-1] != one.read[-3:-1]:
        return 0
    for nest in nests:
        shape, primary = shape_of(nest, nest.extents), stages_of(nest).primary
        if shape is None or primary is None or tensors_of(nest.members[:1]).isdisjoint(one.names):
            continue
        ours = layer_of(core.hardware, nest, shape, primary)
        if ours.op != "convolution" or ours.output.area != one.shape[-3] * one.shape[-2]:
            return 0
        theirs = ours._replace(
            output=ours.output._replace(height=one.shape[-3], width=one.shape[-2]),
            input=ours.input._replace(height=one.read[-3], width=one.read[-2]),
        )
        return with_scales(core, theirs) - with_scales(core, ours)
    return 0


def with_scales(core: Core, layer: Layer) -> int:
    """Cycles of a layer, or of its biases and scales, whichever takes longer."""
    maps = Maps(Map(core.memory), Map(core.memory), core.constants[1])
    return max(cycles(core, layer, maps), scale_cycles(core, layer, chosen(core.hardware, layer)))


def over_channels(one: Operation, core: Core) -> int:
    """A maximum over what were channels, which Vela has as columns, less ours."""
    *_, high, wide, deep = (1, 1, 1, *one.read)
    if deep != 1 or one.kernel[-2:] != (1, wide) or one.kind != "MaxPool":
        return 0
    maps = Maps(Map(core.memory), Map(core.memory), core.constants[1])
    layer = Layer("pool", Shape(high, 1, 1), Shape(high, wide, 1), (1, wide), maximum=True)
    ours = theirs = cycles(core, layer, maps)
    if isinstance(core.hardware, Part85):
        ours = min(ours, turned_maximum(core.hardware, layer, maps, 0).total)
    return theirs - ours


def cycles(core: Core, layer: Layer, maps: Maps) -> int:
    """Those of a layer."""
    return layer_cycles(core.hardware, layer, chosen(core.hardware, layer), maps).total


def stage(kind: StageKind, read: str, made: str) -> Stage:
    """A stage with two maps, or a map and a number."""
    return Stage(kind, (Source(None, None, AXES, read),) * 2, AXES, made)


def passes(core: Core, stages: Sequence[Stage], one: Operation, bricks: bool = False) -> int:
    """Cycles of stages over what an operation makes, with the channels that fill up bricks."""
    *_, high, wide, deep = (1, 1, *one.shape)
    deep = up(deep, CHANNELS) if bricks else deep
    return sum(found.cycles for found in chains(core, stages, (high * wide, deep)))
