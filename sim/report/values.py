"""What a program takes on a machine, as values; `report.py` adds how they look, and their files.

Every cycle belongs to one operator and one cause; that is checked when an account is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tiling.words import TextError

Mode = Literal["events", "analytic"]
Memory = Literal["offchip", "level2", "scratchpad"]
Direction = Literal["read", "write"]
DataKind = Literal["weights", "activations", "constants"]
Traffic = Mapping[tuple[Memory, Direction, DataKind], int]
"""Bytes by memory, direction and kind of data."""

CAUSES = ("compute", "fill", "input", "weights", "output", "dependency", "launch")
"""What a cycle is spent on: work, filling and draining pipelines, or waiting for one of the others."""
LANES = (
    "useful", "channels", "filters", "positions", "window", "depthwise", "edges", "cores", "types", "sums",
    "feeding", "results", "passes", "runs", "other",
)  # fmt: skip
"""What cycles of computing are spent on: useful work of all lanes, or why some of them idle."""
SPENT = ("useful", "idle", *CAUSES)
"""Causes with `compute` in two parts, for bars: what all lanes would need for the work, and the rest."""
UNITS = ("array", "vector", "reduction", "dma")
MEMORIES: tuple[Memory, ...] = ("offchip", "level2", "scratchpad")
DIRECTIONS: tuple[Direction, ...] = ("read", "write")
KINDS: tuple[DataKind, ...] = ("weights", "activations", "constants")
ENERGIES = ("macs", "operations", "elements", "scratchpad", "level2", "offchip", "network", "leakage")


class ReportError(TextError):
    """A report is inconsistent, or a file with one cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Span:
    """Something that a unit does, `count` times, each `period` cycles after the last."""

    unit: str
    """Its track: `array`, `vector`, `reduction`, `dma` or, of several channels, `dma 0`."""
    label: str
    kind: str
    """`compute`, `load` or `store`."""
    first: int
    duration: int
    period: int = 0
    count: int = 1
    bytes: int = 0
    """Bytes over the off-chip interface, each time."""
    section: int = -1
    """Number of the program's section; negative where it is not one section's."""
    stands_for: int = 1
    """How many events it sums up; from their first to their last, if they do not repeat evenly."""

    @property
    def end(self) -> int:
        """When the last one is over."""
        return self.first + self.period * (self.count - 1) + self.duration


@dataclass(frozen=True, slots=True)
class Content:
    """Addresses of the scratchpad that hold something for some time."""

    first: int
    last: int
    address: int
    bytes: int
    name: str
    """The operand, or `sums` for those of an accumulator."""
    kind: str
    """That of the operand: `input`, `constant`, `temporary` or `output`; or `sums`."""
    copy: bool
    """Whether tiles pass through, rather than all of it staying."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """Where work stands below the roof of its machine, in MACs."""

    intensity: float | None
    """MACs for each off-chip byte; None where no byte is moved."""
    attained: float
    """MACs a cycle."""
    bound: float
    """MACs a cycle that the array's peak and the off-chip bandwidth allow at this intensity."""
    limit: Literal["array", "offchip"]
    """Which of the two it is."""

    @property
    def share(self) -> float:
        """Attained of what the bound allows; above 1 if data came while something else was computed."""
        return self.attained / self.bound if self.bound else 0.0


@dataclass(frozen=True, slots=True)
class OperatorReport:
    """What a fused group of operators takes."""

    label: str
    members: tuple[str, ...]
    """Nodes of the graph that it computes."""
    sections: tuple[int, ...]
    """Numbers of the program's sections."""
    unit: str
    """The one that computes it."""
    cycles: Mapping[str, int]
    """By cause; what is not named is zero."""
    busy: Mapping[str, int] = field(default_factory=dict)
    """Cycles in which a unit works for it; units overlap."""
    macs: int = 0
    operations: int = 0
    traffic: Traffic = field(default_factory=dict)
    energy: Mapping[str, float] = field(default_factory=dict)
    """Joules, by part."""
    detail: Mapping[str, int] = field(default_factory=dict)
    """Parts of the estimate worth showing, such as `mac_cycles`."""
    lanes: Mapping[str, int] = field(default_factory=dict)
    """The cycles of `compute` by what lanes do with them; empty where that is not known."""
    start: int = 0
    """When its first command starts, transfers included."""
    end: int = 0
    """When its last command is over."""
    layer: Mapping[str, int] = field(default_factory=dict)
    """A contraction or reduction in numbers (positions, filters, kernel, channels, bits); else empty."""
    after: tuple[int, ...] = ()
    """Numbers of the operators whose results it reads, in the report."""

    @property
    def total(self) -> int:
        """All cycles that are this operator's."""
        return sum(self.cycles.values())

    @property
    def spent(self) -> dict[str, int]:
        """Its cycles by the names of `SPENT`."""
        return split(self.cycles, self.lanes)

    @property
    def stalls(self) -> dict[str, int]:
        """Cycles in which it does not compute, by cause."""
        return {cause: self.cycles[cause] for cause in CAUSES[1:] if self.cycles.get(cause)}

    @property
    def offchip_bytes(self) -> int:
        """Bytes over the off-chip interface."""
        return moved(self.traffic, memory="offchip")

    @property
    def joules(self) -> float:
        """All of its energy."""
        return sum(self.energy.values())


@dataclass(frozen=True, slots=True)
class Account:
    """The cost of a program on a machine: time, traffic, memory and energy, by operator and cause."""

    machine: str
    program: str
    """Name of what was timed."""
    mode: Mode
    clock_hz: float
    cycles: int
    operators: tuple[OperatorReport, ...]
    busy: Mapping[str, int] = field(default_factory=dict)
    """Cycles in which a unit works."""
    traffic: Traffic = field(default_factory=dict)
    peak_scratchpad_bytes: int = 0
    scratchpad_bytes: int = 0
    """What the machine has."""
    peak_macs_per_cycle: float = 0.0
    offchip_bytes_per_cycle: float | None = None
    """None for an unlimited bandwidth."""
    energy: Mapping[str, float] = field(default_factory=dict)
    """Joules, by part."""
    occupancy: tuple[tuple[int, int], ...] = ()
    """From which cycle on how many bytes of the scratchpad are in use."""
    timeline: tuple[Span, ...] = ()
    runs: int = 1
    """How many programs, one after another, it is the sum of."""
    contents: tuple[Content, ...] = ()
    """What the scratchpad holds; not known of analytic reports."""
    peak_level2_bytes: int = 0
    level2_bytes: int = 0
    """What the machine has; 0 without a level 2."""
    origin: Any = field(default=None, compare=False, repr=False)
    """How to try the same with something changed (`sim.report.why.Origin`); no part of files."""

    def __post_init__(self) -> None:
        for operator in self.operators:
            _check_names(operator.label, "cause", operator.cycles, CAUSES)
            _check_names(operator.label, "use of lanes", operator.lanes, LANES)
            lanes, computing = sum(operator.lanes.values()), operator.cycles.get("compute", 0)
            if operator.lanes and lanes != computing:
                text = f"what lanes do sums to {lanes} cycles, but {computing} are computing"
                raise ReportError(f"{operator.label}: {text}")
        found = sum(operator.total for operator in self.operators)
        if found != self.cycles:
            raise ReportError(
                f"the causes of all operators sum to {found} cycles, the report has {self.cycles}"
            )

    @property
    def latency_seconds(self) -> float:
        """Time of one inference."""
        return self.cycles / self.clock_hz

    @property
    def seconds(self) -> float:
        """The same, by the name that estimates of many machines have for it."""
        return self.latency_seconds

    @property
    def inferences_per_second(self) -> float:
        """One after another."""
        return self.clock_hz / self.cycles if self.cycles else float("inf")

    @property
    def macs(self) -> int:
        """Multiplications of all operators."""
        return sum(operator.macs for operator in self.operators)

    @property
    def operations(self) -> int:
        """Scalar operations of all operators."""
        return sum(operator.operations for operator in self.operators)

    @property
    def utilisation(self) -> dict[str, float]:
        """Share of the time in which a unit works, from 0 to 1."""
        return {unit: count / self.cycles if self.cycles else 0.0 for unit, count in self.busy.items()}

    @property
    def mac_utilisation(self) -> float:
        """Share of the array's peak that is attained, from 0 to 1."""
        peak = self.peak_macs_per_cycle * self.cycles
        return self.macs / peak if peak else 0.0

    @property
    def causes(self) -> dict[str, int]:
        """Cycles by cause; they sum to the total."""
        total = Counter({cause: 0 for cause in CAUSES})
        for operator in self.operators:
            total.update(operator.cycles)
        return dict(total)

    @property
    def lanes(self) -> dict[str, int]:
        """Cycles of `compute` by what lanes do with them, and sum to those, where it is known."""
        found = summed((operator.lanes, 1) for operator in self.operators)
        return {name: found[name] for name in LANES if found.get(name)}

    @property
    def spent(self) -> dict[str, int]:
        """Cycles by the names of `SPENT`; they sum to the total."""
        return summed((operator.spent, 1) for operator in self.operators)

    @property
    def stalls(self) -> dict[str, int]:
        """Cycles in which nothing is computed, by cause."""
        return {cause: count for cause, count in self.causes.items() if cause != "compute"}

    @property
    def offchip_bytes(self) -> int:
        """Bytes over the off-chip interface."""
        return moved(self.traffic, memory="offchip")

    @property
    def joules(self) -> float:
        """Energy of one inference."""
        return sum(self.energy.values())

    @property
    def average_watts(self) -> float:
        """Mean power while it runs."""
        return self.joules / self.latency_seconds if self.cycles else 0.0

    @property
    def roofline(self) -> Roofline:
        """Where the whole program stands."""
        return self._roofline(self.macs, self.offchip_bytes, self.cycles)

    def roofline_of(self, operator: OperatorReport) -> Roofline:
        """Where one operator stands."""
        return self._roofline(operator.macs, operator.offchip_bytes, operator.total)

    def _roofline(self, macs: int, size: int, cycles: int) -> Roofline:
        attained = macs / cycles if cycles else 0.0
        intensity = macs / size if size else None
        rate = self.offchip_bytes_per_cycle
        if intensity is None or rate is None or intensity * rate >= self.peak_macs_per_cycle:
            return Roofline(intensity, attained, self.peak_macs_per_cycle, "array")
        return Roofline(intensity, attained, intensity * rate, "offchip")


def split(cycles: Mapping[str, int], lanes: Mapping[str, int]) -> dict[str, int]:
    """Cycles by cause with those of `compute` as useful and idle ones, where it is known what lanes do."""
    found = {cause: cycles[cause] for cause in CAUSES if cycles.get(cause)}
    if lanes:
        found |= {"useful": lanes.get("useful", 0), "idle": found.pop("compute") - lanes.get("useful", 0)}
    return {name: found[name] for name in SPENT if found.get(name)}


def _check_names(operator: str, what: str, found: Iterable[str], known: tuple[str, ...]) -> None:
    unknown = ", ".join(sorted(set(found) - set(known)))
    if unknown:
        raise ReportError(f"{operator}: {unknown}: no such {what}; there are {', '.join(known)}")


def moved(
    traffic: Traffic,
    memory: Memory | None = None,
    direction: Direction | None = None,
    kind: DataKind | None = None,
) -> int:
    """Bytes of the traffic that is selected."""
    wanted = (memory, direction, kind)
    pairs = traffic.items()
    return sum(
        size for key, size in pairs if all(w is None or w == k for w, k in zip(wanted, key, strict=True))
    )


LEVELS = frozenset({"active_elements", "block_height", "block_width", "block_channels", "part_kernel"})
"""Details that say how a tile is done, not how much it is: of several tiles the largest is told."""


def details(parts: Iterable[tuple[Mapping[str, int], int]]) -> dict[str, int]:
    """The details of all parts, each so many times: sums, or the largest of what is no amount."""
    total: dict[str, int] = {}
    for part, count in parts:
        for name, value in part.items():
            before = total.get(name, 0)
            total[name] = max(before, value) if name in LEVELS else before + value * count
    return total


def summed(parts: Iterable[tuple[Mapping[Any, Any], int]]) -> dict[Any, Any]:
    """The sum of mappings, each so many times."""
    total: dict[Any, Any] = {}
    for part, count in parts:
        for key, value in part.items():
            total[key] = total.get(key, 0) + value * count
    return total
