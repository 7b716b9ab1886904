"""Bytes without sign, which TOSA knows only as what RESCALE takes and gives: inside they are less 128."""

from __future__ import annotations

import numpy as np

from tosajit import ops
from tosajit.dtypes import INT8
from tosajit.frontends.common.scale import scaled, wide
from tosajit.frontends.frame.ends import Inside
from tosajit.tracing.tensor import Tensor


def signed(value: Tensor) -> Tensor:
    """Bytes without sign as signed ones less 128."""
    return _moved(value, input_unsigned=True)


def unsigned(value: Tensor) -> Tensor:
    """Signed bytes as those without sign that are more by 128."""
    return _moved(value, output_unsigned=True)


def _moved(value: Tensor, *, input_unsigned: bool = False, output_unsigned: bool = False) -> Tensor:
    zero, middle = np.array([0], np.int8), np.array([-128], np.int8)  # 128 in the bits of a signed byte
    return ops.rescale(
        value,
        np.array([1 << 30], np.int32),
        np.array([30], np.int8),
        middle if input_unsigned else zero,
        middle if output_unsigned else zero,
        dtype=INT8,
        input_unsigned=input_unsigned,
        output_unsigned=output_unsigned,
    )


UNSIGNED = Inside("int8", signed, unsigned)
"""How bytes without sign are others inside of a graph."""


def _widened(value: Tensor) -> Tensor:
    return wide(signed(value), -128)


def _narrowed(value: Tensor) -> Tensor:
    return unsigned(scaled(value, [(1 << 30, 30)], INT8, output_zp=-128))


WIDE = Inside("int32", _widened, _narrowed)
"""How they are int32 with their own numbers."""
