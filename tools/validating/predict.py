"""Our side: models, and reports of graphs on machines."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import tosajit as tj
from sim import Machine, Report
from sim.machine.arrays import Systolic
from sim.machine.parts import OffChip, Scratchpad, VectorUnit
from tiling.nest import Affine, Nest
from tiling.program import Image, Loop, Operand, Program, Section, box_bytes, box_shape
from tosajit.npu.simulate import Network
from tosajit.runtime.body import Compute
from validating.facts import ROOT

sys.path.insert(0, str(ROOT))
from tests import models

CAPACITY, LANES = 1 << 40, 1 << 20


def model_file(model: str, form: str = "tosa") -> Path:
    """Where a model is."""
    return models.folder(model) / f"model.{form}"


def loaded(model: str) -> tj.Graph | None:
    """The graph of a model, if we have it."""
    try:
        return models.graph(model)
    except tj.FileError:
        return None


def report(graph: tj.Graph | None, machine: Machine | str) -> tuple[Report | None, str]:
    """What a graph takes on a machine, or why that is not known."""
    if graph is None:
        return None, "the model is not there"
    try:
        return tj.simulate(graph, machine), ""
    except (tj.TosaError, NotImplementedError) as error:
        return None, f"{type(error).__name__}: {error}"


Dataflow = Literal["output", "weight", "input"]


def ideal(rows: int, columns: int, dataflow: Dataflow) -> Machine:
    """A systolic array whose memories hold everything and take no time, and whose biases are free."""
    return Machine(
        name=f"ideal {rows} × {columns}, {dataflow} stationary",
        clock_hz=1e9,
        offchip=OffChip(),
        scratchpad=Scratchpad(bytes=CAPACITY),
        array=Systolic(rows=rows, columns=columns, dataflow=dataflow),
        vector=VectorUnit(lanes={"i32": LANES}),
    )


def groups(graph: tj.Graph) -> Iterator[tuple[Nest, dict[str, Operand]]]:
    """The fused nests of a graph without control flow, each with its operands."""
    for step in Network.of(graph).body.steps:
        assert isinstance(step, Compute)
        made = step.groups
        for nest in made.nests:
            yield nest, {name: made.operands[name] for name in nest.operands}


def program(nest: Nest, operands: dict[str, Operand], machine: Machine, tile: Sequence[int]) -> Program:
    """The program of one nest in the given tiles, everything in buffers of its own."""
    tile = tuple(tile)
    loops = tuple(
        Loop(number, step, -(-axis.extent // step))
        for number, (axis, step) in enumerate(zip(nest.axes, tile, strict=True))
        if step < axis.extent
    )
    images: list[Image] = []
    address = 0
    for access in nest.accesses:
        moving = [
            depth + 1
            for depth, loop in enumerate(loops)
            if any(isinstance(i, Affine) and i.coefficients[loop.axis] for i in access.index)
        ]
        size = box_bytes(access, tile)
        images.append(Image(address, box_shape(access, tile), size, max(moving, default=0)))
        address += _aligned(size)
    accumulator = Image(address, tile[: nest.outer], 0, len(loops)) if nest.reduction else None
    section = Section(nest, loops, tuple(images), accumulator)
    return Program(machine.target, operands, (section,), 0, address)


def simulated(made: Program, machine: Machine) -> Report:
    """What the event simulator says."""
    from sim.events import simulate

    return simulate(made, machine)


def _aligned(size: int) -> int:
    return -(-size // 64) * 64
