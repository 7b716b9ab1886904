"""The fixed-point functions of gemmlowp for 16 bits, one number after another in integers of Python."""

from __future__ import annotations

from fractions import Fraction
from math import exp

LEAST, MOST = -(1 << 15), (1 << 15) - 1


def saturated(value: int) -> int:
    return min(max(value, LEAST), MOST)


def high_product(one: int, other: int) -> int:
    """The upper half of the double product, rounded: one less is added below zero, and fractions are cut."""
    product = one * other
    nudged = product + (1 << 14) if product >= 0 else product + 1 - (1 << 14)
    return saturated(nudged >> 15 if nudged >= 0 else -(-nudged >> 15))


def times_power(value: int, exponent: int) -> int:
    """Times a power of two, saturated; over one, halves away from zero."""
    if exponent >= 0:
        return saturated(value << exponent)
    mask = (1 << -exponent) - 1
    return (value >> -exponent) + ((value & mask) > (mask >> 1) + (value < 0))


def constant(raw: int) -> int:
    """A number that the library has in 32 bits."""
    return times_power(raw, -16)


def exponential(value: int, integer_bits: int) -> int:
    """Of numbers that are not above zero."""
    fraction = 15 - integer_bits
    quarter = 1 << (fraction - 2)
    part = (value & (quarter - 1)) - quarter
    x = times_power(part, integer_bits) + (1 << 12)
    square = high_product(x, x)
    series = high_product(
        times_power(high_product(square, square), -2) + high_product(square, x), constant(715827883)
    )
    middle = constant(1895147668)
    result = saturated(middle + high_product(middle, x + times_power(series + square, -1)))
    for exponent in range(-2, 5):
        factor = constant(int(Fraction(exp(-(2.0**exponent))) * (1 << 31) + Fraction(1, 2)))
        if integer_bits > exponent and (part - value) & (1 << (fraction + exponent)):
            result = high_product(result, factor)
    if integer_bits > 5 and value < -(32 << fraction):
        result = 0
    return MOST if value == 0 else result


def _reciprocal(value: int) -> int:
    """One over one plus a number from 0 to 1; two integer bits."""
    half = (value + MOST + 1) >> 1
    x = constant(1515870810) + high_product(half, constant(-1010580540))
    for _ in range(3):
        x += times_power(high_product(x, 8192 - high_product(half, x)), 2)
    return x


def logistic(value: int) -> int:
    """The sigmoid of numbers that are not below zero, of 3 integer bits."""
    return times_power(_reciprocal(exponential(-value, 3)), 1) if value else 1 << 14


def tangent(value: int, integer_bits: int) -> int:
    """The hyperbolic tangent of numbers that are not below zero."""
    doubled = exponential(-value, integer_bits + 1)
    return times_power(_reciprocal(doubled) - 8192, 2) if value else 0
