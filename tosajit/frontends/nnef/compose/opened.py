"""Which extents data decide, and what follows for the expressions that they are in (sections 2.6.1, 3.1)."""

from __future__ import annotations

from collections.abc import Mapping

from tosajit.frontends.nnef.compose.mentions import mentioned
from tosajit.frontends.nnef.syntax import tree

Openness = bool | tuple[bool, ...]
"""Whether data decide a value, or which of its items."""


def openness(expression: tree.Expression, opened: Mapping[str, Openness]) -> Openness:
    """What data decide of an expression: nothing, all, or some items of a pack that is taken as it is."""
    if not opened:
        return False
    match expression:
        case tree.Name(name=name):
            return opened.get(name, False)
        case tree.Parenthesised(expression=inner):
            return openness(inner, opened)
    return any(name in opened for name in mentioned(expression))
