"""The reference figures of `tests/data/npu`, as values."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "npu"
Facts = dict[str, str]
KIB = 1024


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution without padding, as SCALE-Sim describes it."""

    net: str
    name: str
    height: int
    width: int
    kernel_height: int
    kernel_width: int
    channels: int
    filters: int
    stride: int

    @property
    def out_height(self) -> int:
        """Rows of the result; a stride that does not fit gives one more."""
        return -(-(self.height - self.kernel_height) // self.stride) + 1

    @property
    def out_width(self) -> int:
        """Columns of the result."""
        return -(-(self.width - self.kernel_width) // self.stride) + 1

    @property
    def pixels(self) -> int:
        """M of the formulas."""
        return self.out_height * self.out_width

    @property
    def window(self) -> int:
        """K of the formulas."""
        return self.kernel_height * self.kernel_width * self.channels


@dataclass(frozen=True, slots=True)
class Configuration:
    """An Ethos-U with its system and memory mode, in Vela's words."""

    accelerator: str
    system: str
    memory: str

    @property
    def machine(self) -> str:
        """The name of our machine."""
        family = self.accelerator.rsplit("-", 1)[0]
        system, memory = (part.lower().replace("_", "-") for part in (self.system, self.memory))
        return f"{self.accelerator}/{system.removeprefix(f'{family}-')}/{memory}"

    def __str__(self) -> str:
        return self.machine


@dataclass(frozen=True, slots=True)
class Network:
    """Vela's totals for a network."""

    model: str
    form: str
    """`tflite` or `tosa`."""
    configuration: Configuration
    cycles: int
    npu_cycles: int
    clock_hz: float
    offchip_bytes: int
    """Over the port of the second memory; the "flash on chip" of Sram_Only is the same SRAM."""
    scratchpad_bytes: int
    """Of SRAM, weights included where they live there."""
    macs: int


@cache
def rows(name: str) -> tuple[Facts, ...]:
    """The rows of a file."""
    with (DATA / f"{name}.csv").open(newline="") as file:
        return tuple(csv.DictReader(file))


def layer(fact: Facts) -> Layer:
    """The layer of a row of `layers.csv` or `systolic.csv`."""
    sizes = (int(fact[key]) for key in ("ifh", "ifw", "fh", "fw", "c", "nf", "stride"))
    return Layer(fact["net"], fact["layer"], *sizes)


def layers(net: str) -> tuple[Layer, ...]:
    """The layers of a network."""
    return tuple(layer(fact) for fact in rows("layers") if fact["net"] == net)


def network(fact: Facts) -> Network:
    """What a row of a summary of Vela says."""
    model, form = fact["network"].rsplit(".", 1)
    accelerator = fact["accelerator_configuration"].lower().replace("_", "-")
    configuration = Configuration(accelerator, fact["system_config"], fact["memory_mode"])
    traffic = ("dram_total_bytes", "off_chip_flash_total_bytes")
    sram = ("sram_memory_used", "on_chip_flash_memory_used")
    return Network(
        model=model,
        form=form,
        configuration=configuration,
        cycles=round(float(fact["cycles_total"])),
        npu_cycles=round(float(fact["cycles_npu"])),
        clock_hz=float(fact["core_clock"]),
        offchip_bytes=sum(round(float(fact[key])) for key in traffic),
        scratchpad_bytes=sum(round(float(fact[key]) * KIB) for key in sram),
        macs=int(fact["nn_macs"]),
    )


def networks(form: str) -> tuple[Network, ...]:
    """Vela's totals for networks given in a form."""
    return tuple(found for found in map(network, rows("vela_networks")) if found.form == form)
