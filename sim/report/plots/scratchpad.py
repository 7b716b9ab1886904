"""The scratchpad over time: which addresses hold what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.report.contents import contents
from sim.report.plots.figure import clean, figure, limit, patch, tidy, time_axis
from sim.report.style import CONTENT_COLOURS, CONTENT_NAMES
from sim.report.text import headline
from sim.report.values import Account, Content
from sim.report.words import size
from tiling.program import Program
from tiling.words import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def scratchpad(report: Account, program: Program) -> Figure:
    """A box for all that is kept there; tiles that pass through are hatched."""
    boxes = contents(report, program)
    made = figure(11, 5)
    axes = made.subplots()
    factor, unit = time_axis(report.latency_seconds)
    scale = 1 / report.clock_hz / factor
    top = max([box.address + box.bytes for box in boxes] + [program.scratch_bytes, 1])
    share, name = (1, "bytes") if top < 4096 else (1024, "KiB")
    for box in boxes:
        _draw(axes, box, scale, report.cycles, top, share)
    there = report.scratchpad_bytes
    if there and there <= 2 * top:
        limit(axes, there / share, size(there))
    axes.set_xlim(0, max(report.cycles, 1) * scale)
    axes.set_ylim(0, max(top, there if there <= 2 * top else 0) * 1.06 / share)
    axes.set_xlabel(f"time in {unit}")
    axes.set_ylabel(f"address in {name}")
    tidy(axes)
    found = {box.kind for box in boxes}
    patches = [
        patch(facecolor=CONTENT_COLOURS[kind], label=words)
        for kind, words in CONTENT_NAMES.items()
        if kind in found
    ]
    if any(box.copy for box in boxes):
        patches.append(patch(facecolor="white", edgecolor="#505050", hatch="////", label="in tiles"))
    axes.legend(handles=patches, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    made.suptitle(clean(headline(report)), fontsize=10)
    return made


def _draw(axes: Axes, box: Content, scale: float, cycles: int, top: int, share: int) -> None:
    width = (box.last - box.first) * scale
    axes.add_patch(
        _rectangle(
            (box.first * scale, box.address / share),
            width,
            box.bytes / share,
            facecolor=CONTENT_COLOURS[box.kind],
            edgecolor="white" if not box.copy else "#505050",
            linewidth=0.6,
            hatch="////" if box.copy else None,
            alpha=0.9,
        )
    )
    letters = int(125 * (box.last - box.first) / max(cycles, 1))
    name = plain(box.name)
    if len(name) <= letters and box.bytes > top / 28:
        axes.text(
            box.first * scale + width / 2,
            (box.address + box.bytes / 2) / share,
            clean(name),
            ha="center",
            va="center",
            fontsize=7.5,
            bbox={"facecolor": CONTENT_COLOURS[box.kind], "edgecolor": "none", "pad": 1}
            if box.copy
            else None,
        )


def _rectangle(*arguments: Any, **options: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(*arguments, **options)
