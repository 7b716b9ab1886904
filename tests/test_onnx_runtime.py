"""Operators that ONNX Runtime's optimizer writes, by the formulas of those in whose place they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import erf
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.onnx_cases.files import TYPES, RawGraph, RawNode, RawValue, model

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(17)


def real(*shape: int) -> Array:
    """Drawn numbers."""
    return RNG.standard_normal(shape).astype(np.float32)


def drawn(dtype: type, *shape: int) -> Array:
    """Drawn bytes."""
    bounds = np.iinfo(dtype)
    return RNG.integers(bounds.min, bounds.max + 1, shape).astype(dtype)


def gelu(x: Array) -> Array:
    """Numbers times how probable smaller ones are."""
    found: Array = x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))
    return found


def fast_gelu(x: Array) -> Array:
    """The same by an approximation."""
    found: Array = x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return found


def normal(x: Array) -> Array:
    """Rows with a mean of 0 and a variance of 1."""
    found: Array = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
    return found


def attended(q: Array, k: Array, v: Array, heads: int, bias: Array | float = 0.0) -> Array:
    """Values weighted by the softmax of scores."""
    q, k, v = (one.reshape(*one.shape[:2], heads, -1).swapaxes(1, 2) for one in (q, k, v))
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[-1]) + bias
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    found = (shares / shares.sum(-1, keepdims=True)) @ v
    rows: Array = found.swapaxes(1, 2).reshape(found.shape[0], found.shape[2], -1)
    return rows


def three(x: Array, *places: int) -> tuple[Array, Array, Array]:
    """Queries, keys and values that are beside each other."""
    q, k, v = np.split(x, places, -1)
    return q, k, v


MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)


def hidden(mask: Array) -> Array:
    """What a mask adds to scores."""
    return np.where(mask, 0.0, -10000.0)[:, None, None, :]


@dataclass(frozen=True)
class Case:
    """A node, its operands in their order, and a formula of these."""

    op: str
    given: Mapping[str, Array]
    formula: Callable[..., Array]
    attributes: Mapping[str, Any] = field(default_factory=dict)


CASES = [
    Case("FusedMatMul", {"a": real(2, 5, 3), "b": real(2, 4, 5)},
         lambda a, b: 0.25 * a.swapaxes(1, 2) @ b.swapaxes(1, 2), {"alpha": 0.25, "transA": 1, "transB": 1}),
    Case("FusedMatMul", {"a": real(2, 3, 5), "_b": real(4, 5)}, lambda a, b: a @ b.T, {"transB": 1}),
    Case("FusedConv", {"x": real(1, 4, 5, 5), "_w": real(3, 4, 1, 1), "_b": real(3)},
         lambda x, w, b: np.maximum(np.einsum("nchw,oc->nohw", x, w[..., 0, 0]) + b[:, None, None], 0),
         {"activation": "Relu"}),
    Case("FusedConv", {"x": real(1, 4, 5, 5), "_w": real(3, 4, 1, 1), "_b": real(3), "z": real(1, 3, 5, 5)},
         lambda x, w, b, z: np.clip(np.einsum("nchw,oc->nohw", x, w[..., 0, 0]) + b[:, None, None] + z, 0, 6),
         {"activation": "Clip", "activation_params": [0.0, 6.0]}),
    Case("Gelu", {"x": real(3, 8)}, gelu),
    Case("BiasGelu", {"x": real(3, 8), "_b": real(8)}, lambda x, b: gelu(x + b)),
    Case("FastGelu", {"x": real(3, 8), "_b": real(8)}, lambda x, b: fast_gelu(x + b)),
    Case("QuickGelu", {"x": real(3, 8)}, lambda x: x / (1 + np.exp(-1.5 * x)), {"alpha": 1.5}),
    Case("SkipLayerNormalization",
         {"x": real(2, 3, 8), "s": real(2, 3, 8), "_g": real(8), "_e": real(8), "_b": real(8)},
         lambda x, s, g, e, b: normal(x + s + b) * g + e, {"epsilon": 1e-3}),
    Case("SkipSimplifiedLayerNormalization", {"x": real(2, 3, 8), "s": real(2, 3, 8), "_g": real(8)},
         lambda x, s, g: g * (x + s) / np.sqrt(((x + s) ** 2).mean(-1, keepdims=True) + 1e-3),
         {"epsilon": 1e-3}),
    Case("MatMulIntegerToFloat",
         {"a": drawn(np.uint8, 3, 7), "_b": drawn(np.int8, 7, 5), "_as": np.array(0.02, np.float32),
          "_bs": real(5), "_az": np.array(99, np.uint8), "_bz": np.zeros(5, np.int8), "_c": real(5)},
         lambda a, b, s, t, z, _, c: (a - np.float32(z)) @ b.astype(np.float32) * (s * t) + c),
    Case("MultiHeadAttention", {"q": real(2, 3, 8), "k": real(2, 5, 8), "v": real(2, 5, 12)},
         lambda q, k, v: attended(q, k, v, 4), {"num_heads": 4}),
    Case("MultiHeadAttention",
         {"q": real(2, 3, 8), "k": real(2, 5, 8), "v": real(2, 5, 8), "_b": real(24), "_m": MASK,
          "more": real(2, 2, 3, 5)},
         lambda q, k, v, b, m, more: attended(q + b[:8], k + b[8:16], v + b[16:], 2, more + hidden(m)),
         {"num_heads": 2}),
    Case("Attention", {"x": real(2, 5, 6), "_w": real(6, 24), "_b": real(24), "_m": MASK},
         lambda x, w, b, m: attended(*three(x @ w + b, 8, 16), 2, hidden(m)), {"num_heads": 2}),
    Case("Attention", {"x": real(1, 5, 6), "_w": real(6, 20), "_b": real(20)},
         lambda x, w, b: attended(*three(x @ w + b, 8, 16), 2, np.triu(np.full((5, 5), -1e9), 1)),
         {"num_heads": 2, "unidirectional": 1, "qkv_hidden_sizes": [8, 8, 4]}),
]  # fmt: skip


def loaded(case: Case, outputs: tuple[str, ...] = ("y",)) -> tj.Graph:
    """The graph of a model of one node."""
    node = RawNode(case.op, list(case.given), outputs, case.attributes, "layer", "com.microsoft")
    plain = {name: one for name, one in case.given.items() if name[0] != "_"}
    inputs = [RawValue(name, one.shape, TYPES[one.dtype]) for name, one in plain.items()]
    held = {name: one for name, one in case.given.items() if name[0] == "_"}
    results = [RawValue(one, None) for one in outputs if one]
    return tj.load(model(RawGraph([node], inputs, results, held)))


@pytest.mark.parametrize("case", [pytest.param(one, id=f"{one.op}-{at}") for at, one in enumerate(CASES)])
def test_a_node_of_the_runtime_gives_what_its_formula_gives(case: Case) -> None:
    given = [one for name, one in case.given.items() if name[0] != "_"]
    found = np.asarray(tj.compile(loaded(case))(*given))
    np.testing.assert_allclose(found, case.formula(*case.given.values()), rtol=1e-5, atol=2e-6)


def test_the_sum_that_was_normalised_is_a_result_too() -> None:
    case = next(one for one in CASES if one.op == "SkipLayerNormalization")
    x, s, *_, bias = case.given.values()
    _, total = tj.compile(loaded(case, ("y", "", "", "total")))(x, s)
    np.testing.assert_allclose(total, x + s + bias, rtol=1e-6)


def test_half_numbers_stay_half_numbers() -> None:
    x, bias = real(3, 8).astype(np.float16), real(8).astype(np.float16)
    found = tj.compile(loaded(Case("BiasGelu", {"x": x, "_b": bias}, gelu)))(x)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, gelu((x + bias).astype(np.float64)), rtol=5e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("op", "attributes", "reason"),
    [
        ("FusedMatMul", {"transBatchA": 1}, "batches are turned"),
        ("FusedConv", {"activation": "Mystery"}, "function 'Mystery' is not known"),
    ],
)
def test_what_is_not_known_of_them_is_said(op: str, attributes: dict[str, Any], reason: str) -> None:
    given = {"a": real(1, 4, 5, 5), "_w": real(4, 4, 1, 1)}
    with pytest.raises(tj.ModelError, match=reason):
        loaded(Case(op, given, gelu, attributes))
