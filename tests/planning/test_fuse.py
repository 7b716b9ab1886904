"""Fusion and normal forms keep the meaning of nests."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.drawing import Chain, chains
from tests.planning.interpreter import interpret
from tiling.fuse import fuse
from tiling.normal import normalise


def arrays(chain: Chain, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        name: random.integers(-9, 10, prod(shape)).astype(np.int32) for name, shape in chain.inputs.items()
    }


@given(chains(), st.integers(0, 99))
def test_a_normal_form_computes_the_same(chain: Chain, seed: int) -> None:
    sizes = {name: prod(shape) for name, shape in chain.shapes.items()}
    given_arrays = arrays(chain, seed)
    plain = interpret(chain.nests, given_arrays, sizes)
    normal = interpret([normalise(nest) for nest in chain.nests], given_arrays, sizes)
    for name in sizes:
        np.testing.assert_array_equal(plain[name], normal[name])


@pytest.mark.parametrize("frugal", [False, True])
@given(chain=chains(), seed=st.integers(0, 99), data=st.data())
def test_fused_nests_compute_what_is_kept(chain: Chain, seed: int, data: st.DataObject, frugal: bool) -> None:
    sizes = {name: prod(shape) for name, shape in chain.shapes.items()}
    results = [nest.writes[0].access.operand for nest in chain.nests]
    if not results:
        return
    kept = {results[-1], *data.draw(st.lists(st.sampled_from(results), max_size=2))}
    given_arrays = arrays(chain, seed)
    plain = interpret(chain.nests, given_arrays, sizes)
    fused = interpret(fuse(chain.nests, kept, frugal=frugal), given_arrays, sizes)
    for name in kept:
        np.testing.assert_array_equal(plain[name], fused[name], err_msg="\n".join(map(str, chain.nests)))
