"""The parts of a machine. Numbers carry their unit in the name; None for a bandwidth means unlimited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from sim.machine.errors import Fault, MachineError
from sim.machine.faults import faults_of, nameless
from sim.machine.figures import Figure, Table, count, cycles, table
from sim.machine.weighting import weighting
from tiling.scalars import TABLE, Cost

Place = Literal["scratchpad", "offchip"]
Copied = Literal["all", "weights"]
Split = Literal["best", "rows", "channels", "pipeline"]
Cycles = Annotated[int, cycles("a time has")]
Rate = Annotated[float, Figure("a rate", "a rate is", 1e-9, 1e18, 4e9, whole=False)]
Bandwidth = Annotated[float, Figure("a bandwidth", "a memory moves", 1.0, 1e16, 4e9, "bytes a second", False)]
Clock = Annotated[float, Figure("a clock", "an NPU runs at", 1e3, 1e12, 1e9, "Hz", False)]
Energies = Annotated[float, Figure("an energy", "it takes", 0, 1e9, 0.3, "picojoules", False)]

Watts = Annotated[float, Figure("a power", "an NPU leaks", 0, 1e6, 0.05, "watts", False)]
Volts = Annotated[float, Figure("a voltage", "a supply has", 0.01, 100, 0.8, "volts", False)]

RATES = {
    "8x8": "8-bit integers",
    "8x4": "8-bit data, 4-bit weights",
    "16x8": "16-bit data, 8-bit weights",
    "16x16": "16-bit integers",
    "fp8": "8-bit floats of either kind",
    "fp16": "half precision",
    "bf16": "bfloat16",
    "fp32": "single precision",
}
"""Types of operands that an array can have a rate for."""

LANES = {name: name for name in ("bool", "i8", "i16", "i32", "i64", "f8e4m3", "f8e5m2", "f16", "bf16", "f32")}
"""Types of elements that a unit can have lanes for."""

OPERATIONS = tuple(dict.fromkeys([*get_args(Cost), *(row.base for row in TABLE)]))
"""Kinds of scalar operations, and their names, that a unit can take a time of its own for."""

Factor = Annotated[float, Figure("a rate", "a factor of the array's full rate is", 1e-6, 64, 0.5, "", False)]
Lane = Annotated[int, count("a unit has", 1 << 20, 16, "lanes")]
Rates = Annotated[dict[str, Factor], table(RATES, "a pair of operand types")]
Lanes = Annotated[dict[str, Lane], table(LANES, "a type of elements")]


class Part(BaseModel):
    """What every part has in common: values, checked by name, that do not change."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    if not TYPE_CHECKING:  # type checkers make the constructor from the fields

        def __init__(self, /, **figures: Any) -> None:
            odd = list(nameless(figures))
            if odd:
                raise MachineError(odd)
            try:
                super().__init__(**figures)
            except ValidationError as error:
                name = figures.get("name")
                where = name if isinstance(name, str) and len(name) < 100 else ""
                raise MachineError(faults_of(type(self), error), where) from None

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """The part that a mapping says, or the part itself."""
        if isinstance(obj, Mapping) and all(isinstance(name, str) for name in obj):
            return cls(**obj)
        if isinstance(obj, cls):
            return obj
        raise MachineError(f"a {cls.__name__} is made from keyword arguments, not from {type(obj).__name__}")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with other fields, checked like any other part."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**fields, **(update or {})})


class Pages(Part):
    """Pages of a DRAM, the banks that open them, and refresh."""

    bytes: Annotated[int, Figure("a size", "a page has", 16, 1 << 20, 2048, "bytes", power_of_two=True)] = (
        2048
    )
    """Of all chips together."""
    banks: Annotated[int, count("a DRAM has", 1024, 8, "banks")] = 8
    miss_cycles: Cycles = 0
    """What data of a page that is not open take beyond the latency: to close one page and open another."""
    refresh_interval_cycles: (
        Annotated[int, count("it takes", 10**9, 7800, "cycles from one to the next")] | None
    ) = None
    """From one refresh to the next; None for no refresh."""
    refresh_cycles: Cycles = 0
    """In which the memory gives nothing, each time."""


class OffChip(Part):
    """The large memory behind the DMA."""

    kind: Literal["dram", "flash", "sram"] = "dram"
    bandwidth_bytes_per_second: Bandwidth | None = None
    read_latency_cycles: Cycles = 0
    write_latency_cycles: Cycles = 0
    burst_bytes: Annotated[int, count("a burst has", 1 << 16, 64, "bytes")] = 64
    ports: Annotated[int, count("a memory has", 1024, 1, "ports")] = 1
    outstanding_reads: Annotated[int, count("a memory has", 1 << 16, 16, "requests in flight")] | None = None
    """Bursts that may be under way at a time, per port; None for as many as the DMA has."""
    outstanding_writes: Annotated[int, count("a memory has", 1 << 16, 16, "requests in flight")] | None = None
    pages: Pages | None = None
    """None for a memory to which all addresses are alike."""


class Level2(Part):
    """A memory between the scratchpad and the off-chip one, reached as that one is."""

    kind: Literal["sram", "flash"] = "sram"
    """Flash, and what is like it, cannot be written while a program runs."""
    bytes: Annotated[int, Figure("a size", "a level 2 has", 64, 1 << 44, 2 << 20, "bytes")]
    holds: Literal["constants", "values", "both"] = "both"
    """Constants, temporaries that find no room in the scratchpad, or both."""
    bandwidth_bytes_per_second: Bandwidth | None = None
    read_latency_cycles: Cycles = 0
    write_latency_cycles: Cycles = 0
    burst_bytes: Annotated[int, count("a burst has", 1 << 16, 64, "bytes")] = 64
    picojoules_per_byte: Energies = 0.0


class Scratchpad(Part):
    """The memory that the units work in."""

    bytes: Annotated[int, Figure("a size", "a scratchpad has", 64, 1 << 44, 262144, "bytes")]
    banks: Annotated[int, count("a scratchpad has", 1 << 16, 4, "banks")] = 1
    ports: Annotated[int, count("a scratchpad has", 1024, 2, "ports")] = 1
    bytes_per_cycle: (
        Annotated[float, Figure("a rate", "a scratchpad delivers", 1e-3, 1e9, 16, "bytes a cycle", False)]
        | None
    ) = None
    """Of all ports together."""
    read_latency_cycles: Cycles = 0
    write_latency_cycles: Cycles = 0
    burst_bytes: Annotated[int, count("a burst has", 1 << 16, 16, "bytes")] = 16
    alignment_bytes: Annotated[
        int, Figure("an alignment", "addresses are multiples of", 1, 1 << 16, 16, "bytes", power_of_two=True)
    ] = 16
    outstanding_reads: Annotated[int, count("a memory has", 1 << 16, 16, "requests in flight")] | None = None
    """Bursts that may be under way at a time, per port; None for no limit."""
    outstanding_writes: Annotated[int, count("a memory has", 1 << 16, 16, "requests in flight")] | None = None

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.bytes < 2 * self.alignment_bytes:
            text = f"{self.alignment_bytes} is too coarse for a scratchpad of {self.bytes} bytes; "
            raise MachineError([Fault("alignment_bytes", text + f"at most {self.bytes // 2}, e.g. 16")])
        return self


class Dma(Part):
    """The engine that moves data between the memories."""

    channels: Annotated[int, count("a DMA has", 64, 2, "channels")] = 1
    setup_cycles: Cycles = 0
    outstanding_requests: Annotated[int, count("a DMA has", 1 << 16, 8, "requests in flight")] = 8
    strided: bool = True
    """Whether one transfer can leave gaps between elements; otherwise it takes all that lies between."""
    gathered: bool = False
    """Whether a transfer can follow indices that are data."""


class MemoryMode(Part):
    """Where operands live, and whether units access the off-chip memory directly."""

    weights: Place = "offchip"
    activations: Place = "offchip"
    kept: bool = True
    """Whether off-chip activations stay in the scratchpad between groups where they fit.

    Otherwise the scratchpad is a buffer of operands, and every group goes from memory to memory.
    """
    kept_weights: bool = True
    """Whether off-chip weights that several groups read may stay there between these, copied once.

    Otherwise each group loads them, as where they come by a way of their own. Without `kept`, none stay.
    """
    constants: Place = "offchip"
    direct: bool = False
    """Whether units can use operands where they are in the off-chip memory, without a copy."""
    copied: Copied = "all"
    """What the DMA copies to the scratchpad, if units can do without: all operands, or weights alone."""
    compressed_weights: bool = False


class Planner(Part):
    """Options of the planner."""

    double_buffering: bool = True
    """Whether a box may have a second copy, which is filled while the first is used."""
    cascading: bool = True
    """Whether chains of operators may run in stripes, so that what they pass on stays in the scratchpad."""
    split: Split = "best"
    """How cores with a topology share a network: by rows or channels of each result, or by layers."""
    objective: Annotated[str, BeforeValidator(weighting)] = "time"
    """What plans make least: time, energy, traffic of the off-chip memory, or a weighting of these.

    A weighting is a text, `time + 0.2 traffic`, or weights by name. Traffic counts in cycles that the
    off-chip memory takes for it, energy in those in which that memory takes as much.
    """


class VectorUnit(Part):
    """The unit for elementwise work, with many lanes."""

    lanes: Lanes = Table({"i8": 16, "i16": 8, "i32": 4})
    """Elements a cycle for operations of one cycle, by type: `i8`, `i16`, `i32`, `i64`, `f16`, `f32`, …"""
    cycles: Annotated[dict[str, Cycles], table(OPERATIONS, "an operation or a kind of them")] = Table()
    """Cycles of a scalar operation, where it is not one: of a kind, such as `multiply`, or by name: `exp`."""
    table_lookups_per_cycle: Annotated[
        float, Figure("a rate", "a unit looks up", 1e-3, 1e6, 1, "elements a cycle", False)
    ] = 1.0
    stages: Annotated[int, count("a unit has", 64, 4, "stages")] = 1
    """Operations that follow one another which an element passes in one go, each stage at the full rate."""
    fill_cycles: Cycles = 0


class ReductionUnit(Part):
    """The unit that combines values along an axis."""

    lanes: Lanes = Table({"i8": 16, "i16": 8, "i32": 4})
    windows: Literal["again", "once"] = "again"
    """Whether values of windows that overlap are taken again for each window, or once for all of them."""
    fill_cycles: Cycles = 0


class Topology(Part):
    """How cores stand to each other that each have units, a DMA and a time of their own."""

    scratchpad: Literal["own", "shared"] = "own"
    """Whether each core has a whole scratchpad, or an equal part of one that all reach through its ports."""
    network: Literal["bus", "mesh"] = "bus"
    """What carries data from one scratchpad to another: one bus, or links between neighbours in a grid."""
    columns: Annotated[int, count("a mesh has", 1024, 2, "columns")] | None = None
    """Of a mesh, whose cores are counted row by row; None for a grid that is nearly a square."""
    bandwidth_bytes_per_second: Bandwidth | None = None
    """Of the bus, or of each link of the mesh in each direction."""
    hop_latency_cycles: Cycles = 0
    """Of the bus, or of each link on the way."""
    multicast: bool = True
    """Whether what several cores load alike, or take from another, comes once, carried to all of them."""


class Energy(Part):
    """The energy of each action, and leakage."""

    picojoules_per_mac: Energies = 0.0
    picojoules_per_operation: Energies = 0.0
    picojoules_per_element_byte: Energies = 0.0
    """Of the memories in the elements of an array that has such."""
    picojoules_per_array_byte: Energies = 0.0
    """To such an element, or from one to the next."""
    picojoules_per_scratchpad_byte: Energies = 0.0
    picojoules_per_offchip_byte: Energies = 0.0
    picojoules_per_network_byte: Energies = 0.0
    """From one core's scratchpad to another's: of the bus, or of each link of the mesh on the way."""
    leakage_watts: Watts = 0.0
    volts: Volts | None = None
    """The supply on the chip for which energies and leakage are stated."""

    def inside(self, element_bytes: float, array_bytes: float) -> float:
        """Picojoules of so many bytes in the elements of an array, and on their way to them."""
        own, way = self.picojoules_per_element_byte, self.picojoules_per_array_byte
        return own * element_bytes + way * array_bytes


def _word(text: str) -> str:
    if not text or len(text) > 40 or not all(one.isalnum() or one in "-_." for one in text):
        raise ValueError("a name is 1 to 40 letters, digits and -_. e.g. low")
    return text


class OperatingPoint(Part):
    """A clock of a machine, and the supply that it needs."""

    name: Annotated[str, AfterValidator(_word)]
    clock_hz: Clock
    volts: Volts
    leakage_watts: Watts | None = None
    """None for that of the machine, in proportion to the supply."""

    def __str__(self) -> str:
        return f"{self.name}: {self.clock_hz / 1e6:g} MHz, {self.volts:g} V"
