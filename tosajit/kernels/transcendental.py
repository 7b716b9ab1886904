"""Transcendental functions of float32, without branches, so that loops over them vectorise.

As in `floating.py`, the text runs in kernels and in plain Python; `T` rounds to the type that a scalar is
for. Each function reduces its argument and evaluates a polynomial there. The coefficients are weighted
least-squares fits for the relative error of the result on the interval that is named. Errors stay well within
the bounds of TOSA 1.0.1, which grow with the argument for most functions (sections 2.4 to 2.6).
"""

from typing import Any

import numpy as np

from tosajit.kernels.arithmetic import Number, of
from tosajit.kernels.floating import FLOATS, T, choose, float_abs, float_even, float_root

bits_of: Any = None
float_of: Any = None


def power_of_two(exponent: Number) -> Number:
    """Two to the power of an int32 from -126 to 127."""
    return float_of(np.int32(np.int32(exponent + 127) << 23))


def sign_of(value: Number, like: Number) -> Number:
    """A magnitude with the sign of another number."""
    return float_of(np.int32(bits_of(value) | np.int32(bits_of(like) & np.int32(-2147483648))))


def exp_plain(x: Number) -> Number:
    """The exponential: of what is left of a multiple of ln 2, and two powers of two, for small numbers."""
    above = choose(x > np.float32(-150), x, np.float32(-150))
    inside = choose(above < np.float32(130), above, np.float32(130))
    n = float_even(np.float32(inside * np.float32(1.44269504)))
    whole = np.int32(n)
    half = np.int32(whole >> 1)
    scaled = np.float32(exp_rest(inside, n) * power_of_two(half))
    return choose(x == x, np.float32(scaled * power_of_two(np.int32(whole - half))), x)


def exp_rest(x: Number, n: Number) -> Number:
    """The exponential of what is left of a number less n times ln 2."""
    high = np.float32(x - np.float32(n * np.float32(0.693145752)))
    r = np.float32(high - np.float32(n * np.float32(1.42860677e-06)))
    p = np.float32(np.float32(r * np.float32(0.00138145)) + np.float32(0.00836878))
    p = np.float32(np.float32(p * r) + np.float32(0.04166839))
    p = np.float32(np.float32(p * r) + np.float32(0.1666652))
    p = np.float32(np.float32(p * r) + np.float32(0.49999993))
    return np.float32(np.float32(np.float32(np.float32(p * r) * r) + r) + np.float32(1))


def exp_near(x: Number) -> Number:
    """The exponential of a number between -80 and 80: its power of two is one float32."""
    n = float_even(np.float32(x * np.float32(1.44269504)))
    return np.float32(exp_rest(x, n) * power_of_two(np.int32(n)))


def log_plain(x: Number) -> Number:
    """The natural logarithm: of a fraction from √½ to √2, and of a power of two."""
    tiny = np.bool_(x < np.float32(1.17549435e-38))
    normal = np.float32(x * choose(tiny, np.float32(8388608), np.float32(1)))
    bits = bits_of(normal)
    above = np.int32(np.int32(bits - np.int32(0x3F3504F3)) >> 23)
    m = float_of(np.int32(bits - np.int32(above << 23)))
    e = np.float32(np.float32(above) - choose(tiny, np.float32(23), np.float32(0)))
    f = np.float32(m - np.float32(1))
    p = np.float32(np.float32(f * np.float32(-0.07859552)) + np.float32(0.1288162))
    p = np.float32(np.float32(p * f) - np.float32(0.13128764))
    p = np.float32(np.float32(p * f) + np.float32(0.14181196))
    p = np.float32(np.float32(p * f) - np.float32(0.16624554))
    p = np.float32(np.float32(p * f) + np.float32(0.20002286))
    p = np.float32(np.float32(p * f) - np.float32(0.2500081))
    p = np.float32(np.float32(p * f) + np.float32(0.33333317))
    square = np.float32(f * f)
    low = np.float32(np.float32(np.float32(p * f) * square) + np.float32(e * np.float32(1.42860677e-06)))
    near = np.float32(f - np.float32(np.float32(np.float32(0.5) * square) - low))
    found = np.float32(near + np.float32(e * np.float32(0.693145752)))
    ordinary = choose(x == np.float32(np.inf), x, found)
    signed = choose(x >= np.float32(0), ordinary, np.float32(np.nan))
    return choose(x == np.float32(0), np.float32(-np.inf), signed)


@of(*FLOATS)
def exp(a: Number) -> Number:
    """Take e to the power of a number."""
    return T(exp_plain(a))


@of(*FLOATS)
def log(a: Number) -> Number:
    """Take the natural logarithm; NaN below zero."""
    return T(log_plain(a))


@of(*FLOATS)
def pow_(a: Number, b: Number) -> Number:
    """Take the first to the power of the second, through its logarithm."""
    power = exp_plain(np.float32(b * log_plain(a)))
    one = np.bool_(np.int64(b == np.float32(0)) > 0)
    return T(choose(one, np.float32(1), power))


@of(*FLOATS)
def sigmoid(a: Number) -> Number:
    """Take the logistic function."""
    return T(np.float32(np.float32(1) / np.float32(np.float32(1) + exp_plain(np.float32(-a)))))


@of(*FLOATS)
def tanh(a: Number) -> Number:
    """Take the hyperbolic tangent: a polynomial up to 0.625, beyond it through the exponential."""
    x = float_abs(a)
    z = np.float32(a * a)
    p = np.float32(np.float32(z * np.float32(-0.00571704)) + np.float32(0.02065058))
    p = np.float32(np.float32(p * z) - np.float32(0.0537435))
    p = np.float32(np.float32(p * z) + np.float32(0.13331491))
    p = np.float32(np.float32(p * z) - np.float32(0.33333284))
    small = np.float32(a + np.float32(np.float32(p * z) * a))
    inside = choose(x < np.float32(10), x, np.float32(10))
    power = exp_near(np.float32(inside + inside))
    large = np.float32(np.float32(1) - np.float32(np.float32(2) / np.float32(power + np.float32(1))))
    return T(choose(x >= np.float32(0.625), sign_of(large, a), small))


@of(*FLOATS)
def erf(a: Number) -> Number:
    """Take the error function: a polynomial up to 1, beyond it what is left to 1, of the form of exp(-a²)."""
    x = choose(float_abs(a) > np.float32(4), np.float32(4), float_abs(a))
    z = np.float32(x * x)
    p = np.float32(np.float32(z * np.float32(7.85385771e-05)) - np.float32(8.01019252e-04))
    p = np.float32(np.float32(p * z) + np.float32(5.18832756e-03))
    p = np.float32(np.float32(p * z) - np.float32(2.68538119e-02))
    p = np.float32(np.float32(p * z) + np.float32(1.12835851e-01))
    p = np.float32(np.float32(p * z) - np.float32(3.76126258e-01))
    small = np.float32(np.float32(np.float32(p * z) + np.float32(1.12837917)) * x)
    t = np.float32(np.float32(1) / np.float32(np.float32(1) + np.float32(np.float32(0.5) * x)))
    q = np.float32(np.float32(t * np.float32(-0.23080166)) + np.float32(0.63667999))
    q = np.float32(np.float32(q * t) - np.float32(0.06446059))
    q = np.float32(np.float32(q * t) + np.float32(0.39680205))
    q = np.float32(np.float32(q * t) + np.float32(0.25970062))
    q = np.float32(np.float32(q * t) + np.float32(0.00182248))
    inside = choose(z < np.float32(16), z, np.float32(16))
    large = np.float32(np.float32(1) - np.float32(q * exp_near(np.float32(-inside))))
    return T(sign_of(choose(x < np.float32(1), small, large), a))


def quadrant(x: Number) -> Number:
    """How many quarters of a turn are nearest to an angle; none for angles beyond all precision."""
    inside = np.float64(choose(float_abs(x) < np.float32(1e9), x, np.float32(0)))
    half = choose(x < np.float32(0), np.float64(-0.5), np.float64(0.5))
    return np.float64(np.int64(np.float64(np.float64(inside * 0.6366197723675814) + half)))


def wave(x: Number, turn: Number) -> Number:
    """The sine of an angle that is `turn` quarters further on."""
    n = quadrant(x)
    inside = np.float64(choose(float_abs(x) < np.float32(1e9), x, np.float32(0)))
    r = np.float32(inside - np.float64(n * 1.5707963267948966))
    z = np.float32(r * r)
    s = np.float32(np.float32(z * np.float32(2.72493997e-06)) - np.float32(1.98400828e-04))
    s = np.float32(np.float32(s * z) + np.float32(8.33333187e-03))
    s = np.float32(np.float32(s * z) - np.float32(1.66666667e-01))
    sine = np.float32(r + np.float32(np.float32(s * z) * r))
    c = np.float32(np.float32(z * np.float32(-2.77408626e-07)) + np.float32(2.48045306e-05))
    c = np.float32(np.float32(c * z) - np.float32(1.38888959e-03))
    c = np.float32(np.float32(c * z) + np.float32(4.16666667e-02))
    cosine = np.float32(np.float32(1) - np.float32(z * np.float32(np.float32(0.5) - np.float32(c * z))))
    place = np.int32(np.int32(np.int64(n)) + np.int32(turn))
    value = choose(np.bool_(np.int32(place & 1) > 0), cosine, sine)
    signed = choose(np.bool_(np.int32(place & 2) > 0), np.float32(-value), value)
    return choose(float_abs(x) < np.float32(np.inf), signed, np.float32(np.nan))


@of(*FLOATS)
def sin(a: Number) -> Number:
    """Take the sine of an angle in radians; of infinity, NaN."""
    return T(wave(a, np.int32(0)))


@of(*FLOATS)
def cos(a: Number) -> Number:
    """Take the cosine of an angle in radians; of infinity, NaN."""
    return T(wave(a, np.int32(1)))


@of(*FLOATS)
def rsqrt(a: Number) -> Number:
    """Take one over the square root."""
    return T(np.float32(np.float32(1) / float_root(a)))
