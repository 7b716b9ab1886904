"""Whole TFLite models give the bits that they should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tosajit as tj

MODELS = Path(__file__).parents[2] / "shared" / "models"
EXACT = ("autoencoder", "ds_cnn", "resnet8")


@pytest.mark.parametrize("name", EXACT)
def test_a_quantised_model_gives_its_golden_bits(name: str) -> None:
    folder = MODELS / name
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    model = tj.compile(folder / "model.tflite")
    for case in sorted(folder.glob("case*_in0.npy")):
        results = model(np.load(case))
        for number, found in enumerate(results if isinstance(results, tuple) else (results,)):
            expected = np.load(str(case).replace("in0", f"out{number}"))
            np.testing.assert_array_equal(found, expected)
