"""Products of matrices with TensorFlow's types, and sums of products by the letters of their dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tosajit import ops
from tosajit.dtypes import FP32
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.layout import constant_of, reshaped, transposed
from tosajit.frontends.common.matrices import multiplied, weighted
from tosajit.frontends.common.reduce import reduced
from tosajit.frontends.frame import Refused
from tosajit.tracing.tensor import Tensor

_ELLIPSIS = "0123456789"
"""Letters for the dimensions that three dots stand for."""


def product(left: Tensor, right: Tensor) -> Tensor:
    """Products of matrices, whose sums have 32 bits."""
    dtype = left.dtype

    def finished(total: Tensor) -> Tensor:
        return total if total.dtype is dtype else ops.cast(total, dtype=dtype)

    return multiplied(left, right, finish=finished, dtype=FP32)


def product_of(equation: str, operands: Sequence[Tensor]) -> Tensor:
    """The sum of products that an equation says, of one tensor or of two."""
    inputs, output = _parsed(equation, [one.ndim for one in operands])
    if len(operands) > 2:
        raise Refused(f"it multiplies {len(operands)} tensors at once, but two at most can be")
    kept = [
        {*output, *(one for other in inputs[:place] + inputs[place + 1 :] for one in other)}
        for place in range(len(inputs))
    ]
    terms = [_summed(*one) for one in zip(operands, inputs, kept, strict=True)]
    letters, result = _multiplied(terms[0], terms[1], output) if len(terms) == 2 else terms[0]
    return transposed(result, [letters.index(one) for one in output])


Term = tuple[str, Tensor]
"""A tensor with a letter for each dimension."""


def _parsed(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result."""
    left, arrow, output = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if not arrow or len(inputs) != len(ranks):
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
        if len(set(letters)) != len(letters) or len(letters) != rank:
            raise Refused(f"its equation {equation!r} has letters that repeat, or that are not dimensions")
    return found, result


def _summed(value: Tensor, letters: str, kept: set[str]) -> Term:
    """A tensor without the dimensions that nothing else has."""
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
    elif not shared and constant_of(right) is not None:
        total = weighted(*matrices)
    else:
        total = product(*matrices)
    return shared + rows + columns, reshaped(total, (*total.shape[:size], *extents[0], *extents[1]))


def _ordered(value: Tensor, letters: str, wanted: str) -> Tensor:
    return transposed(value, [letters.index(one) for one in wanted])
