"""Modules of TFLite's operators are imported when a model has one of theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tosajit as tj
from tosajit.frontends.tflite.operators import DECLARATIONS, FAMILIES

HEAVY = {"ml_dtypes", "tosajit.frontends.tflite.operators.lstm", "tosajit.frontends.tflite.operators.refused"}
CODE = """
import sys
import tosajit as tj
tj.load(sys.argv[1])
print(sorted({heavy} & set(sys.modules)))
"""


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_what_its_module_lowers(family: str) -> None:
    found = {
        name: one.lower.__module__
        for name, one in DECLARATIONS.items()
        if one.lower is not None and one.lower.__module__.endswith(f".{family}")
    }
    assert sorted(found) == sorted(FAMILIES[family].split())


def test_every_operator_that_is_lowered_is_in_a_family() -> None:
    lowered = {name for name, one in DECLARATIONS.items() if one.lower is not None}
    assert lowered == set(" ".join(FAMILIES.values()).split())


@pytest.mark.parametrize("model", ["ds_cnn", "transformer_tiny"])
def test_a_first_load_imports_the_families_of_its_model_alone(model: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CODE.format(heavy=HEAVY), str(tj.samples.path(model, "model.tflite"))]
    environment = {**os.environ, "TOSAJIT_CACHE": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
