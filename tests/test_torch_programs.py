"""Programs that `torch` has exported, one for each operator, give what it gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.tflite_cases.running import by_arm, stored
from tests.torch_cases.golden import Golden, load
from tosajit.frontends.torch.functional import functional
from tosajit.frontends.torch.lowering import lowered
from tosajit.frontends.torch.operators import DECLARATIONS

Array = np.ndarray[Any, Any]
PROGRAMS = load()


@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one.name)
def test_a_program_gives_what_torch_gives(one: Golden) -> None:
    graph = lowered(one.program)
    assert tj.validate(graph) == ()
    found = by_arm(graph)(*map(stored, one.inputs))
    assert len(found) == len(one.results)
    for result, expected in zip(found, one.results, strict=True):
        wanted = stored(expected)
        assert result.shape == wanted.shape
        if wanted.dtype.kind in "iub":
            np.testing.assert_array_equal(result, wanted)
        else:
            bound = (1e-4 if wanted.dtype.itemsize == 4 else 1e-2) * max(np.abs(wanted).max(), 1e-6)
            np.testing.assert_allclose(
                result.astype(np.float64), wanted.astype(np.float64), rtol=1e-4, atol=bound
            )


def test_every_operator_of_aten_has_a_program() -> None:
    seen = {node.target for one in PROGRAMS for node in functional(one.program).graph.nodes}
    lowerings: dict[Any, set[str]] = {}
    for name, one in DECLARATIONS.items():
        if one.kind == "lowered" and name.startswith("aten."):
            lowerings.setdefault(one.lower, set()).add(name)
    assert sorted(min(names) for names in lowerings.values() if not names & seen) == sorted(ELSEWHERE)


ELSEWHERE = ("aten.swapaxes.default", "aten.swapdims.default")
"""Tested by hand in `test_torch.py`."""
