"""Reductions, and what goes through elements in an order."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from drawing import Random, array, shape_of
from jax import lax

from jax_tests.cases import NARROW, REAL, Drawn, case

_FUNCTIONS = {
    "reduce_sum": jnp.sum, "reduce_prod": jnp.prod, "reduce_max": jnp.max, "reduce_min": jnp.min,
    "reduce_or": jnp.any, "reduce_and": jnp.all,
}  # fmt: skip


@case(" ".join(_FUNCTIONS))
def reductions(rng: Random, name: str) -> Drawn:
    """One number for all along dimensions."""
    truths = name in ("reduce_or", "reduce_and")
    kind = "bool" if truths else str(rng.choice(("float32", "int32", "float32", "bfloat16")))
    value = array(rng, kind, shape_of(rng, 1))
    axes = tuple(rng.choice(value.ndim, int(rng.integers(1, value.ndim + 1)), replace=False).tolist())
    keep = bool(rng.random() < 0.5)
    return Drawn(lambda x: _FUNCTIONS[name](x, axis=axes, keepdims=keep), (value,), name)


@case("reduce_xor")
def odd_bits(rng: Random, name: str) -> Drawn:
    """Bits that an odd number of elements has; those that all have, or any."""
    value = array(rng, str(rng.choice(("bool", "int32", *NARROW))), shape_of(rng, 1), -100, 100)
    axes = tuple(rng.choice(value.ndim, int(rng.integers(1, value.ndim + 1)), replace=False).tolist())

    def every(x: jax.Array) -> list[jax.Array]:
        start = -1 if x.dtype.kind == "i" else 1 if x.dtype.kind == "b" else (1 << 8 * x.dtype.itemsize) - 1
        rows = ((0, lax.bitwise_xor), (0, lax.bitwise_or), (start, lax.bitwise_and))
        return [lax.reduce(x, np.asarray(first, x.dtype), function, axes) for first, function in rows]

    return Drawn(every, (value,), name)


@case("reduce")
def pairs(rng: Random, name: str) -> Drawn:
    """What a function makes of all elements, of one tensor and of two together."""
    value = array(rng, "float32", shape_of(rng, 1))
    axes = tuple(rng.choice(value.ndim, int(rng.integers(1, value.ndim + 1)), replace=False).tolist())
    if rng.random() < 0.5:
        return Drawn(
            lambda x: lax.reduce(x, np.float32(0), lambda a, b: a + b + a * b / 8, axes), (value,), name
        )
    places = np.arange(value.size, dtype=np.int32).reshape(value.shape)

    def first(one: tuple[jax.Array, ...], other: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        is_one = (one[0] < other[0]) | ((one[0] == other[0]) & (one[1] < other[1]))
        return jnp.where(is_one, one[0], other[0]), jnp.where(is_one, one[1], other[1])

    start = np.float32(np.inf), np.int32(-1)
    return Drawn(lambda x, y: lax.reduce((x, y), start, first, axes), (value, places), name)


@case("approx_top_k")
def nearly_greatest(rng: Random, name: str) -> Drawn:
    """The greatest and least elements, of which a device may find only some."""
    shape = shape_of(rng, 1)
    axis = int(rng.integers(len(shape)))
    count = int(rng.integers(1, shape[axis] + 1))
    order = rng.permutation(int(np.prod(shape))).astype(np.float32).reshape(shape)
    take = lax.approx_max_k if rng.random() < 0.5 else lax.approx_min_k
    return Drawn(lambda x: take(x, count, axis, recall_target=1.0), (order,), name)


@case("argmax argmin")
def places(rng: Random, name: str) -> Drawn:
    """Where the greatest or least elements are, of many equal ones."""
    value = array(rng, str(rng.choice((*REAL, "int32", *NARROW, "bool"))), shape_of(rng, 1), -2, 2)
    axis = int(rng.integers(value.ndim))
    return Drawn(lambda x: getattr(lax, name)(x, axis, jnp.int32), (value,), name)


@case("cumsum cumprod cummax cummin cumlogsumexp")
def cumulations(rng: Random, name: str) -> Drawn:
    """Sums and their like up to each element."""
    kind = str(rng.choice(("float32", "float32", "int32", "int8")))
    kind = "float32" if name == "cumlogsumexp" else kind
    value = array(rng, kind, shape_of(rng, 1), -2, 2)
    axis, reverse = int(rng.integers(value.ndim)), bool(rng.random() < 0.5)
    return Drawn(lambda x: getattr(lax, name)(x, axis, reverse), (value,), name)


@case("sort")
def sorts(rng: Random, name: str) -> Drawn:
    """Elements in order, alone, with others, and by two keys."""
    form, shape = int(rng.integers(3)), shape_of(rng, 1)
    axis = int(rng.integers(len(shape)))
    value = array(rng, str(rng.choice((*REAL, "int32", "int8", "uint8"))), shape, -3, 3)
    if form == 0:
        return Drawn(lambda x: lax.sort(x, dimension=axis), (value,), name)
    if form == 1:
        return Drawn(lambda x: jnp.argsort(x, axis=axis), (value,), name)
    keys = array(rng, "int32", shape, 0, 2), array(rng, "int32", shape, 0, 2), array(rng, "float32", shape)
    return Drawn(lambda *given: lax.sort(given, dimension=axis, num_keys=2), keys, name)


@case("top_k")
def top(rng: Random, name: str) -> Drawn:
    """The greatest elements, and where they are."""
    value = array(rng, str(rng.choice((*REAL, "int32", "int8"))), shape_of(rng, 1), -4, 4)
    count = int(rng.integers(1, value.shape[-1] + 1))
    return Drawn(lambda x: lax.top_k(x, count), (value,), name)


@case("reduce_window_sum reduce_window_max reduce_window_min reduce_window")
def windows(rng: Random, name: str) -> Drawn:
    """What windows have: pools, with borders, gaps and steps."""
    value = array(rng, str(rng.choice(("float32", "int32"))), tuple(rng.integers(4, 8, 3).tolist()))
    sizes = tuple(rng.integers(1, 4, 3).tolist())
    strides = tuple(rng.integers(1, 3, 3).tolist())
    border = [tuple(rng.integers(0, 2, 2).tolist()) for _ in range(3)]
    gaps = tuple(rng.integers(1, 3, 3).tolist()) if rng.random() < 0.3 else (1, 1, 1)
    functions = {
        "reduce_window_sum": (lax.add, 0), "reduce_window_max": (lax.max, -jnp.inf),
        "reduce_window_min": (lax.min, jnp.inf), "reduce_window": (lax.mul, 1),
    }  # fmt: skip
    combine, first = functions[name]
    if value.dtype.kind == "i" and name.endswith(("max", "min")):
        bounds = jnp.iinfo(value.dtype)
        first = bounds.min if name.endswith("max") else bounds.max
    start = value.dtype.type(first)
    return Drawn(
        lambda x: lax.reduce_window(x, start, combine, sizes, strides, border, (1, 1, 1), gaps),
        (value,),
        name,
    )


@case("softmax log_softmax logsumexp layer_norm gelu silu")
def networks(rng: Random, name: str) -> Drawn:
    """What networks are made of."""
    value = np.append(array(rng, "float32", shape_of(rng, 1, 1)), [1, 2]).astype(np.float32)
    if name == "layer_norm":
        return Drawn(
            lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-3), (value,)
        )
    function = getattr(jax.nn, name)
    return Drawn(lambda x: function(x), (value,))
