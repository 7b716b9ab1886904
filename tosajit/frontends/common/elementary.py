"""Functions of single real numbers, computed when a model is read: of constants, and of all bytes."""

from __future__ import annotations

from math import erf as exact_erf
from math import pi, sqrt

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.common.layout import small


def sigmoid(value: Array) -> Array:
    """One over one plus the exponential of the opposite, without overflow."""
    power = np.exp(-np.abs(value))
    found: Array = np.where(value >= 0, 1 / (1 + power), power / (1 + power)).astype(value.dtype)
    return found


def erf(value: Array) -> Array | None:
    """The error function; of few numbers, since NumPy lacks it."""
    if not small(value.shape):
        return None
    found = np.array([exact_erf(float(one)) for one in value.reshape(-1)])
    return found.astype(value.dtype).reshape(value.shape)


def soft_plus(value: Array) -> Array:
    """The logarithm of one more than the exponential."""
    found: Array = (np.log1p(np.exp(-np.abs(value))) + np.maximum(value, 0)).astype(value.dtype)
    return found


def gelu(value: Array, is_tanh: bool) -> Array | None:
    """Elements times how probable smaller ones are, or an approximation of that."""
    if is_tanh:
        inner = sqrt(2 / pi) * (value + 0.044715 * value**3)
        return np.asarray(0.5 * value * (1 + np.tanh(inner)), value.dtype)
    share = erf((value / sqrt(2)).astype(np.float64))
    if share is None:
        return None
    return np.asarray(0.5 * value * (1 + share), value.dtype)


def elu(value: Array, alpha: float) -> Array:
    """Elements from 0 on, others as their exponential less one, times a factor."""
    found: Array = np.where(value > 0, value, alpha * np.expm1(np.minimum(value, 0))).astype(value.dtype)
    return found


def line(value: Array, slope: float, middle: float) -> Array:
    """A line from 0 to 1."""
    found: Array = np.clip(value * slope + middle, 0, 1).astype(value.dtype)
    return found
