"""Borders of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit import ops
from tosajit.frontends.common.borders import Border, mirrored, padded, replicated
from tosajit.frontends.common.layout import part, sliced
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.operators import MOVED, operator
from tosajit.tracing.tensor import Tensor


@operator("aten.pad.default", types=MOVED)
def pad(
    node: Node, self: Operand, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """A tensor with a border, or without its own: constant, mirrored, repeated or going round."""
    return bordered(self.tensor, pad, mode, value or 0)


@operator("aten.constant_pad_nd.default", types=MOVED)
def constant_pad(node: Node, self: Operand, pad: Sequence[int], value: float = 0) -> Tensor:
    """A tensor with a border of one number."""
    return bordered(self.tensor, pad, "constant", value)


def bordered(value: Tensor, pads: Sequence[int], mode: str, number: float) -> Tensor:
    """A tensor with borders, the last dimension first; those below zero are cut off."""
    if len(pads) % 2 or len(pads) > 2 * value.ndim:
        raise Refused(f"it has {len(pads)} numbers for {value.ndim} dimensions")
    borders: list[Border] = [(0, 0)] * value.ndim
    for place in range(len(pads) // 2):
        borders[-1 - place] = pads[2 * place], pads[2 * place + 1]
    starts = [max(-before, 0) for before, _ in borders]
    sizes = [
        extent - start - max(-behind, 0)
        for extent, start, (_, behind) in zip(value.shape, starts, borders, strict=True)
    ]
    value = sliced(value, starts, sizes)
    borders = [(max(before, 0), max(behind, 0)) for before, behind in borders]
    if mode == "constant":
        return padded(value, borders, number)
    for axis, border in enumerate(borders):
        value = _around(value, axis, border, mode) if any(border) else value
    return value


def _around(value: Tensor, axis: int, border: Border, mode: str) -> Tensor:
    match mode:
        case "reflect":
            return mirrored(value, axis, border, edge=False)
        case "replicate":
            return replicated(value, axis, border)
        case "circular":
            before, behind = border
            extent = value.shape[axis]
            sides = [(extent - before, before), (0, extent), (0, behind)]
            return ops.concat([part(value, axis, start, size) for start, size in sides if size], axis=axis)
    raise Refused(f"its mode {mode!r} is not known")


def _declare(name: str, mode: str, summary: str) -> None:
    def lower(node: Node, self: Operand, padding: Sequence[int]) -> Tensor:
        return bordered(self.tensor, padding, mode, 0)

    lower.__doc__ = summary
    operator(name, types=MOVED)(lower)


_declare(
    "aten.reflection_pad1d.default aten.reflection_pad2d.default aten.reflection_pad3d.default",
    "reflect", "A tensor that goes back behind its ends.",
)  # fmt: skip
_declare(
    "aten.replication_pad1d.default aten.replication_pad2d.default aten.replication_pad3d.default",
    "replicate", "A tensor whose first and last elements are repeated.",
)  # fmt: skip
