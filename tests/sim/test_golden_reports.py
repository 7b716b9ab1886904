"""What reports say stays what it is: texts, parts of pages, traces, comparisons, and words for numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from sim.report import Report, Span
from sim.report.compare import Comparison
from sim.report.joining import joined
from sim.report.page.folding import folded
from sim.report.trace import expanded, flows, trace
from sim.report.values import Content, Traffic
from sim.report.words import aligned, percent, scaled, short, size, title, titles
from tests.sim.reports import empty, report
from tests.sim.test_page import data_of

Golden = Callable[[str, str], None]


def reports() -> Iterator[tuple[str, Report]]:
    """Large and small ones, with and without MACs, energy, a clock and what moves off the chip."""
    made = report()
    yield "nine", made
    yield "thirteen", report(13, "systolic-16", 3, 2)
    yield "empty", empty()
    yield "estimate", replace(made, mode="analytic", timeline=(), occupancy=(), clock_hz=1e6)
    yield "without array", replace(made, peak_macs_per_cycle=0.0, offchip_bytes_per_cycle=None)
    still = tuple(replace(one, traffic={}, macs=0, energy={}) for one in made.operators[:2])
    cycles, busy = sum(one.total for one in still), {"odd unit": 5, "vector": 3, "dma": 0}
    bare = replace(made, operators=still, cycles=cycles, traffic={}, energy={}, timeline=(), occupancy=())
    yield "still", replace(bare, busy=busy)
    alone = replace(made.operators[0], members=("one",), label="CONV2D + RESCALE of a long name " * 4)
    yield "alone", replace(made, operators=(alone,), cycles=alone.total, timeline=(), occupancy=())
    moved: Traffic = {("offchip", "write", "weights"): 3000, ("offchip", "write", "activations"): 6000}
    yield "written", replace(made, traffic={**made.traffic, **moved})
    yield "joined", joined([(report(3), 2), (report(2, seed=4), 1), (report(3), 5)], "a loop")
    yield "joined alike", joined([(report(2), 1), (report(2), 3)])


@pytest.mark.parametrize(
    ("name", "show"),
    [
        ("texts", lambda one: f"{one!r}\n{one}"),
        ("frames", lambda one: one._repr_html_()),
        ("tables", lambda one: one.to_csv()),
    ],
)
def test_reports_read_as_they_did(name: str, show: Callable[[Report], str], golden: Golden) -> None:
    golden(f"reported_{name}", "\n\n".join(f"== {which}\n{show(one)}" for which, one in reports()))


def test_figures_are_kept_as_they_were(golden: Golden) -> None:
    made = dict(reports())
    golden("reported_figures", "\n".join(made[name].to_json() for name in ("alone", "still", "joined alike")))


def comparisons() -> Iterator[Comparison]:
    made = dict(reports())
    others = [replace(made["nine"], machine=f"machine {n}", cycles=made["nine"].cycles) for n in range(7)]
    yield made["nine"].compare(report(7, "tiny", 2))
    yield made["nine"].compare(made["thirteen"], made["still"])
    yield made["nine"].compare(*others[:4])
    long = [replace(one, machine=f"a machine with a name that is rather long, number {n}")
            for n, one in enumerate(others)]  # fmt: skip
    yield long[0].compare(*long[1:4])
    slow = replace(made["alone"].operators[0], cycles={"compute": 10**60}, lanes={})
    yield long[0].compare(replace(long[1], operators=(slow,), cycles=10**60))
    yield made["nine"].compare(*others)
    yield made["empty"].compare(replace(empty(), machine="other"))
    yield made["nine"].compare(replace(made["thirteen"], machine=made["nine"].machine, program="another"))
    yield made["nine"].compare(replace(made["thirteen"], program="another"), made["thirteen"])


def test_comparisons_read_as_they_did(golden: Golden) -> None:
    texts = [f"{one!r}\n{one}\n{one._repr_html_()}" for one in comparisons()]
    golden("reported_comparisons", "\n\n".join(texts))


def test_pages_have_the_data_that_they_had(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("SPANS", 26), ("BOXES", 4), ("POINTS", 6), ("NAME", 24)):
        monkeypatch.setattr(f"sim.report.page.reports.{name}", most)
    made = dict(reports())
    kinds = ("constant", "input", "sums")
    boxes = tuple(
        Content(n, 10 * n + 5, 64 * n, 7 - n, f"box {n % 4}", kinds[n % 3], n % 2 > 0) for n in range(6)
    )
    long = tuple((n, n * 7 % 300) for n in range(240))
    spans = (*made["nine"].timeline, Span("dma 1", "of nobody", "store", 5, 6))
    held = replace(made["nine"], contents=boxes, occupancy=long, timeline=spans)
    pages = [
        held.to_html(),
        made["still"].to_html(),
        made["empty"].to_html(),
        held.compare(made["joined"]).to_html(),
    ]
    golden("reported_pages", "\n".join(json.dumps(data_of(page)) for page in pages))


def test_traces_have_the_events_that_they_had(golden: Golden) -> None:
    made = dict(reports())
    traces = [
        trace(made["nine"]),
        trace(made["joined"], made["still"], limit=20),
        trace(made["thirteen"], limit=7),
    ]
    golden("reported_traces", "\n".join(json.dumps(one) for one in traces))


def test_spans_are_spread_and_folded_as_they_were(golden: Golden) -> None:
    spans = [Span("array", "a", "compute", 3, 4, 10, 5, 64), Span("dma", "b", "load", 0, 3, 7, 9, 10)]
    spans += [Span("array", "c", "compute", 60, 1, 2, 3), Span("array", "c", "compute", 70, 5)]
    lines = [f"{limit} {one}" for limit in (1, 2, 3, 7, 50) for one in expanded(spans, limit)]
    lines += [f"folded to {limit} {one}" for limit in (1, 2, 3, 4) for one in folded(spans, limit)]
    lines += [str(one) for limit in (3, 100) for one in flows(report(3), limit)]
    golden("reported_spans", "\n".join(lines))


def test_numbers_are_written_as_they_were(golden: Golden) -> None:
    values = [
        0,
        1,
        0.5,
        9.994,
        9.996,
        99.94,
        99.96,
        999.4,
        999.6,
        1000,
        12345,
        1e-3,
        1.5e-7,
        1e-16,
        4e13,
        -2.5,
    ]
    rows = [f"{value}: {scaled(value, 's')}; {size(abs(value))}; {percent(value)}" for value in values]
    rows += [size(count) for count in (1023, 1024, 1025, 10239, 10240, 2**20 - 1, 2**20, 2**31, 2**50, 2**70)]
    rows += [percent(share) for share in (0.0004, 0.0005, 0.0049, 0.0051, 0.0949, 0.0951, 0.994, 0.996, 1, 2)]
    rows += [short("abcdefghij", width) for width in range(1, 12)]
    rows += [title("CONV2D conv", members, width) for members in (1, 2, 13) for width in (8, 11, 14, 60)]
    groups = [("CONV2D a/b/c/long", 2), ("CONV2D a/b/d/long", 1), ("ADD a", 3), ("ADD a", 3)]
    rows += [str(titles(groups, width)) for width in (6, 10, 16, 20, 60)]
    cells = [["a", "bcd", "e"], ["fgh", "i", ""]]
    for right in ((), (1,), (0, 2)):
        rows += [line for gap in ("  ", "|") for line in aligned(cells, right, gap)]
    golden("reported_words", "\n".join(rows))
