"""Parts of tensors at indices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from drawing import Array, Random, array, shape_of
from jax import lax

from jax_tests.cases import NUMBERS, Drawn, case

_KINDS = (*NUMBERS, "bool")
_MODES = ("clip", "fill", "promise_in_bounds")


def _value(rng: Random, kinds: tuple[str, ...] = _KINDS) -> Array:
    return array(rng, str(rng.choice(kinds)), (*rng.integers(2, 6, rng.integers(1, 4)).tolist(),))


def _indices(rng: Random, extent: int, mode: str, most: int = 2) -> Array:
    outside = 0 if mode == "promise_in_bounds" else 2
    return array(rng, "int32", shape_of(rng, 1, most), -outside, extent - 1 + outside)


@case("gather")
def gathers(rng: Random, name: str) -> Drawn:
    """Rows, elements, windows, and rows of a batch; indices are computed or known, and may be outside."""
    form, mode = int(rng.integers(4)), str(rng.choice(_MODES))
    value = _value(rng, tuple(one for one in _KINDS if one != "uint32"))
    if form == 0:
        axis = int(rng.integers(value.ndim))
        index = _indices(rng, value.shape[axis], mode)
        mode = "clip" if mode == "promise_in_bounds" else mode
        index = abs(index) if mode == "fill" else index
        return Drawn(lambda x, i: jnp.take(x, i, axis, mode=mode), (value, index), name)
    if form == 1:
        index = _indices(rng, value.shape[0], mode)
        return Drawn(lambda x: x.at[index].get(mode=mode, wrap_negative_indices=False), (value,), name)
    if form == 2:
        rows = array(rng, value.dtype.name, (3, *value.shape))
        index = array(rng, "int32", (3, 2), 0, value.shape[0] - 1)
        return Drawn(lambda x, i: jax.vmap(lambda one, j: one[j])(x, i), (rows, index), name)
    sizes = tuple(int(rng.integers(1, one + 1)) for one in value.shape)
    numbers = lax.GatherDimensionNumbers(
        tuple(range(1, value.ndim + 1)), (), tuple(range(value.ndim)), (), ()
    )
    index = array(rng, "int32", (2, value.ndim), *((0, 0) if mode == "promise_in_bounds" else (-2, 5)))
    return Drawn(lambda x, i: lax.gather(x, i, numbers, sizes, mode=mode), (value, index), name)


_UPDATES = {
    "scatter": "set", "scatter-add": "add", "scatter-sub": "subtract", "scatter-mul": "mul",
    "scatter-max": "max", "scatter-min": "min",
}  # fmt: skip


@case("scatter scatter-add scatter-sub scatter-mul scatter-max scatter-min")
def scatters(rng: Random, name: str) -> Drawn:
    """Rows and elements that are replaced or combined; several in one place but where they replace."""
    mode = str(rng.choice(_MODES[:2]))
    value = _value(rng, NUMBERS if name == "scatter" else ("float32", "int32", "int8"))
    if rng.random() < 0.5:
        index = rng.permutation(value.shape[0])[: int(rng.integers(1, value.shape[0] + 1))].astype("int32")
    else:
        index = array(rng, "int32", (1 if name == "scatter" else 4,), -1, value.shape[0])
    new = array(rng, value.dtype.name, (*index.shape, *value.shape[1:]), -2, 2)
    update = _UPDATES[name]
    if rng.random() < 0.5:
        return Drawn(
            lambda x, n: getattr(x.at[index], update)(n, mode=mode, wrap_negative_indices=False),
            (value, new), name,
        )  # fmt: skip
    return Drawn(
        lambda x, i, n: getattr(x.at[i], update)(n, mode=mode, wrap_negative_indices=False),
        (value, index, new), name,
    )  # fmt: skip


@case("dynamic_slice")
def dynamic(rng: Random, name: str) -> Drawn:
    """Parts that begin at computed places, also outside."""
    value = _value(rng)
    sizes = tuple(int(rng.integers(1, one + 1)) for one in value.shape)
    starts = array(rng, "int32", (value.ndim,), 0, 7)
    return Drawn(lambda x, s: lax.dynamic_slice(x, list(s), sizes), (value, starts), name)


@case("dynamic_update_slice")
def updates(rng: Random, name: str) -> Drawn:
    """Parts that are replaced at computed places, also outside."""
    value = _value(rng)
    new = array(rng, value.dtype.name, tuple(int(rng.integers(1, one + 1)) for one in value.shape))
    starts = array(rng, "int32", (value.ndim,), 0, 7)
    return Drawn(lambda x, n, s: lax.dynamic_update_slice(x, n, list(s)), (value, new, starts), name)
