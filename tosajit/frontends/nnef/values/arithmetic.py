r"""Operators and built-in functions on single items (NNEF 2.0 section 2.4).

Integers have 64 bits. `/` of integers rounds down and `\` up; `%` has the sign of its left operand, as in C;
`round` takes the number farther from zero where two are as near.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import ge, gt, le, lt
from typing import Any

from tosajit.frontends.nnef.values.value import Item, type_of

_LEAST, _GREATEST = -(2**63), 2**63 - 1
_STEEPEST = 63
"""The greatest exponent of an integer whose power can have 64 bits, but for the bases 0, 1 and -1."""


class NoValue(Exception):
    """Raised where items have no result: what is wrong."""


def _remainder(left: int, right: int) -> int:
    return left % (-abs(right) if left < 0 else abs(right))


def _power(left: int, right: int) -> int:
    if right < 0:
        raise NoValue(f"{left} ** {right} is no integer")
    if abs(left) > 1 and right > _STEEPEST:
        raise NoValue(f"{left} ** {right} has more than 64 bits")
    return int(left**right)


def _real_quotient(left: float, right: float) -> float:
    if right == 0:
        return (
            math.nan
            if left == 0 or math.isnan(left)
            else math.copysign(math.inf, left) * math.copysign(1, right)
        )
    return left / right


def _real_power(left: float, right: float) -> float:
    if left < 0 and not right.is_integer():
        raise NoValue(f"{left} ** {right} is no real number")
    return math.pow(left, right)


_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left // right,
    "\\": lambda left, right: -(-left // right),
    "%": _remainder,
    "**": _power,
    "<?": min,
    ">?": max,
}
_REALS: dict[str, Callable[[float, float], float]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _real_quotient,
    "\\": lambda left, right: rounded_up(_real_quotient(left, right)),
    "**": _real_power,
    "<?": lambda left, right: left if left < right else right,
    ">?": lambda left, right: left if left > right else right,
}
_TRUTHS: dict[str, Callable[[bool, bool], bool]] = {
    "&&": lambda left, right: left and right,
    "||": lambda left, right: left or right,
    "^": lambda left, right: left != right,
    "=>": lambda left, right: right or not left,
}
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}


def binary(operator: str, left: Item, right: Item) -> Item:
    """An operator on two items of one type."""
    if type(left) is not type(right):
        kinds = f"{type_of(left)} and {type_of(right)}"
        raise NoValue(f"`{operator}` takes operands of one type, not {kinds}")
    if operator in ("==", "!=", "is"):
        return (left == right) == (operator != "!=")
    try:
        return _result(operator, left, right)
    except ZeroDivisionError:
        raise NoValue(f"{left} {operator} {right} divides by zero") from None
    except OverflowError:
        raise NoValue(f"{left} {operator} {right} is too large") from None


def _result(operator: str, left: Any, right: Any) -> Item:
    kind = type(left)
    if kind is int and operator in _INTEGERS:
        return whole(_INTEGERS[operator](left, right))
    if kind is float and operator in _REALS:
        return _REALS[operator](left, right)
    if kind is bool and operator in _TRUTHS:
        return _TRUTHS[operator](left, right)
    if kind is not bool and operator in _ORDERS:
        return _ORDERS[operator](left, right)
    raise NoValue(f"`{operator}` does not take {type_of(left)}")


def whole(value: int) -> int:
    """An integer that has 64 bits."""
    if not _LEAST <= value <= _GREATEST:
        raise NoValue("the integer has more than 64 bits")
    return value


def unary(operator: str, item: Item) -> Item:
    """`+`, `-` or `!`."""
    match operator, item:
        case "!", bool():
            return not item
        case (("+" | "-"), bool() | str()):
            pass
        case "+", int() | float():
            return item
        case "-", int():
            return whole(-item)
        case "-", float():
            return -item
    raise NoValue(f"`{operator}` does not take {type_of(item)}")


def rounded(value: float) -> float:
    """The nearest whole number, away from zero where two are as near."""
    if not math.isfinite(value):
        return value
    down = math.floor(abs(value))
    return math.copysign(down + (abs(value) - down >= 0.5), value)


def rounded_up(value: float) -> float:
    """The least whole number that is no less."""
    return float(math.ceil(value)) if math.isfinite(value) else value


def _rounded_down(value: float) -> float:
    return float(math.floor(value)) if math.isfinite(value) else value


_FUNCTIONS: dict[str, Callable[[float], float]] = {
    name: getattr(math, name)
    for name in "sqrt exp log sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh".split()
} | {
    "round": rounded,
    "floor": _rounded_down,
    "ceil": rounded_up,
    "frac": lambda value: value - _rounded_down(value),
}
FUNCTIONS = frozenset({*_FUNCTIONS, "abs", "sign"})


def function(name: str, item: Item) -> Item:
    """A built-in function of an item."""
    match name, item:
        case _, bool() | str():
            pass
        case "abs", int() | float():
            return abs(item)
        case "sign", int():
            return (item > 0) - (item < 0)
        case "sign", float():
            return item if item == 0 or math.isnan(item) else math.copysign(1.0, item)
        case _, float():
            try:
                return _FUNCTIONS[name](item)
            except ValueError:
                raise NoValue(f"{name}({item}) is no real number") from None
            except OverflowError:
                return math.inf
    raise NoValue(f"`{name}` does not take {type_of(item)}")


def converted(type: str, item: Item) -> Item:
    """An item of a type as one of another; a real number loses what is behind its point."""
    if type_of(item) == type:
        return item
    match type, item:
        case _, str():
            pass
        case "int", float() if not math.isfinite(item):
            raise NoValue(f"{item} has no integer")
        case "int", int() | float():
            return whole(int(item))
        case "real", int():
            return float(item)
        case "bool", int() | float():
            return bool(item)
    raise NoValue(f"{type_of(item)} cannot be cast to {type}")
