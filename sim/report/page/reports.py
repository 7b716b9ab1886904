"""Reports as pages to look around in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sim.report.page.document import document
from sim.report.page.folding import folded
from sim.report.style import CONTENT_COLOURS
from sim.report.text import headline, inferences, named, summary
from sim.report.values import LANES, SPENT, Account, OperatorReport, Span, moved
from sim.report.why import sentences
from sim.report.words import percent, scaled, short, size, title
from tiling.words import plain

SPANS = 60_000
"""Spans of a page; of more, the longest repetitions are summed up."""
BOXES = 12_000
"""Boxes of the scratchpad on a page: the largest ones."""
POINTS = 6_000
"""Points of the scratchpad's use on a page."""
NAME = 120
"""Characters of a name."""

SCRIPTS = (
    "spans", "timeline", "scratchpad", "roofline", "causes", "graph", "details", "whatif", "report",
    "comparison",
)  # fmt: skip
TEXT = 4_000
"""Characters of the tile program of an operator."""


def reports_page(
    reports: Sequence[Account], operators: Sequence[tuple[str, Sequence[int | None]]] = ()
) -> str:
    """A page of one report or of several; `operators` are cycles on each, to be shown side by side."""
    data: dict[str, object] = {"reports": [_report(report, len(reports)) for report in reports]}
    if operators:
        data["operators"] = {
            "label": [short(label, NAME) for label, _ in operators],
            "cycles": [list(cycles) for _, cycles in operators],
        }
    if len(reports) == 1:
        return document(named(reports[0]), headline(reports[0]), data, SCRIPTS)
    programs = ", ".join(dict.fromkeys(plain(report.program) for report in reports))
    machines = ", ".join(dict.fromkeys(plain(report.machine) for report in reports))
    heading = f"{short(programs, 120)} on {short(machines, 120)}"
    return document(heading, f"{len(reports)} reports side by side", data, SCRIPTS)


def _report(report: Account, share: int) -> dict[str, object]:
    """What the scripts show of a report, which has its share of the page."""
    names = {label: number for number, label in enumerate(_labels(report))}
    return {
        "title": headline(report),
        "machine": short(report.machine, NAME),
        "program": short(report.program, NAME),
        "short": short(report.machine, 40),
        "clock_hz": report.clock_hz,
        "cycles": report.cycles,
        "peak_macs": report.peak_macs_per_cycle,
        "bytes_per_cycle": report.offchip_bytes_per_cycle,
        "mac_utilisation": report.mac_utilisation,
        "offchip_bytes": report.offchip_bytes,
        "scratchpad_bytes": report.scratchpad_bytes,
        "peak_scratchpad_bytes": report.peak_scratchpad_bytes,
        "joules": report.joules,
        "figures": [list(figure) for figure in _figures(report)],
        "totals": [list(line) for line in summary(report)],
        "operators": _operators(report),
        "whatif": None if report.origin is None else report.origin.grid(),
        "spans": _spans(folded(report.timeline, SPANS // share), names),
        "occupancy": _occupancy(report, POINTS // share + 100),
        "contents": _contents(report, BOXES // share),
    }


def _labels(report: Account) -> Iterable[str]:
    return (operator.label for operator in report.operators)


def _figures(report: Account) -> Iterable[tuple[str, str, str]]:
    """Names, values and notes of the figures at the top."""
    yield "latency", scaled(report.latency_seconds, "s"), inferences(report)
    yield "cycles", f"{report.cycles:,}", f"at {scaled(report.clock_hz, 'Hz')}, {_mode(report)}"
    if report.macs:
        used = f"{report.roofline.attained:.3g} of {report.peak_macs_per_cycle:g} MACs a cycle"
        yield "of the array's peak", percent(report.mac_utilisation), used
    read, write = (moved(report.traffic, "offchip", direction) for direction in ("read", "write"))
    yield "off-chip", size(report.offchip_bytes), f"{size(read)} read, {size(write)} written"
    if report.level2_bytes:
        through = moved(report.traffic, "level2")
        used = f"{size(report.peak_level2_bytes)} of {size(report.level2_bytes)} in use"
        yield "level 2", size(through), used
    there = f"of {size(report.scratchpad_bytes)} at the peak" if report.scratchpad_bytes else "at the peak"
    yield "scratchpad", size(report.peak_scratchpad_bytes), there
    if report.joules:
        yield "energy", scaled(report.joules, "J"), f"{scaled(report.average_watts, 'W')} on average"


def _mode(report: Account) -> str:
    return "event by event" if report.mode == "events" else "in closed form"


def _operators(report: Account) -> dict[str, object]:
    """A column for each thing that is shown of operators."""
    tiles: Counter[str] = Counter()
    for span in report.timeline:
        if span.kind == "compute":
            tiles[span.label] += span.count * span.stands_for
    all_ = report.operators
    return {
        "label": [short(one.label, NAME) for one in all_],
        "brief": [title(one.label, len(one.members), 32) for one in all_],
        "members": [[short(name, NAME) for name in one.members] for one in all_],
        "unit": [plain(one.unit) for one in all_],
        "causes": [[one.spent.get(cause, 0) for cause in SPENT] for one in all_],
        "after": [list(one.after) for one in all_],
        "layer": [dict(one.layer) for one in all_],
        "why": sentences(report),
        "program": _programs(report),
        "lanes": [[one.lanes.get(name, 0) for name in LANES] for one in all_],
        "tiles": [tiles[one.label] for one in all_],
        "macs": [one.macs for one in all_],
        "read": [_offchip(one, "read") for one in all_],
        "write": [_offchip(one, "write") for one in all_],
        "joules": [float(f"{one.joules:.4g}") for one in all_],
        **({"level2": [moved(one.traffic, "level2") for one in all_]} if report.level2_bytes else {}),
    }


def _programs(report: Account) -> list[str]:
    """The tile programs of operators, as far as they are known, and as far as there is room."""
    texts: Sequence[str] = () if report.origin is None else report.origin.sections()
    found = []
    for one in report.operators:
        known = [texts[number] for number in one.sections if number < len(texts)] if report.runs == 1 else []
        text = "\n".join(known)
        found.append(text if len(text) <= TEXT else f"{text[:TEXT]}\n…")
    return found


def _offchip(operator: OperatorReport, direction: str) -> int:
    return sum(
        count
        for (memory, way, _), count in operator.traffic.items()
        if (memory, way) == ("offchip", direction)
    )


def _spans(spans: Sequence[Span], operators: dict[str, int]) -> dict[str, object]:
    """Columns of spans in the order of their beginnings, which are said as steps from one to the next."""
    units = list(dict.fromkeys(span.unit for span in spans))
    kinds = list(dict.fromkeys(span.kind for span in spans))
    firsts = [span.first for span in spans]
    return {
        "units": [plain(unit) for unit in units],
        "kinds": [plain(kind) for kind in kinds],
        "unit": [units.index(span.unit) for span in spans],
        "kind": [kinds.index(span.kind) for span in spans],
        "operator": [operators.get(span.label, -1) for span in spans],
        "first": [one - last for one, last in zip(firsts, [0, *firsts], strict=False)],
        "duration": [span.duration for span in spans],
        "period": [span.period for span in spans],
        "count": [span.count for span in spans],
        "bytes": [span.bytes for span in spans],
        "sums": [span.stands_for for span in spans],
    }


def _occupancy(report: Account, most: int) -> dict[str, list[int]]:
    """When how much is in use; of too many points, the highest of each few."""
    step = -(-len(report.occupancy) // most) or 1
    parts = [report.occupancy[start : start + step] for start in range(0, len(report.occupancy), step)]
    return {
        "cycle": [part[0][0] for part in parts],
        "bytes": [max(count for _, count in part) for part in parts],
    }


def _contents(report: Account, most: int) -> dict[str, object]:
    """Columns of what the scratchpad holds, as far as it is large enough to be seen."""
    kept = sorted(report.contents, key=lambda one: -one.bytes * (one.last - one.first))[:most]
    names = list(dict.fromkeys(one.name for one in kept))
    place = {name: number for number, name in enumerate(names)}
    kinds = list(CONTENT_COLOURS)
    return {
        "names": [short(name, NAME) for name in names],
        "name": [place[one.name] for one in kept],
        "kind": [kinds.index(one.kind) for one in kept],
        "first": [one.first for one in kept],
        "last": [one.last for one in kept],
        "address": [one.address for one in kept],
        "bytes": [one.bytes for one in kept],
        "copy": [int(one.copy) for one in kept],
        "left_out": len(report.contents) - len(kept),
    }
