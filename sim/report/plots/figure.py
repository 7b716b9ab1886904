"""What pictures have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from sim.report.values import ReportError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from matplotlib.transforms import Transform

GRID: dict[str, Any] = {"color": "#b0b0b0", "linewidth": 0.6, "alpha": 0.6}


def figure(width: float, height: float) -> Figure:
    """An empty figure that keeps its labels inside. It belongs to nobody else: pyplot does not know it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ReportError("pictures need matplotlib: pip install 'tosajit[notebook]'") from None

    made = Figure(figsize=(width, height), layout="constrained", dpi=110, facecolor="white")
    made.__class__ = _shown(Figure)
    return made


def _shown(base: type) -> type:
    """The kind of figure that notebooks show without pyplot."""

    def png(self: Figure) -> bytes:
        from io import BytesIO

        file = BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()

    return type("Picture", (base,), {"_repr_png_": png})


def tidy(axes: Axes, grid: Literal["both", "x", "y"] = "both") -> None:
    """No frame at the top and the right, and a light grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, axis=grid, **GRID)
    axes.set_axisbelow(True)


def shifted(axes: Axes, right: float, up: float) -> Transform:
    """Coordinates of data, so many points further right and up."""
    from matplotlib.figure import Figure
    from matplotlib.transforms import offset_copy

    assert isinstance(axes.figure, Figure)
    return offset_copy(axes.transData, axes.figure, right, up, units="points")


def patch(**options: Any) -> Patch:
    """A box for a legend."""
    from matplotlib.patches import Patch

    return Patch(**options)


def limit(axes: Axes, value: float, text: str) -> None:
    """A line for what there is at most."""
    axes.axhline(value, color="black", lw=1, ls="--")
    axes.set_ylim(top=max(axes.get_ylim()[1], 1.25 * value))
    axes.annotate(
        text,
        (1, value),
        (-3, 2),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        ha="right",
        fontsize=8,
    )


def scaled_by(factor: float) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """The functions of a second axis, whose numbers are so many times those of the first."""
    return lambda value: value * factor, lambda value: value / factor


def clean(text: str) -> str:
    """Text that matplotlib does not take for a formula, and has glyphs for."""
    known = "".join(letter if ord(letter) < 0x2E80 else "?" for letter in text)
    return known.replace("$", r"\$")


def time_axis(seconds: float) -> tuple[float, str]:
    """A factor and a unit for times up to so many seconds."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= 2 * factor:
            return factor, unit
    return 1e-9, "ns"
