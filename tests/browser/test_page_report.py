"""Pages of reports, as a reader of them sees and uses them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from sim.report import Content, Report
from sim.report.style import PAGE_DARK, PAGE_LIGHT
from tests.browser.chromium import Tab
from tests.browser.conftest import Opened
from tests.sim.reports import empty, report

TIMELINE = '[aria-label^="Timeline of units"]'
SCRATCHPAD = '[aria-label^="Scratchpad over"]'
ROOFLINE = '[aria-label^="Roofline:"]'
ROWS = "[...document.querySelectorAll('.rows tbody tr:not(.gap)')]"
LANES_TOP, LANE, GUTTER, EDGE = 74, 26, 104, 14
"""Where lanes of units begin, how high one is, and what is left beside them."""


def held(made: Report) -> Report:
    """A report of which is known what the scratchpad holds."""
    end = made.cycles
    return replace(
        made,
        contents=(
            Content(0, end // 2, 0, 20_000, "image", "input", False),
            Content(end // 2, end, 0, 10_000, "features", "temporary", False),
            Content(end // 4, end // 2, 30_000, 20_000, "kernel", "constant", True),
        ),
    )


def span(tab: Tab) -> tuple[float, float]:
    low, high = tab.eval("[page.parts.range.low, page.parts.range.high]")
    return low, high


def timeline_place(tab: Tab, cycle: float, row: int) -> tuple[float, float]:
    """Where a cycle is in a lane; row -2 is that of the operators."""
    box, (low, high) = tab.box(TIMELINE), span(tab)
    x = GUTTER + (cycle - low) / (high - low) * (box["width"] - GUTTER - EDGE)
    top = 4 if row < 0 else LANES_TOP + row * LANE
    return box["x"] + x, box["y"] + top + LANE / 2


def column(tab: Tab, number: int) -> list[str]:
    texts: list[str] = tab.eval(f"{ROWS}.map(row => row.cells[{number}].innerText)")
    return texts


def press(tab: Tab, heading: str) -> str:
    """Click a heading of the table of operators, and say how the column is sorted then."""
    code = f"page.parts.table.headers.find(th => th.innerText.startsWith({json.dumps(heading)}))"
    tab.eval(f"{code}.querySelector('button').click()")
    tab.drawn()
    return str(tab.eval(f"{code}.ariaSort"))


def painted(tab: Tab, surface: str) -> int:
    """How many different colours a picture has."""
    number: int = tab.eval(
        f"""(() => {{ const canvas = document.querySelector({json.dumps(surface)}).querySelector('canvas');
        const {{ data }} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size; }})()"""
    )
    return number


def test_a_page_shows_everything_without_complaint(opened: Opened) -> None:
    tab = opened(held(report()).to_html())
    assert tab.text("h1") == "ds_cnn on ethos-u55-128"
    for surface in (TIMELINE, SCRATCHPAD, ROOFLINE):
        assert painted(tab, surface) > 8, surface
    assert "weights" in tab.text(".cause ~ .cause ~ .cause ~ .cause ~ .cause ~ .cause")
    assert tab.eval("document.documentElement.scrollWidth <= innerWidth")


def test_a_heading_sorts_and_once_more_turns_round(opened: Opened) -> None:
    made = report(40)
    tab = opened(made.to_html())
    totals = sorted((one.total for one in made.operators), reverse=True)
    shown = len(column(tab, 3))
    assert press(tab, "cycles") == "descending"
    assert column(tab, 3) == [f"{total:,}" for total in totals[:shown]]
    assert press(tab, "cycles") == "ascending"
    assert column(tab, 3) == [f"{total:,}" for total in totals[::-1][:shown]]
    assert press(tab, "operator") == "ascending"
    assert column(tab, 1)[:3] == ["CONV2D conv0", "CONV2D conv1", "CONV2D conv2"]


def test_words_and_conditions_filter_the_table(opened: Opened) -> None:
    made = report(40)
    tab = opened(made.to_html())
    tab.eval("page.parts.table.search.focus()")
    for letter in "rescale17":
        tab.key(letter)
    assert column(tab, 1) == ["CONV2D conv17"]
    tab.eval("page.parts.table.filter('conv cycles>30000 unit=array')")
    expected = [n for n, one in enumerate(made.operators) if one.total > 30_000 and one.unit == "array"]
    assert tab.eval("page.parts.table.rows") == expected
    assert f"{len(expected)} of 40 rows" in tab.eval("page.parts.table.found.innerText")
    tab.eval("page.parts.table.filter('nothing-like-it')")
    assert column(tab, 1) == []


def test_the_timeline_is_zoomed_and_moved(opened: Opened) -> None:
    made = report()
    tab = opened(made.to_html())
    x, y = timeline_place(tab, made.cycles * 0.75, 0)
    assert span(tab) == (0, made.cycles)
    tab.wheel(x, y, -240)
    low, high = span(tab)
    assert 0 < low < made.cycles * 0.75 < high <= made.cycles
    assert (made.cycles * 0.75 - low) / (high - low) == pytest.approx(0.75, abs=0.01)
    tab.drag(x, y, 200)
    moved = span(tab)
    assert moved[0] < low
    assert moved[1] - moved[0] == pytest.approx(high - low)
    tab.wheel(x, y, 240)
    assert span(tab)[1] - span(tab)[0] > high - low
    for _ in range(3):
        tab.wheel(x, y, 240)
    assert span(tab) == (0, made.cycles)


def test_buttons_and_keys_zoom_and_move(opened: Opened) -> None:
    tab = opened(report().to_html())
    whole = span(tab)
    tab.eval("document.querySelector('button[aria-label^=\"Zoom in\"]').click()")
    low, high = span(tab)
    assert high - low == pytest.approx((whole[1] - whole[0]) / 2)
    tab.eval(f"document.querySelector({json.dumps(TIMELINE)}).focus()")
    tab.key("ArrowRight")
    assert span(tab)[0] > low
    tab.key("+")
    assert span(tab)[1] - span(tab)[0] < high - low
    tab.key("Home")
    assert span(tab) == whole


def test_hovering_says_what_a_unit_does(opened: Opened) -> None:
    made = report()
    tab = opened(made.to_html())
    for one in (s for s in made.timeline if s.kind == "compute" and s.unit == "array"):
        tile = 3
        tab.point(*timeline_place(tab, one.first + tile * one.period + one.duration / 2, 0))
        text = tab.text(".tooltip")
        assert text.startswith(one.label)
        assert f"{tile + 1} of {one.count}" in text
        assert f"{one.duration:,} cycles" in text
    operator = made.operators[4]
    tab.point(*timeline_place(tab, sum(one.total for one in made.operators[:4]) + operator.total / 2, -2))
    text = tab.text(".tooltip")
    assert text.startswith(operator.label)
    assert f"{operator.total:,} cycles" in text
    assert all(f"{cycles:,} (" in text for cycles in operator.spent.values() if cycles)
    tab.point(5, 5)
    assert tab.eval("document.querySelector('.tooltip').hidden")


def test_hovering_names_tensors_and_operators_of_the_roofline(opened: Opened) -> None:
    made = held(report())
    tab = opened(made.to_html())
    box = tab.box(SCRATCHPAD)
    names = tab.eval("page.parts.scratchpad.boxes.names")
    seen = set()
    for number in range(len(names)):
        left, top, width, height = tab.eval(f"page.parts.scratchpad.place({number})")
        tab.point(box["x"] + left + width / 2, box["y"] + top + height / 2)
        seen.add(tab.text(".tooltip").split("\n")[0])
    assert seen == {"image", "features", "kernel"}
    box = tab.box(ROOFLINE)
    for number in tab.eval("page.parts.roofline.points"):
        x, y = tab.eval(f"page.parts.roofline.place({number})")
        tab.point(box["x"] + x, box["y"] + y)
        assert tab.text(".tooltip").split("\n")[0] in {one.label for one in made.operators}


def test_a_row_is_shown_in_the_timeline(opened: Opened) -> None:
    made = report()
    tab = opened(made.to_html())
    box = tab.box(".rows tbody tr:not(.gap)", 5)
    tab.click(box["x"] + 200, box["y"] + 10)
    start = sum(one.total for one in made.operators[:5])
    low, high = span(tab)
    assert low < start < start + made.operators[5].total < high < low + 2 * made.operators[5].total
    assert tab.eval("document.querySelector('tr[aria-selected]').cells[1].innerText") == "CONV2D conv5"


def test_dark_readers_get_dark_pages_and_paper_is_light(opened: Opened) -> None:
    text = report().to_html()
    tab = opened(text, dark=True)

    def page_colour() -> str:
        return str(tab.eval("getComputedStyle(document.documentElement).getPropertyValue('--page')"))

    def corner() -> list[int]:
        colour: list[int] = tab.eval(
            """(() => { const copy = new OffscreenCanvas(1, 1).getContext('2d');
            copy.drawImage(page.parts.timeline.surface.picture, -600, -180);
            return [...copy.getImageData(0, 0, 1, 1).data]; })()"""
        )
        return colour

    assert page_colour() == PAGE_DARK["page"]
    dark = corner()
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert page_colour() == PAGE_LIGHT["page"]
    tab.call("Emulation.setEmulatedMedia", media="")
    tab.dark(False)
    tab.drawn()
    assert page_colour() == PAGE_LIGHT["page"]
    assert sum(corner()) > sum(dark)


def test_all_rows_are_printed(opened: Opened) -> None:
    tab = opened(report(200).to_html())
    assert len(column(tab, 0)) < 40
    tab.eval("dispatchEvent(new Event('beforeprint'))")
    assert len(column(tab, 0)) == 200
    tab.eval("dispatchEvent(new Event('afterprint'))")
    assert len(column(tab, 0)) < 40


HOSTILE = "</script><img src=x onerror=alert(1)><!--"


def hostile() -> Report:
    made = report(3, machine=HOSTILE)
    operators = tuple(replace(one, label=one.label + HOSTILE, members=(HOSTILE,)) for one in made.operators)
    spans = tuple(replace(one, label=one.label + HOSTILE) for one in made.timeline)
    contents = (Content(0, made.cycles, 0, 9_000, HOSTILE, "input", False),)
    return replace(made, program=HOSTILE, operators=operators, timeline=spans, contents=contents)


def test_names_from_strangers_are_only_text(opened: Opened) -> None:
    tab = opened(hostile().to_html())
    assert tab.text("h1") == f"{HOSTILE} on {HOSTILE}"
    assert column(tab, 1)[0] == f"CONV2D conv0{HOSTILE}"
    tab.point(*timeline_place(tab, 100, -2))
    assert HOSTILE in tab.text(".tooltip")
    assert tab.eval("document.querySelectorAll('img').length") == 0


def test_the_policy_of_a_page_forbids_the_network(opened: Opened) -> None:
    tab = opened(report().to_html())
    image = "new Promise((_, fail) => Object.assign(new Image(), {onerror: fail, src: 'https://a.test/i'}))"
    for attempt in ("fetch('https://a.test/')", image):
        assert tab.eval(f"{attempt}.then(() => 'reached', () => 'refused')") == "refused"
    tab.eval(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))"
    )
    assert tab.eval("window.ran") is None
    assert sum("Content Security Policy" in fault for fault in tab.faults()) >= 3
    answers = [e["params"] for e in tab.browser.events if e["method"] == "Network.responseReceived"]
    assert not any("a.test" in one["response"]["url"] for one in answers)
    tab.browser.events.clear()


def test_a_thousand_operators_are_few_elements_and_drawn_in_time(
    opened: Opened, record_property: Any
) -> None:
    text = report(1_000, tiles=40).to_html()
    assert len(text) < 5e6
    tab = opened(text)
    assert tab.eval("document.querySelectorAll('*').length") < 1_500
    frames = zoomed(tab, "page.parts.range")
    record_property("milliseconds of frames", frames)
    print(f"1,000 operators, milliseconds of redraws: {frames}")
    tab.eval("page.parts.table.box.scrollTop = 500 * 27")
    tab.drawn()
    assert "500" in column(tab, 0)
    assert tab.eval("document.querySelectorAll('*').length") < 1_500


def zoomed(tab: Tab, ranges: str) -> list[float]:
    """How long redraws take while a reader zooms."""
    times: list[float] = tab.eval(
        f"""new Promise(done => {{ page.frames.length = 0; let number = 0; const step = () => {{
        {ranges}.zoom(number < 10 ? 0.8 : 1.25);
        if (++number < 20) requestAnimationFrame(step);
        else requestAnimationFrame(() => done(page.frames.map(time => Math.round(10 * time) / 10)));
        }}; step(); }})"""
    )
    return times


def test_of_several_reports_one_is_looked_at(opened: Opened) -> None:
    made = report().compare(report(machine="systolic-16", seed=1), report(7, machine="tiny", seed=2))
    tab = opened(made.to_html())
    assert column(tab, 0)[:3] == ["ethos-u55-128", "systolic-16", "tiny"]
    assert tab.text("h2.chosen").startswith("ds_cnn on ethos-u55-128")
    box = tab.box(".rows tbody tr:not(.gap)", 2)
    tab.click(box["x"] + 100, box["y"] + 10)
    assert tab.text("h2.chosen").startswith("ds_cnn on tiny")
    assert tab.eval("page.parts.table.total") == 7
    tab.point(*timeline_place(tab, made.reports[2].timeline[0].first + 10, -2))
    assert tab.text(".tooltip").startswith("CONV2D conv0")


def test_a_report_of_nothing_is_a_page_too(opened: Opened) -> None:
    tab = opened(empty().to_html())
    assert tab.text("h1") == "nothing on tiny"
    assert tab.eval("document.querySelectorAll('.surface').length") == 0
