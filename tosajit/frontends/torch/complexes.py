"""Operators on complex numbers, which TOSA has as two real ones: done with real and imaginary parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tosajit import ops
from tosajit.frontends.common.angles import angle
from tosajit.frontends.common.broadcast import aligned
from tosajit.frontends.common.complex import Complex
from tosajit.frontends.common.functions import square_root
from tosajit.frontends.frame import Declaration, Refused
from tosajit.frontends.torch.integers.grids import rebound
from tosajit.frontends.torch.integers.moving import MOVING
from tosajit.frontends.torch.node import Node, Operand
from tosajit.frontends.torch.records import Type
from tosajit.tracing.tensor import Tensor

_SUMS = frozenset("add cumsum mean neg rsub sub sum".split())
_BY_PARTS = MOVING | _SUMS | frozenset(
    "as_strided cat clone concat concatenate copy diagonal diff embedding gather hstack index index_select "
    "mT moveaxis numpy_T pad roll scatter select_scatter slice_scatter stack swapdims tensor_split tril triu "
    "unfold vstack where".split()
)  # fmt: skip
"""Operators that give the real parts of their results by real parts, and imaginary ones by those."""
_CASTS = frozenset(("_to", "_to_copy", "to"))
_PRODUCTS = frozenset("bmm dot einsum ger linear matmul mm mul mv outer".split())
"""Operators that are linear in each of two operands."""


def on_complex(node: Node, declared: Declaration) -> tuple[Any, ...] | None:
    """The results of a node that has complex operands; None where it has none, or has no such form."""
    name = node.record.target.split(".")[1].removesuffix("_copy")
    places = [place for place, one in enumerate(node.operands) if one.type.is_complex]
    if name in _CASTS and (places or node.output.type is Type.COMPLEX64) and not node[0].is_foldable:
        found = halves(node[0])
        return (found if node.type is Type.COMPLEX64 else node.of(found.real, Type.FLOAT32).typed(node.type),)
    if not places:
        return None
    if any(node.operands[place].type is not Type.COMPLEX64 for place in places):
        raise Refused(
            "it computes with complex numbers of 128 bits", "convert the module: module.to(torch.complex64)"
        )
    if all(one.is_foldable for one in node.operands) and declared.fold is not None:
        return None
    if name in _FUNCTIONS and len(node.operands) == 1:
        return (_FUNCTIONS[name](halves(node[0])),)
    if (name == "div" and places == [0]) or (name in _PRODUCTS and len(node.operands) == 1):
        return _by_parts(node, declared, {0})
    if name in _PRODUCTS and len(node.operands) == 2:
        return (_product(node, declared, *map(halves, node.operands)),)
    if name in ("div", "reciprocal"):
        return (_quotient(node, declared),)
    if name in _BY_PARTS:
        return _by_parts(node, declared, _reals(node, name))
    return None


def halves(one: Operand) -> Complex:
    """An operand by its parts; real numbers have no imaginary one."""
    match one.value:
        case Complex() as known:
            return known
        case np.ndarray() as known if one.type.is_complex:
            kept = (np.ascontiguousarray(half) for half in (known.real, known.imag))
            return Complex(*(_real(one, half).tensor for half in kept))
    return Complex(one.typed(Type.FLOAT32).tensor, None)


def _real(one: Operand, value: Any) -> Operand:
    return Operand(one.trace, value, Type.FLOAT32, "")


def _reals(node: Node, name: str) -> set[int]:
    """The operands that have parts: complex ones, and real ones that are used beside them."""
    kinds = (Type.BOOL,) if name == "where" else ()
    return {
        place
        for place, one in enumerate(node.operands)
        if one.type.is_complex or one.type.is_float or (name in _SUMS | {"where"} and one.type not in kinds)
    }


def _by_parts(node: Node, declared: Declaration, places: set[int]) -> tuple[Any, ...]:
    """The results of both parts."""
    found = []
    for part in ("real", "imag"):
        changed = {}
        for place in places:
            one = node.operands[place]
            changed[place] = _real(one, halves(one).real if part == "real" else halves(one).imaginary)
        kind = Type.FLOAT32 if node.type.is_complex else None
        found.append(declared.results(rebound(node, changed, kind), is_foldable=False))
    return tuple(Complex(_tensor(node, one), _tensor(node, other)) for one, other in zip(*found, strict=True))


def _tensor(node: Node, found: Any) -> Tensor:
    return found.tensor if isinstance(found, Operand) else node.of(found, Type.FLOAT32).tensor


def _product(node: Node, declared: Declaration, left: Complex, right: Complex) -> Complex:
    def times(one: Tensor, other: Tensor) -> Tensor:
        changed = {place: _real(node[place], value) for place, value in enumerate((one, other))}
        return _tensor(node, declared.results(rebound(node, changed, Type.FLOAT32), is_foldable=False)[0])

    real = times(left.real, right.real)
    if left.imag is None:
        return Complex(real, times(left.real, right.imaginary))
    if right.imag is None:
        return Complex(real, times(left.imag, right.real))
    turned = ops.add(times(left.real, right.imag), times(left.imag, right.real))
    return Complex(ops.sub(real, times(left.imag, right.imag)), turned)


def _quotient(node: Node, declared: Declaration) -> Complex:
    """Over a complex number: times its conjugate, over the square of its distance from zero."""
    if node.given("rounding_mode") is not None:
        raise Refused("it rounds complex numbers")
    divisor = halves(node.operands[-1])
    size = ops.reciprocal(_square(divisor))
    inverse = Complex(ops.mul(divisor.real, size), ops.mul(ops.negate(divisor.imaginary), size))
    if len(node.operands) == 1:
        return inverse
    dividend = halves(node[0])
    real = _times(dividend.real, inverse.real)
    turned = _times(dividend.real, inverse.imaginary)
    if dividend.imag is not None:
        real = ops.sub(real, _times(dividend.imag, inverse.imaginary))
        turned = ops.add(turned, _times(dividend.imag, inverse.real))
    return Complex(real, turned)


def _times(one: Tensor, other: Tensor) -> Tensor:
    found: Tensor = ops.mul(*aligned(one, other))
    return found


def _square(value: Complex) -> Tensor:
    real: Tensor = ops.mul(value.real, value.real)
    return real if value.imag is None else ops.add(real, ops.mul(value.imag, value.imag))


def _exponential(value: Complex) -> Complex:
    size, turn = ops.exp(value.real), value.imaginary
    return Complex(ops.mul(size, ops.cos(turn)), ops.mul(size, ops.sin(turn)))


_FUNCTIONS: dict[str, Callable[[Complex], Any]] = {
    "abs": lambda value: square_root(_square(value)),
    "angle": lambda value: angle(value.imaginary, value.real),
    "exp": _exponential,
    "real": lambda value: value.real,
    "imag": lambda value: value.imaginary,
    "_conj": lambda value: value.conjugate,
    "conj_physical": lambda value: value.conjugate,
    "_conj_physical": lambda value: value.conjugate,
    "view_as_real": lambda value: value.pairs,
    "log": lambda value: Complex(
        ops.mul(ops.log(_square(value)), ops.const(np.full((1,) * value.real.ndim, 0.5, np.float32))),
        angle(value.imaginary, value.real),
    ),
}
