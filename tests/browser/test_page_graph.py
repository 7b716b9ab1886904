"""The graph of a report's page, its panel and its sliders, as a reader sees and uses them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

import sim
import tosajit as tj
from sim.analytic import Workload, evaluate
from sim.report import Report
from tests.browser.chromium import Tab
from tests.browser.conftest import Opened
from tests.browser.test_page_report import HOSTILE, painted
from tests.sim.reports import report
from tests.sim.test_page import contrast
from tosajit import samples
from tosajit.npu.simulate import Network

GRAPH = '[aria-label^="Graph of operators"]'


def linked(made: Report, step: int = 1) -> Report:
    """Operators that read from the one before, and some from one further back."""
    operators = [
        replace(one, after=tuple(sorted({n - 1, max(0, n - step)})) if n else ())
        for n, one in enumerate(made.operators)
    ]
    return replace(made, operators=tuple(operators))


def place(tab: Tab, number: int) -> tuple[float, float]:
    box = tab.box(GRAPH)
    x, y = tab.eval(f"[page.parts.graph.x({number}), page.parts.graph.y({number})]")
    return box["x"] + x + 10, box["y"] + y + 10


def milliseconds(tab: Tab, code: str) -> float:
    """How long something takes until it has been drawn."""
    taken: float = tab.eval(
        f"new Promise((done) => {{ const start = performance.now(); {code}; "
        "requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start))); })"
    )
    return taken


def test_the_graph_is_drawn_and_a_click_shows_the_operator(opened: Opened) -> None:
    made = linked(report(6), 3)
    tab = opened(made.to_html())
    assert painted(tab, GRAPH) > 8
    assert "Click an operator" in tab.text(".details")
    tab.click(*place(tab, 1))
    tab.drawn()
    text = tab.text(".details")
    assert made.operators[1].label in text
    assert f"{made.operators[1].total:,} cycles" in text
    assert tab.eval("page.parts.view.picked") == 1
    assert "Lanes while it computes" in text
    assert tab.eval("page.parts.graph.column") == [0, 1, 2, 3, 4, 5]


def test_operators_are_found_by_name(opened: Opened) -> None:
    made = linked(report(40))
    tab = opened(made.to_html())
    tab.eval("page.parts.graph.find('conv27')")
    tab.drawn()
    assert "1 found" in tab.text("section[aria-label=Graph]")
    box = tab.box(GRAPH)
    x, _ = place(tab, 27)
    assert box["x"] <= x <= box["x"] + box["width"]
    tab.eval("page.parts.graph.next()")
    tab.drawn()
    assert tab.eval("page.parts.view.picked") == 27


def test_colours_are_cycles_or_causes(opened: Opened) -> None:
    tab = opened(linked(report(12)).to_html())
    before = tab.text("section[aria-label=Graph] .legend")
    tab.eval("page.parts.graph.colour('cause')")
    tab.drawn()
    assert "most cycles: idle" in tab.text("section[aria-label=Graph] .legend")
    assert "few cycles" in before


@pytest.mark.parametrize("dark", [False, True])
def test_words_in_boxes_are_read_on_their_colours(opened: Opened, dark: bool) -> None:
    tab = opened(report(4).to_html(), dark=dark)
    pairs = tab.eval("Array.from({length: 21}, (_, n) => page.parts.graph.colours(n / 20))")
    for ground, ink in pairs:
        red, green, blue = map(int, re.findall(r"\d+", ground))
        assert contrast(f"#{red:02x}{green:02x}{blue:02x}", ink) >= 4.5


def test_a_thousand_operators_do_not_lag(opened: Opened, record_property: Any) -> None:
    tab = opened(linked(report(1000, tiles=1), 7).to_html())
    taken = {
        name: milliseconds(tab, code)
        for name, code in {
            "all": "page.parts.graph.all()",
            "zoom": "page.parts.graph.zoom(1.3)",
            "move": "page.parts.graph.left -= 100; page.parts.graph.surface.redraw()",
            "find": "page.parts.graph.find('conv77')",
            "pick": "page.parts.view.pick(500, true)",
            "colour": "page.parts.graph.colour('cause')",
        }.items()
    }
    record_property("milliseconds", taken)
    print(f"1,000 operators, milliseconds: { {name: round(time) for name, time in taken.items()} }")
    assert tab.eval("document.querySelectorAll('*').length") < 2_500


def test_names_from_strangers_are_only_text(opened: Opened) -> None:
    made = linked(report(3))
    operators = tuple(
        replace(one, label=HOSTILE + str(n), members=(HOSTILE,)) for n, one in enumerate(made.operators)
    )
    spans = tuple(replace(span, label=HOSTILE + "0") for span in made.timeline)
    tab = opened(replace(made, operators=operators, timeline=spans).to_html())
    tab.eval("page.parts.view.pick(1)")
    tab.drawn()
    assert HOSTILE in tab.text(".details h3")
    assert tab.eval("document.querySelectorAll('.details img, .details script').length") == 0


def test_sliders_show_what_the_closed_form_says(opened: Opened) -> None:
    machine = sim.machine("systolic-16")
    bandwidth = machine.offchip.bandwidth_bytes_per_second
    assert bandwidth is not None
    graph = samples.load("ds_cnn")
    tab = opened(tj.simulate(graph, machine).to_html())
    assert "as it is" in tab.text(".estimate")
    for place_, value in ((0, 3), (2, 0)):
        tab.eval(
            f"(() => {{ const input = document.querySelectorAll('.sliders input')[{place_}]; "
            f"input.value = {value}; input.dispatchEvent(new Event('input')); }})()"
        )
    changed = machine.replace({"offchip.bandwidth_bytes_per_second": 2 * bandwidth, "array.columns": 8})
    (groups,) = Network.of(graph).sequence()
    expected = evaluate(Workload.of(groups.nests, groups.operands), [changed]).cycles[0]
    assert f"{round(expected):,} cycles" in tab.text(".estimate")


def test_machines_side_by_side_begin_with_what_differs_most(opened: Opened) -> None:
    reports = [tj.simulate(samples.load("ds_cnn"), name) for name in ("ethos-u55-128", "systolic-16")]
    tab = opened(reports[0].compare(reports[1]).to_html())
    assert tab.text("h1") == "graph on ethos-u55-128, systolic-16"
    rows = tab.eval("page.comparison.beside.rows")
    cycles = json.loads(tab.eval("document.getElementById('data').textContent"))["operators"]["cycles"]
    spread = [abs(cycles[row][0] - cycles[row][1]) for row in rows]
    assert spread == sorted(spread, reverse=True)
    text = tab.text('[aria-label="Operators side by side"]')
    first, second = cycles[rows[0]]
    assert f"{second / first:.2f}×" in text
