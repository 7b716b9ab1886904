"""Pages of explorations, as a reader of them sees and uses them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sim.report.page import exploration_page
from tests.browser.chromium import Tab
from tests.browser.conftest import Opened
from tests.browser.explorations import FIELDS, exploration
from tests.browser.test_page_report import HOSTILE, painted, zoomed

SCATTER = '[aria-label^="Scatter of"]'
PARALLEL = '.surface[aria-label^="Parallel"]'
HEAT = '[aria-label^="Heat map"]'


def rows(tab: Tab) -> list[int]:
    numbers: list[int] = tab.eval("page.parts.table.rows")
    return numbers


def choose(tab: Tab, panel: str, label: str, value: str) -> None:
    """Choose from a menu."""
    menu = f'section[aria-label="{panel}"] select[aria-label="{label}"]'
    tab.eval(
        f"""(() => {{ const menu = document.querySelector({json.dumps(menu)});
        menu.value = {json.dumps(value)}; menu.dispatchEvent(new Event('change')); }})()"""
    )
    tab.drawn()


def scatter_place(tab: Tab, row: int) -> tuple[float, float]:
    box = tab.box(SCATTER)
    x, y = tab.eval(f"[page.parts.scatter.left[{row}], page.parts.scatter.top[{row}]]")
    return box["x"] + x, box["y"] + y


def front(data: dict[str, Any], one: str, other: str) -> set[int]:
    """Points that none beats in both, each held against each."""
    pairs = [
        (number, x, y)
        for number, x, y in zip(*(data["points"][name] for name in ("number", one, other)), strict=True)
        if x is not None
    ]
    return {n for n, x, y in pairs if not any((u <= x and v <= y) and (u, v) != (x, y) for _, u, v in pairs)}


def test_a_page_shows_everything_without_complaint(opened: Opened) -> None:
    data = exploration()
    tab = opened(exploration_page(data))
    for surface in (SCATTER, PARALLEL, HEAT):
        assert painted(tab, surface) > 8, surface
    infeasible = sum(map(bool, data["points"]["reason"]))
    assert f"{infeasible} infeasible" in tab.text("main")
    assert "conv…: … bytes do not fit in … bytes" in tab.text(".reasons")
    assert "variations of systolic-16" in tab.text("header p")
    assert tab.eval("document.documentElement.scrollWidth <= innerWidth")


def test_the_line_is_the_front_of_the_two_objectives(opened: Opened) -> None:
    data = exploration()
    tab = opened(exploration_page(data))
    for x, y in (("latency", "energy"), ("latency", "area"), ("area", "energy")):
        choose(tab, "Pareto front", "x", x)
        choose(tab, "Pareto front", "y", y)
        assert set(tab.eval("page.parts.scatter.front")) == front(data, x, y)
    choose(tab, "Pareto front", "x", "scratchpad.bytes")
    assert tab.eval("page.parts.scatter.front") == []


def test_hovering_shows_the_machine_and_a_click_keeps_it(opened: Opened) -> None:
    data = exploration()
    tab = opened(exploration_page(data))
    row = data["best"]["latency"]
    place = scatter_place(tab, row)
    tab.point(*place)
    text = tab.text(".tooltip")
    assert text.startswith(f"Machine {row}\n")
    assert all(name in text for name in (*FIELDS, "latency", "energy", "area", "confirmed"))
    assert f"{data['points']['array.rows'][row]}" in text
    tab.click(*place)
    tab.point(5, 5)
    assert tab.eval("document.querySelector('.tooltip').hidden")
    assert tab.text(".pinned").startswith(f"Machine {row}")
    assert tab.eval("document.querySelector('tr[aria-selected]').cells[0].innerText") == str(row)


def test_axes_are_linear_or_logarithmic_and_zoomed(opened: Opened) -> None:
    tab = opened(exploration_page(exploration()))
    assert tab.eval("page.parts.scatter.partX.log")
    tab.eval("document.querySelector('section[aria-label=\"Pareto front\"] input[type=checkbox]').click()")
    tab.drawn()
    assert not tab.eval("page.parts.scatter.partX.log")
    box = tab.box(SCATTER)
    low, high = tab.eval("[page.parts.scatter.partX.low, page.parts.scatter.partX.high]")
    tab.wheel(box["x"] + 500, box["y"] + 200, -240)
    near, far = tab.eval("[page.parts.scatter.partX.low, page.parts.scatter.partX.high]")
    assert low < near < far < high
    tab.drag(box["x"] + 500, box["y"] + 200, -100, 40)
    assert tab.eval("page.parts.scatter.partX.low") > near
    tab.eval("document.querySelector('section[aria-label=\"Pareto front\"] button[title^=Show]').click()")
    tab.drawn()
    assert tab.eval("page.parts.scatter.partX.high") == high


def test_a_brush_keeps_what_passes_through_it(opened: Opened) -> None:
    data = exploration()
    tab = opened(exploration_page(data))
    box = tab.box(PARALLEL)
    x = tab.eval("page.parts.parallel.x(0)")
    middle = box["y"] + 44 + (box["height"] - 62) / 2
    tab.drag(box["x"] + x, middle, 0, 200)
    kept = rows(tab)
    values = data["points"]["array.rows"]
    assert kept
    assert max(values[row] for row in kept) <= 24
    assert all(not data["points"]["reason"][row] for row in kept)
    most = max(values[row] for row in kept)
    expected = [n for n, v in enumerate(values) if v <= most and not data["points"]["reason"][n]]
    assert kept == expected
    tab.click(box["x"] + x, middle)
    assert len(rows(tab)) == 200


def test_hovering_a_line_shows_its_machine(opened: Opened) -> None:
    tab = opened(exploration_page(exploration(12)))
    box = tab.box(PARALLEL)
    row = rows(tab)[tab.eval("[...page.parts.points.feasible].indexOf(1)")]
    x0, x1 = tab.eval("[page.parts.parallel.x(4), page.parts.parallel.x(5)]")
    y0, y1 = tab.eval(f"[page.parts.parallel.y(4, {row}), page.parts.parallel.y(5, {row})]")
    tab.point(box["x"] + (x0 + x1) / 2, box["y"] + (y0 + y1) / 2)
    assert tab.text(".tooltip").startswith(f"Machine {row}\n")


def test_a_cell_is_the_best_of_its_machines(opened: Opened) -> None:
    data = exploration()
    tab = opened(exploration_page(data))
    choose(tab, "Two fields", "x", "array.dataflow")
    choose(tab, "Two fields", "y", "array.rows")
    choose(tab, "Two fields", "best", "energy")
    points = data["points"]
    cells = tab.eval("[...page.parts.heatmap.cells.values()].filter(cell => cell.row >= 0)")
    best: dict[tuple[str, int], float] = {}
    for flow, count, value in zip(
        points["array.dataflow"], points["array.rows"], points["energy"], strict=True
    ):
        if value is not None:
            best[flow, count] = min(value, best.get((flow, count), value))
    assert len(cells) == len(best)
    for cell in cells:
        key = points["array.dataflow"][cell["row"]], points["array.rows"][cell["row"]]
        assert cell["value"] == pytest.approx(best[key], rel=1e-6)
    box = tab.box(HEAT)
    left, top, width, height = tab.eval(f"page.parts.heatmap.place({json.dumps(cells[0])})")
    tab.click(box["x"] + left + width / 2, box["y"] + top + height / 2)
    assert f"Machine {cells[0]['row']}" in tab.text(".tooltip")
    assert tab.text(".pinned").startswith(f"Machine {cells[0]['row']}")


def test_machines_are_sorted_filtered_and_chosen_by_reason(opened: Opened) -> None:
    data = exploration()
    tab = opened(exploration_page(data))
    points = data["points"]
    choose(tab, "Machines", "show", "front")
    assert rows(tab) == [n for n, there in enumerate(points["front"]) if there]
    choose(tab, "Machines", "show", "feasible")
    tab.eval("page.parts.table.filter('array.rows>=16 latency<1e-5 weight')")
    expected = [
        n
        for n in range(200)
        if points["array.rows"][n] >= 16
        and (points["latency"][n] or 1) < 1e-5
        and points["array.dataflow"][n] == "weight"
    ]
    assert rows(tab) == expected
    tab.eval("page.parts.table.filter('')")
    tab.eval("page.parts.table.sort(page.parts.table.columns.find(({key}) => key === 'energy'), false)")
    assert rows(tab)[0] == data["best"]["energy"]
    tab.eval("document.querySelector('.reasons button').click()")
    assert rows(tab)
    assert all(points["reason"][row] for row in rows(tab))


def test_missing_values_are_last_whichever_way(opened: Opened) -> None:
    data = exploration()
    tab = opened(exploration_page(data))
    for down in ("true", "false"):
        code = f"page.parts.table.sort(page.parts.table.columns.find(({{key}}) => key === 'area'), {down})"
        tab.eval(code)
        assert data["points"]["reason"][rows(tab)[-1]]
        assert not data["points"]["reason"][rows(tab)[0]]


@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_many_points_are_few_elements_and_drawn_in_time(
    opened: Opened, record_property: Any, count: int
) -> None:
    tab = opened(exploration_page(exploration(count)))
    assert tab.eval("document.querySelectorAll('*').length") < 1_500
    frames = zoomed(tab, "page.parts.scatter.across")
    record_property("milliseconds of frames", frames)
    print(f"{count:,} points, milliseconds of redraws: {frames}")
    tab.eval("page.parts.table.box.scrollTop = 27 * 5000")
    tab.drawn()
    assert tab.eval("document.querySelectorAll('*').length") < 1_500


def test_names_from_strangers_are_only_text(opened: Opened) -> None:
    data = exploration(20)
    points = data["points"]
    points[HOSTILE] = [HOSTILE if row % 2 else "b" for row in range(20)]
    points["reason"] = [HOSTILE if reason else "" for reason in points["reason"]]
    data |= {"title": HOSTILE, "fields": [*FIELDS, HOSTILE], "base": HOSTILE, "summary": [[HOSTILE, HOSTILE]]}
    data["sensitivity"].append({"field": HOSTILE, "objective": "latency", "value": 2.0})
    tab = opened(exploration_page(data))
    assert tab.text("h1") == HOSTILE
    assert HOSTILE in tab.text(".bars")
    assert tab.eval("document.querySelectorAll('img').length") == 0


@pytest.mark.parametrize("kind", ["nothing", "infeasible", "one", "one objective"])
def test_small_explorations_are_pages_too(opened: Opened, kind: str) -> None:
    data = exploration(30)
    points = data["points"]
    keep = {"nothing": 0, "one": 1, "infeasible": 3, "one objective": 30}[kind]
    for name in points:
        points[name] = points[name] if name == "confirmed" else points[name][:keep]
    points["confirmed"] = {}
    data |= {"best": {}, "sensitivity": []}
    if kind == "infeasible":
        points |= {
            "latency": [None] * 3,
            "energy": [None] * 3,
            "area": [None] * 3,
            "reason": ["too large"] * 3,
        }
    if kind == "one objective":
        data["objectives"] = data["objectives"][:1]
    tab = opened(exploration_page(data))
    assert f"{keep} machines" in tab.text("header p")
    assert ("No machine was evaluated." in tab.text("main")) == (kind == "nothing")
