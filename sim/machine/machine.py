"""A machine as a whole."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from html import escape
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from sim.machine.arrays import AnyArray
from sim.machine.errors import Fault, MachineError, MachineWarning
from sim.machine.figures import Table, count
from sim.machine.parts import (
    Clock,
    Cycles,
    Dma,
    Energy,
    Level2,
    MemoryMode,
    OffChip,
    OperatingPoint,
    Pages,
    Part,
    Planner,
    ReductionUnit,
    Scratchpad,
    Topology,
    VectorUnit,
)
from sim.machine.paths import leaves, merged, named, paths
from sim.machine.points import at_point, point_of, point_rules
from sim.machine.words import value_text
from tiling.target import Target
from tiling.words import isolated, plain

MOST_BYTES_PER_CYCLE = 1e9
"""Beyond this a bandwidth is a slip of the pen."""


def _name(text: str) -> str:
    if not text.strip() or len(text) > 200 or not text.isprintable():
        raise ValueError("a name is one line of 1 to 200 characters, e.g. ethos-u55-128")
    return text.strip()


class Machine(Part):
    """An NPU: its clock, memories, units and energies, with the source of every figure."""

    name: Annotated[str, AfterValidator(_name)]
    description: Annotated[str, Field(max_length=10_000)] = ""
    sources: Annotated[dict[str, str], AfterValidator(Table)] = Table()
    """Where figures come from, by the path of the field: `offchip.read_latency_cycles`."""
    clock_hz: Clock
    cores: Annotated[int, count("an NPU has", 1024, 2, "cores")] = 1
    """How many arrays with all else that is beside them share each tile's work; with a topology, networks."""
    topology: Topology | None = None
    """How cores are connected that work each on its own part; they share the off-chip memory."""
    offchip: OffChip
    level2: Level2 | None = None
    """A memory between the two others; with a topology, cores have equal parts of it."""
    scratchpad: Scratchpad
    dma: Dma = Dma()
    array: AnyArray | None = None
    vector: VectorUnit = VectorUnit()
    reduction: ReductionUnit = ReductionUnit()
    memory: MemoryMode = MemoryMode()
    planner: Planner = Planner()
    launch_overhead_cycles: Cycles = 0
    missing_types: Literal["emulate", "refuse"] = "emulate"
    energy: Energy = Energy()
    dvfs: Annotated[tuple[OperatingPoint, ...], Field(max_length=64)] = ()
    """Other clocks, each with its supply."""
    operating_point: str | None = None
    """The one of them that it works at; clock, energies and latencies are then those of the point."""

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        self.take_point()
        faults = [Fault(path, text) for wrong, path, text in self.rules() if wrong]
        faults += [Fault(f"sources.{path}", text) for path, text in self._strangers()]
        if faults:
            raise MachineError(faults)
        for note in self.notes():
            warnings.warn(f"{self.name}: {note}", MachineWarning, stacklevel=4)
        return self

    def take_point(self) -> None:
        """Have the figures of its operating point, while it is made."""
        point = point_of(self)
        if point is not None:
            self.__dict__.update(at_point(self, point))

    def at(self, point: str) -> Machine:
        """The machine at one of its operating points, by name. Raises `MachineError` if there is none."""
        base = self.name.removesuffix(f"@{self.operating_point}")
        return self.replace({"operating_point": point, "name": f"{base}@{point}"})

    def rules(self) -> Iterator[tuple[bool, str, str]]:
        """Fields that contradict each other."""
        memory, array = self.memory, self.array
        yield from point_rules(self)
        yield (
            array is None and memory.compressed_weights,
            "memory.compressed_weights",
            "weights are decoded for an array, but there is none; add an array, or set it to false",
        )
        yield (
            self.offchip.kind == "flash" and memory.activations == "offchip",
            "memory.activations",
            "flash cannot be written while a program runs; use scratchpad, or another offchip.kind",
        )
        if self.offchip.pages is not None:
            yield from self._page_rules(self.offchip.pages)
        if self.level2 is not None:
            yield from self._level2_rules(self.level2)
        if array is not None:
            yield from array.rules(1 if self.topology else self.cores)
        if self.topology is not None:
            yield from self._topology_rules(self.topology)
        rate = self.offchip_bytes_per_cycle
        yield (
            rate is not None and rate > MOST_BYTES_PER_CYCLE,
            "offchip.bandwidth_bytes_per_second",
            f"{rate or 0:g} bytes a cycle at {self.clock_hz:g} Hz is beyond any memory; null is unlimited",
        )

    def _level2_rules(self, level2: Level2) -> Iterator[tuple[bool, str, str]]:
        """What a level 2 asks of the rest."""
        yield (
            level2.kind == "flash" and level2.holds != "constants",
            "level2.holds",
            "flash cannot be written while a program runs; use constants, or another level2.kind",
        )
        room = level2.bytes if self.topology is None else level2.bytes // self.cores
        yield (
            room < self.scratchpad.alignment_bytes,
            "level2.bytes",
            f"{level2.bytes} bytes are {room} for each of {self.cores} cores; more are needed",
        )
        rate = level2.bandwidth_bytes_per_second or 0
        yield (
            rate / self.clock_hz > MOST_BYTES_PER_CYCLE,
            "level2.bandwidth_bytes_per_second",
            f"{rate / self.clock_hz:g} bytes a cycle at {self.clock_hz:g} Hz is beyond any memory; "
            "null is unlimited",
        )

    def _page_rules(self, pages: Pages) -> Iterator[tuple[bool, str, str]]:
        """What pages ask of the rest."""
        yield (
            self.offchip.kind != "dram",
            "offchip.pages",
            f"{self.offchip.kind} has no pages to open; set it to null, or offchip.kind to dram",
        )
        interval = pages.refresh_interval_cycles
        yield (
            interval is not None and pages.refresh_cycles >= interval,
            "offchip.pages.refresh_cycles",
            f"a refresh of {pages.refresh_cycles} cycles each {interval} leaves no time for data",
        )

    def _topology_rules(self, topology: Topology) -> Iterator[tuple[bool, str, str]]:
        """What cores that work each for itself ask of the rest."""
        yield (
            self.cores == 1,
            "cores",
            "a topology connects several cores, but there is 1; set cores to 2 or more, or topology to null",
        )
        for name, place in self.memory.model_dump().items():
            text = "cores find what they share in the off-chip memory; with a topology it is offchip"
            yield place == "scratchpad", f"memory.{name}", text
        columns = topology.columns
        yield (
            columns is not None and (topology.network == "bus" or columns > self.cores),
            "topology.columns",
            f"{columns} columns are for a mesh of at least as many cores, not for {self.cores} on a "
            f"{topology.network}; set it to null",
        )
        part = self.scratchpad.bytes // self.cores
        yield (
            topology.scratchpad == "shared" and part < 2 * self.scratchpad.alignment_bytes,
            "scratchpad.bytes",
            f"{self.scratchpad.bytes} bytes are {part} for each of {self.cores} cores; more are needed",
        )

    def notes(self) -> Iterator[Fault]:
        """What cannot be had of the machine, though nothing is wrong."""
        if self.array is not None and self.array.own_channels:
            return
        yield from self._unreached(self.offchip, "the memory")
        if self.level2 is not None:
            yield from self._unreached(self.level2, "level 2")

    def _unreached(self, far: OffChip | Level2, name: str) -> Iterator[Fault]:
        """Whether the DMA has too few requests for the bandwidth of a memory."""
        requests, latency = self.dma.outstanding_requests, far.read_latency_cycles
        if far.bandwidth_bytes_per_second is None or not latency:
            return
        rate = far.bandwidth_bytes_per_second / self.clock_hz
        reached = requests * far.burst_bytes / latency
        if reached < rate:
            needed = ceil(rate * latency / far.burst_bytes)
            text = f"{requests} bursts of {far.burst_bytes} bytes, each {latency} cycles under way, are "
            text += f"{reached:g} bytes a cycle, but {name} has {rate:g}; {needed} would reach that"
            yield Fault("dma.outstanding_requests", text)

    def _strangers(self) -> Iterator[tuple[str, str]]:
        known = set(paths(self))
        for path in self.sources:
            if path not in known:
                yield path, "no such field; sources are named by the path of a field, e.g. scratchpad.bytes"

    @cached_property
    def target(self) -> Target:
        """What the planner may know of it; of cores with a topology, of each."""
        mode, level2 = self.memory, self.core.level2
        return Target(
            self.name,
            scratch_bytes=self.core.scratchpad.bytes,
            alignment=self.scratchpad.alignment_bytes,
            level2_bytes=0 if level2 is None else level2.bytes,
            level2_holds="both" if level2 is None else level2.holds,
            weights=mode.weights,
            values=mode.activations,
            kept=mode.kept,
            kept_weights=mode.kept and mode.kept_weights,
            constants=mode.constants,
            direct=mode.direct,
            copied=mode.copied,
            strided=self.dma.strided,
            double_buffering=self.planner.double_buffering,
            cascading=self.planner.cascading and mode.kept,
        )

    @cached_property
    def offchip_bytes_per_cycle(self) -> float | None:
        """Bandwidth of the off-chip memory, None for unlimited."""
        rate = self.offchip.bandwidth_bytes_per_second
        return None if rate is None else rate / self.clock_hz

    @cached_property
    def macs_per_cycle(self) -> int:
        """Products a cycle of all cores at the full rate; 0 without an array."""
        return 0 if self.array is None else self.array.full_rate * self.cores

    @property
    def core(self) -> Machine:
        """One core of a topology with the whole off-chip memory for itself, as a machine of its own."""
        return self if self.topology is None else _core_of(self)

    @property
    def beside_level2(self) -> Machine | None:
        """A machine that has the level 2 as its off-chip memory; None without one."""
        return None if self.level2 is None else _beside(self.level2, self)

    def source(self, path: str) -> str:
        """The source of a field's figure; empty if there is none."""
        while path and path not in self.sources:
            path = path.rpartition(".")[0]
        return self.sources.get(path, "")

    def replace(self, changes: Mapping[str, Any], source: str = "") -> Machine:
        """A machine with some figures changed, by path: `machine.replace({"scratchpad.bytes": 1 << 20})`.

        Sources of what is changed go; `source` says where the new figures are from. Raises `MachineError` if
        there is no such field, or no such machine.
        """
        return type(self)(**merged(self.to_dict(), named(changes), source))

    def to_dict(self) -> dict[str, Any]:
        """The machine as numbers, text, lists and dictionaries."""
        return self.model_dump(mode="json")

    def to_json(self) -> str:
        """The machine as the text of a file."""
        return self.model_dump_json(indent=2) + "\n"

    def to_yaml(self) -> str:
        """The machine as the text of a file; needs PyYAML."""
        from sim.machine.formats import yaml_text

        return yaml_text(self.to_dict())

    def save(self, path: str | Path) -> None:
        """Write a file: .json, .yaml or .yml. Raises `MachineFileError` if it cannot be written."""
        from sim.machine.formats import is_json, write

        write(Path(path), self.to_json() if is_json(Path(path)) else self.to_yaml())

    def __repr__(self) -> str:
        return f"Machine({line(self)})"

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html(self)


@lru_cache(maxsize=32)
def _core_of(machine: Machine) -> Machine:
    pad, energy, count = machine.scratchpad, machine.energy, machine.cores
    assert machine.topology is not None
    if machine.topology.scratchpad == "shared":
        room = pad.bytes // count // pad.alignment_bytes * pad.alignment_bytes
        pad = pad.model_copy(update={"bytes": room})
    energy = energy.model_copy(update={"leakage_watts": energy.leakage_watts / count})
    alone: dict[str, Any] = {"cores": 1, "topology": None, "scratchpad": pad, "energy": energy}
    if (level2 := machine.level2) is not None:
        room = level2.bytes // count // pad.alignment_bytes * pad.alignment_bytes
        alone["level2"] = level2.model_copy(update={"bytes": max(room, pad.alignment_bytes)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MachineWarning)
        return machine.model_copy(update={**alone, "sources": Table()})


@lru_cache(maxsize=32)
def _beside(level2: Level2, machine: Machine) -> Machine:
    far = OffChip(
        kind="sram",
        bandwidth_bytes_per_second=level2.bandwidth_bytes_per_second,
        read_latency_cycles=level2.read_latency_cycles,
        write_latency_cycles=level2.write_latency_cycles,
        burst_bytes=level2.burst_bytes,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MachineWarning)
        return machine.model_copy(update={"offchip": far, "level2": None, "sources": Table()})


def line(machine: Machine) -> str:
    """The machine in a line."""
    figures = (
        plain(machine.name),
        value_text("clock_hz", machine.clock_hz),
        array_text(machine),
        f"{value_text('bytes', machine.scratchpad.bytes)} scratchpad",
        offchip_text(machine),
        mode_text(machine),
    )
    return ", ".join(figures)


def array_text(machine: Machine) -> str:
    """The array in a few words."""
    if machine.array is None:
        return "no array"
    times = f"{machine.cores} × " if machine.cores > 1 else ""
    return times + machine.array.describe()


def offchip_text(machine: Machine) -> str:
    """The memories behind the DMA in a few words."""
    rate, level2 = machine.offchip.bandwidth_bytes_per_second, machine.level2
    text = f"{machine.offchip.kind} {value_text('bytes_per_second', rate)}"
    return text if level2 is None else f"{value_text('bytes', level2.bytes)} {level2.kind}, {text}"


def mode_text(machine: Machine) -> str:
    """What lives in the scratchpad all the time."""
    memory = machine.memory
    places = {
        "weights": memory.weights,
        "constants": memory.constants,
        "activations": memory.activations,
    }
    inside = [name for name, place in places.items() if place == "scratchpad"]
    if len(inside) == len(places):
        return "all in scratchpad"
    return f"{' and '.join(inside)} in scratchpad" if inside else "all off-chip"


def rows(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Field, figure with its unit, and source."""
    for path, value, default in leaves(machine):
        name = path.rpartition(".")[2]
        source = "default" if value == default and path not in machine.sources else machine.source(path)
        if isinstance(value, dict):
            for key, one in value.items():
                yield f"{path}.{key}", value_text(name, one), machine.source(f"{path}.{key}") or source
        else:
            yield path, value_text(name, value), source


def text(machine: Machine) -> str:
    """A table for a terminal."""
    table = list(rows(machine))
    widths = [max(len(row[column]) for row in table) for column in range(2)]
    lines = [
        f"{path.ljust(widths[0])}  {figure.rjust(widths[1])}  {source}" for path, figure, source in table
    ]
    name, description = plain(machine.name), plain(machine.description, None)
    head = f"{name}: {description}" if description else name
    return "\n".join([head, *(one.rstrip() for one in lines), *(f"note: {note}" for note in machine.notes())])


def html(machine: Machine) -> str:
    """A table for a notebook."""
    left, right = "<td style='text-align:left'>", "<td style='text-align:right'>"
    cells = "".join(
        f"<tr>{left}{escape(path)}</td>{right}{escape(figure)}</td>{left}{escape(source)}</td></tr>"
        for path, figure, source in rows(machine)
    )
    head = "<tr><th>field</th><th>figure</th><th>source</th></tr>"
    caption = f"<b>{isolated(machine.name)}</b> {escape(plain(machine.description, None))}"
    notes = "".join(f"<p>{escape(str(note))}</p>" for note in machine.notes())
    return f"<table><caption>{caption}</caption><thead>{head}</thead><tbody>{cells}</tbody></table>{notes}"
