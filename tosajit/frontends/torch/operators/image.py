"""Images in another size, and images sampled at places that are computed."""

from __future__ import annotations

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.common.images import Sampling
from tosajit.frontends.common.sampled import on_grid
from tosajit.frontends.common.sampling import Resampling, check_weights, chosen, resampled
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import MOVED, REAL, operator
from tosajit.tracing.tensor import Tensor

_CUBIC = -0.75
_LONGEST = 1 << 20


def _factors(node: Node, count: int) -> list[float]:
    """How far apart outputs are, in elements of the operand: given, or by the extents."""
    given = node.given("scale_factors")
    if given is None:
        names = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}[count]
        given = [node.given(name) for name in names]
    pairs = zip(given, node[0].shape[2:], node.shape[2:], strict=True)
    return [inputs / outputs if not scale else 1 / scale for scale, inputs, outputs in pairs]


def _declare_nearest(count: int, exact: bool) -> None:
    def upsample(node: Node) -> Tensor:
        """Images in another size, each element the nearest one."""
        value = node[0].tensor
        for axis, factor in enumerate(_factors(node, count), 2):
            number = np.arange(node.shape[axis]).astype(np.float32)
            places = np.floor((number + np.float32(0.5 if exact else 0)) * np.float32(factor))
            value = chosen(value, axis, np.minimum(places, node[0].shape[axis] - 1).astype(np.int64))
        return value

    name = f"aten.{'_upsample_nearest_exact' if exact else 'upsample_nearest'}{count}d"
    operator(f"{name}.vec {name}.default", types=MOVED)(upsample)


for _count in (1, 2, 3):
    _declare_nearest(_count, False)
    _declare_nearest(_count, True)


def _sources(inputs: int, outputs: int, factor: float, aligned: bool, cubic: bool) -> Array:
    """Where outputs are, in elements of the operand."""
    if max(inputs, outputs) > _LONGEST:
        raise Refused(f"it makes {outputs} elements of {inputs}, but at most {_LONGEST} are numbered")
    number = np.arange(outputs, dtype=np.float64)
    if aligned:
        return number * ((inputs - 1) / (outputs - 1)) if outputs > 1 else number * 0
    places = (number + 0.5) * factor - 0.5
    return places if cubic else np.maximum(places, 0)


def _linear_weights(places: Array, inputs: int) -> Array:
    weights = np.zeros((len(places), inputs))
    low = np.minimum(np.floor(places).astype(np.int64), inputs - 1)
    share = np.minimum(places - low, 1.0)
    rows = np.arange(len(places))
    np.add.at(weights, (rows, low), 1 - share)
    np.add.at(weights, (rows, np.minimum(low + 1, inputs - 1)), share)
    return weights


def _cubic_weights(places: Array, inputs: int) -> Array:
    weights = np.zeros((len(places), inputs))
    first = np.floor(places).astype(np.int64)
    rows = np.arange(len(places))
    for offset in (-1, 0, 1, 2):
        far = np.abs(places - first - offset)
        near = ((_CUBIC + 2) * far - (_CUBIC + 3)) * far * far + 1
        wide = ((_CUBIC * far - 5 * _CUBIC) * far + 8 * _CUBIC) * far - 4 * _CUBIC
        factors = np.where(far <= 1, near, np.where(far < 2, wide, 0))
        np.add.at(weights, (rows, np.clip(first + offset, 0, inputs - 1)), factors)
    return weights


def _sampling(inputs: int, outputs: int, factor: float, aligned: bool) -> Sampling | None:
    """The same places as fractions, where they are."""
    if aligned and outputs > 1:
        return Sampling(inputs, outputs, outputs - 1, inputs - 1)
    if not aligned and factor == inputs / outputs:
        return Sampling(inputs, outputs, 2 * outputs, 2 * inputs, inputs - outputs)
    return None


def sides_of(node: Node, count: int, cubic: bool = False) -> list[Resampling]:
    """What becomes of each of the last dimensions, whose elements are sums of neighbours."""
    aligned, sides = node.given("align_corners", False), []
    for axis, factor in enumerate(_factors(node, count), 2):
        inputs, outputs = node[0].shape[axis], node.shape[axis]
        check_weights(outputs, inputs)
        places = _sources(inputs, outputs, factor, aligned, cubic)
        weights = (_cubic_weights if cubic else _linear_weights)(places, inputs)
        sampling = None if cubic else _sampling(inputs, outputs, factor, aligned)
        sides.append(Resampling(axis, weights, sampling))
    return sides


def _declare_between(name: str, count: int, cubic: bool, summary: str) -> None:
    def upsample(node: Node) -> Tensor:
        return resampled(node[0].tensor, sides_of(node, count, cubic))

    upsample.__doc__ = summary
    operator(f"aten.{name}.vec aten.{name}.default", types=REAL)(upsample)


for _name, _sides in (("upsample_linear1d", 1), ("upsample_bilinear2d", 2), ("upsample_trilinear3d", 3)):
    _declare_between(_name, _sides, False, "Images in another size, each element between its neighbours.")
_declare_between("upsample_bicubic2d", 2, True, "Images in another size, each element a cubic of neighbours.")


_MODES, _OUTSIDE = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")
"""What the numbers of modes and of paddings say."""


@operator(
    "aten.grid_sampler.default aten.grid_sampler_2d.default aten.grid_sampler_3d.default", types="float32"
)
def grid_sampler(
    node: Node,
    input: Operand,
    grid: Operand,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Tensor:
    """The elements of images at places that a tensor has, from -1 to 1."""
    if interpolation_mode not in range(3) or padding_mode not in range(3):
        raise Refused(f"its mode {interpolation_mode} or its padding {padding_mode} is not known")
    mode, outside = _MODES[interpolation_mode], _OUTSIDE[padding_mode]
    if (mode, outside) == ("cubic", "border"):
        raise Refused(
            "no lowering of cubics that go on beyond the border is written yet", "another padding_mode"
        )
    return on_grid(input.tensor, grid.tensor, mode, outside, align_corners)
