"""Reports for notebooks: parts of a page, which need no script; colours follow its light or dark theme."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from sim.report.style import CAUSE_COLOURS
from sim.report.text import headline, summary, tenths
from sim.report.values import SPENT, Account, OperatorReport
from sim.report.words import percent, size, title
from tiling.words import plain

SHOWN = 12
"""Operators that are shown before the rest folds out."""

_LEFT = '<span style="float: left">{}</span>'

STYLE = """
.sim-report { font: 13px/1.45 system-ui, sans-serif; color: inherit; overflow-x: auto; }
.sim-report h3 { font-size: 1.1em; margin: 0 0 .5em; }
.sim-report table { border-collapse: collapse; margin: .4em 0; background: none; }
.sim-report td, .sim-report th { padding: .15em .7em; text-align: right; border: 0; white-space: nowrap;
  border-bottom: 1px solid rgba(128, 128, 128, .25); background: none; color: inherit; }
.sim-report th { font-weight: 600; }
.sim-report .left { text-align: left; }
.sim-report .wide { text-align: left; white-space: normal; }
.sim-report tr.total td { font-weight: 600; border-top: 2px solid rgba(128, 128, 128, .5); }
.sim-report .bar { width: 14em; white-space: nowrap; text-align: left; line-height: 1; }
.sim-report .bar i { display: inline-block; height: .9em; vertical-align: middle; }
.sim-report .key i { display: inline-block; width: .8em; height: .8em; margin: 0 .35em 0 1em; }
.sim-report summary { cursor: pointer; opacity: .8; }
"""


def report_html(report: Account, shown: int = SHOWN) -> str:
    """A part of a page: totals, and a table of the operators."""
    return framed([*_totals(report), *_operators(report, shown)])


def framed(parts: Iterable[str]) -> str:
    """Parts with the style that they need."""
    return f'<div class="sim-report"><style>{STYLE}</style>{"".join(parts)}</div>'


def row(cells: Sequence[str], left: int = 1, tag: str = "td", kind: str = "") -> str:
    """A row of escaped cells, the first ones to the left."""
    made = "".join(
        f'<{tag} class="left">{cell}</{tag}>' if number < left else f"<{tag}>{cell}</{tag}>"
        for number, cell in enumerate(cells)
    )
    return f'<tr class="{kind}">{made}</tr>' if kind else f"<tr>{made}</tr>"


def key(causes: Sequence[str]) -> str:
    """Which colour is which cause."""
    items = "".join(f'<i style="background:{CAUSE_COLOURS[cause]}"></i>{cause}' for cause in causes)
    return f'<div class="key">{items}</div>'


def bar(cycles: Mapping[str, int], longest: int) -> str:
    """A bar of the causes, as long as its share of the longest."""
    parts = "".join(
        f'<i style="background:{CAUSE_COLOURS[cause]};width:{100 * cycles[cause] / longest:.2f}%" '
        f'title="{cause}: {cycles[cause]:,} cycles"></i>'
        for cause in SPENT
        if longest and cycles.get(cause)
    )
    return f'<div class="bar">{parts}</div>'


def _totals(report: Account) -> Iterator[str]:
    yield f"<h3>{escape(headline(report))}</h3><table>"
    for name, text in summary(report):
        yield f'<tr><th class="left">{name}</th><td class="wide">{escape(text)}</td></tr>'
    yield "</table>"


def _operators(report: Account, shown: int) -> Iterator[str]:
    if not report.operators:
        return
    causes = [cause for cause in SPENT if report.spent.get(cause)]
    heads = (
        "operator",
        "unit",
        "cycles",
        "share",
        _LEFT.format("cycles by cause"),
        "MACs",
        "of peak",
        "MACs/byte",
        "off-chip",
    )
    head = row(heads, 2, "th")
    longest = max(operator.total for operator in report.operators)
    ranked = sorted(report.operators, key=lambda operator: -operator.total)
    first = {id(operator) for operator in ranked[:shown]}
    yield key(causes)
    yield f"<table>{head}"
    yield from (_row(report, one, longest) for one in report.operators if id(one) in first)
    yield from _total(report)
    yield "</table>"
    rest = [_row(report, one, longest) for one in report.operators if id(one) not in first]
    if rest:
        yield f"<details><summary>{len(rest)} faster groups</summary>"
        yield f"<table>{head}{''.join(rest)}</table></details>"


def _row(report: Account, operator: OperatorReport, longest: int) -> str:
    members = escape(", ".join(map(plain, operator.members)), quote=True)
    place = report.roofline_of(operator)
    peak = report.peak_macs_per_cycle
    return row(
        [
            f'<span title="{members}">{escape(title(operator.label, len(operator.members), 60))}</span>',
            escape(operator.unit),
            f"{operator.total:,}",
            tenths(operator.total / report.cycles) + " %" if report.cycles else "",
            bar(operator.spent, longest),
            f"{operator.macs:,}" if operator.macs else "",
            percent(place.attained / peak) if operator.macs and peak else "",
            f"{place.intensity:.3g}" if operator.macs and place.intensity is not None else "",
            size(operator.offchip_bytes),
        ],
        left=2,
    )


def _total(report: Account) -> Iterator[str]:
    place = report.roofline
    cells = [
        "total",
        "",
        f"{report.cycles:,}",
        "100 %",
        bar(report.spent, report.cycles),
        f"{report.macs:,}",
    ]
    cells += [percent(report.mac_utilisation), "" if place.intensity is None else f"{place.intensity:.3g}"]
    yield row([*cells, size(report.offchip_bytes)], left=2, kind="total")
