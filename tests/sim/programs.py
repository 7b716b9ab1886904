"""Random machines and programs for the simulators, and costs that are easy to check by hand."""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st

from sim.cost.sites import Sites
from sim.cost.work import Unit, Work
from sim.machine.machine import Machine
from tiling.expr import BYTES, acc, call, const, read
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Write
from tiling.program import Image, Loop, Operand, Program, Section, box_bytes, box_shape
from tiling.target import Target

UNITS: dict[str, Unit] = {"contract": "array", "reduce": "reduction", "map": "vector", "move": "dma"}


class SimpleCosts:
    """So many points a cycle, and each box once."""

    def __init__(self, points_a_cycle: int = 4, fill: int = 3) -> None:
        self.points, self.fill = points_a_cycle, fill

    def work(self, nest: Nest, tile: tuple[int, ...], sites: Sites = ()) -> Work:
        """The work of a tile."""
        count = prod(tile)
        cycles = -(-count // self.points) + self.fill
        accesses = nest.accesses[: len(nest.reads) + len(nest.writes)]
        traffic = tuple(box_bytes(access, tile) for access in accesses)
        macs = count if nest.verb == "contract" else 0
        return Work(UNITS[nest.verb], cycles, self.fill, macs, count - macs, traffic, (("tiles", 1),))


def machine_of(**changes: object) -> Machine:
    """A machine without limits, but for the changes: fields of parts as `part__field`."""
    data: dict[str, object] = {
        "name": "test",
        "clock_hz": 1e9,
        "offchip": {},
        "scratchpad": {"bytes": 1 << 20},
    }
    for path, value in changes.items():
        part, _, field = path.rpartition("__")
        if part:
            inner = data.setdefault(part, {})
            assert isinstance(inner, dict)
            inner[field] = value
        else:
            data[field] = value
    return Machine.model_validate(data)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    rates = st.sampled_from([None, 0.5e9, 1e9, 3e9, 7.5e9, 64e9])
    per_cycle = st.sampled_from([None, 0.75, 2.0, 5.0, 64.0])
    return machine_of(
        offchip__bandwidth_bytes_per_second=draw(rates),
        offchip__read_latency_cycles=draw(st.sampled_from([0, 0, 5, 100])),
        offchip__write_latency_cycles=draw(st.sampled_from([0, 7])),
        offchip__burst_bytes=draw(st.sampled_from([1, 16, 64])),
        scratchpad__bytes_per_cycle=draw(per_cycle),
        scratchpad__ports=draw(st.sampled_from([1, 2])),
        scratchpad__banks=draw(st.sampled_from([1, 4])),
        scratchpad__read_latency_cycles=draw(st.sampled_from([0, 3])),
        dma__channels=draw(st.sampled_from([1, 2])),
        dma__setup_cycles=draw(st.sampled_from([0, 0, 11])),
        dma__outstanding_requests=draw(st.sampled_from([1, 8])),
        launch_overhead_cycles=draw(st.sampled_from([0, 40])),
        level2=draw(st.none() | level2s),
    )


level2s = st.fixed_dictionaries(
    {
        "bytes": st.just(1 << 20),
        "bandwidth_bytes_per_second": st.sampled_from([None, 1e9, 7.5e9, 64e9]),
        "read_latency_cycles": st.sampled_from([0, 9]),
        "write_latency_cycles": st.sampled_from([0, 3]),
        "burst_bytes": st.sampled_from([1, 32]),
    }
)
"""Memories between the scratchpad and the off-chip one; programs need not care how large they are."""


def row_nest(number: int, source: str, result: str, rows: int, width: int, taps: int, pad: int) -> Nest:
    """A padded window along the rows, times weights of its own, in so many columns."""
    axes = (Axis("y", rows), Axis("x", width), Axis("k", taps, True))
    height = rows + taps - 1 - 2 * pad
    data = Access(
        source, "i8", (max(height, 1), width), (Affine((1, 0, 1), -pad), Affine((0, 1, 0))), const(0, "i8")
    )
    weights = Access(f"w{number}", "i8", (width, taps), (Affine((0, 1, 0)), Affine((0, 0, 1))))
    target = Access(result, "i8", (rows, width), (Affine((1, 0, 0)), Affine((0, 1, 0))))
    value = call("mul_i32", read(0, "i8"), read(1, "i8"), type="i32")
    reduction = Reduction("add", 0, "i32", value)
    return Nest(
        "contract", axes, (data, weights), (Write(target, acc("i32")),), reduction, (f"conv{number}",)
    )


def map_nest(number: int, source: str, other: str, result: str, rows: int, width: int, verb: str) -> Nest:
    """Elementwise work on two matrices, or a copy of one."""
    index = (Affine((1, 0)), Affine((0, 1)))
    one, two = (Access(name, "i8", (rows, width), index) for name in (source, other))
    target = Access(result, "i8", (rows, width), index)
    axes = (Axis("y", rows), Axis("x", width))
    if verb == "move":
        return Nest("move", axes, (one,), (Write(target, read(0, "i8")),), None, (f"move{number}",))
    value = call("add_i32", read(0, "i8"), read(1, "i8"), type="i32")
    return Nest("map", axes, (one, two), (Write(target, value),), None, (f"add{number}",))


@st.composite
def programs(draw: st.DrawFn, most: int = 4, levels: bool = False) -> Program:
    """Sections over two matrices and the results of earlier sections, with any loops, levels and copies.

    With `levels`, what is not in the scratchpad may be in level 2.
    """
    rows, width = draw(st.integers(1, 40)), draw(st.integers(1, 12))
    names = ["x0", "x1"]
    operands = {name: _operand(draw, name, rows * width, "input", levels) for name in names}
    sections = []
    for number in range(draw(st.integers(1, most))):
        source, other = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        result = f"v{number}"
        if draw(st.booleans()):
            taps = draw(st.integers(1, 4))
            pad = (taps - 1) // 2 if taps % 2 else 0
            fits = rows + taps - 1 - 2 * pad == rows
            nest = row_nest(number, source, result, rows, width, taps if fits else 1, pad if fits else 0)
            weights = nest.reads[1]
            operands[weights.operand] = Operand(
                weights.operand, "i8", prod(weights.shape), "constant",
                stored_bytes=draw(st.sampled_from([None, 1, prod(weights.shape)])),
                place=draw(st.sampled_from(["offchip", "level2"])) if levels else "offchip",
            )  # fmt: skip
        else:
            nest = map_nest(
                number, source, other, result, rows, width, draw(st.sampled_from(["map", "move"]))
            )
        operands[result] = _operand(draw, result, rows * width, "temporary", levels)
        names.append(result)
        sections.append(draw(sections_of(nest, operands)))
    end = max((image.end for s in sections for image in s.images if image is not None), default=0)
    return Program(Target("test", 1 << 20), operands, tuple(sections), 0, end)


def _operand(draw: st.DrawFn, name: str, size: int, kind: str, levels: bool) -> Operand:
    if draw(st.booleans()):
        home = draw(st.sampled_from(["offchip", "level2"])) if levels else "offchip"
        return Operand(name, "i8", size, kind, 0, home)  # type: ignore[arg-type]
    place = 4096 + 512 * draw(st.integers(0, 5))
    return Operand(name, "i8", size, kind, place, "scratchpad")  # type: ignore[arg-type]


@st.composite
def sections_of(draw: st.DrawFn, nest: Nest, operands: dict[str, Operand]) -> Section:
    """Any tiles of a nest, with images for any operand that is not in the scratchpad."""
    cut = draw(st.permutations([n for n, axis in enumerate(nest.axes) if not axis.reduced]))
    cut = [*cut[: draw(st.integers(0, len(cut)))], *(n for n, a in enumerate(nest.axes) if a.reduced)]
    loops = []
    for axis in cut:
        extent = nest.axes[axis].extent
        step = draw(st.integers(1, extent))
        if step < extent:
            loops.append(Loop(axis, step, -(-extent // step)))
    steps = {loop.axis: loop.step for loop in loops}
    tile = tuple(steps.get(number, axis.extent) for number, axis in enumerate(nest.axes))
    address = draw(st.sampled_from([0, 0, 64, 1024]))
    images: list[Image | None] = []
    for access in nest.accesses:
        if operands[access.operand].place == "scratchpad" or draw(st.integers(0, 3)) == 0:
            images.append(None)
            continue
        level = max((d + 1 for d, loop in enumerate(loops) if _moves(access, loop.axis)), default=0)
        copies, size = draw(st.sampled_from([1, 2, 2, 3])), box_bytes(access, tile)
        images.append(Image(address, box_shape(access, tile), size, level, copies, size))
        address += copies * size
    accumulator = None
    if nest.reduction is not None and draw(st.booleans()):
        accumulator = Image(address, tile[: nest.outer], prod(tile[: nest.outer]) * BYTES["i32"], len(loops))
    return Section(nest, tuple(loops), tuple(images), accumulator)


def _moves(access: Access, axis: int) -> bool:
    return any(isinstance(index, Affine) and index.coefficients[axis] for index in access.index)
