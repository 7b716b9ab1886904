"""Left-hand sides: which names and how many tensors each of them takes (NNEF 2.0 section 2.10)."""

from __future__ import annotations

from collections.abc import Iterator

from tosajit.frontends.nnef.compose.binding import Binder
from tosajit.frontends.nnef.compose.forms import Operand, kind_of
from tosajit.frontends.nnef.compose.helpers import width_of, widths_of
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.value import ValueFault


def flattened(
    left: tree.TargetList | tree.Unzip, result: Operand, binder: Binder
) -> Iterator[tuple[tree.Target, Operand]]:
    """The names of a list, each with what it takes of a pack."""
    if result is not None and not isinstance(result, tuple):
        raise ValueFault(left.span, f"a list takes a pack, not {kind_of(result)}", "2.10")
    if isinstance(left, tree.Unzip):
        width = len(left.targets)
        if result is not None and len(result) % width:
            message = f"a pack of {len(result)} tensors does not unzip to {width}"
            raise ValueFault(left.span, message, "2.10")
        for place, target in enumerate(left.targets):
            yield target, None if result is None else result[place::width]
        return
    length = 0 if result is None else len(result)
    start = 0
    for item, width in zip(left.items, widths(left, length, binder), strict=True):
        taken: Operand = None
        if result is not None:
            taken = result[start] if item.pack is None else result[start : start + width]
        start += width
        if isinstance(item, tree.Unzip):
            yield from flattened(item, taken, binder)
        else:
            yield item, taken


def widths(left: tree.TargetList, length: int, binder: Binder) -> list[int]:
    """How many tensors go to each part of a list."""
    return widths_of(left, [width_of(item, binder) for item in left.items], length)


def names(left: tree.Left, length: int | None, prefix: str, default: str, binder: Binder) -> list[str]:
    """The names of the tensors that a left-hand side takes: one, or as many as a pack has."""
    if isinstance(left, tree.TargetList):
        found: list[str] = []
        for item, width in zip(left.items, widths(left, length or 0, binder), strict=True):
            found += names(item, None if item.pack is None else width, prefix, default, binder)
        return found
    name = default
    if isinstance(left, tree.Target) and left.name is not None:
        name = prefix + left.name
    return [name] if length is None else [f"{name}.{place}" for place in range(length)]
