"""Products of matrices with sums of 32 bits, and sums of products by the letters of their dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tosajit import ops
from tosajit.dtypes import FP32, DType
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.gather import gathered
from tosajit.frontends.common.layout import constant_of, reshaped, transposed
from tosajit.frontends.common.matrices import multiplied, weighted
from tosajit.frontends.common.reduce import reduced
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor

_ELLIPSIS = "0123456789"
"""Letters for the dimensions that three dots stand for."""


def product(left: Tensor, right: Tensor, result: DType | None = None) -> Tensor:
    """Products of matrices, whose sums have 32 bits; `result` is the type of what is given, if another."""
    dtype = result or left.dtype

    def finished(total: Tensor) -> Tensor:
        return total if total.dtype is dtype else ops.cast(total, dtype=dtype)

    return multiplied(left, right, finish=finished, dtype=FP32)


def product_of(equation: str, operands: Sequence[Tensor]) -> Tensor:
    """The sum of products that an equation says, of tensors one after the other."""
    inputs, output = _parsed(equation, [one.ndim for one in operands])
    terms = [_diagonal(letters, value) for letters, value in zip(inputs, operands, strict=True)]
    letters, result = _summed(terms[0], [*(one for one, _ in terms[1:]), output])
    for place, term in enumerate(terms[1:], 2):
        behind = [*(one for one, _ in terms[place:]), output]
        letters, result = _multiplied((letters, result), _summed(term, [letters, *behind]), "".join(behind))
        letters, result = _summed((letters, result), behind)
    return transposed(result, [letters.index(one) for one in output])


Term = tuple[str, Tensor]
"""A tensor with a letter for each dimension."""


def _parsed(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result."""
    left, arrow, output = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if not arrow:
        letters = left.replace("...", "").replace(",", "")
        output = "..." * ("..." in left) + "".join(sorted(one for one in letters if letters.count(one) == 1))
    if len(inputs) != len(ranks):
        raise Refused(f"its equation {equation!r} does not fit {len(ranks)} operands and a result")
    hidden = [
        rank - len(one.replace("...", "")) for one, rank in zip(inputs, ranks, strict=True) if "..." in one
    ]
    if not all(0 <= count <= len(_ELLIPSIS) for count in hidden):
        raise Refused(f"its equation {equation!r} does not fit operands of {list(ranks)} dimensions")
    found = [
        one.replace("...", _ELLIPSIS[len(_ELLIPSIS) - (rank - len(one) + 3) :] if "..." in one else "")
        for one, rank in zip(inputs, ranks, strict=True)
    ]
    result = output.replace("...", _ELLIPSIS[len(_ELLIPSIS) - max(hidden, default=0) :])
    for letters, rank in zip((*found, result), (*ranks, len(result)), strict=True):
        if max(map(letters.count, letters), default=0) > 2 or len(letters) != rank:
            raise Refused(f"its equation {equation!r} has letters that repeat, or that are not dimensions")
    if len(set(result)) != len(result) or not set(result) <= set("".join(found)):
        raise Refused(
            f"its equation {equation!r} has a result of letters that repeat, or that no operand has"
        )
    return found, result


def _diagonal(letters: str, value: Tensor) -> Term:
    """A tensor with each letter once: of dimensions that have the same one, the diagonal."""
    for one in dict.fromkeys(letters):
        while letters.count(one) > 1:
            first, second = (place for place in range(len(letters)) if letters[place] == one)
            order = [first, second, *(place for place in range(len(letters)) if place not in (first, second))]
            turned, extent = transposed(value, order), value.shape[first]
            places = np.arange(extent, dtype=np.int32) * (extent + 1)
            flat = reshaped(turned, (extent * extent, *turned.shape[2:]))
            value = gathered(flat, ops.const(places), 0)
            letters = one + "".join(letters[place] for place in order[2:])
    return letters, value


def _summed(term: Term, others: Sequence[str]) -> Term:
    """A tensor without the dimensions that nothing else has."""
    letters, value = term
    kept = {one for other in others for one in other}
    axes = [place for place, one in enumerate(letters) if one not in kept]
    if not axes:
        return letters, value
    total = reduced(lambda one, axis: ops.reduce_sum(one, axis=axis), value, axes, False)
    return "".join(one for one in letters if one in kept), total


def _multiplied(one: Term, other: Term, output: str) -> Term:
    """Two tensors multiplied, and summed along the letters that both have and the result has not."""
    (first, left), (second, right) = one, other
    shared = "".join(letter for letter in first if letter in second and letter in output)
    summed = "".join(letter for letter in first if letter in second and letter not in output)
    rows = "".join(letter for letter in first if letter not in second)
    columns = "".join(letter for letter in second if letter not in first)
    before = _ordered(left, first, shared + rows + summed)
    behind = _ordered(right, second, shared + summed + columns)
    size = len(shared)
    extents = before.shape[size : size + len(rows)], behind.shape[size + len(summed) :]
    matrices = (
        reshaped(before, (*before.shape[:size], prod(extents[0]), -1)),
        reshaped(behind, (*behind.shape[:size], -1, prod(extents[1]))),
    )
    if not summed:
        total = ops.mul(*aligned(*matrices))
    elif not shared and left.dtype.is_float and constant_of(right) is not None:
        total = weighted(*matrices)
    else:
        total = product(*matrices)
    return shared + rows + columns, reshaped(total, (*total.shape[:size], *extents[0], *extents[1]))


def _ordered(value: Tensor, letters: str, wanted: str) -> Tensor:
    return transposed(value, [letters.index(one) for one in wanted])
