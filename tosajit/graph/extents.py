"""Open extents: files may leave the shapes of inputs open, but a graph of TOSA has no such shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tosajit.errors import InputError
from tosajit.log import LOG

Shapes: TypeAlias = Mapping[str, Sequence[int]]
"""The shapes of inputs, by their names."""


class Open(Exception):
    """A shape cannot be closed; what is wrong with it, and what to do."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason}; {remedy}" if remedy else reason)
        self.reason, self.remedy = reason, remedy


def closed(name: str, declared: Sequence[int] | None, given: Sequence[int] | None) -> tuple[int, ...]:
    """The shape of an input: an open first extent, that of batches, is 1 unless it is given.

    `declared` is None if not even its rank is known; raises `Open`.
    """
    if given is not None:
        extents = tuple(int(one) for one in given)
        if min(extents, default=0) < 0 or not (declared is None or fits(extents, declared)):
            known = "not known" if declared is None else written(declared)
            raise Open(f"its shape is {known}, but {list(extents)} is given")
        return extents
    if declared is None:
        raise Open("its shape is not known", remedy(name))
    if min(declared[1:], default=0) < 0:
        raise Open(f"its shape is {written(declared)}", remedy(name))
    if declared and declared[0] < 0:
        LOG.warning("%s: its shape is %s; the batch is taken as 1: %s", name, written(declared), remedy(name))
        return (1, *declared[1:])
    return tuple(declared)


def remedy(name: str) -> str:
    """What to do about an input whose shape is open."""
    return f"give shapes={{{name!r}: (…)}}"


def check_names(given: Mapping[str, Any] | None, inputs: Iterable[str], what: str = "shapes") -> None:
    """Refuse shapes, or other things, of what is no input."""
    known = list(inputs)
    for name in given or ():
        if name not in known:
            raise InputError(f"{what} has {name!r}, but the inputs are {', '.join(known) or 'none'}")


def written(shape: Sequence[int]) -> str:
    """A shape in messages."""
    return f"[{', '.join('?' if one < 0 else str(one) for one in shape)}]"


def fits(extents: Sequence[int], declared: Sequence[int]) -> bool:
    """Whether a shape is one that another one leaves open."""
    return len(extents) == len(declared) and all(
        other < 0 or one == other for one, other in zip(extents, declared, strict=True)
    )
