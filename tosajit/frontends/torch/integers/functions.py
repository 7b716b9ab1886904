"""Functions of single elements that have no other form for known ones: what all 256 bytes become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf, sqrt
from typing import Any

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.torch.node import Node


def _sigmoid(x: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-x))
    return found


def _erf(x: Array) -> Array:
    found: Array = np.vectorize(erf, otypes=[np.float64])(x)
    return found


def _gelu(x: Array, node: Node) -> Array:
    if node.given("approximate", "none") == "tanh":
        inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
        found: Array = 0.5 * x * (1 + np.tanh(inner))
        return found
    exact: Array = 0.5 * x * (1 + _erf(x / sqrt(2)))
    return exact


def _elu(x: Array, node: Node) -> Array:
    alpha, scale, inner = (node.given(name, 1) for name in ("alpha", "scale", "input_scale"))
    found: Array = np.where(x > 0, scale * x, scale * alpha * np.expm1(inner * x))
    return found


def _bounded(x: Array, low: Any, high: Any) -> Array:
    found: Array = np.clip(x, -np.inf if low is None else low, np.inf if high is None else high)
    return found


def _line(x: Array) -> Array:
    found: Array = np.clip(x + 3, 0, 6) / 6
    return found


FUNCTIONS: Mapping[str, Callable[[Array, Node], Array]] = {
    "sigmoid": lambda x, node: _sigmoid(x),
    "silu": lambda x, node: x * _sigmoid(x),
    "hardsigmoid": lambda x, node: _line(x),
    "hardswish": lambda x, node: x * _line(x),
    "relu": lambda x, node: np.maximum(x, 0),
    "relu6": lambda x, node: np.clip(x, 0, 6),
    "hardtanh": lambda x, node: np.clip(x, node.given("min_val", -1), node.given("max_val", 1)),
    "leaky_relu": lambda x, node: np.where(x > 0, x, x * node.given("negative_slope", 0.01)),
    "elu": _elu,
    "gelu": _gelu,
    "erf": lambda x, node: _erf(x),
    "mish": lambda x, node: x * np.tanh(np.logaddexp(0, x)),
    "softplus": lambda x, node: np.logaddexp(0, node.given("beta", 1) * x) / node.given("beta", 1),
    "log_sigmoid": lambda x, node: -np.logaddexp(0, -x),
}
"""By the names of operators, in float64."""
