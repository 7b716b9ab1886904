"""Real numbers on a grid of integers, and back, as PT2E writes them; `integers` has what is between."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT32
from tosajit.frontends.common.numbers import nearest_even, typed
from tosajit.frontends.torch.node import Node, Operand, dtype_of
from tosajit.frontends.torch.operators import REAL, operator, refuse
from tosajit.frontends.torch.records import Type
from tosajit.tracing.tensor import Tensor

_TENSORS = "quantized_decomposed.{}_per_tensor.default quantized_decomposed.{}_per_tensor.tensor "
_TENSORS += "quantized_decomposed.{}_per_tensor.tensor2"
_INTEGERS = "int8 uint8 int16 uint16 int32"


def _spread(node: Node, name: str) -> Array:
    """Scales or zero points beside a tensor."""
    given = node.given(name, node.given(f"{name}s"))
    found = given.raw if isinstance(given, Operand) else np.asarray(0 if given is None else given)
    shape = [1] * node[0].rank
    if found.size > 1:
        shape[int(node.arguments["axis"])] = found.size
    return found.reshape(shape)


def _quantized(node: Node) -> Array:
    """The same of elements that are known."""
    scale, point = _spread(node, "scale").astype(np.float32), _spread(node, "zero_point").astype(np.float32)
    steps = np.rint(node[0].raw.astype(np.float32) * (np.float32(1) / scale)) + point
    found: Array = np.clip(steps, node.arguments["quant_min"], node.arguments["quant_max"])
    return found.astype(node.type.storage)


def _dequantized(node: Node) -> Array:
    """The same of integers that are known."""
    centred = node[0].raw.astype(np.int64) - _spread(node, "zero_point").astype(np.int64)
    found: Array = centred.astype(np.float32) * _spread(node, "scale").astype(np.float32)
    return found.astype(node.type.storage)


@operator(f"{_TENSORS.replace('{}', 'quantize')} quantized_decomposed.quantize_per_channel.default",
          types=REAL, fold=_quantized)  # fmt: skip
def quantize(node: Node) -> Operand:
    """Real numbers over a scale, rounded to the even one of two, more by a zero point, within bounds."""
    value = typed(node[0].tensor, FP32)
    inverse = (np.float32(1) / _spread(node, "scale").astype(np.float32)).astype(np.float32)
    steps = nearest_even(ops.mul(value, inverse))
    found = ops.add(steps, _spread(node, "zero_point").astype(np.float32))
    low, high = (float(node.arguments[name]) for name in ("quant_min", "quant_max"))
    return node.of(
        ops.cast(ops.clamp(found, min_val=low, max_val=high), dtype=dtype_of(node.type)), node.type
    )


@operator(f"{_TENSORS.replace('{}', 'dequantize')} quantized_decomposed.dequantize_per_channel.default",
          types=_INTEGERS, fold=_dequantized)  # fmt: skip
def dequantize(node: Node) -> Tensor:
    """Integers less a zero point, times a scale."""
    value = node[0].tensor
    wide = value if value.dtype is INT32 else ops.cast(value, dtype=INT32)
    point = _spread(node, "zero_point").astype(np.int32)
    centred = ops.sub(wide, point) if point.any() else wide
    found = ops.mul(ops.cast(centred, dtype=FP32), _spread(node, "scale").astype(np.float32))
    return found if node.type is Type.FLOAT32 else typed(found, dtype_of(node.type))


refuse(
    "quantized_decomposed.choose_qparams.tensor quantized_decomposed.choose_qparams_symmetric.tensor "
    "quantized_decomposed.choose_qparams_per_token.default "
    "quantized_decomposed.choose_qparams_per_token_asymmetric.default "
    "quantized_decomposed.quantize_per_token.default quantized_decomposed.dequantize_per_token.default "
    "quantized_decomposed.quantize_per_channel_group.default "
    "quantized_decomposed.dequantize_per_channel_group.default torchao.choose_qparams_affine.default "
    "torchao.quantize_affine.default torchao.dequantize_affine.default",
    "its grids are found when the model runs, or change inside of a channel",
    "quantize statically: is_dynamic=False",
)
