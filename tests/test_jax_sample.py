"""A sample of drawn cases of JAX's primitives: each gives what JAX has computed. JAX is not needed here."""

from __future__ import annotations

import pytest
from jax_tests import sample
from jax_tests.suite import Test, judge

from tests.tflite_cases.running import by_arm
from tosajit.frontends.jax.operators import DECLARATIONS


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Test]:
    """The cases of the archive."""
    return {one.name: one for one in sample.unpack(tmp_path_factory.mktemp("jax"))}


@pytest.mark.parametrize("name", sample.names())
def test_a_primitive_gives_what_jax_gives(name: str, tests: dict[str, Test]) -> None:
    outcome = judge(tests[name], by_arm)
    assert outcome.became == "passed", "; ".join(outcome.reasons)


SAME = {
    "jit": "pjit closed_call core_call remat remat2 checkpoint custom_jvp_call custom_vjp_call_jaxpr "
    "custom_vjp_call custom_vmap_call custom_lin composite",
    "stop_gradient": "name sharding_constraint reshard layout_constraint reduced_vary_cast_p pvary "
    "device_put copy_p",
    "add": "add_any", "eq": "eq_to", "lt": "lt_to", "le": "le_to", "squeeze": "expand_dims",
}  # fmt: skip
"""Primitives that no function of a user asks for, or that share the lowering of another one."""


def test_every_primitive_that_is_lowered_has_a_case(tests: dict[str, Test]) -> None:
    covered = {one.primitive for one in tests.values()}
    covered |= {name for names in SAME.values() for name in names.split()} | set(SAME)
    lowered = {name for name, one in DECLARATIONS.items() if one.kind == "lowered"}
    assert lowered <= covered
