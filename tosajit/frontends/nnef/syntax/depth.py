"""What stands within what in a tree, and how deep: a text must not make anyone recurse without end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import get_args

from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.cursor import DEEPEST
from tosajit.frontends.nnef.syntax.source import Faults

_FIELDS: dict[type[tree.Tree], tuple[str, ...]] = {}
_EXPRESSIONS: tuple[type[tree.Tree], ...] = get_args(tree.Expression)


def children(node: tree.Tree) -> Iterator[tree.Tree]:
    """The nodes that a node is made of."""
    kind = type(node)
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(one.name for one in fields(kind) if one.name != "span")
    stack = [getattr(node, name) for name in reversed(_FIELDS[kind])]
    while stack:
        found = stack.pop()
        if isinstance(found, tree.Tree):
            yield found
        elif type(found) is tuple:
            stack.extend(reversed(found))


def check_depth(module: tree.Module, faults: Faults) -> None:
    """Tell of expressions that are too deep to be followed: those of many operators in a row are, too."""
    stack: list[tuple[tree.Tree, int]] = [(module, 0)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, _EXPRESSIONS):
            depth += 1
        if depth > DEEPEST:
            faults.add(node.span, f"this is nested more than {DEEPEST} deep", "2.16", "name a part of it")
        else:
            stack.extend((child, depth) for child in children(node))
