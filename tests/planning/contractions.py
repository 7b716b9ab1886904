"""Contractions drawn at random: convolutions of all kinds and products of matrices, in any layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from hypothesis import strategies as st

from tiling.expr import acc, call, read
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Write

KEPT = ("g", "n", "y", "x", "d", "f")
"""Groups, images, rows, columns, channels of a depthwise convolution, filters."""
REDUCED = ("v", "u", "c")
"""Rows and columns of the window, channels."""


@dataclass(frozen=True)
class Line:
    """A dimension that a window slides along."""

    outputs: int
    taps: int
    stride: int
    dilation: int
    padding: int
    cut: int
    """Elements that are missing behind."""

    @property
    def extent(self) -> int:
        """Elements of the input."""
        reach = (self.outputs - 1) * self.stride + (self.taps - 1) * self.dilation + 1
        return max(1, reach - self.padding - self.cut)


@dataclass(frozen=True)
class Drawn:
    """A contraction, what it was drawn from, and operands for it."""

    nest: Nest
    extents: Mapping[str, int]
    lines: Mapping[str, Line]
    """By the axis of its positions."""
    channels_last: bool
    flat: bool
    """Whether columns and channels of the feature map are one dimension."""
    swapped: bool
    arrays: Mapping[str, np.ndarray]

    def axis(self, name: str) -> int | None:
        """The place of an axis in the nest, if it is there."""
        return next((place for place, axis in enumerate(self.nest.axes) if axis.name == name), None)


lines = st.builds(
    Line, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 2),
    st.integers(0, 1),
)  # fmt: skip


@st.composite
def contractions(draw: st.DrawFn, without: str = "", flat: bool = False) -> Drawn:
    """A nest with its operands; most axes of a convolution may be missing, and those of `without` are.

    With `flat` columns and channels of the feature map are one dimension for sure.
    """
    slid = {"y": draw(lines), "x": draw(lines)}
    extents = {name: draw(st.integers(1, 4)) for name in ("g", "n", "f")}
    extents |= {name: draw(st.integers(2, 4)) for name in ("c", "d")}
    for (name, line), window in zip(slid.items(), ("v", "u"), strict=True):
        extents |= {name: line.outputs, window: line.taps}
    depthwise = "c" in without or draw(st.booleans())
    names = {"n", "y", "v", "x", "u", "f", "d" if depthwise else "c"}
    names |= {"g"} if draw(st.booleans()) else set()
    names -= {*without, *draw(st.lists(st.sampled_from("nfyvu"), max_size=3))}
    kept = draw(st.permutations([name for name in KEPT if name in names]))
    reduced = draw(st.permutations([name for name in REDUCED if name in names]))
    axes = [*kept, *reduced]
    padded = not flat and draw(st.booleans())
    if not padded:
        slid = {
            name: Line(one.outputs, one.taps, one.stride, one.dilation, 0, 0) for name, one in slid.items()
        }
    layout = ["g", "n", "rows", "columns", "d" if depthwise else "c"]
    layout = [name for name in layout if name in names or name in ("rows", "columns")]
    if not flat:
        layout = draw(st.sampled_from([layout, draw(st.permutations(layout))]))
    flat = not padded and layout[-2] == "columns" and layout[-1] in extents and (flat or draw(st.booleans()))
    shape, index = _feature_map(layout, axes, extents, slid)
    if flat:
        last = extents[layout[-1]]
        shape = (*shape[:-2], shape[-2] * last)
        index = (*index[:-2], index[-2] * last + index[-1])
    return _drawn(draw, axes, len(kept), extents, slid, (layout, shape, index, flat), padded)


def _feature_map(
    layout: Sequence[str], axes: Sequence[str], extents: Mapping[str, int], slid: Mapping[str, Line]
) -> tuple[tuple[int, ...], tuple[Affine, ...]]:
    shape, index = [], []
    for name in layout:
        line = slid.get({"rows": "y", "columns": "x"}.get(name, ""))
        if line is None:
            shape.append(extents[name])
            index.append(Affine(tuple(int(axis == name) for axis in axes)))
            continue
        place, tap = ("y", "v") if name == "rows" else ("x", "u")
        steps = {place: line.stride, tap: line.dilation}
        shape.append(line.extent)
        index.append(Affine(tuple(steps.get(axis, 0) for axis in axes), -line.padding))
    return tuple(shape), tuple(index)


def _drawn(
    draw: st.DrawFn,
    axes: Sequence[str],
    outer: int,
    extents: Mapping[str, int],
    slid: Mapping[str, Line],
    given: tuple[Sequence[str], tuple[int, ...], tuple[Affine, ...], bool],
    padded: bool,
) -> Drawn:
    layout, shape, index, flat = given
    order = draw(st.permutations([name for name in axes if name not in ("n", "y", "x")]))
    zero = Access("zero", "i32", (1,), (Affine((0,) * len(axes)),))
    left = Access("data", "i32", shape, index, read(2, "i32") if padded else None)
    right = Access("weights", "i32", *_dense(order, axes, extents))
    swapped = draw(st.booleans())
    first = call("sub_i32", read(1 if swapped else 0, "i32"), read(2, "i32"), type="i32")
    factors = (first, read(0 if swapped else 1, "i32"))
    product = call("mul_i32", *(factors[::-1] if swapped else factors), type="i32")
    write = Access("result", "i32", *_dense(axes[:outer], axes, extents))
    reads = (right, left, zero) if swapped else (left, right, zero)
    nest = Nest(
        "contract",
        tuple(Axis(name, extents[name], place >= outer) for place, name in enumerate(axes)),
        reads,
        (Write(write, acc("i32")),),
        Reduction("add", 0, "i32", product),
    )
    values = np.random.default_rng(draw(st.integers(0, 99)))
    arrays = {access.operand: values.integers(-9, 9, prod(access.shape)).astype(np.int32) for access in reads}
    last = layout[-1] not in ("rows", "columns", "n", "g")
    return Drawn(nest, extents, slid, last, flat, swapped, arrays)


def _dense(
    order: Sequence[str], axes: Sequence[str], extents: Mapping[str, int]
) -> tuple[tuple[int, ...], tuple[Affine, ...]]:
    """The shape of an operand with a dimension for each axis of an order, and its index."""
    shape = tuple(extents[name] for name in order)
    return shape, tuple(Affine(tuple(int(axis == name) for axis in axes)) for name in order)
