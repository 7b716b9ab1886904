"""Operators that move a window over pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawing import Random, array

from onnx_tests.cases import Drawn, case, chance, integers, one_of

LATER = (22, 23)


@case("Conv")
def convolutions(rng: Random, name: str) -> Drawn:
    """In one to three dimensions, in groups, with all kinds of padding."""
    rank, groups = int(rng.integers(1, 4)), int(one_of(rng, 1, 1, 2, 3))
    inner, outer = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    window = _window(rng, rank)
    given = array(rng, "float32", (int(rng.integers(1, 3)), inner * groups, *_extents(rng, window)))
    weights = array(rng, "float32", (outer * groups, inner, *window["kernel_shape"]))
    bias = (array(rng, "float32", (outer * groups,)),) if chance(rng) else ()
    attributes = window | ({"group": groups} if groups > 1 else {})
    return Drawn((given, weights, *bias), attributes, one_of(rng, (1, 2), (1, 2), ()))


@case("ConvTranspose")
def transposed(rng: Random, name: str) -> Drawn:
    """The other way round."""
    rank, groups = int(one_of(rng, 1, 2, 2, 2)), int(one_of(rng, 1, 1, 2))
    inner, outer = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    window = _window(rng, rank)
    window.pop("auto_pad", None)
    strides = window.get("strides", [1] * rank)
    given = array(
        rng,
        "float32",
        (int(rng.integers(1, 3)), inner * groups, *(int(one) for one in rng.integers(3, 6, rank))),
    )
    weights = array(rng, "float32", (inner * groups, outer, *window["kernel_shape"]))
    if chance(rng, 0.3):
        window["output_padding"] = [int(rng.integers(0, one)) for one in strides]
    return Drawn((given, weights), window | ({"group": groups} if groups > 1 else {}), (1,))


@case("MaxPool AveragePool LpPool")
def pools(rng: Random, name: str) -> Drawn:
    """The greatest, the mean, a norm."""
    rank = int(one_of(rng, 1, 2, 2, 3))
    attributes = _window(rng, rank)
    if chance(rng, 0.3) and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    if name == "AveragePool" and chance(rng):
        attributes["count_include_pad"] = 1
    if name == "LpPool":
        attributes["p"] = int(one_of(rng, 1, 2, 3))
    kind = one_of(rng, "float32", "float32", "int8", "uint8") if name == "MaxPool" else "float32"
    given = array(rng, kind, (int(rng.integers(1, 3)), int(rng.integers(1, 4)), *_extents(rng, attributes)))
    return Drawn((given,), attributes, opsets=LATER)


@case("GlobalAveragePool GlobalMaxPool GlobalLpPool")
def whole(rng: Random, name: str) -> Drawn:
    """One window of all pixels."""
    return Drawn((array(rng, "float32", tuple(int(one) for one in rng.integers(1, 6, rng.integers(3, 6)))),))


@case("LRN")
def responses(rng: Random, name: str) -> Drawn:
    """Numbers over the squares of their neighbours."""
    given = array(rng, "float32", tuple(int(one) for one in rng.integers(1, 6, 4)))
    more = {key: float(rng.uniform(0.1, 1.5)) for key in ("alpha", "beta", "bias") if chance(rng)}
    return Drawn((given,), {"size": int(one_of(rng, 1, 3, 5))} | more)


@case("Resize")
def resized(rng: Random, name: str) -> Drawn:
    """By scales or to sizes, with all ways to find where a pixel comes from."""
    given = array(rng, "float32", (1, int(rng.integers(1, 3)), *(int(one) for one in rng.integers(2, 6, 2))))
    mode = one_of(rng, "nearest", "linear", "linear", "cubic")
    attributes: dict[str, Any] = {
        "mode": mode,
        "coordinate_transformation_mode": one_of(
            rng, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"
        ),
    }
    if mode == "nearest":
        attributes["nearest_mode"] = one_of(rng, "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    if mode == "cubic" and chance(rng):
        attributes["cubic_coeff_a"] = -0.5
    # ONNX Runtime aligns corners of the whole extent, ONNX's formula and evaluator those of the one by scale.
    if attributes["coordinate_transformation_mode"] != "align_corners" and chance(rng):
        scales = np.array([1, 1, *(one_of(rng, 0.5, 2.0, 1.5, 3.0, 1.0) for _ in range(2))], np.float32)
        return Drawn((given, None, scales), attributes, (2,))
    sizes = integers(*given.shape[:2], *(int(rng.integers(1, 9)) for _ in range(2)))
    return Drawn((given, None, None, sizes), attributes, (3,))


@case("GridSample")
def sampled(rng: Random, name: str) -> Drawn:
    """Pixels at places between others."""
    n, c, h, w, rows, columns = (int(one) for one in rng.integers(1, 6, 6))
    attributes = {
        "mode": one_of(rng, "linear", "nearest"),
        "padding_mode": one_of(rng, "zeros", "border", "reflection"),
        "align_corners": int(chance(rng)),
    }
    given = array(rng, "float32", (n, c, h, w)), array(rng, "float32", (n, rows, columns, 2), -1.4, 1.4)
    return Drawn(given, attributes, opsets=LATER)


def _window(rng: Random, rank: int) -> dict[str, Any]:
    kernel = [int(one) for one in rng.integers(1, 4, rank)]
    found: dict[str, Any] = {"kernel_shape": kernel}
    if chance(rng, 0.6):
        found["strides"] = [int(one) for one in rng.integers(1, 4, rank)]
    if chance(rng, 0.3):
        found["dilations"] = [int(one) for one in rng.integers(1, 3, rank)]
    how = rng.random()
    if how < 0.4:
        found["pads"] = [int(rng.integers(0, one)) for one in kernel * 2]
    elif how < 0.6 and "dilations" not in found:
        found["auto_pad"] = one_of(rng, "SAME_UPPER", "SAME_LOWER", "VALID")
    return found


def _extents(rng: Random, window: dict[str, Any]) -> tuple[int, ...]:
    """At least as many pixels as the window covers."""
    reach = [
        (size - 1) * wide + 1
        for size, wide in zip(window["kernel_shape"], window.get("dilations", [1] * 3), strict=False)
    ]
    return tuple(one + int(rng.integers(0, 5)) for one in reach)
