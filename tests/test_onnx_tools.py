"""What the tool for ONNX's own tests says of them."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_tests.suite import UNREACHABLE


@pytest.mark.skipif(np.__version__ < "2", reason="NumPy before 2 transforms in double precision alone")
def test_the_inverse_transforms_that_are_unreachable_are_so_for_exact_arithmetic() -> None:
    """ONNX has their result by NumPy's transform of 0 to 99 in float32."""
    numbers = np.arange(100, dtype=np.complex64).reshape(10, 10)
    wanted = np.fft.ifft(numbers, axis=0).imag
    exact = np.fft.ifft(numbers.astype(np.complex128), axis=0).imag
    assert wanted.dtype == np.float32
    assert not np.isclose(exact, wanted, rtol=1e-3, atol=1e-7).all()
    assert set(UNREACHABLE) == {"test_dft_inverse", "test_dft_inverse_opset19"}
