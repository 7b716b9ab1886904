"""Branches, loops and functions that are called."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from drawing import Random, array
from jax import lax

from jax_tests.cases import Drawn, case


@case("cond")
def branches(rng: Random, name: str) -> Drawn:
    """Two or several branches, by a truth or by a number."""
    value = array(rng, "float32", (3, 4))
    if rng.random() < 0.5:
        truth = array(rng, "bool", ())
        return Drawn(lambda t, x: lax.cond(t, lambda: x + 1, lambda: jnp.sin(x)), (truth, value), name)
    which = array(rng, "int32", (), -1, 4)
    several = [lambda x: x + 1, lambda x: x * 2, lambda x: -x, jnp.exp]
    return Drawn(lambda i, x: (lax.switch(i, several, x), x), (which, value), name)


@case("while")
def loops(rng: Random, name: str) -> Drawn:
    """Loops whose turns depend on data."""
    value, most = array(rng, "float32", (3,), 0.5, 2), array(rng, "float32", (), 5, 50)

    def grown(x: Any, limit: Any) -> Any:
        return lax.while_loop(lambda s: s[0].sum() < limit, lambda s: (s[0] * 2 + x, s[1] + 1), (x, 0))

    return Drawn(grown, (value, most), name)


@case("scan")
def scans(rng: Random, name: str) -> Drawn:
    """Recurrent steps, unrolled or not, both ways."""
    length = int(rng.choice([3, 5, 300]))
    weights, start = array(rng, "float32", (4, 4), -0.4, 0.4), array(rng, "float32", (2, 4))
    inputs, reverse = array(rng, "float32", (length, 2, 4)), bool(rng.random() < 0.5)

    def step(state: Any, given: Any) -> Any:
        state = jnp.tanh(state @ weights + given)
        return state, (state * 2, given.sum())

    return Drawn(lambda s, x: lax.scan(step, s, x, reverse=reverse), (start, inputs), name)


@case("fori_loop")
def counted(rng: Random, name: str) -> Drawn:
    """A loop of counted turns, with a table that it looks at."""
    table = array(rng, "float32", (6, 3))
    return Drawn(lambda x: lax.fori_loop(0, 6, lambda i, s: s * 0.5 + x[i], jnp.zeros(3)), (table,), "")


@case("jit remat2 custom_jvp_call custom_vjp_call")
def calls(rng: Random, name: str) -> Drawn:
    """Functions that say how they are derived, compiled or stored."""
    value = array(rng, "float32", (3, 4))
    wrapped: dict[str, Any] = {
        "jit": jax.jit(jnp.sin), "remat2": jax.checkpoint(lambda x: jnp.sin(jnp.cos(x))),
        "custom_jvp_call": jax.nn.relu, "custom_vjp_call": _plain(),
    }  # fmt: skip
    return Drawn(lambda x: wrapped[name](x) * 2, (value,), name)


def _plain() -> Any:
    function = jax.custom_vjp(lambda x: jnp.sin(x) + 1)
    function.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))
    return function


@case("rnn attention")
def models(rng: Random, name: str) -> Drawn:
    """Small models whole."""
    if name == "attention":
        query, key, value = (array(rng, "float32", (2, 5, 2, 4)) for _ in range(3))
        causal = bool(rng.random() < 0.5)
        return Drawn(
            lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=causal), (query, key, value)
        )
    kernel, inner = array(rng, "float32", (3, 16), -1, 1), array(rng, "float32", (4, 16), -1, 1)
    inputs = array(rng, "float32", (6, 2, 3))

    def cell(state: Any, x: Any) -> Any:
        i, f, g, o = jnp.split(x @ kernel + state[0] @ inner, 4, axis=-1)
        memory = jax.nn.sigmoid(f) * state[1] + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(memory)
        return (hidden, memory), hidden

    start = np.zeros((2, 4), np.float32)
    return Drawn(lambda x: lax.scan(cell, (start, start), x), (inputs,))
