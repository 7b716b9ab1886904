"""Pages as text: what they embed, how large they are, and which colours they have."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sim
from sim.report import Report, ReportError, Span
from sim.report.page import exploration_page, reports_page
from sim.report.page.document import embedded
from sim.report.page.folding import folded
from sim.report.style import CAUSE_MEANINGS, LANE_MEANINGS, PAGE_DARK, PAGE_LIGHT, TRACK_COLOURS
from sim.report.values import LANES, SPENT
from tests.browser.explorations import exploration
from tests.sim.reports import report

texts = st.text(max_size=12) | st.just("</script><!--<script>&")
values = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def data_of(page: str) -> dict[str, Any]:
    """What a page embeds."""
    text = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[0]
    data: dict[str, Any] = json.loads(text)
    return data


@given(st.dictionaries(texts, values, max_size=4))
def test_embedded_data_read_back_equal_and_open_no_element(data: dict[str, Any]) -> None:
    text = embedded(data)
    assert json.loads(text) == data
    assert not set("<>&") & set(text)


def test_a_page_allows_its_own_style_and_script_and_nothing_else() -> None:
    page = report().to_html()
    policy = unescape(re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)[0])
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for kind, text in (
        ("script-src", re.findall(r"<script>(.*?)</script>", page, re.S)),
        ("style-src", re.findall(r"<style>(.*?)</style>", page, re.S)),
    ):
        assert [rules[kind]] == [
            f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in text
        ]
    assert not re.search(r"https?://|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", page)


def test_pages_have_what_reports_say() -> None:
    made = report(40)
    shown = data_of(made.to_html())["reports"][0]
    assert shown["operators"]["label"] == [one.label for one in made.operators]
    assert [sum(causes) for causes in shown["operators"]["causes"]] == [one.total for one in made.operators]
    starts = [sum(shown["spans"]["first"][: number + 1]) for number in range(len(made.timeline))]
    assert starts == sorted(span.first for span in made.timeline)
    assert shown["cycles"] == made.cycles
    several = data_of(made.compare(report(40, machine="other")).to_html())
    assert [one["machine"] for one in several["reports"]] == ["ethos-u55-128", "other"]
    assert several["operators"]["cycles"][0][0] == made.operators[0].total


spans = st.lists(
    st.builds(
        Span,
        unit=st.sampled_from(["array", "dma 0"]),
        label=st.sampled_from("abc"),
        kind=st.sampled_from(["compute", "load"]),
        first=st.integers(0, 1000),
        duration=st.integers(0, 50),
        period=st.integers(0, 60),
        count=st.integers(1, 5),
        bytes=st.integers(0, 100),
        section=st.integers(0, 4),
        stands_for=st.integers(1, 3),
    ),
    max_size=60,
)


def amounts(timeline: list[Span]) -> dict[tuple[str, str, str], Counter[str]]:
    """Bytes and events of each operator on each unit, with the first beginning and the last end."""
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for one in timeline:
        total = found.setdefault(
            (one.unit, one.label, one.kind), Counter(first=one.first, end=one.end, bytes=0, events=0)
        )
        total["bytes"] += one.bytes * one.count
        total["events"] += one.count * one.stands_for
        total["first"], total["end"] = min(total["first"], one.first), max(total["end"], one.end)
    return found


@given(spans, st.integers(12, 60))
def test_folded_timelines_are_short_and_say_the_same_in_all(timeline: list[Span], limit: int) -> None:
    short = folded(timeline, limit)
    assert len(short) <= limit
    assert amounts(short) == amounts(timeline)
    assert [one.first for one in short] == sorted(one.first for one in short)
    if len(timeline) <= limit:
        assert sorted(map(repr, short)) == sorted(map(repr, timeline))


def test_pages_of_long_timelines_are_bounded() -> None:
    made = report(1_000)
    many = tuple(
        replace(one, first=one.first + n, section=n // 20) for one in made.timeline for n in range(60)
    )
    assert len(many) == 120_000
    assert len(replace(made, timeline=many).to_html()) < 5e6


def test_contents_that_are_too_many_leave_out_the_small_ones() -> None:
    held = tuple(sim.report.Content(n, n + 1, 0, n, f"t{n}", "temporary", False) for n in range(20_000))
    shown = data_of(replace(report(1), contents=held).to_html())["reports"][0]["contents"]
    assert shown["left_out"] == 8_000
    assert min(shown["bytes"]) == 8_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["points"].pop("energy"), "energy: the column is missing, but there are 20 points"),
        (lambda data: data["points"]["reason"].pop(), "reason: the column has 19 values"),
        (lambda data: data["points"]["confirmed"]["latency"].pop(), "confirmed latency: 19 values"),
        (lambda data: data["fields"].append("latency"), "latency: reserved"),
    ],
)
def test_explorations_with_odd_columns_are_told(change: Any, message: str) -> None:
    data = exploration(20)
    change(data)
    with pytest.raises(ReportError, match=message):
        exploration_page(data)


def test_numbers_that_json_does_not_know_are_left_out() -> None:
    data = exploration(20)
    data["points"]["latency"][3] = float("inf")
    data["points"]["energy"][4] = float("nan")
    shown = data_of(exploration_page(data))["points"]
    assert shown["latency"][3] is None
    assert shown["energy"][4] is None


def contrast(one: str, other: str) -> float:
    """That of WCAG 2.1, from 1 to 21."""

    def luminance(colour: str) -> float:
        parts = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [PAGE_LIGHT, PAGE_DARK], ids=["light", "dark"])
def test_text_is_read_on_every_ground(colours: dict[str, str]) -> None:
    grounds = ("page", "surface", "float", "head", "lane", "chosen")
    assert all(contrast(colours["text"], colours[ground]) >= 7 for ground in grounds)
    assert all(
        contrast(colours[name], colours[ground]) >= 4.5
        for name in ("muted", "accent", "alarm")
        for ground in ("page", "surface", "float")
    )
    assert all(contrast("#000000", colour) >= 7 for colour in TRACK_COLOURS)
    assert PAGE_LIGHT.keys() == PAGE_DARK.keys()


def test_every_cause_is_explained() -> None:
    assert tuple(CAUSE_MEANINGS) == SPENT
    assert tuple(LANE_MEANINGS) == LANES


def test_a_page_of_no_reports_of_events_has_no_contents() -> None:
    made = replace(report(), mode="analytic")
    assert data_of(reports_page([made]))["reports"][0]["contents"]["first"] == []


def test_joined_reports_hold_what_each_run_holds() -> None:
    held = sim.report.Content(5, 9, 0, 4, "t", "temporary", False)
    made = replace(report(2), contents=(held,))
    joined = Report.joined([(made, 2), (made, 1)])
    assert [one.first for one in joined.contents] == [5, made.cycles + 5, 2 * made.cycles + 5]
    assert Report.from_json(joined.to_json()) == joined
