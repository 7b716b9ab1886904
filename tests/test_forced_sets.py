"""Each instruction set that this machine has gives the bits of Arm's suite, in some of its contractions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tosajit.conformance import sample
from tosajit.conformance.suite import Test, load_expected
from tosajit.kernels.contract import blocking
from tosajit.kernels.sets.cpus import known
from tosajit.kernels.sets.registry import SETS, cpu, instruction_set

CHOICES = {
    "sapphirerapids": "amx",
    "skylake-avx512": "avx512",
    "alderlake": "avxvnni",
    "haswell": "avx2",
    "cortex-a72": "neon",
}
"""CPUs to pretend to be, one for each set; where there is no such CPU, its set is asked for by name."""
OPERATORS = ("CONV2D", "DEPTHWISE_CONV2D", "MATMUL")
Sample = Mapping[Path, list[tuple[Test, Path]]]


def choice(name: str) -> str:
    """What asks for a set; skipped where this machine has none of it."""
    if known().get(name, frozenset("?")) <= cpu().features:
        return name
    if SETS[CHOICES[name]](cpu().features) is None:
        pytest.skip(f"{cpu().name} does not have the instructions of {CHOICES[name]}")
    return CHOICES[name]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", CHOICES)
def test_results_have_the_bits_of_the_reference(
    name: str, operator: str, conformance_sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", choice(name))
    monkeypatch.setattr(blocking, "CALL_STEPS", -(1 << 40))  # matrices for small shapes too
    isa = instruction_set()
    assert isa is not None
    assert isa.name == CHOICES[name]
    tests = [
        (test, results)
        for test, results in conformance_sample[sample.ARCHIVE]
        if test.operator == operator and not test.negative and "_i8" in test.name
    ]
    test, results = tests[0]
    found = tj.compile(test.tosa_path)(*test.load_inputs().values())
    golden = load_expected(test, results)
    (output,) = test.outputs
    assert isinstance(found, np.ndarray)
    assert found.dtype == golden[output].value.dtype
    np.testing.assert_array_equal(found, golden[output].value)
