"""Reports for terminals: one line, or a table of at most 110 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from re import sub
from textwrap import wrap

from sim.report.values import (
    CAUSES,
    DIRECTIONS,
    KINDS,
    LANES,
    SPENT,
    UNITS,
    Account,
    Memory,
    OperatorReport,
    moved,
    summed,
)
from sim.report.words import aligned, percent, scaled, short, size, title, titles
from tiling.words import plain

WIDTH = 110
"""Columns that a table may have."""
ROOM = 24
"""Columns that names should have before others move together."""
SLOWEST = 3
"""Operators that the summary names."""
_TIED = "\N{NO-BREAK SPACE}"
"""Between a number and its unit."""
SHOWN = {"macs": "MACs", "offchip": "off-chip", "level2": "level 2"}
"""Parts of the energy that are written differently."""
HEADS = {"dependency": "depends"}
"""Causes whose name is too long for a column."""


def report_line(report: Account) -> str:
    """The report in a line."""
    count = len(report.operators)
    return (
        f"{plain(report.program)} on {plain(report.machine)}, {scaled(report.latency_seconds, 's')}, "
        f"{report.cycles:,} cycles, {percent(report.mac_utilisation)} of the MACs, "
        f"{size(report.offchip_bytes)} off-chip, {count} group{'' if count == 1 else 's'}"
    )


def report_text(report: Account, operators: int | None = None) -> str:
    """The totals, and a line for each operator, or for so many of the slowest ones."""
    lines = [headline(report), "", *_wrapped(list(summary(report)))]
    if report.operators and operators != 0:
        lines += ["", *_table(report, list(slowest(report, operators)))]
    return "\n".join(lines)


def slowest(report: Account, count: int | None) -> Iterator[OperatorReport]:
    """So many of the slowest operators in the order of the program, then one that stands for all others."""
    if count is None or count >= len(report.operators):
        yield from report.operators
        return
    ranked = sorted(range(len(report.operators)), key=lambda number: -report.operators[number].total)
    kept = set(ranked[:count])
    yield from (one for number, one in enumerate(report.operators) if number in kept)
    rest = [one for number, one in enumerate(report.operators) if number not in kept]
    yield OperatorReport(
        f"{len(rest)} other{'s' if len(rest) > 1 else ''}",
        members=tuple(name for one in rest for name in one.members),
        sections=tuple(number for one in rest for number in one.sections),
        unit="",
        cycles=summed((one.cycles, 1) for one in rest),
        macs=sum(one.macs for one in rest),
        traffic=summed((one.traffic, 1) for one in rest),
        lanes=summed((one.lanes, 1) for one in rest),
    )


def _wrapped(rows: list[tuple[str, str]]) -> list[str]:
    """Names and texts, long texts on several lines."""
    indent = max(len(name) for name, _ in rows) + 2
    return [
        f"{'' if number else name:<{indent}}{line}"
        for name, text in rows
        for number, line in enumerate(lines_of(text, WIDTH - indent))
    ]


def lines_of(text: str, width: int) -> list[str]:
    """A text on lines of at most so many characters, which do not end between a number and its unit."""
    tied = sub(r"(?<=\d) (?=[^\s\d(])", _TIED, text)
    return [line.replace(_TIED, " ") for line in wrap(tied, width)]


def headline(report: Account) -> str:
    """What was timed, and how long it takes."""
    mode = "" if report.mode == "events" else " (analytic)"
    return (
        f"{short(report.program, 28)} on {short(report.machine, 28)} at {scaled(report.clock_hz, 'Hz')}"
        f"{mode}: {scaled(report.latency_seconds, 's')}, {inferences(report)}"
    )


def inferences(report: Account) -> str:
    """The rate at which inferences end, one after another."""
    rate = report.inferences_per_second
    return f"{rate:,.0f} inferences/s" if rate >= 100 else f"{rate:.3g} inferences/s"


def summary(report: Account) -> Iterator[tuple[str, str]]:
    """Names and texts of the totals."""
    yield "cycles", f"{report.cycles:,}: {shares(report.spent, report.cycles) or 'nothing to do'}"
    if idle := idling(report.lanes, report.cycles):
        yield "idle lanes", f"{idle} of the cycles"
    used = report.utilisation
    yield "units", ", ".join(f"{unit} {percent(used[unit])}" for unit in units(report)) or "idle"
    yield "MACs", _macs(report)
    yield "off-chip", _traffic(report, "offchip")
    if report.level2_bytes:
        yield "level 2", f"{_traffic(report, 'level2')}; {_held(report)}"
    yield "scratchpad", _traffic(report, "scratchpad")
    peak = size(report.peak_scratchpad_bytes)
    if report.scratchpad_bytes:
        share = report.peak_scratchpad_bytes / report.scratchpad_bytes
        peak += f" of {size(report.scratchpad_bytes)} ({percent(share)})"
    yield "peak", f"{peak} of scratchpad" if not report.scratchpad_bytes else peak + " of scratchpad in use"
    if report.joules:
        parts = ", ".join(
            f"{SHOWN.get(part, part)} {percent(joules / report.joules)}"
            for part, joules in report.energy.items()
            if joules
        )
        yield "energy", f"{scaled(report.joules, 'J')}, {scaled(report.average_watts, 'W')}: {parts}"
    if len(report.operators) > SLOWEST:
        slowest = sorted(report.operators, key=lambda operator: -operator.total)[:SLOWEST]
        texts = [
            f"{title(one.label, len(one.members), 30)} {percent(one.total / (report.cycles or 1))}"
            for one in slowest
        ]
        texts = [text.replace(" ", _TIED) for text in texts]
        yield "slowest", ", ".join(texts)


def units(report: Account) -> list[str]:
    """Units that do something, in the order of their work."""
    return sorted(
        (unit for unit, count in report.busy.items() if count),
        key=lambda unit: (UNITS.index(unit) if unit in UNITS else len(UNITS), unit),
    )


def shares(cycles: Mapping[str, int], total: int) -> str:
    """Causes with their share."""
    return ", ".join(
        f"{cause} {percent(cycles[cause] / total)}" for cause in SPENT if total and cycles.get(cause)
    )


def idling(lanes: Mapping[str, int], total: int) -> str:
    """Reasons for which lanes idle, the largest first; those of less than half a percent are left out."""
    reasons = sorted(
        (name for name in LANES[1:] if lanes.get(name, 0) > total / 200), key=lambda name: -lanes[name]
    )
    return ", ".join(f"{name} {percent(lanes[name] / total)}" for name in reasons if total)


def _macs(report: Account) -> str:
    text = f"{report.macs:,}" if report.macs else "none"
    if report.peak_macs_per_cycle and report.macs:
        place = report.roofline
        text += f": {place.attained:.3g} of {report.peak_macs_per_cycle:g} a cycle"
        text += f" ({percent(report.mac_utilisation)})"
        if place.intensity is not None:
            limit = "array" if place.limit == "array" else "bandwidth"
            text += f"; at {place.intensity:.3g} an off-chip byte the {limit} allows {place.bound:.4g}"
    if skipped := sum(operator.detail.get("skipped_macs", 0) for operator in report.operators):
        text += f"; {skipped:,} more skipped, as weights are zeros"
    return text


def _traffic(report: Account, memory: Memory) -> str:
    """Bytes read and written, by kind."""
    parts = []
    for direction, verb in zip(DIRECTIONS, ("read", "written"), strict=True):
        kinds = [(kind, moved(report.traffic, memory, direction, kind)) for kind in KINDS]
        text = f"{size(sum(count for _, count in kinds))} {verb}"
        listed = [f"{kind} {size(count)}" for kind, count in kinds if count]
        if len(listed) > 1 or (listed and direction == "read"):
            text += f" ({', '.join(listed)})"
        parts.append(text)
    return ", ".join(parts)


def _held(report: Account) -> str:
    return f"{size(report.peak_level2_bytes)} of {size(report.level2_bytes)} used"


def _table(report: Account, operators: list[OperatorReport]) -> list[str]:
    """Cycles by cause in percent of the operator's."""
    lines, fits = _columns(report, operators, SPENT)
    if not fits:
        lines, _ = _columns(report, operators, CAUSES)
    room = max(ROOM // 2, WIDTH - 2 - max(map(len, lines)))
    named = titles([(one.label, len(one.members)) for one in operators], room)
    shown = ["operator", *named, "total"]
    width = max(map(len, shown))
    table = [f"{name:<{width}}  {line}".rstrip() for name, line in zip(shown, lines, strict=True)]
    rule = "─" * max(map(len, table))
    fused = any(len(one.members) > 1 and " + " in one.label for one in operators)
    note = "Causes are in percent of the operator's cycles."
    if fused and " + " not in "".join(named):
        note += " +2: two more nodes are fused with this one."
    return [table[0], rule, *table[1:-1], rule, table[-1], note]


def _columns(
    report: Account, operators: list[OperatorReport], names: tuple[str, ...]
) -> tuple[list[str], bool]:
    """Lines of all columns but the first, and whether there is room for that beside them."""
    spent = report.spent if names == SPENT else report.causes
    causes = [cause for cause in names if spent.get(cause)]
    heads = [HEADS.get(cause, cause) for cause in causes]
    rows = [["unit", "cycles", "share", *heads, "of MACs", "off-chip"]]
    rows += [_cells(report, one, one.spent if names == SPENT else one.cycles, causes) for one in operators]
    count = len(heads)
    rows.append(
        [
            "",
            f"{report.cycles:,}",
            "100.0 %",
            *_percents(spent, report.cycles, causes),
            _peak(report.mac_utilisation, report.macs),
            size(report.offchip_bytes),
        ]
    )
    lines = aligned(rows, right=range(1, 5 + count))
    if len(lines[0]) + ROOM > WIDTH:
        lines = aligned(rows, right=range(1, 5 + count), gap=" ")
    return lines, max(map(len, lines)) + 2 + ROOM // 2 <= WIDTH


def _cells(
    report: Account, operator: OperatorReport, spent: Mapping[str, int], causes: list[str]
) -> list[str]:
    peak = report.peak_macs_per_cycle * operator.total
    return [
        operator.unit,
        f"{operator.total:,}",
        tenths(operator.total / report.cycles) + " %" if report.cycles else "",
        *_percents(spent, operator.total, causes),
        _peak(operator.macs / peak if peak else 0.0, operator.macs),
        size(moved(operator.traffic, memory="offchip")),
    ]


def _percents(cycles: Mapping[str, int], total: int, causes: list[str]) -> list[str]:
    """Shares without their sign; nothing for none."""
    return [tenths(cycles[cause] / total) if total and cycles.get(cause) else "" for cause in causes]


def tenths(share: float) -> str:
    """A share of one in percent, so that points stand below each other."""
    return f"{100 * share:.1f}" if share >= 0.0005 or not share else "<0.1"


def _peak(share: float, macs: int) -> str:
    return tenths(share) + " %" if macs else ""


def named(report: Account) -> str:
    """The program and the machine of a report."""
    return f"{plain(report.program)} on {plain(report.machine)}"


def names(reports: Sequence[Account]) -> list[str]:
    """What tells reports apart: machines, programs or both."""
    machines, programs = ({getattr(r, field) for r in reports} for field in ("machine", "program"))
    if len(machines) == len(reports) or len(programs) == 1:
        return [plain(report.machine) for report in reports]
    return [plain(r.program) if len(machines) == 1 else named(r) for r in reports]
