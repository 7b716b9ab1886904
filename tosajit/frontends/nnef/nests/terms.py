"""What formulas consist of once all that is known is known: terms over loops and elements of tensors.

A term is a number, or a tree of records that are compared by identity, so that a local value which is used
often is there once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tosajit.frontends.nnef.model import Tensor
from tosajit.frontends.nnef.values import arithmetic
from tosajit.frontends.nnef.values.arithmetic import NoValue
from tosajit.frontends.nnef.values.value import Item, type_of


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """`i < n`: a symbol that runs from 0."""

    name: str
    extent: Term
    """A number, unless data decide."""

    @property
    def type(self) -> str:
        """A loop is also the term that is its index."""
        return "int"

    @property
    def steps(self) -> int:
        """The extent, where it is known."""
        assert isinstance(self.extent, int)
        return self.extent


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """An element of a tensor; `checked` are dimensions that an index may leave: then nothing is assigned."""

    tensor: Tensor
    indices: tuple[Term, ...]
    checked: tuple[int, ...] = ()

    @property
    def type(self) -> str:
        """The type of the tensor."""
        return self.tensor.type


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """An operator or a function of terms; a cast is called as its type, a choice `?`."""

    operator: str
    operands: tuple[Term, ...]
    type: str


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """`|i|`: an index that may leave its dimension. It is no term: it can only index a tensor."""

    index: Term
    low: Term | None = None
    high: Term | None = None
    """What replaces it below and above, if anything does."""


Term: TypeAlias = Item | Loop | Element | Apply
Packed: TypeAlias = Term | Checked | tuple["Term | Checked", ...] | None
"""What an expression is worth: a term, a pack, or null."""

_COMPARING = frozenset({"<", "<=", ">", ">=", "==", "!=", "is"})
_FOR_BOOLS = frozenset({"&&", "||", "^", "=>"})
FUNCTIONS = arithmetic.FUNCTIONS | {"erf"}
_DECIDING: dict[str, bool] = {"&&": False, "||": True, "=>": False}


def is_known(term: Term) -> bool:
    """Whether a term is a number, a truth or a string."""
    return not isinstance(term, Loop | Element | Apply)


def kind(term: Term) -> str:
    """The type of a term."""
    return term.type if isinstance(term, Loop | Element | Apply) else type_of(term)


def binary(operator: str, left: Term, right: Term) -> Term:
    """An operator on two terms of one type; computed where both are known."""
    if not isinstance(left, Loop | Element | Apply) and not isinstance(right, Loop | Element | Apply):
        return arithmetic.binary(operator, left, right)
    if kind(left) != kind(right):
        raise NoValue(f"`{operator}` takes operands of one type, not {kind(left)} and {kind(right)}")
    wanted = {"bool"} if operator in _FOR_BOOLS else {"int", "real"}
    if kind(left) not in wanted | ({"bool"} if operator in ("==", "!=", "is") else set()):
        raise NoValue(f"`{operator}` does not take {kind(left)}")
    if operator in _DECIDING:
        known = _decided(operator, left, right)
        if known is not None:
            return known
    elif operator not in _COMPARING:
        same = _unchanged(operator, left, right)
        if same is not None:
            return same
    return Apply(operator, (left, right), "bool" if operator in _COMPARING else kind(left))


def _decided(operator: str, left: Term, right: Term) -> Term | None:
    """What a truth that is known decides."""
    decides = _DECIDING[operator]
    if left is decides:
        return operator != "&&"
    if left is (not decides):
        return right
    if operator == "=>":
        return True if right is True else None
    if right is decides:
        return decides
    return left if right is (not decides) else None


def _unchanged(operator: str, left: Term, right: Term) -> Term | None:
    """The other operand, where one is the number that changes nothing of an integer."""
    if kind(left) != "int":
        return None
    match operator, left, right:
        case "+", 0, other:
            return other
        case (("+" | "-"), other, 0):
            return other
        case "*", 1, other:
            return other
        case (("*" | "/" | "\\"), other, 1):
            return other
        case "*", 0, _:
            return 0
        case "*", _, 0:
            return 0
    return None


def unary(operator: str, operand: Term) -> Term:
    """`+`, `-` or `!`."""
    if not isinstance(operand, Loop | Element | Apply):
        return arithmetic.unary(operator, operand)
    if (operand.type == "bool") != (operator == "!") or operand.type == "str":
        raise NoValue(f"`{operator}` does not take {operand.type}")
    return operand if operator == "+" else Apply(f"{operator}.", (operand,), operand.type)


def function(name: str, operand: Term) -> Term:
    """A built-in function."""
    if not isinstance(operand, Loop | Element | Apply) and name in arithmetic.FUNCTIONS:
        return arithmetic.function(name, operand)
    if kind(operand) != "real" and not (name in ("abs", "sign") and kind(operand) == "int"):
        raise NoValue(f"`{name}` does not take {kind(operand)}")
    return Apply(name, (operand,), kind(operand))


def converted(type: str, operand: Term) -> Term:
    """A term as one of another type."""
    if not isinstance(operand, Loop | Element | Apply):
        return arithmetic.converted(type, operand)
    if operand.type == type:
        return operand
    if "str" in (operand.type, type):
        raise NoValue(f"{operand.type} cannot be cast to {type}")
    return Apply(type, (operand,), type)


def chosen(condition: Term, then: Term, otherwise: Term) -> Term:
    """One of two terms."""
    if kind(condition) != "bool":
        raise NoValue(f"the condition of `?` is a bool, not {kind(condition)}")
    if kind(then) != kind(otherwise):
        raise NoValue(f"`?` chooses among values of one type, not {kind(then)} and {kind(otherwise)}")
    if condition is True or then is otherwise:
        return then
    return otherwise if condition is False else Apply("?", (condition, then, otherwise), kind(then))


def within(index: Term, extent: Term) -> Term:
    """Whether an index is inside of a dimension."""
    return binary("&&", binary(">=", index, 0), binary("<", index, extent))


def parts(term: Term) -> tuple[Term, ...]:
    """The terms that a term is made of."""
    match term:
        case Element(indices=indices):
            return indices
        case Apply(operands=operands):
            return operands
    return ()


def walk(*roots: Term) -> Iterator[Loop | Element | Apply]:
    """Every distinct term below the roots and they themselves, parts first; not the numbers."""
    seen: set[Term] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        term, ready = stack.pop()
        if not isinstance(term, Loop | Element | Apply) or term in seen:
            continue
        if ready:
            seen.add(term)
            yield term
        else:
            stack.append((term, True))
            stack.extend((part, False) for part in reversed(parts(term)))


def loops_of(*roots: Term) -> frozenset[Loop]:
    """The loops that terms depend on."""
    return frozenset(term for term in walk(*roots) if isinstance(term, Loop))


def elements_of(*roots: Term) -> list[Element]:
    """The elements that terms read."""
    return [term for term in walk(*roots) if isinstance(term, Element)]


def replaced(roots: Sequence[Term], leaf: Callable[[Loop | Element], Term]) -> list[Term]:
    """Terms with other loops and elements; what is known then is computed."""
    done: dict[Term, Term] = {}
    for term in walk(*roots):
        match term:
            case Loop():
                done[term] = leaf(term)
            case Element(tensor, indices, checked):
                inner = tuple(done.get(one, one) if not is_known(one) else one for one in indices)
                same = all(one is other for one, other in zip(inner, indices, strict=True))
                done[term] = leaf(term if same else Element(tensor, inner, checked))
            case Apply(operands=operands):
                inner = tuple(done.get(one, one) if not is_known(one) else one for one in operands)
                same = all(one is other for one, other in zip(inner, operands, strict=True))
                done[term] = term if same else again(term, inner)
    return [done.get(root, root) if not is_known(root) else root for root in roots]


def again(term: Apply, operands: tuple[Term, ...]) -> Term:
    """The same of other operands."""
    operator = term.operator
    if operator == "?":
        return chosen(*operands)
    if len(operands) == 2:
        return binary(operator, *operands)
    if operator.endswith("."):
        return unary(operator[0], *operands)
    return function(operator, *operands) if operator in FUNCTIONS else converted(operator, *operands)
