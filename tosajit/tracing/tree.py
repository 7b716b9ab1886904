"""Nested tuples, lists and dictionaries of tensors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from tiling.records import dataclass


@dataclass(frozen=True, slots=True)
class Tree:
    """The structure of a nested value; leaves are left out."""

    kind: type | None
    """Tuple (or a named one), list, dict, or `NoneType`; None for a leaf."""
    keys: tuple[Hashable, ...] = ()
    children: tuple[Tree, ...] = ()

    def build(self, leaves: Iterator[Any]) -> Any:
        """The nested value with these leaves."""
        if self.kind is None:
            return next(leaves)
        if self.kind is type(None):
            return None
        parts = [child.build(leaves) for child in self.children]
        if self.kind is dict:
            return dict(zip(self.keys, parts, strict=True))
        return self.kind(*parts) if hasattr(self.kind, "_fields") else self.kind(parts)


LEAF = Tree(None)


def flatten(value: Any, name: str, leaf: Callable[[str, Any], None]) -> Tree:
    """The structure of a nested value; `leaf` is called with a name for, and with, each leaf in order."""
    match value:
        case None:
            return Tree(type(None))
        case tuple() | list():
            parts = [flatten(part, f"{name}_{number}", leaf) for number, part in enumerate(value)]
            return Tree(type(value), children=tuple(parts))
        case dict():
            parts = [flatten(part, f"{name}_{key}", leaf) for key, part in value.items()]
            return Tree(dict, tuple(value), tuple(parts))
    leaf(name, value)
    return LEAF
