"""What stands within what in a tree, and how deep: a text must not make anyone recurse without end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import get_args

from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.cursor import DEEPEST
from tosajit.frontends.nnef.syntax.source import Faults

LONGEST_CHAIN = 300
"""Operators that follow one another, as those of a sum."""
_CHAINED = frozenset({"+", "-", "*", "/", "\\", "%", "<?", ">?"})
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


def chain(expression: tree.Binary) -> list[tree.Binary]:
    """The operators of `a + b - c`, from the left: the left operand of each is what those before it give."""
    found = [expression]
    while isinstance(expression.left, tree.Binary) and _is_link(expression.left):
        expression = expression.left
        found.append(expression)
    return found[::-1]


def _is_link(node: tree.Binary) -> bool:
    return node.operator in _CHAINED


def check_depth(module: tree.Module, faults: Faults) -> None:
    """Tell of expressions that are too deep to be followed: long chains of operators are, too."""
    stack: list[tuple[tree.Tree, int, int]] = [(module, 0, 0)]
    while stack:
        node, depth, links = stack.pop()
        if isinstance(node, tree.Binary) and _is_link(node):
            links += 1
        elif isinstance(node, _EXPRESSIONS):
            depth += 1
        if depth > DEEPEST:
            faults.add(node.span, f"this is nested more than {DEEPEST} deep", "2.16", "name a part of it")
        elif links > LONGEST_CHAIN:
            message = f"more than {LONGEST_CHAIN} operators follow one another"
            faults.add(node.span, message, "2.16", "name a part of it")
        else:
            stack.extend((child, depth, links) for child in children(node))
