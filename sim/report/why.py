"""Why a program is slow: a sentence for each operator, with what would help as far as that has been tried.

What keeps lanes from useful work follows from the report of an operator. A remedy is a changed machine or a
changed graph, for which the program has been planned and timed again, in the report's own mode; whoever made
the report knows how (`Origin`). A report that was read from a file has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any, Protocol

from sim.report.files import written
from sim.report.text import WIDTH, headline, lines_of, shares
from sim.report.values import CAUSES, LANES, Account, OperatorReport
from sim.report.words import percent, title

SHOWN = 10
"""Operators of which something is said."""
WORTH = 0.01
"""The share of an operator's cycles that a remedy has to spare."""
SECOND = 0.2
"""The share of an operator's cycles from which a second reason is worth words."""
NAME = 44
"""Characters of an operator's name."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something that was changed, and what came of it; cycles before are those of the report."""

    text: str
    """What is changed, such as `twice the bandwidth`."""
    changes: Mapping[str, Any]
    """Fields of the machine with their new values, or inputs of the graph with their new shapes."""
    cycles: int
    """Of the operator."""
    total: int
    """Of the whole program."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is to be said of an operator."""

    number: int
    """Its place in the report."""
    operator: str
    alike: tuple[int, ...]
    """Places of others of which the same is to be said: as large, and as slow."""
    cycles: int
    """Of one of them."""
    share: float
    """Of the cycles of the report, of all of them."""
    lost: int
    """Cycles in which lanes do nothing useful, of one of them."""
    reason: str
    """The cause, or the reason for idle lanes, with most of its cycles; `useful` if that is it."""
    text: str
    """The sentence, without remedies."""
    remedies: tuple[Remedy, ...] = ()

    @property
    def name(self) -> str:
        """The operator and how many others are like it."""
        return f"{self.operator} and {len(self.alike)} more like it" if self.alike else self.operator

    @property
    def sentence(self) -> str:
        """All of it, as a sentence."""
        if not self.remedies:
            return self.text
        tried = ", ".join(f"{one.text} {change(one.cycles, self.cycles)}" for one in self.remedies)
        return f"{self.text} Tried: {tried}."


class Origin(Protocol):
    """Where a report comes from: how to try what would help one of its operators."""

    def remedies(self, report: Account, number: int, reasons: Sequence[str]) -> Sequence[Remedy]:
        """What helps against any of the reasons, the best first."""

    def sections(self) -> Sequence[str]:
        """The tile program as text, section by section; nothing if there are several programs."""

    def grid(self) -> Mapping[str, object] | None:
        """Estimates of machines around this one, for a page's sliders."""


@dataclass(frozen=True)
class Findings:
    """Why a program is slow: its operators by the cycles that they lose, the worst first."""

    report: Account
    findings: tuple[Finding, ...]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __getitem__(self, place: int) -> Finding:
        return self.findings[place]

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        report = self.report
        lines = [headline(report), f"{report.cycles:,} cycles: {shares(report.spent, report.cycles)}"]
        for place, one in enumerate(self.findings, 1):
            each = " each" if one.alike else ""
            lines += ["", f"{place:>2}  {one.name}: {one.cycles:,} cycles{each}, {percent(one.share)} of all"]
            lines += [f"    {line}" for line in lines_of(one.sentence, WIDTH - 4)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        report = self.report
        return {
            "program": report.program,
            "machine": report.machine,
            "mode": report.mode,
            "cycles": report.cycles,
            "findings": [asdict(one) | {"sentence": one.sentence} for one in self.findings],
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """The dictionary as JSON, also written to a file if one is named."""
        return written(json.dumps(self.to_dict(), allow_nan=False, indent=1) + "\n", path)


def why(report: Account, count: int | None = SHOWN, remedies: bool = True) -> Findings:
    """So many findings, those first in which most cycles are lost; None for all."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, one in enumerate(report.operators):
        if one.total:
            unlike = str(number) if not one.layer else str(sorted(one.layer.items()))
            groups.setdefault((unlike, str(one.total), *_texts(report, one)[1]), []).append(number)
    ranked = sorted(groups.values(), key=lambda numbers: -len(numbers) * _lost(report.operators[numbers[0]]))
    return Findings(report, tuple(_finding(report, numbers, remedies) for numbers in ranked[:count]))


def sentences(report: Account) -> list[str]:
    """What is to be said of each operator, in the order of the report; remedies are not tried."""
    found = []
    for one in report.operators:
        text = "; ".join(_texts(report, one)[1]) if one.total else "takes no time of its own"
        found.append(f"{text[:1].upper()}{text[1:]}.")
    return found


def _finding(report: Account, numbers: Sequence[int], remedies: bool) -> Finding:
    number, *alike = numbers
    one = report.operators[number]
    reasons, texts = _texts(report, one)
    text = "; ".join(texts)
    tried: Sequence[Remedy] = ()
    if remedies and report.origin is not None:
        tried = report.origin.remedies(report, number, reasons)
    return Finding(
        number,
        title(one.label, len(one.members), NAME),
        tuple(alike),
        one.total,
        one.total * len(numbers) / report.cycles,
        _lost(one),
        reasons[0],
        f"{text[:1].upper()}{text[1:]}.",
        tuple(tried),
    )


def _texts(report: Account, one: OperatorReport) -> tuple[list[str], list[str]]:
    """What takes most of its cycles, and what is said of it: of useful work only if there is no more."""
    parts = parts_of(one)
    reasons = [parts[0][0], *(name for name, cycles in parts[1:] if cycles >= SECOND * one.total)]
    said = [reason for reason in reasons if reason != "useful"] or reasons
    return (reasons if reasons[0] == "useful" else said), [_said(report, one, reason) for reason in said]


def parts_of(operator: OperatorReport) -> list[tuple[str, int]]:
    """Its cycles by cause, those of computing by what lanes do, the largest first."""
    found = {**operator.cycles, **operator.lanes}
    if operator.lanes:
        del found["compute"]
    names = (*CAUSES, *LANES)
    return sorted(
        ((name, cycles) for name, cycles in found.items() if cycles),
        key=lambda part: (-part[1], names.index(part[0])),
    )


def _lost(operator: OperatorReport) -> int:
    return operator.total - operator.lanes.get("useful", operator.cycles.get("compute", 0))


WAITS = {
    "input": "waits for activations",
    "weights": "waits for weights or constants",
    "output": "waits for results to be stored",
    "dependency": "waits for other operators",
    "fill": "fills and drains pipelines",
    "launch": "waits for the machine to be started",
    "compute": "computes",
}


def _said(report: Account, one: OperatorReport, reason: str) -> str:
    if reason in WAITS:
        return f"{WAITS[reason]} {percent(one.cycles[reason] / one.total)} of the time"
    useful, computing = one.lanes.get("useful", 0), one.cycles["compute"]
    lanes = round(report.peak_macs_per_cycle)
    if one.unit == "array" and one.macs and lanes:
        used = useful * lanes / computing
        work = f"{used:,.0f}" if used >= 9.95 else f"{used:.2g}"
        work += f" of {lanes:,} lanes work"
    else:
        work = f"{percent(useful / computing)} of what the lanes could do is done"
    if reason == "useful":
        return f"{work}, {percent(useful / one.total)} of the time: it takes what its work takes"
    return f"{work}: {_reason(one, reason)}"


def _reason(one: OperatorReport, reason: str) -> str:
    """A reason in the numbers of the layer, as far as they are known."""
    layer = one.layer
    if not layer:
        return _PLAIN[reason]
    high, wide = layer["kernel_height"], layer["kernel_width"]
    match reason:
        case "channels":
            return _counted(layer["channels"], "input channel")
        case "filters":
            return _counted(layer["filters"], "output channel")
        case "positions":
            return f"a result of {layer['height']} × {layer['width']} positions"
        case "window":
            return f"a window of {high} × {wide}"
        case "depthwise" if layer["depthwise"]:
            return f"each of {layer['filters']} channels has a filter of its own, {high} × {wide} (depthwise)"
        case "types":
            return f"operands of {layer['data_bits']} and {layer['weight_bits']} bits"
    return _PLAIN[reason]


_PLAIN = {
    "channels": "few input channels",
    "filters": "few output channels",
    "positions": "few positions",
    "window": "its window does not fill the lanes",
    "depthwise": "each channel is worked on alone",
    "edges": "the last tile, block or fold is not full",
    "cores": "some cores have nothing to do",
    "types": "operands take several passes",
    "sums": "partial sums are added up",
    "feeding": "operands are on their way inside the unit",
    "results": "results leave more slowly than they are computed",
    "passes": "other work is done beside the products",
    "runs": "copies are of few bytes at a time",
    "other": "the rest is not taken apart",
}


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def change(after: int, before: int) -> str:
    """The change of a number in percent."""
    return f"{100 * (after / before - 1):+.0f} %".replace("-", "−")
