"""Attention, and the embeddings of places that go with it."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from tiling.records import dataclass
from tosajit import ops
from tosajit.dtypes import BOOL, FP32, INT32, DType
from tosajit.frontends.common.borders import padded
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.einsum import product
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.indices import numbered
from tosajit.frontends.common.layout import part, reshaped, transposed
from tosajit.frontends.common.numbers import number, typed
from tosajit.frontends.common.softmax import softmax
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.attributes import Attributes
from tosajit.frontends.onnx.node import Node, dtype_of
from tosajit.frontends.onnx.operators import REAL, operator
from tosajit.frontends.onnx.schema import Type
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class AttentionAttributes(Attributes):
    """The heads, which places see which, and what the scores are."""

    is_causal: bool = False
    kv_num_heads: int | None = None
    q_num_heads: int | None = None
    qk_matmul_output_mode: int = 0
    scale: float | None = None
    softcap: float = 0.0
    softmax_precision: int | None = None
    left_window_size: int = -1
    right_window_size: int = -1


@operator("Attention", AttentionAttributes, types=REAL)
def attention(node: Node, options: AttentionAttributes) -> tuple[Tensor, ...]:
    """Values weighted by how well their keys fit queries; earlier keys and values may come from a cache."""
    unknown = sorted(set(node.record.attributes) - set(AttentionAttributes.__dataclass_fields__))
    if unknown:
        raise Refused(f"its attributes {', '.join(unknown)} are not known")
    query, key, value = (_heads(node, place, options) for place in range(3))
    past = 0
    if node.optional(4) is not None:
        past = node[4].shape[2]
        key = ops.concat([node[4].tensor, key], axis=2)
        value = ops.concat([node[5].tensor, value], axis=2)
    scores, shown = _scores(node, options, query, key, past)
    kind = Type(options.softmax_precision) if options.softmax_precision else None
    shares = _softmax(scores, query.dtype if kind is None else dtype_of(kind), query.dtype)
    if options.qk_matmul_output_mode == 3:
        shown = shares
    result = product(shares, _repeated(value, query.shape[1]))
    if node[0].rank == 3:
        result = transposed(result, (0, 2, 1, 3))
        result = reshaped(result, (*result.shape[:2], -1))
    return result, key, value, shown


def _heads(node: Node, place: int, options: AttentionAttributes) -> Tensor:
    """Queries, keys or values by heads."""
    tensor = node[place].tensor
    if tensor.ndim == 4:
        return tensor
    heads = options.kv_num_heads if place else options.q_num_heads
    if tensor.ndim != 3 or not heads:
        raise Refused(f"its operand {place} has {tensor.ndim} dimensions, and no number of heads")
    return transposed(reshaped(tensor, (*tensor.shape[:2], heads, -1)), (0, 2, 1, 3))


def _repeated(value: Tensor, heads: int) -> Tensor:
    """Keys or values for each head of queries: several of these share one."""
    batch, own, length, depth = value.shape
    if own == heads:
        return value
    apart = ops.tile(reshaped(value, (batch, own, 1, length * depth)), (1, 1, heads // own, 1))
    return reshaped(apart, (batch, heads, length, depth))


def _scores(
    node: Node, options: AttentionAttributes, query: Tensor, key: Tensor, past: int
) -> tuple[Tensor, Tensor]:
    """How well keys fit queries, with what may not be seen masked, and what of it is a result."""
    scale = options.scale if options.scale is not None else 1 / sqrt(query.shape[-1])
    root = sqrt(abs(scale))
    turned = transposed(_repeated(key, query.shape[1]), (0, 1, 3, 2))
    left = ops.mul(query, number(query, root * (1 if scale >= 0 else -1)))
    scores = product(left, ops.mul(turned, number(turned, root)))
    capped = scores
    if options.softcap:
        capped = ops.tanh(ops.mul(scores, number(scores, 1 / options.softcap)))
        capped = ops.mul(capped, number(capped, options.softcap))
    masked = _masked(node, options, capped, past)
    mode = options.qk_matmul_output_mode
    if not 0 <= mode <= 3:
        raise Refused(f"its mode {mode} of results is not known")
    return masked, (scores, capped, masked, masked)[mode]


def _masked(node: Node, options: AttentionAttributes, scores: Tensor, past: int) -> Tensor:
    length, whole = scores.shape[2:]
    mask = node.optional(3)
    if mask is not None:
        tensor = _to_end(mask.tensor, whole)
        if tensor.dtype is BOOL:
            seen = aligned(tensor, scores)[0]
            scores = ops.select(seen, scores, number(scores, -inf))
        else:
            scores = ops.add(*aligned(scores, tensor))
    padding = node.optional(6)
    if padding is not None:
        counts = padding.tensor if padding.dtype is INT32 else ops.cast(padding.tensor, dtype=INT32)
        rows = reshaped(counts, (-1, 1, 1, 1))
        seen = ops.greater(rows, numbered(whole, 3, 4))
        scores = ops.select(seen, scores, number(scores, -inf))
    inside = _window(options, length, whole, past, rows if padding is not None else None)
    return scores if inside is None else ops.select(inside, scores, number(scores, -inf))


def _window(
    options: AttentionAttributes, length: int, whole: int, past: int, counts: Tensor | None
) -> Tensor | None:
    """Which keys each query may see, by how far they are behind it; None is all."""
    bounds = [
        (options.left_window_size, 1),
        (0 if options.is_causal else options.right_window_size, -1),
    ]
    if all(bound < 0 for bound, _ in bounds):
        return None
    first: Tensor = ops.const(np.full((1, 1, 1, 1), past, np.int32))
    if counts is not None:
        first = ops.sub(counts, np.full((1, 1, 1, 1), length, np.int32))
    behind = ops.sub(ops.add(first, numbered(length, 2, 4)), numbered(whole, 3, 4))
    seen: Tensor | None = None
    for bound, side in bounds:
        if bound >= 0:
            far = behind if side > 0 else -behind
            near = ops.greater_equal(ops.const(number(far, bound)), far)
            seen = near if seen is None else ops.logical_and(seen, near)
    return seen


def _to_end(mask: Tensor, whole: int) -> Tensor:
    """A mask for all keys: those behind its end may not be seen."""
    missing = whole - mask.shape[-1]
    if missing <= 0 or mask.shape[-1] == 1:
        return mask
    borders = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
    return padded(mask, borders, False if mask.dtype is BOOL else -inf)


def _softmax(scores: Tensor, dtype: DType, result: DType) -> Tensor:
    """Softmax; where nothing may be seen, all are 0."""
    value = _cast(scores, dtype)
    most = ops.reduce_max(value, axis=3)
    blind = ops.equal(most, number(most, -inf))
    shares = softmax(ops.select(blind, number(value, 0), value), 3)
    shares = ops.select(blind, number(shares, 0), shares)
    return _cast(shares, result)


def _cast(value: Tensor, dtype: DType) -> Tensor:
    """Real numbers in another type: TOSA has a way between narrow ones only through float32."""
    return value if value.dtype is dtype else typed(typed(value, FP32), dtype)


@dataclass(frozen=True, slots=True)
class RotaryAttributes(Attributes):
    """Which elements are turned with which, and how many."""

    interleaved: bool = False
    num_heads: int = 0
    rotary_embedding_dim: int = 0


@operator("RotaryEmbedding", RotaryAttributes, types=REAL)
def rotary(node: Node, options: RotaryAttributes) -> Tensor:
    """Pairs of elements turned by the angles of their places."""
    value = node[0].tensor
    if value.ndim == 3:
        if not options.num_heads:
            raise Refused("its operand has 3 dimensions, and it no number of heads")
        rows = reshaped(value, (*value.shape[:2], options.num_heads, -1))
    else:
        rows = transposed(value, (0, 2, 1, 3))
    size = options.rotary_embedding_dim or rows.shape[3]
    turned, rest = part(rows, 3, 0, size), size < rows.shape[3]
    cosine, sine = (_angles(node, place, size // 2) for place in (1, 2))
    first, second = _pair(turned, options.interleaved)
    real = ops.sub(ops.mul(first, cosine), ops.mul(second, sine))
    imag = ops.add(ops.mul(first, sine), ops.mul(second, cosine))
    found = _joined(real, imag, options.interleaved)
    if rest:
        found = ops.concat([found, part(rows, 3, size, rows.shape[3] - size)], axis=3)
    return reshaped(found, value.shape) if value.ndim == 3 else transposed(found, (0, 2, 1, 3))


def _angles(node: Node, place: int, size: int) -> Tensor:
    """The cosines or sines of each place: batches, places, one head, pairs."""
    table, places = node[place].tensor, node.optional(3)
    if places is not None:
        table = gathered(table, places.tensor, 0)
    return reshaped(part(table, 2, 0, size), (*table.shape[:2], 1, size))


def _pair(value: Tensor, interleaved: bool) -> tuple[Tensor, Tensor]:
    half = value.shape[3] // 2
    if not interleaved:
        return part(value, 3, 0, half), part(value, 3, half, half)
    pairs = reshaped(value, (*value.shape[:3], half, 2))
    first, second = (reshaped(part(pairs, 4, place, 1), (*value.shape[:3], half)) for place in (0, 1))
    return first, second


def _joined(first: Tensor, second: Tensor, interleaved: bool) -> Tensor:
    if not interleaved:
        return ops.concat([first, second], axis=3)
    shape = (*first.shape, 1)
    pairs = ops.concat([reshaped(first, shape), reshaped(second, shape)], axis=4)
    return reshaped(pairs, (*first.shape[:3], 2 * first.shape[3]))
