"""Pictures of the page: predicted against reference, and how far off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from validating.figures import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444")
MARKERS = "osD^vP*"
FAR = 6
"""So many times the band from the line, scales become logarithmic outside of the band."""


def scatter(path: Path, title: str, series: Mapping[str, Sequence[Figure]], unit: str, band: float) -> None:
    """Predicted over reference on the left, the ratio on the right, with the band that is asked."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.6), constrained_layout=True)
    for (name, figures), colour, marker in zip(series.items(), COLOURS, MARKERS, strict=False):
        known = [(f.reference, f.predicted) for f in figures if f.predicted and f.reference]
        if not known:
            continue
        references, predictions = zip(*known, strict=True)
        ratios = [100 * (p / r - 1) for r, p in known]
        style = {"color": colour, "marker": marker, "s": 18, "alpha": 0.8, "linewidths": 0}
        left.scatter(references, predictions, label=name, **style)
        right.scatter(references, ratios, label=name, **style)
    low, high = left.get_xlim()
    left.set_xscale("log")
    left.set_yscale("log")
    right.set_xscale("log")
    low, high = left.get_xlim()
    left.plot([low, high], [low, high], color="black", linewidth=0.8)
    left.set_xlim(low, high)
    if band:
        right.axhspan(-100 * band, 100 * band, color="black", alpha=0.08, linewidth=0)
        bounds = [[edge * (1 + sign * band) for edge in (low, high)] for sign in (-1, 1)]
        left.fill_between([low, high], *bounds, color="black", alpha=0.08, linewidth=0)
        furthest = max(abs((f.ratio or 1) - 1) for figures in series.values() for f in figures)
        if furthest > FAR * band:
            right.set_yscale("symlog", linthresh=100 * band)
            right.yaxis.set_major_formatter("{x:+g}")
    right.axhline(0, color="black", linewidth=0.8)
    left.set(xlabel=f"reference [{unit}]", ylabel=f"predicted [{unit}]", title=title)
    right.set(xlabel=f"reference [{unit}]", ylabel="predicted − reference [%]", title="how far off")
    left.legend(fontsize=8)
    save(figure, path)


def bars(path: Path, title: str, figures: Sequence[Figure], unit: str) -> None:
    """Predicted beside reference; the line on a reference is the bound."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [figure for figure in figures if figure.predicted is not None]
    figure, axes = pyplot.subplots(figsize=(9, 0.55 * len(shown) + 1.4), constrained_layout=True)
    places = range(len(shown))
    references = [f.reference for f in shown]
    bounded = [(p + 0.2, f.reference, f.bound * f.reference) for p, f in enumerate(shown) if f.bound]
    axes.barh([p + 0.2 for p in places], references, 0.36, color=COLOURS[0], label="reference, with bound")
    for place, reference, error in bounded:
        axes.errorbar(reference, place, xerr=error, ecolor="black", capsize=3, linewidth=1)
    predictions = [f.predicted or 0 for f in shown]
    axes.barh([p - 0.2 for p in places], predictions, 0.36, color=COLOURS[1], label="predicted")
    axes.set_yticks(list(places), [f.case for f in shown], fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel=unit, title=title)
    axes.legend(fontsize=8)
    save(figure, path)


def save(figure: Drawing, path: Path) -> None:
    """Write a picture without a date in it, so that the same figures give the same file."""
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close("all")
