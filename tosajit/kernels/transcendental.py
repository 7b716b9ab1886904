"""Transcendental functions of float32, without branches, so that loops over them vectorise.

As in `floating.py`, the text runs in kernels and in plain Python; `T` rounds to the type that a scalar is
for. Each function reduces its argument and evaluates a polynomial there, whose numbers are in
`coefficients.py`. Errors stay well within the bounds of TOSA 1.0.1, which grow with the argument for most
functions (sections 2.4 to 2.6).
Half precision and bfloat16 have shorter polynomials: their errors are at most a quarter of a unit in the last
place of half precision, before the result is rounded.
"""

from typing import Any

import numpy as np

from tosajit.kernels.arithmetic import Number, of
from tosajit.kernels.coefficients import (
    ANGLE_MOST,
    BIASED_ROUNDER,
    COS,
    COS_SHORT,
    ERF,
    ERF_MOST,
    ERF_REST,
    ERF_SHORT_MOST,
    ERF_SHORT_OVER,
    ERF_SHORT_UNDER,
    EXP,
    EXP_FIFTH,
    EXP_LEAST,
    EXP_MOST,
    EXP_ROOT,
    EXP_SHORT,
    EXPONENT_BITS,
    HALF_LOG2_E,
    HALF_MOST,
    HALF_PI_HIGH,
    HALF_PI_LOW,
    LN_2,
    LN_2_SMALL,
    LOG,
    LOG2_E,
    LOG_SHORT,
    ROOT_HALF_BITS,
    ROUNDER,
    SIGMOID_LEAST,
    SIGMOID_MOST,
    SIN,
    SIN_SHORT,
    SMALLEST_NORMAL,
    TANH_MOST,
    TANH_OVER,
    TANH_SHORT_MOST,
    TANH_SHORT_OVER,
    TANH_SHORT_UNDER,
    TANH_UNDER,
    TIMES_23,
    TWO_23,
    TWO_LN_2,
    TWO_OVER_PI,
    TWO_OVER_ROOT_PI,
)
from tosajit.kernels.floating import FLOATS, T, choose, float_abs, float_root, signed

bits_of: Any = None
float_of: Any = None
float_fused: Any = None
near_bf16: Any = None


def exp_plain(x: Number) -> Number:
    """The exponential of a number within limits beyond which it is 0 or infinity; NaN passes both."""
    above = choose(x < np.float32(EXP_LEAST), np.float32(EXP_LEAST), x)
    return exp_near(choose(above > np.float32(EXP_MOST), np.float32(EXP_MOST), above))


def exp_near(x: Number) -> Number:
    """The exponential of a number from -150 to 130, the square of its root, which is a normal number."""
    added = float_fused(x, np.float32(HALF_LOG2_E), np.float32(BIASED_ROUNDER))
    r = float_fused(np.float32(added - np.float32(BIASED_ROUNDER)), np.float32(-TWO_LN_2), x)
    p = float_fused(r, np.float32(EXP[0]), np.float32(EXP[1]))
    p = float_fused(p, r, np.float32(EXP[2]))
    p = float_fused(p, r, np.float32(EXP[3]))
    p = float_fused(p, r, np.float32(EXP[4]))
    p = float_fused(p, r, np.float32(0.5))
    p = float_fused(p, r, np.float32(1))
    root = np.float32(p * float_of(np.int32(bits_of(added) << 23)))
    return np.float32(root * root)


def exp_root(x: Number, scale: Number, step: Number, cubic: Number, linear: Number) -> Number:
    """The root within 2**-13 of an exponential: a float32 holds its power of two.

    With all four coefficients negative it is that of the negative of a number.
    """
    inside = clipped(x, np.float32(150))
    # Adding so much leaves the whole power of two in the last bits.
    added = float_fused(inside, scale, np.float32(ROUNDER))
    r = float_fused(np.float32(added - np.float32(ROUNDER)), step, inside)
    p = float_fused(r, cubic, np.float32(EXP_ROOT[1]))
    p = float_fused(p, r, linear)
    p = float_fused(p, r, np.float32(1))
    return float_of(np.int32(bits_of(p) + np.int32(bits_of(added) << 23)))


def exp_half(x: Number) -> Number:
    """The exponential within 2**-13 where half precision holds it; beyond, too large or small a number."""
    inside = clipped(x, np.float32(HALF_MOST))
    added = float_fused(inside, np.float32(LOG2_E), np.float32(ROUNDER))
    n = np.float32(added - np.float32(ROUNDER))
    r = float_fused(n, np.float32(-LN_2), inside)
    p = float_fused(r, np.float32(EXP_SHORT[0]), np.float32(EXP_SHORT[1]))
    p = float_fused(p, r, np.float32(1))
    p = float_fused(p, r, np.float32(1))
    return float_of(np.int32(bits_of(p) + np.int32(bits_of(added) << 23)))


def log_plain(x: Number) -> Number:
    """The natural logarithm."""
    f = log_fraction(x)
    z = np.float32(f * f)
    # By pairs, so that few steps wait for each other.
    p = float_fused(f, np.float32(LOG[0]), np.float32(LOG[1]))
    p = float_fused(p, z, float_fused(f, np.float32(LOG[2]), np.float32(LOG[3])))
    p = float_fused(p, z, float_fused(f, np.float32(LOG[4]), np.float32(LOG[5])))
    p = float_fused(p, z, float_fused(f, np.float32(LOG[6]), np.float32(LOG[7])))
    near = float_fused(log_square(x, f), p, f)
    return float_fused(log_power(x), np.float32(LN_2_SMALL), near)


def log_short(x: Number) -> Number:
    """The natural logarithm within 2**-14."""
    f = log_fraction(x)
    p = float_fused(f, np.float32(LOG_SHORT[0]), np.float32(LOG_SHORT[1]))
    p = float_fused(p, f, np.float32(LOG_SHORT[2]))
    p = float_fused(p, f, np.float32(LOG_SHORT[3]))
    near = float_fused(log_square(x, f), p, f)
    return float_fused(log_power(x), np.float32(LN_2_SMALL), near)


def log_normal(x: Number) -> Number:
    """The bits of a number that is not subnormal: it, or it times 2**23."""
    tiny = np.bool_(x < np.float32(SMALLEST_NORMAL))
    return bits_of(np.float32(x * choose(tiny, np.float32(TWO_23), np.float32(1))))


def log_exponent(bits: Number) -> Number:
    """The exponent of the power of two that is nearest to a number, where its bits have it."""
    return np.int32(np.int32(bits - np.int32(ROOT_HALF_BITS)) & np.int32(EXPONENT_BITS))


def log_power(x: Number) -> Number:
    """The exponent of the power of two that is nearest to a number, times 2**23."""
    tiny = np.bool_(x < np.float32(SMALLEST_NORMAL))
    least = choose(tiny, np.float32(TIMES_23), np.float32(0))
    return np.float32(np.float32(log_exponent(log_normal(x))) - least)


def log_fraction(x: Number) -> Number:
    """The rest, from √½ to √2, less one; of infinity, infinity, and below zero NaN."""
    bits = log_normal(x)
    rest = choose(x < np.float32(np.inf), np.int32(bits - log_exponent(bits)), bits)
    return choose(x >= np.float32(0), np.float32(float_of(rest) - np.float32(1)), np.float32(np.nan))


def log_square(x: Number, fraction: Number) -> Number:
    """The square of the fraction; of zero, infinity, whose multiple by a polynomial is -infinity."""
    return choose(x != np.float32(0), np.float32(fraction * fraction), np.float32(np.inf))


@of("f32")
def exp(a: Number) -> Number:
    """Take e to the power of a number."""
    return exp_plain(a)


@of("f16")
def exp_(a: Number) -> Number:
    """Take e to the power of a number."""
    return T(exp_half(a))


@of("bf16")
def exp__(a: Number) -> Number:
    """Take e to the power of a number."""
    scale = np.float32(HALF_LOG2_E)
    step = np.float32(-TWO_LN_2)
    root = exp_root(a, scale, step, np.float32(EXP_ROOT[0]), np.float32(0.5))
    return near_bf16(np.float32(root * root))


@of("f32")
def log(a: Number) -> Number:
    """Take the natural logarithm; NaN below zero."""
    return log_plain(a)


@of("f16", "bf16")
def log_(a: Number) -> Number:
    """Take the natural logarithm; NaN below zero."""
    return T(log_short(a))


@of(*FLOATS)
def pow_(a: Number, b: Number) -> Number:
    """Take the first to the power of the second, through its logarithm."""
    power = exp_plain(np.float32(b * log_plain(a)))
    return T(choose(b == np.float32(0), np.float32(1), power))


@of("f32")
def sigmoid(a: Number) -> Number:
    """Take the logistic function; the power of two of its exponential is a number of its own."""
    above = choose(a < np.float32(SIGMOID_LEAST), np.float32(SIGMOID_LEAST), a)
    x = choose(above > np.float32(SIGMOID_MOST), np.float32(SIGMOID_MOST), above)
    added = float_fused(x, np.float32(-LOG2_E), np.float32(BIASED_ROUNDER))
    r = float_fused(np.float32(added - np.float32(BIASED_ROUNDER)), np.float32(LN_2), x)
    p = float_fused(r, np.float32(-EXP_FIFTH[0]), np.float32(EXP_FIFTH[1]))
    p = float_fused(p, r, np.float32(-EXP_FIFTH[2]))
    p = float_fused(p, r, np.float32(EXP_FIFTH[3]))
    p = float_fused(p, r, np.float32(-1))
    p = float_fused(p, r, np.float32(1))
    power = float_of(np.int32(bits_of(added) << 23))
    return np.float32(np.float32(1) / float_fused(p, power, np.float32(1)))


@of("f16")
def sigmoid_(a: Number) -> Number:
    """Take the logistic function, by the steps of `exp_half`; the power of two is a number of its own."""
    inside = clipped(a, np.float32(HALF_MOST))
    added = float_fused(inside, np.float32(-LOG2_E), np.float32(BIASED_ROUNDER))
    n = np.float32(added - np.float32(BIASED_ROUNDER))
    r = float_fused(n, np.float32(LN_2), inside)
    p = float_fused(r, np.float32(-EXP_SHORT[0]), np.float32(EXP_SHORT[1]))
    p = float_fused(p, r, np.float32(-1))
    p = float_fused(p, r, np.float32(1))
    power = float_of(np.int32(bits_of(added) << 23))
    return T(np.float32(np.float32(1) / float_fused(p, power, np.float32(1))))


@of("bf16")
def sigmoid__(a: Number) -> Number:
    """Take the logistic function."""
    scale = np.float32(-HALF_LOG2_E)
    step = np.float32(TWO_LN_2)
    root = exp_root(a, scale, step, np.float32(-EXP_ROOT[0]), np.float32(-0.5))
    return near_bf16(np.float32(np.float32(1) / float_fused(root, root, np.float32(1))))


def clipped(x: Number, most: Number) -> Number:
    """A number, or a limit of its magnitude; NaN stays."""
    above = choose(x < np.float32(-most), np.float32(-most), x)
    return choose(above > most, most, above)


@of("f32")
def tanh(a: Number) -> Number:
    """Take the hyperbolic tangent: a quotient of two polynomials, which is a little above one at 8.25."""
    x = clipped(a, np.float32(TANH_MOST))
    z = np.float32(x * x)
    p = float_fused(z, np.float32(TANH_OVER[0]), np.float32(TANH_OVER[1]))
    p = float_fused(p, z, np.float32(TANH_OVER[2]))
    p = float_fused(p, z, np.float32(TANH_OVER[3]))
    p = np.float32(x * float_fused(p, z, np.float32(1)))
    q = float_fused(z, np.float32(TANH_UNDER[0]), np.float32(TANH_UNDER[1]))
    q = float_fused(q, z, np.float32(TANH_UNDER[2]))
    return clipped(np.float32(p / float_fused(q, z, np.float32(1))), np.float32(1))


@of("f16", "bf16")
def tanh_(a: Number) -> Number:
    """Take the hyperbolic tangent: a quotient that is above one at 5."""
    x = clipped(a, np.float32(TANH_SHORT_MOST))
    z = np.float32(x * x)
    p = float_fused(z, np.float32(TANH_SHORT_OVER[0]), np.float32(TANH_SHORT_OVER[1]))
    p = np.float32(x * float_fused(p, z, np.float32(TANH_SHORT_OVER[2])))
    q = float_fused(z, np.float32(TANH_SHORT_UNDER[0]), np.float32(TANH_SHORT_UNDER[1]))
    return T(clipped(np.float32(p / float_fused(q, z, np.float32(1))), np.float32(1)))


@of("f32")
def erf(a: Number) -> Number:
    """Take the error function: a polynomial up to 1, beyond it what the 8th power of another leaves of 1."""
    x = choose(float_abs(a) > np.float32(ERF_MOST), np.float32(ERF_MOST), float_abs(a))
    z = np.float32(x * x)
    p = float_fused(z, np.float32(ERF[0]), np.float32(ERF[1]))
    p = float_fused(p, z, np.float32(ERF[2]))
    p = float_fused(p, z, np.float32(ERF[3]))
    p = float_fused(p, z, np.float32(ERF[4]))
    p = float_fused(p, z, np.float32(ERF[5]))
    small = np.float32(float_fused(p, z, np.float32(TWO_OVER_ROOT_PI)) * x)
    q = float_fused(x, np.float32(ERF_REST[0]), np.float32(ERF_REST[1]))
    q = float_fused(q, x, np.float32(ERF_REST[2]))
    q = float_fused(q, x, np.float32(ERF_REST[3]))
    q = float_fused(q, x, np.float32(ERF_REST[4]))
    q = float_fused(q, x, np.float32(ERF_REST[5]))
    q = float_fused(q, x, np.float32(ERF_REST[6]))
    q = np.float32(q * q)
    q = np.float32(q * q)
    large = float_fused(np.float32(-q), q, np.float32(1))
    return signed(choose(x < np.float32(1), small, large), a)


@of("f16", "bf16")
def erf_(a: Number) -> Number:
    """Take the error function: a quotient that is above one at 3."""
    x = clipped(a, np.float32(ERF_SHORT_MOST))
    z = np.float32(x * x)
    p = float_fused(z, np.float32(ERF_SHORT_OVER[0]), np.float32(ERF_SHORT_OVER[1]))
    p = float_fused(p, z, np.float32(ERF_SHORT_OVER[2]))
    p = np.float32(x * float_fused(p, z, np.float32(ERF_SHORT_OVER[3])))
    q = float_fused(z, np.float32(ERF_SHORT_UNDER[0]), np.float32(ERF_SHORT_UNDER[1]))
    return T(clipped(np.float32(p / float_fused(q, z, np.float32(1))), np.float32(1)))


def quarters(x: Number) -> Number:
    """The number of quarters of a turn that is nearest to an angle, in the last bits of a large number."""
    inside = choose(float_abs(x) < np.float32(ANGLE_MOST), x, np.float32(0))
    return float_fused(inside, np.float32(TWO_OVER_PI), np.float32(ROUNDER))


def turned(x: Number, added: Number) -> Number:
    """An angle less its quarters of a turn; one beyond all precision is taken for 0."""
    n = np.float32(added - np.float32(ROUNDER))
    inside = choose(float_abs(x) < np.float32(ANGLE_MOST), x, np.float32(0))
    near = float_fused(n, np.float32(-HALF_PI_HIGH), inside)
    return float_fused(n, np.float32(-HALF_PI_LOW), near)


def wave(x: Number, turn: Number) -> Number:
    """The sine of an angle that is `turn` quarters further on."""
    added = quarters(x)
    r = turned(x, added)
    z = np.float32(r * r)
    s = float_fused(z, np.float32(SIN[0]), np.float32(SIN[1]))
    s = float_fused(s, z, np.float32(SIN[2]))
    s = float_fused(s, z, np.float32(SIN[3]))
    c = float_fused(z, np.float32(COS[0]), np.float32(COS[1]))
    c = float_fused(c, z, np.float32(COS[2]))
    c = float_fused(c, z, np.float32(COS[3]))
    c = float_fused(c, z, np.float32(-0.5))
    place = np.int32(bits_of(added) + np.int32(turn))
    return wave_at(
        x, place, np.float32(r * float_fused(s, z, np.float32(1))), float_fused(c, z, np.float32(1))
    )


def wave_short(x: Number, turn: Number) -> Number:
    """The same within 2**-15."""
    added = quarters(x)
    r = turned(x, added)
    z = np.float32(r * r)
    s = float_fused(z, np.float32(SIN_SHORT[0]), np.float32(SIN_SHORT[1]))
    c = float_fused(z, np.float32(COS_SHORT[0]), np.float32(COS_SHORT[1]))
    place = np.int32(bits_of(added) + np.int32(turn))
    return wave_at(
        x, place, np.float32(r * float_fused(s, z, np.float32(1))), float_fused(c, z, np.float32(1))
    )


def wave_at(x: Number, place: Number, sine: Number, cosine: Number) -> Number:
    """The sine, after so many quarters, from sine and cosine of the rest."""
    value = choose(np.bool_(np.int32(place & 1) > 0), cosine, sine)
    signed = float_of(np.int32(bits_of(value) ^ np.int32(np.int32(place & 2) << 30)))
    return choose(float_abs(x) < np.float32(np.inf), signed, np.float32(np.nan))


@of("f32")
def sin(a: Number) -> Number:
    """Take the sine of an angle in radians; of infinity, NaN."""
    return wave(a, np.int32(0))


@of("f16", "bf16")
def sin_(a: Number) -> Number:
    """Take the sine of an angle in radians; of infinity, NaN."""
    return T(wave_short(a, np.int32(0)))


@of("f32")
def cos(a: Number) -> Number:
    """Take the cosine of an angle in radians; of infinity, NaN."""
    return wave(a, np.int32(1))


@of("f16", "bf16")
def cos_(a: Number) -> Number:
    """Take the cosine of an angle in radians; of infinity, NaN."""
    return T(wave_short(a, np.int32(1)))


@of(*FLOATS)
def rsqrt(a: Number) -> Number:
    """Take one over the square root."""
    return T(np.float32(np.float32(1) / float_root(a)))
