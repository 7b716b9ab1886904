"""The parts of a machine. Numbers carry their unit in the name; None for a bandwidth means unlimited."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Place = Literal["scratchpad", "offchip"]
Cycles = Annotated[int, Field(ge=0)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Part(BaseModel):
    """What every part has in common: values, checked by name, that do not change."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class OffChip(Part):
    """The large memory behind the DMA."""

    kind: Literal["dram", "flash", "sram"] = "dram"
    bandwidth_bytes_per_second: Rate | None = None
    read_latency_cycles: Cycles = 0
    write_latency_cycles: Cycles = 0
    burst_bytes: Annotated[int, Field(gt=0)] = 64


class Scratchpad(Part):
    """The memory that the units work in."""

    bytes: Annotated[int, Field(gt=0)]
    banks: Annotated[int, Field(gt=0)] = 1
    ports: Annotated[int, Field(gt=0)] = 1
    bytes_per_cycle: Rate | None = None
    """Of all ports together."""
    read_latency_cycles: Cycles = 0
    write_latency_cycles: Cycles = 0
    burst_bytes: Annotated[int, Field(gt=0)] = 16
    alignment_bytes: Annotated[int, Field(gt=0)] = 16


class Dma(Part):
    """What moves data between the memories."""

    channels: Annotated[int, Field(gt=0)] = 1
    setup_cycles: Cycles = 0
    outstanding_requests: Annotated[int, Field(gt=0)] = 8
    strided: bool = True
    """Whether one transfer can leave gaps between elements; otherwise it takes all that lies between."""
    gathered: bool = False
    """Whether a transfer can follow indices that are data."""


class MemoryMode(Part):
    """Where things live, and whether units reach the off-chip memory themselves."""

    weights: Place = "offchip"
    activations: Place = "offchip"
    """For off-chip activations the planner keeps in the scratchpad what fits between groups."""
    constants: Place = "offchip"
    direct: bool = False
    """Whether units can use operands where they are in the off-chip memory, without a copy."""
    compressed_weights: bool = False


class Systolic(Part):
    """An array of rows × columns through which operands flow."""

    kind: Literal["systolic"] = "systolic"
    rows: Annotated[int, Field(gt=0)]
    columns: Annotated[int, Field(gt=0)]
    dataflow: Literal["output", "weight", "input"] = "weight"
    rates: dict[str, Rate] = {"8x8": 1.0}
    """Products a cycle by operand types, a factor of the full rate: `8x8`, `8x4`, `16x8`, `fp16`, …"""


class Block(Part):
    """An array that works in blocks of the result, as the Ethos-U does."""

    kind: Literal["block"] = "block"
    family: Literal["u55", "u65", "u85"]
    macs_per_cycle: Annotated[int, Field(gt=0)]
    rates: dict[str, Rate] = {"8x8": 1.0}


class RowStationary(Part):
    """An array that keeps rows of filters in its elements, as Eyeriss does."""

    kind: Literal["row-stationary"] = "row-stationary"
    rows: Annotated[int, Field(gt=0)]
    columns: Annotated[int, Field(gt=0)]
    filter_words: Annotated[int, Field(gt=0)] = 224
    input_words: Annotated[int, Field(gt=0)] = 12
    sum_words: Annotated[int, Field(gt=0)] = 24
    rates: dict[str, Rate] = {"8x8": 1.0}


Array = Annotated[Systolic | Block | RowStationary, Field(discriminator="kind")]


class VectorUnit(Part):
    """What does scalar work on many elements at a time."""

    lanes: dict[str, Annotated[int, Field(gt=0)]] = {"i8": 16, "i16": 8, "i32": 4}
    """Elements a cycle for operations of one cycle, by type: `i8`, `i16`, `i32`, `i64`, `f16`, `f32`, …"""
    cycles: dict[str, Cycles] = {}
    """Cycles of a kind of scalar operation, where it is not one: `multiply`, `rescale`, `divide`, …"""
    table_lookups_per_cycle: Rate = 1.0
    fill_cycles: Cycles = 0


class ReductionUnit(Part):
    """What combines values along an axis."""

    lanes: dict[str, Annotated[int, Field(gt=0)]] = {"i8": 16, "i16": 8, "i32": 4}
    fill_cycles: Cycles = 0


class Energy(Part):
    """Energy of each thing that is done."""

    picojoules_per_mac: Annotated[float, Field(ge=0)] = 0.0
    picojoules_per_operation: Annotated[float, Field(ge=0)] = 0.0
    picojoules_per_scratchpad_byte: Annotated[float, Field(ge=0)] = 0.0
    picojoules_per_offchip_byte: Annotated[float, Field(ge=0)] = 0.0
    leakage_watts: Annotated[float, Field(ge=0)] = 0.0
