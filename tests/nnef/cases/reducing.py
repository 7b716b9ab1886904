"""Reductions and cumulative sums (sections 4.2.6 and 4.2.7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.nnef.cases.case import DRAWN, Array, Attribute, Case, integers, reals

REDUCTIONS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "min_reduce": (np.min, ("real", "int")), "max_reduce": (np.max, ("real", "int")),
    "sum_reduce": (np.sum, ("real", "int")), "prod_reduce": (np.prod, ("real", "int")),
    "mean_reduce": (np.mean, ("real",)), "any_reduce": (np.any, ("bool",)), "all_reduce": (np.all, ("bool",)),
}  # fmt: skip
AXES: tuple[tuple[tuple[int, ...], tuple[int, ...] | None], ...] = (
    ((), None), ((5,), None), ((5,), (0,)), ((3, 4), (1,)), ((3, 4), (-2,)), ((2, 3, 4), (0, 2)),
    ((2, 3, 4), (-1,)), ((2, 3, 4), (2, 0)), ((2, 3, 4), ()), ((2, 3, 4), None), ((2, 3, 1, 4), (1, 2)),
)  # fmt: skip


def _norm(x: Array, p: float, axes: tuple[int, ...], keepdims: bool) -> Array:
    return np.asarray(np.sum(np.abs(x) ** p, axis=axes, keepdims=keepdims) ** (1 / p))


def reductions() -> Iterator[Case]:
    """Every reduction, of every type, along various axes."""
    for shape, given in AXES:
        axes = tuple(range(len(shape))) if given is None else given
        for squeeze in (False, True):
            attributes: dict[str, Attribute] = (
                {"squeeze": squeeze} if given is None else {"axes": given, "squeeze": squeeze}
            )
            for name, (function, types) in REDUCTIONS.items():
                for type in types:

                    def reference(
                        x: Array, function: Any = function, axes: Any = axes, keep: bool = not squeeze
                    ) -> Any:
                        return np.asarray(function(x, axis=axes, keepdims=keep))

                    x = DRAWN[type](*shape)
                    if name == "prod_reduce" and type == "int":
                        x = integers(*shape, low=-2, high=3)
                    yield Case(f"math.{name}", (x,), reference, attributes)
            for p in (1.0, 2.0, 3.0):
                yield Case(
                    "math.lp_reduce",
                    (reals(*shape),),
                    lambda x, p=p, axes=axes, keep=not squeeze: _norm(x, p, axes, keep),
                    {**attributes, "p": p},
                )
            yield Case(
                "math.moments",
                (reals(*shape),),
                lambda x, axes=axes, keep=not squeeze: (
                    np.asarray(np.mean(x, axis=axes, keepdims=keep)),
                    np.asarray(np.var(x, axis=axes, keepdims=keep)),
                ),
                attributes,
            )


def _places(x: Array, axes: tuple[int, ...], squeeze: bool, best: Any) -> Array:
    """Indices along some axes, behind the dimensions that are kept."""
    axes = tuple(axis % x.ndim for axis in axes)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    order = sorted(axes)
    moved = x.transpose(*kept, *order)
    flat = best(moved.reshape(*moved.shape[: len(kept)], -1), axis=-1)
    found = dict(zip(order, np.unravel_index(flat, [x.shape[axis] for axis in order]), strict=True))
    indices = np.stack([found[axis] for axis in axes], -1)
    shape = [1 if axis in axes else x.shape[axis] for axis in range(x.ndim)]
    return indices if squeeze else indices.reshape(*shape, len(axes))


def places() -> Iterator[Case]:
    """Where the least and the greatest are; of equals, the first."""
    for name, best in (("argmin", np.argmin), ("argmax", np.argmax)):
        for squeeze in (False, True):
            for shape, axis in (((5,), 0), ((3, 4), 1), ((2, 3, 4), -2), ((2, 3, 2, 2), 0)):
                for x in (reals(*shape), integers(*shape, low=0, high=3).astype(np.float64)):
                    yield Case(
                        f"math.{name}",
                        (x,),
                        lambda x, best=best, axis=axis, keep=not squeeze: best(x, axis, keepdims=keep),
                        {"axis": axis, "squeeze": squeeze},
                    )
            for shape, axes in (
                ((3, 4), (0, 1)),
                ((2, 3, 4), (1, 2)),
                ((2, 3, 4), (0, 2)),
                ((2, 3, 4), (-1,)),
            ):
                for x in (reals(*shape), integers(*shape, low=0, high=3).astype(np.float64)):
                    yield Case(
                        f"math.{name}_nd",
                        (x,),
                        lambda x, best=best, axes=axes, squeeze=squeeze: _places(x, axes, squeeze, best),
                        {"axes": axes, "squeeze": squeeze},
                    )


def _summed(x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
    turned = np.flip(x, axis) if reverse else x
    found = np.cumsum(turned, axis)
    found = found - turned if exclusive else found
    return np.flip(found, axis) if reverse else found


def cumulative() -> Iterator[Case]:
    """`cumsum`, from both ends."""
    for shape, axis in (((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 2), -1)):
        for exclusive in (False, True):
            for reverse in (False, True):
                yield Case(
                    "math.cumsum",
                    (reals(*shape),),
                    lambda x, axis=axis, exclusive=exclusive, reverse=reverse: _summed(
                        x, axis, exclusive, reverse
                    ),
                    {"axis": axis, "exclusive": exclusive, "reverse": reverse},
                )
