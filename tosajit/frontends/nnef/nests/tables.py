"""Terms over loops alone, computed for all points at once before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.nnef.nests import terms
from tosajit.frontends.nnef.nests.terms import Apply, Element, Loop, Term

LARGEST_TABLE = 1 << 20
"""Items of a table that we make."""


def _quotient(left: Array, right: Array) -> Any:
    if left.dtype != np.int64:
        return left / right
    return np.floor_divide(left, np.where(right == 0, 1, right))


def _quotient_up(left: Array, right: Array) -> Any:
    if left.dtype != np.int64:
        return np.ceil(left / right)
    return -np.floor_divide(-left, np.where(right == 0, 1, right))


def _remainder(left: Array, right: Array) -> Any:
    return np.fmod(left, np.where(right == 0, 1, right))


def _power(left: Array, right: Array) -> Any:
    """Of integers, only the inverse powers of 1 and -1 are whole."""
    if left.dtype != np.int64:
        return np.power(left, right)
    return np.where((right < 0) & (np.abs(left) != 1), 0, np.power(left, np.abs(right)))


def _rounded(value: Array) -> Any:
    down = np.floor(np.abs(value))
    return np.copysign(down + (np.abs(value) - down >= 0.5), value)


def _erf(value: Array) -> Any:
    from math import erf

    return np.vectorize(erf, otypes=[np.float64])(value)


_NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip
_FUNCTIONS = "sqrt exp log sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh floor ceil abs sign"
_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": _quotient, "\\": _quotient_up, "%": _remainder,
    "**": _power, "<?": np.minimum, ">?": np.maximum, "&&": np.logical_and, "||": np.logical_or,
    "^": np.logical_xor, "=>": lambda left, right: right | ~left, "<": np.less, "<=": np.less_equal,
    ">": np.greater, ">=": np.greater_equal, "==": np.equal, "is": np.equal, "!=": np.not_equal,
    "-.": np.negative, "!.": np.logical_not, "?": np.where,
    "int": lambda value: np.trunc(np.nan_to_num(value)).astype(np.int64),
    "real": lambda value: value.astype(np.float64), "bool": lambda value: value != 0,
    "round": _rounded, "frac": lambda value: value - np.floor(value), "erf": _erf,
    **{name: getattr(np, _NUMPY.get(name, name)) for name in _FUNCTIONS.split()},
}  # fmt: skip


def is_table(term: Term) -> bool:
    """Whether all of a term is known but the loops, and they are few and short enough to compute it now."""
    if terms.is_known(term) or any(
        isinstance(one, Element) and one.tensor.value is None for one in terms.walk(term)
    ):
        return False
    loops = terms.loops_of(term)
    return all(isinstance(loop.extent, int) for loop in loops) and points(tuple(loops)) <= LARGEST_TABLE


def points(loops: Sequence[Loop]) -> int:
    """The steps of loops together."""
    return prod(loop.steps for loop in loops)


def tabulated(term: Term, loops: Sequence[Loop]) -> Array:
    """A term at all points of some loops: an axis for each."""
    with np.errstate(all="ignore"):
        grid = {
            loop: np.arange(loop.steps).reshape([-1 if one is loop else 1 for one in loops]) for loop in loops
        }
        found = np.asarray(_evaluated(term, grid))
    return np.broadcast_to(found, [loop.steps for loop in loops])


def _evaluated(root: Term, grid: Mapping[Loop, Array]) -> Any:
    done: dict[Term, Any] = {}

    def of(term: Term) -> Any:
        return done[term] if isinstance(term, Loop | Element | Apply) else np.asarray(term)

    for term in terms.walk(root):
        match term:
            case Loop():
                done[term] = grid[term]
            case Element(tensor, indices):
                assert tensor.value is not None
                places = [
                    np.clip(of(one), 0, size - 1)
                    for one, size in zip(indices, tensor.value.shape, strict=True)
                ]
                wide = {"f": np.float64, "i": np.int64}.get(tensor.value.dtype.kind, tensor.value.dtype)
                done[term] = tensor.value[tuple(places)].astype(wide)
            case Apply(operator, operands):
                done[term] = _OPERATORS[operator](*map(of, operands))
    return of(root)
