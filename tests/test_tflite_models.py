"""Whole TFLite models give the bits that they should."""

from __future__ import annotations

import models
import numpy as np
import pytest

import tosajit as tj

EXACT = ("autoencoder", "ds_cnn", "resnet8")


@pytest.mark.parametrize("name", EXACT)
def test_a_quantised_model_gives_its_golden_bits(name: str) -> None:
    model = tj.compile(models.folder(name) / "model.tflite")
    for case in models.cases(name):
        results = model(*case.inputs)
        for found, expected in zip(
            results if isinstance(results, tuple) else (results,), case.outputs, strict=True
        ):
            np.testing.assert_array_equal(found, expected)
