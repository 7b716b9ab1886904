"""Pictures: that they can be drawn, that axes have units, and that colours are told apart."""

from __future__ import annotations

import colorsys
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from sim.report import SPENT, OperatorReport, Report, ReportError, Span
from sim.report.style import CAUSE_COLOURS, OPERATOR_COLOURS, UNIT_COLOURS
from tests.sim.reports import empty, report
from tiling.expr import read
from tiling.nest import Access, Axis, Nest, Write, identity
from tiling.program import Image, Loop, Operand, Program, Section
from tiling.target import Target

ROOT = Path(__file__).parents[2]
matplotlib = pytest.importorskip("matplotlib", reason="pip install '.[notebook]'")

PNG = b"\x89PNG\r\n"


def copying() -> Program:
    """Two sections that copy 64 bytes, the value between them in the scratchpad."""
    access = {name: Access(name, "i8", (64,), identity(1)) for name in "xyz"}
    operands = {
        "x": Operand("x", "i8", 64, "input"),
        "y": Operand("y", "i8", 64, "temporary", 512, "scratchpad"),
        "z": Operand("z", "i8", 64, "output"),
    }

    def section(source: str, target: str, images: tuple[Image | None, Image | None]) -> Section:
        nest = Nest(
            "move",
            (Axis("i", 64),),
            (access[source],),
            (Write(access[target], read(0, "i8")),),
            None,
            (target,),
        )
        return Section(nest, (Loop(0, 16, 4),), images)

    image = Image(0, (16,), 16, 1, 2)
    sections = (section("x", "y", (image, None)), section("y", "z", (None, replace(image, address=128))))
    return Program(Target("tiny", scratch_bytes=1024), operands, sections, 0, 576)


def copied() -> Report:
    parts = tuple(
        OperatorReport(
            f"move{n}", (f"move{n}",), (n,), "dma", {"compute": 100}, start=90 * n, end=100 * (n + 1)
        )
        for n in range(2)
    )
    spans = (
        Span("dma", "move0", "load", 0, 20, 22, 4, 16),
        Span("dma", "move1", "store", 110, 20, 22, 4, 16),
    )
    occupancy = ((0, 32), (100, 96), (200, 0))
    return replace(
        empty(),
        cycles=200,
        operators=parts,
        busy={"dma": 160},
        timeline=spans,
        scratchpad_bytes=1024,
        peak_scratchpad_bytes=96,
        occupancy=occupancy,
    )


LABELS = {
    "roofline": ["operational intensity in MACs for each off-chip byte", "attained MACs a cycle"],
    "timeline": ["scratchpad\nin KiB", "time in µs", "off-chip\nin GB/s"],
    "stalls": ["cycles"],
}


def labels(figure: Any) -> list[str]:
    return [label for axes in figure.axes for label in (axes.get_xlabel(), axes.get_ylabel()) if label]


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("name", ["roofline", "timeline", "stalls"])
def test_pictures_are_drawn_with_units(name: str, count: int) -> None:
    figure = getattr(report(count, tiles=30).plot, name)()
    assert figure._repr_png_().startswith(PNG)
    assert labels(figure) == LABELS[name]


def test_the_map_of_the_scratchpad_is_drawn_with_units() -> None:
    figure = copied().plot.scratchpad(copying())
    assert figure._repr_png_().startswith(PNG)
    assert labels(figure) == ["time in ns", "address in bytes"]
    (axes,) = figure.axes
    places = {(p.get_x(), p.get_y(), p.get_width(), p.get_height()) for p in axes.patches[:3]}
    assert places == {(0, 512, 200, 64), (0, 0, 100, 32), (90, 128, 110, 32)}


def test_the_map_needs_the_program_of_the_report() -> None:
    with pytest.raises(ReportError, match="not of this program"):
        report(1).plot.scratchpad(copying())
    with pytest.raises(ReportError, match="sum of 2 programs"):
        Report.joined([copied(), copied()]).plot.scratchpad(copying())


def test_comparisons_are_drawn() -> None:
    figure = report().compare(report(machine="other", seed=1)).plot()
    assert figure._repr_png_().startswith(PNG)
    assert labels(figure) == ["time in µs"]


def test_a_part_of_the_timeline_can_be_drawn() -> None:
    made = report()
    axes = made.plot.timeline(1_000, 20_000).axes[0]
    assert axes.get_xlim() == (2.0, 40.0)
    with pytest.raises(ReportError, match="cycles 5 to 5 are not within 0 to"):
        made.plot.timeline(5, 5)


def test_pictures_of_nothing() -> None:
    with pytest.raises(ReportError, match="needs operators with MACs"):
        empty().plot.roofline()
    with pytest.raises(ReportError, match="nothing"):
        empty().plot.timeline()
    assert empty().plot.stalls()._repr_png_()


@pytest.mark.parametrize("name", ["$x_1$", "$", "名", "🙂", "a" * 500, "\n", "_private"])
def test_names_may_be_any_text(name: str) -> None:
    made = report(2)
    made = replace(
        made,
        program=name,
        operators=tuple(replace(one, label=name) for one in made.operators),
        timeline=tuple(replace(span, label=name) for span in made.timeline),
    )
    for figure in (made.plot.roofline(), made.plot.timeline(), made.plot.stalls(), made.compare(made).plot()):
        figure.draw_without_rendering()


def test_legends_are_beside_the_picture() -> None:
    for figure in (report().plot.roofline(), report().plot.stalls(), copied().plot.scratchpad(copying())):
        figure.draw_without_rendering()
        axes = figure.axes[0]
        assert axes.get_legend().get_window_extent().x0 > axes.get_window_extent().x1


def far(one: str, other: str) -> float:
    """Distance of colours in a space that is nearly even to the eye: weighted RGB."""
    (r, g, b), (s, h, c) = ([int(text[n : n + 2], 16) for n in (1, 3, 5)] for text in (one, other))
    return float((2 * (r - s) ** 2 + 4 * (g - h) ** 2 + 3 * (b - c) ** 2) ** 0.5)


@pytest.mark.parametrize("colours", [CAUSE_COLOURS.values(), UNIT_COLOURS.values(), OPERATOR_COLOURS])
def test_colours_are_told_apart(colours: Any) -> None:
    assert all(far(one, other) > 100 for one, other in combinations(colours, 2))
    assert all(
        0.2 < colorsys.rgb_to_hls(*(int(c[n : n + 2], 16) / 255 for n in (1, 3, 5)))[1] < 0.8 for c in colours
    )


def test_every_cause_has_a_colour() -> None:
    assert tuple(CAUSE_COLOURS) == SPENT


def test_matplotlib_is_asked_for_where_it_is_missing() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.figure'] = None\n"
        "from tests.sim.reports import report\nfrom sim.report import ReportError\n"
        "str(report()), report().to_html()\n"
        "try: report().plot.stalls()\nexcept ReportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "pictures need matplotlib: pip install 'tosajit[notebook]'\n"


def test_reports_import_no_matplotlib_and_pictures_no_pyplot() -> None:
    code = (
        "import sys; from tests.sim.reports import report\nmade = report(); str(made); made.to_html()\n"
        "print('matplotlib' in sys.modules)\nmade.plot.stalls()\nprint('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "False\nFalse\n"
