"""Operators of section 4.2 that go item by item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from tests.nnef.cases.case import DRAWN, SHAPES, Array, Case, integers, reals, truths


def rounded(x: Array) -> Array:
    """To the nearest whole number, ties away from zero."""
    return np.asarray(np.sign(x) * np.floor(np.abs(x) + 0.5))


_ANY, _UNIT, _POSITIVE, _ABOVE = (-3.0, 3.0), (-0.95, 0.95), (0.1, 6.0), (1.05, 6.0)
UNARY: dict[str, tuple[Callable[[Array], Any], tuple[float, float]]] = {
    "rcp": (lambda x: 1 / x, _POSITIVE), "sqrt": (np.sqrt, _POSITIVE), "rsqr": (lambda x: x**-2, _POSITIVE),
    "rsqrt": (lambda x: x**-0.5, _POSITIVE), "exp": (np.exp, _ANY), "log": (np.log, _POSITIVE),
    "log2": (np.log2, _POSITIVE), "sin": (np.sin, _ANY), "cos": (np.cos, _ANY), "tan": (np.tan, _UNIT),
    "sinh": (np.sinh, _ANY), "cosh": (np.cosh, _ANY), "tanh": (np.tanh, _ANY), "asin": (np.arcsin, _UNIT),
    "acos": (np.arccos, _UNIT), "atan": (np.arctan, _ANY), "asinh": (np.arcsinh, _ANY),
    "acosh": (np.arccosh, _ABOVE), "atanh": (np.arctanh, _UNIT), "floor": (np.floor, _ANY),
    "ceil": (np.ceil, _ANY), "round": (rounded, _ANY),
}  # fmt: skip
GENERIC: dict[str, tuple[Callable[[Array], Any], tuple[str, ...]]] = {
    "iden": (np.array, ("real", "int", "bool")), "neg": (np.negative, ("real", "int")),
    "sqr": (np.square, ("real", "int")), "abs": (np.abs, ("real", "int")), "sign": (np.sign, ("real", "int")),
    "not": (np.logical_not, ("bool",)),
}  # fmt: skip


def unary() -> Iterator[Case]:
    """Every unary operator, of every type and rank."""
    for shape in SHAPES:
        for name, (function, (low, high)) in UNARY.items():
            yield Case(f"math.{name}", (reals(*shape, low=low, high=high),), function)
        for name, (function, types) in GENERIC.items():
            for type in types:
                yield Case(f"math.{name}", (DRAWN[type](*shape),), function)
    ties = np.array([-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5])
    yield Case("math.round", (ties,), lambda x: np.array([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]))
    yield Case("math.sign", (np.array([-2.0, 0.0, 3.0]),), np.sign)


def _divided(x: Array, y: Array) -> Array:
    """Of integers, rounded down (section 2.4)."""
    return np.floor_divide(x, y) if x.dtype.kind == "i" else x / y


_NUMBERS = ("real", "int")
BINARY: dict[str, tuple[Callable[[Array, Array], Any], tuple[str, ...]]] = {
    "add": (np.add, _NUMBERS), "sub": (np.subtract, _NUMBERS), "mul": (np.multiply, _NUMBERS),
    "div": (_divided, _NUMBERS), "mod": (np.fmod, ("int",)), "pow": (np.power, _NUMBERS),
    "min": (np.minimum, _NUMBERS), "max": (np.maximum, _NUMBERS), "lt": (np.less, _NUMBERS),
    "gt": (np.greater, _NUMBERS), "le": (np.less_equal, _NUMBERS), "ge": (np.greater_equal, _NUMBERS),
    "eq": (np.equal, (*_NUMBERS, "bool")), "ne": (np.not_equal, (*_NUMBERS, "bool")),
    "and": (np.logical_and, ("bool",)), "or": (np.logical_or, ("bool",)), "xor": (np.logical_xor, ("bool",)),
}  # fmt: skip

Aligned = tuple[tuple[tuple[int, ...], int | None], ...]
"""Shapes with their alignments."""

PAIRS: tuple[Aligned, ...] = (
    (((), None), ((), None)),
    (((5,), None), ((5,), None)),
    (((5,), None), ((), None)),
    (((), None), ((2, 3), None)),
    (((3, 4), None), ((4,), None)),
    (((4,), None), ((3, 4), None)),
    (((3, 1), None), ((1, 4), None)),
    (((2, 3, 4), None), ((3, 1), None)),
    (((2, 1, 4), None), ((2, 3, 1), None)),
    (((2, 1, 3, 4), None), ((2, 5, 1, 1), None)),
    (((2, 3), None), ((2,), 0)),
    (((2, 3, 4), None), ((3,), 1)),
    (((3,), 1), ((2, 3, 4), None)),
    (((2, 3), 0), ((2, 3, 4), None)),
    (((2, 3, 4), None), ((2, 3), -1)),
    (((2, 3, 4), None), ((3,), -1)),
    (((2,), -1), ((3,), 1)),
    (((2,), -2), ((3, 4), 1)),
    (((2,), 0), ((3,), -1)),
)


def aligned(*given: tuple[Array, int | None]) -> list[Array]:
    """Operands of one rank, as the words of section 4.2.2 have it."""
    padded = []
    for array, align in given:
        ones = (1,) * abs(align or 0)
        shape = ones + array.shape if (align or 0) >= 0 else array.shape + ones
        padded.append((array.reshape(shape), align))
    rank = max(array.ndim for array, _ in padded)
    found = []
    for array, align in padded:
        ones = (1,) * (rank - array.ndim)
        left = align is not None and align >= 0
        found.append(array.reshape(array.shape + ones if left else ones + array.shape))
    return found


def _fits(pair: Aligned) -> bool:
    """Whether shapes broadcast once they are aligned."""
    arrays = aligned(*((np.zeros(shape), align) for shape, align in pair))
    try:
        np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        return False
    return True


def _operand(name: str, type: str, shape: tuple[int, ...], place: int) -> Array:
    """A divisor is not zero, a base not negative, an exponent of integers small."""
    if type == "bool":
        return truths(*shape, seed=place)
    if name == "pow":
        if type == "int":
            return integers(*shape, low=0 if place else -4, high=5, seed=place)
        return reals(*shape, low=-2.0 if place else 0.25, high=3.0, seed=place)
    if name in ("div", "mod") and place:
        found = DRAWN[type](*shape, seed=place)
        return np.where(np.abs(found) < 0.25, np.ones_like(found), found)
    return DRAWN[type](*shape, seed=place)


def binary() -> Iterator[Case]:
    """Every binary operator, of every type, of shapes that broadcast in every way."""
    for pair in filter(_fits, PAIRS):
        ((left, lhs), (right, rhs)) = pair
        named = {"lhs_align": lhs, "rhs_align": rhs}
        attributes = {key: value for key, value in named.items() if value is not None}
        for name, (function, types) in BINARY.items():
            for type in types:
                x, y = _operand(name, type, left, 0), _operand(name, type, right, 1)

                def reference(x: Array, y: Array, function: Any = function, pair: Aligned = pair) -> Any:
                    return function(*aligned((x, pair[0][1]), (y, pair[1][1])))

                yield Case(f"math.{name}", (x, y), reference, attributes)
    seven, two = np.array([-7, 7, -7, 7]), np.array([2, 2, -2, -2])
    yield Case("math.div", (seven, two), lambda x, y: np.array([-4, 3, 3, -4]))
    yield Case("math.mod", (seven, two), lambda x, y: np.array([-1, 1, -1, 1]))


_THREE = (
    (((2, 3), None), ((3,), None), ((2, 1), None)),
    (((4,), 0), ((4, 3), None), ((3,), 1)),
    (((), None),) * 3,
)


def several() -> Iterator[Case]:
    """`select`, `clamp`, `axpb` and `axpy`."""
    for three in _THREE:
        shapes, aligns = [shape for shape, _ in three], [align for _, align in three]

        def attributes(*names: str, aligns: list[int | None] = aligns) -> dict[str, int]:
            return {name: align for name, align in zip(names, aligns, strict=False) if align is not None}

        def joined(function: Any, aligns: list[int | None] = aligns) -> Callable[..., Any]:
            return lambda *given: function(*aligned(*zip(given, aligns, strict=True)))

        real = tuple(reals(*shape, seed=place) for place, shape in enumerate(shapes))
        whole = tuple(integers(*shape, seed=place) for place, shape in enumerate(shapes))
        truth = truths(*shapes[0], seed=7)
        names = ("cond_align", "lhs_align", "rhs_align")
        for x, y in (
            (real[1], real[2]),
            (whole[1], whole[2]),
            (truths(*shapes[1]), truths(*shapes[2], seed=1)),
        ):
            yield Case("math.select", (truth, x, y), joined(np.where), attributes(*names))
        low, high = np.asarray(real[1] - 1.0), np.asarray(np.abs(real[2]) + 2.0)
        clamped = joined(lambda x, a, b: np.minimum(np.maximum(x, a), b))
        names = ("val_align", "min_align", "max_align")
        yield Case("math.clamp", (real[0], low, high), clamped, attributes(*names))
        yield Case(
            "math.clamp",
            (whole[0], np.asarray(whole[1] - 9), np.asarray(whole[2] + 9)),
            clamped,
            attributes(*names),
        )
        sums = joined(lambda a, x, b: a * x + b)
        yield Case("math.axpb", real, sums, attributes("a_align", "x_align", "b_align"))
        four = (*real, reals(*shapes[0], seed=9))

        def both(a: Array, x: Array, b: Array, y: Array, aligns: list[int | None] = aligns) -> Any:
            a, x, b, y = aligned(*zip((a, x, b, y), [*aligns, aligns[0]], strict=True))
            return a * x + b * y

        pairs = {
            **attributes("a_align", "x_align", "b_align"),
            **({"y_align": aligns[0]} if aligns[0] is not None else {}),
        }
        yield Case("math.axpy", four, both, pairs)


_MANY: dict[str, Any] = {"sum_n": np.add, "prod_n": np.multiply, "min_n": np.minimum, "max_n": np.maximum}


def many() -> Iterator[Case]:
    """Operators of any number of tensors (section 4.2.4)."""
    for shape in SHAPES[:4]:
        for count in (1, 3):
            for type in _NUMBERS:
                xs = [DRAWN[type](*shape, seed=place) for place in range(count)]
                for name, function in _MANY.items():
                    yield Case(f"math.{name}", (xs,), lambda xs, function=function: reduce(function, xs))
                yield Case("math.argmin_n", (xs,), lambda xs: np.argmin(np.stack(xs), 0))
                yield Case("math.argmax_n", (xs,), lambda xs: np.argmax(np.stack(xs), 0))
            ts = [truths(*shape, seed=place) for place in range(count)]
            yield Case("math.any_n", (ts,), lambda xs: np.any(np.stack(xs), 0))
            yield Case("math.all_n", (ts,), lambda xs: np.all(np.stack(xs), 0))
