"""Operators and functions of the language as scalars of `tiling`.

Real numbers are computed in float32, whatever type tensors have, and integers in int32. What the vocabulary
lacks is composed of what it has.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi, tan

import numpy as np

from tiling.expr import Expr, apply, call, const
from tosajit.frontends.nnef.nests.assignment import Unfit
from tosajit.frontends.nnef.nests.terms import Apply, Term
from tosajit.operators.lowering import convert

COMPUTED = {"real": "f32", "int": "i32", "bool": "bool"}
"""The types of the language as scalars are computed."""
_MOST_FACTORS = 8
"""A power with such a whole exponent is a product."""


def expression(root: Term, leaf: Callable[[Term], Expr | None]) -> Expr:
    """A term as an expression; `leaf` gives what elements, loops and tables are."""
    done: dict[Term, Expr] = {}

    def of(term: Term) -> Expr:
        if isinstance(term, bool):
            return const(int(term), "bool")
        if isinstance(term, int):
            if not -(2**31) <= term < 2**31:
                raise Unfit(f"{term} has more than 32 bits")
            return const(term, "i32")
        return const(_single(term), "f32") if isinstance(term, float) else done[term]

    def inner(term: Term) -> tuple[Term, ...]:
        found = leaf(term)
        if found is not None:
            done[term] = found
            return ()
        return term.operands if isinstance(term, Apply) else ()

    for term in _walk(root, inner):
        if term not in done:
            assert isinstance(term, Apply)
            done[term] = applied(term, [of(one) for one in term.operands])
    return of(root)


def _single(number: float) -> float:
    """A real number as float32 has it."""
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def _walk(root: Term, parts: Callable[[Term], tuple[Term, ...]]) -> list[Term]:
    """Terms that are no numbers, parts first."""
    found: dict[Term, None] = {}
    stack: list[tuple[Term, bool]] = [(root, False)]
    while stack:
        term, ready = stack.pop()
        if isinstance(term, bool | int | float | str) or term in found:
            continue
        if ready:
            found[term] = None
        else:
            stack.append((term, True))
            stack.extend((part, False) for part in reversed(parts(term)))
    return list(found)


def applied(term: Apply, operands: list[Expr]) -> Expr:
    """An operator of expressions."""
    name = term.operator
    if name == "**" and isinstance(term.operands[1], int | float):
        return _power(operands[0], term.operands[1])
    if name in _OPERATORS:
        return _OPERATORS[name](*operands)
    if name in COMPUTED:
        return cast(operands[0], name)
    raise Unfit(f"`{name}` of {term.type} has no scalar")


def cast(value: Expr, type: str) -> Expr:
    """A number as another type; of a real number what is behind the point is lost."""
    match value.type, type:
        case "f32", "int":
            return call("float_to_i32", _truncated(value))
        case "bool", "real":
            return call("select_f32", value, const(1.0, "f32"), const(0.0, "f32"))
        case _, "bool":
            return ~apply("eq", value, const(0 if value.type == "i32" else 0.0, value.type))
    return convert(value, COMPUTED[type])


def neutral(operator: str, type: str) -> int | float:
    """What an accumulation begins with (NNEF 2.0 section 2.12)."""
    infinite = {"f32": float("inf"), "i32": 2**31 - 1}
    match operator:
        case "<?=":
            return infinite[type]
        case ">?=":
            return -infinite[type] - (type == "i32")
    one = operator in ("*=", "&=")
    return float(one) if type == "f32" else int(one)


COMBINING = {"+=": "add", "*=": "mul", "&=": "and", "|=": "or", "<?=": "min", ">?=": "max"}
"""The scalars that accumulate."""


def _one(value: Expr) -> Expr:
    return const(1.0, value.type)


def _zero(value: Expr) -> Expr:
    return const(0.0 if value.type == "f32" else 0, value.type)


def _select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    return call(f"select_{then.type}", condition, then, otherwise)


def _truncated(x: Expr) -> Expr:
    return _select(apply("gt", _zero(x), x), apply("ceil", x), apply("floor", x))


def _power(base: Expr, exponent: float) -> Expr:
    """A power with an exponent that is known; a small whole one is exact of negative numbers too."""
    whole = float(exponent).is_integer() and 0 < abs(exponent) <= _MOST_FACTORS
    if whole and (exponent > 0 or base.type == "f32"):
        found = base
        for _ in range(int(abs(exponent)) - 1):
            found = found * base
        return found if exponent > 0 else apply("div", _one(base), found)
    if base.type != "f32":
        raise Unfit(f"an integer to the power of {exponent} has no scalar")
    if exponent == 0.5:
        return sqrt(base)
    power = _general_power if float(exponent).is_integer() else _function("pow")
    return power(base, const(float(exponent), "f32"))


def sqrt(x: Expr) -> Expr:
    """The square root: rsqrt is infinite at 0, and its reciprocal 0 again."""
    return apply("reciprocal", apply("rsqrt", x))


def _divided(left: Expr, right: Expr) -> Expr:
    """Integers are rounded down."""
    if left.type == "f32":
        return apply("div", left, right)
    quotient = apply("intdiv", left, right)
    rest = left - quotient * right
    apart = apply("gt", _zero(left), rest) ^ apply("gt", _zero(left), right)
    return quotient - call("to_i32", apart & ~apply("eq", rest, _zero(rest)))


def _divided_up(left: Expr, right: Expr) -> Expr:
    if left.type == "f32":
        return apply("ceil", apply("div", left, right))
    return apply("neg", _divided(apply("neg", left), right))


def _remainder(left: Expr, right: Expr) -> Expr:
    """What division leaves, with the sign of what is divided."""
    if left.type == "f32":
        return _real_remainder(left, right)
    return left - apply("intdiv", left, right) * right


def _real_remainder(left: Expr, right: Expr) -> Expr:
    """As C's `fmod`, but that a quotient beyond 24 bits leaves no more than its error."""
    size, step = apply("abs", left), apply("abs", right)
    times = apply("floor", apply("div", size, step))
    rest = size - times * step
    rest = _select(apply("gt", _zero(rest), rest), rest + step, rest)
    rest = _select(apply("ge", rest, step), rest - step, rest)
    rest = _select(apply("gt", step, size), size, rest)
    return _select(apply("gt", _zero(left), left), apply("neg", rest), rest)


def _general_power(base: Expr, exponent: Expr) -> Expr:
    """The sign of a power of a negative number is that of an odd exponent."""
    if base.type != "f32":
        return _whole_power(base, exponent)
    size = apply("pow", apply("abs", base), exponent)
    half = exponent * const(0.5, "f32")
    odd = ~apply("eq", half, apply("floor", half))
    negative = apply("gt", _zero(base), base)
    whole = apply("eq", exponent, apply("floor", exponent))
    signed = _select(odd, apply("neg", size), size)
    return _select(negative, _select(whole, signed, const(float("nan"), "f32")), size)


def _whole_power(base: Expr, exponent: Expr) -> Expr:
    """Bit by bit of the exponent; of a negative one only the powers of 1 and -1 are whole."""
    one, found = const(1, "i32"), const(1, "i32")
    square, size = base, apply("abs", exponent)
    for bit in range(31):
        odd = apply("lshr", size, const(bit, "i32")) & one
        found = _select(apply("eq", odd, one), found * square, found)
        square = square * square
    unit = apply("eq", apply("abs", base), one)
    return _select(apply("gt", _zero(exponent), exponent) & ~unit, _zero(base), found)


def _sign(x: Expr) -> Expr:
    positive, negative = apply("gt", x, _zero(x)), apply("gt", _zero(x), x)
    one = const(1.0 if x.type == "f32" else 1, x.type)
    return _select(positive, one, _select(negative, apply("neg", one), x))


def _rounded(x: Expr) -> Expr:
    """Half away from zero."""
    size = apply("abs", x)
    down = apply("floor", size)
    nearest = _select(apply("ge", size - down, const(0.5, "f32")), down + _one(x), down)
    return _select(apply("gt", _zero(x), x), apply("neg", nearest), nearest)


def _sinh(x: Expr) -> Expr:
    return apply("tanh", x) * _cosh(x)


def _cosh(x: Expr) -> Expr:
    return (apply("exp", x) + apply("exp", apply("neg", x))) * const(0.5, "f32")


def _log1p(x: Expr) -> Expr:
    """log(1 + x), exact near 0: what is lost in the sum is made good."""
    u = x + _one(x)
    corrected = apply("log", u) * apply("div", x, u - _one(x))
    at_ends = apply("eq", u, _one(x)) | apply("eq", u, const(float("inf"), "f32"))
    return _select(at_ends, x, corrected)


def _asinh(x: Expr) -> Expr:
    size = apply("abs", x)
    square = size * size
    inner = size + apply("div", square, _one(x) + sqrt(square + _one(x)))
    large = apply("log", size) + const(log(2), "f32")
    found = _select(apply("gt", size, const(1e18, "f32")), large, _log1p(inner))
    return _select(apply("gt", _zero(x), x), apply("neg", found), found)


def _acosh(x: Expr) -> Expr:
    t = x - _one(x)
    large = apply("log", x) + const(log(2), "f32")
    found = _log1p(t + sqrt(t * (t + const(2.0, "f32"))))
    return _select(apply("gt", x, const(1e18, "f32")), large, found)


def _atanh(x: Expr) -> Expr:
    return _log1p(apply("div", const(2.0, "f32") * x, _one(x) - x)) * const(0.5, "f32")


def _atan(x: Expr) -> Expr:
    """By thirds of a right angle, with the odd polynomial of Cephes' `atanf` between them."""
    size = apply("abs", x)
    far = apply("gt", size, const(tan(3 * pi / 8), "f32"))
    middle = apply("gt", size, const(tan(pi / 8), "f32"))
    inner = _select(
        far,
        apply("neg", apply("reciprocal", size)),
        _select(middle, apply("div", size - _one(x), size + _one(x)), size),
    )
    start = _select(far, const(pi / 2, "f32"), _select(middle, const(pi / 4, "f32"), _zero(x)))
    z = inner * inner
    sum = const(8.05374449538e-2, "f32")
    for coefficient in (-1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1):
        sum = sum * z + const(coefficient, "f32")
    found = start + (sum * z * inner + inner)
    return _select(apply("gt", _zero(x), x), apply("neg", found), found)


def _asin(x: Expr) -> Expr:
    return _atan(apply("div", x, sqrt((_one(x) - x) * (_one(x) + x))))


def _acos(x: Expr) -> Expr:
    return const(2.0, "f32") * _atan(sqrt(apply("div", _one(x) - x, _one(x) + x)))


def _function(name: str) -> Callable[..., Expr]:
    return lambda *operands: apply(name, *operands)


_OPERATORS: dict[str, Callable[..., Expr]] = {
    "+": _function("add"), "-": _function("sub"), "*": _function("mul"), "/": _divided, "\\": _divided_up,
    "%": _remainder, "**": _general_power, "<?": _function("min"), ">?": _function("max"),
    "&&": _function("and"), "||": _function("or"), "^": _function("xor"),
    "=>": lambda a, b: ~a | b,
    "<": lambda a, b: apply("gt", b, a), "<=": lambda a, b: apply("ge", b, a), ">": _function("gt"),
    ">=": _function("ge"), "==": _function("eq"), "is": _function("eq"),
    "!=": lambda a, b: ~apply("eq", a, b),
    "-.": _function("neg"), "!.": _function("not"), "?": _select, "sqrt": sqrt, "exp": _function("exp"),
    "log": _function("log"), "sin": _function("sin"), "cos": _function("cos"),
    "tan": lambda x: apply("div", apply("sin", x), apply("cos", x)), "sinh": _sinh, "cosh": _cosh,
    "tanh": _function("tanh"), "asin": _asin, "acos": _acos, "atan": _atan,
    "asinh": _asinh, "acosh": _acosh, "atanh": _atanh,
    "round": _rounded, "floor": _function("floor"), "ceil": _function("ceil"),
    "frac": lambda x: x - apply("floor", x), "abs": _function("abs"), "sign": _sign, "erf": _function("erf"),
}  # fmt: skip
