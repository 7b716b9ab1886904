"""Where a report of a graph comes from, to try what would help: other machines, and another graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sim.report.values import Account, OperatorReport
from sim.report.why import WORTH, Remedy
from sim.report.words import size
from tiling.program import Program
from tiling.records import replace
from tiling.text import section_lines
from tosajit.compiler.segment import Groups
from tosajit.errors import TosaError
from tosajit.graph import Graph
from tosajit.npu.sliders import grid
from tosajit.npu.widening import widened

if TYPE_CHECKING:
    from sim import Machine

Change = tuple[str, Mapping[str, Any]]
"""What is changed in words, and in fields of the machine."""
CHANNELS = (4, 8, 16, 32)
"""Input channels that are tried where there are fewer."""
MOST = 3
"""Remedies that are told of an operator."""
WAITS = ("input", "weights", "output")


@dataclass(eq=False)
class Origin:
    """A graph on a machine, and how both were timed. It is no part of a report's value: a copy has none."""

    graph: Graph
    machine: Machine
    timed: Callable[[Graph, Machine], Account]
    groups: Callable[[], Sequence[Groups]]
    """The parts of the graph; nothing if not all that takes time is in them."""
    program: Callable[[Groups], Program]
    _known: dict[str, Account | None] = field(default_factory=dict, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()

    def again(self, changes: Mapping[str, Any]) -> Account | None:
        """The same on a machine with other values in some fields; None if that cannot be."""
        return self._once(str(sorted(changes.items())), lambda: self._on(changes))

    def remedies(self, report: Account, number: int, reasons: Sequence[str]) -> Sequence[Remedy]:
        """What helps an operator against any of the reasons, the best first."""
        one = report.operators[number]
        found = [self._tried(report, one, self.again(changes), what, changes)
                 for what, changes in self._changes(reasons)]  # fmt: skip
        if "channels" in reasons or one.layer.get("channels", CHANNELS[-1]) < CHANNELS[0]:
            found += self._wider(report, one)
        useful = [remedy for remedy in found if remedy is not None]
        return sorted(useful, key=lambda remedy: remedy.cycles)[:MOST]

    def sections(self) -> Sequence[str]:
        """The tile program as text, section by section; nothing if there are several programs."""
        groups = self.groups()
        if len(groups) != 1:
            return ()
        sections = self.program(groups[0]).sections
        return ["\n".join(section_lines(number, section)) for number, section in enumerate(sections)]

    def grid(self) -> Mapping[str, object] | None:
        """Estimates of machines around this one, for the sliders of a page; none with a level 2."""
        groups = self.groups() if self.machine.level2 is None else ()
        return grid(self.machine, groups) if groups else None

    def _changes(self, reasons: Sequence[str]) -> Iterator[Change]:
        """What might help, by reason."""
        machine = self.machine
        if any(reason in WAITS for reason in reasons):
            yield from self._memory
        if machine.array is not None:
            for reason in reasons:
                yield from ((text, _prefixed(fields)) for text, fields in machine.array.remedies(reason))
        if "results" in reasons or "passes" in reasons:
            lanes = {name: 2 * count for name, count in machine.vector.lanes.items()}
            if lanes:
                yield "twice the vector lanes", {"vector.lanes": lanes}

    @cached_property
    def _memory(self) -> list[Change]:
        machine, found = self.machine, list[Change]()
        bandwidth, scratchpad = machine.offchip.bandwidth_bytes_per_second, machine.scratchpad.bytes
        requests = {"dma.outstanding_requests": 2 * machine.dma.outstanding_requests}
        if bandwidth is not None:
            wider = {"offchip.bandwidth_bytes_per_second": 2 * bandwidth}
            found.append(("twice the bandwidth and requests", wider | requests))
        else:
            found.append(("twice the requests", requests))
        found.append((f"{size(scratchpad)} more scratchpad", {"scratchpad.bytes": 2 * scratchpad}))
        latency = machine.offchip.read_latency_cycles
        if latency > 1:
            found.append(("half the latency of reads", {"offchip.read_latency_cycles": latency // 2}))
        if (level2 := machine.level2) is not None:
            found.append((f"{size(level2.bytes)} more level 2", {"level2.bytes": 2 * level2.bytes}))
            if (rate := level2.bandwidth_bytes_per_second) is not None:
                wider = {"level2.bandwidth_bytes_per_second": 2 * rate}
                found.append(("twice the bandwidth of level 2 and requests", wider | requests))
        if machine.dma.channels == 1:
            found.append(("a second DMA channel", {"dma.channels": 2}))
        return found

    def _wider(self, report: Account, one: OperatorReport) -> list[Remedy | None]:
        """The first layer with more channels: those fewest of them that help most."""
        found: list[Remedy] = []
        for channels in CHANNELS:
            made = widened(self.graph, one.members, channels)
            if made is None:
                continue
            graph, shapes = made
            text = f"a first layer with {channels} channels"
            after = self._once(text, lambda graph=graph: self._timed(graph, self.machine))  # type: ignore[misc]
            remedy = self._tried(report, one, after, text, shapes)
            if remedy is not None and (not found or remedy.cycles < found[-1].cycles):
                found.append(remedy)
        return [*found[-1:]]

    def _tried(
        self,
        report: Account,
        one: OperatorReport,
        after: Account | None,
        text: str,
        changes: Mapping[str, Any],
    ) -> Remedy | None:
        """What came of it, if it is worth the change and costs nothing elsewhere."""
        if after is None or after.cycles > report.cycles:
            return None
        same = [other for other in after.operators if other.members == one.members]
        if len(same) != 1 or same[0].total > (1 - WORTH) * one.total:
            return None
        return Remedy(text, dict(changes), same[0].total, after.cycles)

    def _on(self, changes: Mapping[str, Any]) -> Account | None:
        from sim import MachineError

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what one field alone cannot reach
            try:
                machine = self.machine.replace(dict(changes))
            except MachineError:
                return None
        return self._timed(self.graph, machine)

    def _timed(self, graph: Graph, machine: Machine) -> Account | None:
        try:
            return replace(self.timed(graph, machine), origin=None)
        except TosaError:
            return None

    def _once(self, key: str, make: Callable[[], Account | None]) -> Account | None:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


def _prefixed(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {f"array.{name}": value for name, value in fields.items()}
