"""Primitives of single elements."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from drawing import Array, Random, array, shape_of
from jax import lax

from jax_tests.cases import NARROW, NUMBERS, REAL, WIDE, Drawn, case

_BITS = (*WIDE, *NARROW)


def _chosen(rng: Random, kinds: tuple[str, ...]) -> str:
    return str(rng.choice(kinds))


def _two(rng: Random, kind: str, low: float = -4, high: float = 4) -> tuple[Array, Array]:
    """Two arrays of one shape; or one that is repeated as jnp repeats it."""
    shape = shape_of(rng)
    other = tuple(one if rng.random() < 0.7 else 1 for one in shape)
    return array(rng, kind, shape, low, high), array(rng, kind, other, low, high)


@case("add sub mul max min")
def arithmetic(rng: Random, name: str) -> Drawn:
    """Sums and their like, to the ends of integers."""
    kind = _chosen(rng, NUMBERS)
    most = 4 if kind in REAL else 1 << 30
    names = {"sub": "subtract", "mul": "multiply", "max": "maximum", "min": "minimum"}
    return Drawn(getattr(jnp, names.get(name, name)), _two(rng, kind, -most, most), name)


@case("div rem")
def division(rng: Random, name: str) -> Drawn:
    """Quotients and what they leave, of divisors that are not zero."""
    kind = _chosen(rng, NUMBERS)
    shape = shape_of(rng)
    sign = rng.choice([-1, 1], shape) if kind in (*REAL, "int8", "int16", "int32") else 1
    divisor = np.asarray(array(rng, kind, shape, 1, 9) * sign, array(rng, kind, ()).dtype)
    dividend = array(rng, kind, shape, -100, 100)
    return Drawn(lax.div if name == "div" else lax.rem, (dividend, divisor), name)


@case("neg abs sign square")
def unary(rng: Random, name: str) -> Drawn:
    """Opposites and their like."""
    kinds = (*REAL, "int32", *NARROW) if name != "abs" else (*REAL, "int32", "int8", "int16")
    return Drawn(getattr(lax, name), (array(rng, _chosen(rng, kinds), shape_of(rng), -100, 100),), name)


_DOMAINS = {
    "exp": (-6, 6), "exp2": (-8, 8), "expm1": (-2, 2), "log": (0.01, 9), "log1p": (-0.9, 5), "sqrt": (0, 9),
    "rsqrt": (0.1, 9), "cbrt": (-9, 9), "sin": (-6, 6), "cos": (-6, 6), "tan": (-1, 1), "sinh": (-3, 3),
    "cosh": (-3, 3), "tanh": (-4, 4), "asin": (-0.99, 0.99), "acos": (-0.99, 0.99), "atan": (-9, 9),
    "asinh": (-9, 9), "acosh": (1.1, 9), "atanh": (-0.9, 0.9), "logistic": (-9, 9), "erf": (-3, 3),
    "erfc": (-3, 3), "floor": (-9, 9), "ceil": (-9, 9), "erf_inv": (-0.999, 0.999),
    "lgamma": (-3.9, 30), "digamma": (0.1, 30), "bessel_i0e": (-30, 30), "bessel_i1e": (-30, 30),
}  # fmt: skip


@case(" ".join(_DOMAINS))
def functions(rng: Random, name: str) -> Drawn:
    """Functions of real numbers where they are defined."""
    return Drawn(getattr(lax, name), (array(rng, _chosen(rng, REAL), shape_of(rng), *_DOMAINS[name]),), name)


@case("round")
def rounding(rng: Random, name: str) -> Drawn:
    """Whole numbers, of halves too."""
    method = rng.choice([lax.RoundingMethod.AWAY_FROM_ZERO, lax.RoundingMethod.TO_NEAREST_EVEN])
    value = array(rng, _chosen(rng, REAL), shape_of(rng), -9, 9)
    halves = np.asarray(np.round(value.astype(np.float32) * 2) / 2).astype(value.dtype)
    return Drawn(lambda x: lax.round(x, lax.RoundingMethod(int(method))), (halves,), name)


@case("pow")
def powers(rng: Random, name: str) -> Drawn:
    """Powers of positive numbers, and integers to small ones."""
    shape, kind = shape_of(rng), _chosen(rng, REAL)
    if rng.random() < 0.3:
        return Drawn(lax.pow, (array(rng, kind, shape, -3, 3), array(rng, "int32", shape, 0, 3)), name)
    return Drawn(lax.pow, (array(rng, kind, shape, 0.1, 4), array(rng, kind, shape, -3, 3)), name)


@case("integer_pow")
def whole_powers(rng: Random, name: str) -> Drawn:
    """Powers by products."""
    kind = _chosen(rng, ("float32", "int32", "int8"))
    exponent = int(rng.integers(-3 if kind == "float32" else 3, 7))
    exponent = 3 if exponent in (0, 1, 2) else exponent
    return Drawn(lambda x: lax.integer_pow(x, exponent), (array(rng, kind, shape_of(rng), 1, 5),), name)


@case("atan2")
def angles(rng: Random, name: str) -> Drawn:
    """Angles of points."""
    return Drawn(jnp.arctan2, _two(rng, "float32", -9, 9), name)


@case("eq ne lt le gt ge")
def comparisons(rng: Random, name: str) -> Drawn:
    """Comparisons of numbers, many of which are equal."""
    first, second = _two(rng, _chosen(rng, NUMBERS), -3, 3)
    kind = first.dtype
    return Drawn(
        getattr(lax, name),
        (np.asarray(np.round(first.astype(np.float32))).astype(kind),
         np.broadcast_to(np.round(second.astype(np.float32)).astype(kind), first.shape).copy()),
        name,
    )  # fmt: skip


@case("and or xor not")
def bits(rng: Random, name: str) -> Drawn:
    """Truths, or bits of integers."""
    first, second = _two(rng, _chosen(rng, ("bool", *_BITS)), -(1 << 30), 1 << 30)
    function = {"not": jnp.bitwise_not, "and": jnp.bitwise_and, "or": jnp.bitwise_or, "xor": jnp.bitwise_xor}
    return Drawn(function[name], (first,) if name == "not" else (first, second), name)


@case("shift_left shift_right_arithmetic shift_right_logical")
def shifts(rng: Random, name: str) -> Drawn:
    """Bits moved, sometimes too far."""
    kinds = (
        ("int32", "int8", "int16", "uint8", "uint16")
        if name != "shift_right_arithmetic"
        else ("int32", "int8")
    )
    kind, shape = _chosen(rng, kinds), shape_of(rng)
    given = array(rng, kind, shape, -(1 << 30), 1 << 30), array(rng, kind, shape, 0, 9)
    return Drawn(getattr(lax, name), given, name)


@case("clz population_count")
def counts(rng: Random, name: str) -> Drawn:
    """Bits that are counted."""
    given = array(rng, _chosen(rng, ("int32", *NARROW)), shape_of(rng), -(1 << 30), 1 << 30)
    return Drawn(getattr(lax, name), (given,), name)


@case("select_n")
def choices(rng: Random, name: str) -> Drawn:
    """Choices by truths or by numbers."""
    kind, shape = _chosen(rng, (*NUMBERS, "bool")), shape_of(rng)
    count = int(rng.integers(2, 5))
    which = array(rng, "bool", shape) if count == 2 else array(rng, "int32", shape, 0, count - 1)
    return Drawn(lax.select_n, (which, *(array(rng, kind, shape) for _ in range(count))), name)


@case("clamp")
def clamps(rng: Random, name: str) -> Drawn:
    """Numbers inside of bounds."""
    kind, shape = _chosen(rng, NUMBERS), shape_of(rng)
    low, high = array(rng, kind, (), 0, 1), array(rng, kind, (), 2, 3)
    if rng.random() < 0.5:
        return Drawn(lambda x: lax.clamp(low, x, high), (array(rng, kind, shape, -5, 5),), name)
    return Drawn(lax.clamp, (low, array(rng, kind, shape, -5, 5), high), name)


@case("is_finite")
def finite(rng: Random, name: str) -> Drawn:
    """Numbers, infinite ones and none."""
    value = array(rng, _chosen(rng, REAL), shape_of(rng))
    special = rng.choice([np.nan, np.inf, -np.inf, 1.0], value.shape)
    mixed = np.where(rng.random(value.shape) < 0.5, value.astype(np.float32), special)
    return Drawn(lax.is_finite, (np.asarray(mixed).astype(value.dtype),), name)


@case("convert_element_type")
def conversions(rng: Random, name: str) -> Drawn:
    """Numbers in other types, where all of them are in both."""
    kinds = ("float32", "float16", "bfloat16", "int32", *NARROW, "bool")
    first, second = rng.choice(kinds, 2, replace=False)
    return Drawn(
        lambda x: lax.convert_element_type(x, str(second)),
        (array(rng, str(first), shape_of(rng), 0, 100),),
        name,
    )


@case("reduce_precision")
def precision(rng: Random, name: str) -> Drawn:
    """Numbers as narrower types have them."""
    exponent, fraction = ((5, 10), (8, 7))[int(rng.integers(2))]
    value = array(rng, "float32", shape_of(rng))
    return Drawn(lambda x: lax.reduce_precision(x, exponent, fraction), (value,), name)


@case("bitcast_convert_type")
def bit_casts(rng: Random, name: str) -> Drawn:
    """Integers by their bits as others of one width."""
    first, second = (("uint8", "int8"), ("int16", "uint16"), ("int32", "uint32"))[int(rng.integers(3))]
    value = array(rng, first, shape_of(rng), -(1 << 20), 1 << 20)
    return Drawn(lambda x: lax.bitcast_convert_type(x, second), (value,), name)
