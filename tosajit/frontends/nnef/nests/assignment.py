"""A formula of a lowering with everything in it resolved: what is assigned, where, and in which loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tosajit.frontends.nnef.model import Tensor
from tosajit.frontends.nnef.nests.terms import Element, Loop, Term, elements_of, within
from tosajit.frontends.nnef.syntax.source import Span


class Unfit(Exception):
    """Raised where a formula fits no nest: why. The general kernel computes it."""


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """`target op= value` at all points where the condition holds and no index leaves its tensor."""

    span: Span
    loops: tuple[Loop, ...]
    targets: tuple[Element, ...]
    """More than one where a pack is assigned, which is done at once."""
    operator: str
    values: tuple[Term, ...]
    condition: Term = True

    is_count: bool = False
    """Whether it stores how often others have counted, and counts nothing itself."""

    @property
    def reads(self) -> list[Element]:
        """The elements that are read, those in indices of the targets among them."""
        places = [index for target in self.targets for index in target.indices]
        return elements_of(*self.values, self.condition, *places)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that are written."""
        return tuple(dict.fromkeys(target.tensor for target in self.targets))

    @property
    def skips(self) -> list[Term]:
        """What has to hold besides the condition: checked indices are inside."""
        checked = [element for element in (*self.targets, *self.reads) if element.checked]
        found = [
            (element.indices[place], extent_term(element.tensor, place))
            for element in checked
            for place in element.checked
        ]
        return [within(index, extent) for index, extent in dict.fromkeys(found)]


Start: TypeAlias = Term | Tensor
"""What is in an output before it is updated: a number, or what a tensor holds."""


def copied(start: Start, target: Tensor) -> Assignment:
    """A copy of a tensor, or a number everywhere."""
    loops = tuple(Loop(f"d{number}", extent) for number, extent in enumerate(largest_shape(target)))
    value = Element(start, loops) if isinstance(start, Tensor) else start
    return Assignment(Span(0, 0), loops, (Element(target, loops),), "=", (value,))


def extent_of(element: Element, place: int) -> int:
    """The extent of a dimension of the tensor; the greatest one, where data decide."""
    return largest_shape(element.tensor)[place]


def extent_term(tensor: Tensor, place: int) -> Term:
    """The extent of a dimension in formulas: a number or, where data decide, what they say."""
    extent = tensor.shape[place]
    if isinstance(extent, int):
        return extent
    return extent.bound if tensor.extents is None else Element(tensor.extents, (place,))


def largest_shape(tensor: Tensor) -> tuple[int, ...]:
    """The shape of a tensor; the greatest one, where data decide."""
    return tuple(extent if isinstance(extent, int) else extent.bound for extent in tensor.shape)


def static_shape(tensor: Tensor) -> tuple[int, ...]:
    """The shape of a tensor; `Unfit` where data decide it."""
    found = tuple(extent for extent in tensor.shape if isinstance(extent, int))
    if len(found) != tensor.rank:
        raise Unfit(f"data decide the shape of `{tensor.name}`")
    return found
