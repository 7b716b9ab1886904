"""Operators on complex numbers and spectra, and what NumPy makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tensorflow_cases.operators import case, real
from tosajit.frontends.tensorflow.schema import Type

Array = np.ndarray[Any, Any]


def complexes(*shape: int, seed: int = 1) -> Array:
    """Random complex numbers."""
    return (real(*shape, seed=seed) + 1j * real(*shape, seed=seed + 1)).astype(np.complex64)


def _numbers() -> None:
    a, b, c = complexes(3, 4), complexes(4, seed=5), complexes(3, 1, seed=7)
    case("Complex", [real(3, 4), real(4, seed=2)], real(3, 4) + 1j * real(4, seed=2), Tout=Type.COMPLEX64)
    for op, function in (("Real", np.real), ("Imag", np.imag), ("ComplexAbs", np.abs), ("Angle", np.angle)):
        case(op, [a], function(a), Tout=Type.FLOAT32)
    case("Conj", [a], a.conj())
    for op, combine in (("AddV2", np.add), ("Sub", np.subtract), ("Mul", np.multiply)):
        case(op, [a, c], combine(a, c), note="complex", T=Type.COMPLEX64)
        case(op, [a, b], combine(a, b), note="complex-constant", constants=[1], T=Type.COMPLEX64)


def _spectra() -> None:
    a, images = complexes(3, 8), complexes(2, 4, 8)
    transforms: list[tuple[str, Array, Any]] = [
        ("FFT", a, np.fft.fft), ("IFFT", a, np.fft.ifft),
        ("FFT2D", images, np.fft.fft2), ("IFFT2D", images, np.fft.ifft2),
    ]  # fmt: skip
    for op, value, function in transforms:
        case(op, [value], function(value).astype(np.complex64))
    for extent in (1, 2, 8, 16):
        found = np.fft.rfft(real(3, 11), extent).astype(np.complex64)
        case("RFFT", [real(3, 11), [extent]], found, constants=[1], note=str(extent), Tcomplex=Type.COMPLEX64)
    for extent in (2, 4, 16):
        wanted = np.fft.irfft(complexes(3, 7), extent).astype(np.float32)
        case("IRFFT", [complexes(3, 7), [extent]], wanted, constants=[1], note=str(extent))
    found = np.fft.rfft2(real(2, 5, 9), (4, 8)).astype(np.complex64)
    case("RFFT2D", [real(2, 5, 9), [4, 8]], found, constants=[1], Tcomplex=Type.COMPLEX64)
    half = complexes(2, 4, 5)
    wanted = np.fft.irfft2(half, (4, 8)).astype(np.float32)
    case("IRFFT2D", [half, [4, 8]], wanted, constants=[1])


for _family in (_numbers, _spectra):
    _family()
