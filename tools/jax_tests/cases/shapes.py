"""Primitives that move elements."""

from __future__ import annotations

import jax.numpy as jnp
from drawing import Array, Random, array, shape_of
from jax import lax

from jax_tests.cases import NUMBERS, Drawn, case

_KINDS = (*NUMBERS, "bool")


def _value(rng: Random, least: int = 1) -> Array:
    return array(rng, str(rng.choice(_KINDS)), shape_of(rng, least))


@case("broadcast_in_dim")
def broadcast(rng: Random, name: str) -> Drawn:
    """Elements that are repeated."""
    shape = shape_of(rng, 1)
    kept = sorted(rng.choice(len(shape), int(rng.integers(0, len(shape) + 1)), replace=False).tolist())
    given = tuple(shape[axis] if rng.random() < 0.7 else 1 for axis in kept)
    value = array(rng, str(rng.choice(_KINDS)), given)
    return Drawn(lambda x: lax.broadcast_in_dim(x, (2, *shape), [one + 1 for one in kept]), (value,), name)


@case("reshape")
def reshape(rng: Random, name: str) -> Drawn:
    """Other shapes."""
    value = _value(rng)
    return Drawn(lambda x: jnp.reshape(x, (-1, 1, *value.shape[1:])), (value,), name)


@case("squeeze")
def squeeze(rng: Random, name: str) -> Drawn:
    """Dimensions of one element that go."""
    value = _value(rng)[None, :, None]
    return Drawn(lambda x: lax.squeeze(x, (0, 2)), (value,), name)


@case("transpose")
def transpose(rng: Random, name: str) -> Drawn:
    """Dimensions in another order."""
    value = array(rng, str(rng.choice(_KINDS)), tuple(rng.integers(2, 5, rng.integers(2, 6)).tolist()))
    order = rng.permutation(value.ndim).tolist()
    order = order[::-1] if order == sorted(order) else order
    return Drawn(lambda x: lax.transpose(x, order), (value,), name)


@case("concatenate")
def concatenate(rng: Random, name: str) -> Drawn:
    """Tensors behind each other."""
    value = _value(rng)
    axis, count = int(rng.integers(value.ndim)), int(rng.integers(2, 5))
    return Drawn(lambda *given: lax.concatenate(given, axis), (value,) * count, name)


@case("split")
def split(rng: Random, name: str) -> Drawn:
    """Parts behind each other."""
    value = array(rng, str(rng.choice(_KINDS)), (3, 7, 2))
    return Drawn(lambda x: lax.split(x, (2, 1, 4), 1), (value,), name)


@case("rev")
def rev(rng: Random, name: str) -> Drawn:
    """Dimensions turned round."""
    value = _value(rng)
    axes = rng.choice(value.ndim, int(rng.integers(1, value.ndim + 1)), replace=False).tolist()
    return Drawn(lambda x: lax.rev(x, axes), (value,), name)


@case("slice")
def slices(rng: Random, name: str) -> Drawn:
    """Parts with steps."""
    value = _value(rng)
    starts = [int(rng.integers(0, one)) for one in value.shape]
    ends = [int(rng.integers(low + 1, one + 1)) for low, one in zip(starts, value.shape, strict=True)]
    steps = rng.integers(1, 4, value.ndim).tolist()
    return Drawn(lambda x: lax.slice(x, starts, ends, steps), (value,), name)


@case("pad")
def pad(rng: Random, name: str) -> Drawn:
    """Borders, negative ones, and gaps."""
    value = array(rng, str(rng.choice(_KINDS)), tuple(rng.integers(3, 6, rng.integers(1, 4)).tolist()))
    config = [
        (int(rng.integers(-1, 3)), int(rng.integers(-1, 3)), int(rng.integers(0, 3))) for _ in value.shape
    ]
    number = array(rng, value.dtype.name, ())
    if rng.random() < 0.5:
        return Drawn(lambda x: lax.pad(x, number, config), (value,), name)
    return Drawn(lambda x, n: lax.pad(x, n, config), (value, number), name)


@case("iota")
def iota(rng: Random, name: str) -> Drawn:
    """Numbered elements, and others beside them."""
    shape = shape_of(rng, 1)
    axis = int(rng.integers(len(shape)))
    kind = str(rng.choice(("float32", "int32", "int8", "uint8", "bfloat16")))
    return Drawn(
        lambda x: x * lax.broadcasted_iota(kind, shape, axis), (array(rng, kind, shape, -3, 3),), name
    )


@case("tile")
def tile(rng: Random, name: str) -> Drawn:
    """Tensors repeated."""
    value = _value(rng)
    times = tuple(rng.integers(1, 3, value.ndim).tolist())
    return Drawn(lambda x: lax.tile(x, times), (value,), name)


@case("stop_gradient copy")
def identities(rng: Random, name: str) -> Drawn:
    """Operands as they are."""
    function = lax.stop_gradient if name == "stop_gradient" else jnp.copy
    return Drawn(lambda x: function(x), (_value(rng),), name)


@case("optimization_barrier")
def barrier(rng: Random, name: str) -> Drawn:
    """Several operands as they are."""
    return Drawn(lambda x, y: lax.optimization_barrier((x, y)), (_value(rng), _value(rng)), name)
