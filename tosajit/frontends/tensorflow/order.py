"""The order in which nodes are lowered: those that results depend on, each behind what it uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tosajit.errors import FileError
from tosajit.frontends.tensorflow.records import Node

_IGNORED = ("Assert", "PrintV2")
"""Operators that only look at their operands."""
_LOOPS = ("Merge", "NextIteration")
"""Operators of TensorFlow 1's loops: where these go round."""


def ordered(nodes: Sequence[Node], wanted: Iterable[str], given: Iterable[str] = ()) -> list[Node]:
    """The nodes that the wanted ones depend on; those that are given are not looked at."""
    named = {node.name: node for node in nodes}
    done, open_ = set(given), set[str]()
    goes_round = any(node.op in _LOOPS for node in nodes)
    found: list[Node] = []
    stack = [(name, False) for name in reversed(list(wanted))]
    while stack:
        name, is_left = stack.pop()
        if is_left:
            open_.discard(name)
            done.add(name)
            found.append(named[name])
        elif name not in done and name not in open_:
            node = _named(named, name)
            open_.add(name)
            stack.append((name, True))
            stack += [(one, False) for one in _needed(node, named, open_, done, goes_round)]
    return found


def _named(named: Mapping[str, Node], name: str) -> Node:
    found = named.get(name)
    if found is None:
        raise FileError(f"node {name!r} is used, but is not there")
    return found


def _needed(
    node: Node, named: Mapping[str, Node], open_: set[str], done: set[str], goes_round: bool
) -> list[str]:
    """What a node waits for, last one first."""
    names = [*(one.node for one in node.inputs), *node.after]
    names = [name for name in names if name in done or _named(named, name).op not in _IGNORED]
    for name in names:
        if name in open_ and name not in done and not goes_round:
            raise FileError(f"node {node.name!r} depends on itself, by {name!r}")
    return [name for name in reversed(names) if name not in done and name not in open_]


def last(nodes: Sequence[Node], silent: frozenset[str]) -> list[str]:
    """The nodes that no other uses, apart from those that compute nothing."""
    used = {one.node for node in nodes for one in node.inputs}
    return [node.name for node in nodes if node.name not in used and node.op not in silent]
