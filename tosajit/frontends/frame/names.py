"""Names of tensors that stand in the place of others: they get those, where they are free."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tiling.records import replace
from tosajit.graph import Block, Node


class NewNames(dict[str, str]):
    """Names for new tensors of a block, by those they should have: longer ones where these are taken."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.taken = block.values

    def __missing__(self, wanted: str) -> str:
        name = wanted
        while name in self.taken:
            name += "_"
        self[wanted] = name
        return name


def with_names(block: Block, pairs: Iterable[tuple[str, str]], suffix: str) -> Block:
    """The block whose tensors have the names of those that they are in another form, if these are not there.

    A pair is such a name and the tensor, which was made for it if its name says so.
    """
    names: dict[str, str] = {}
    for name, source in pairs:
        is_own = source == name + suffix or source.startswith(f"{name}/")
        if name not in block.values and is_own and source not in names:
            names[source] = name
    if not names:
        return block
    nodes = tuple(_called(one, names) for one in block.nodes)
    values = {
        names.get(name, name): replace(one, name=names[name]) if name in names else one
        for name, one in block.values.items()
    }
    return replace(block, nodes=nodes, values=values)


def with_inputs(node: Node, inputs: tuple[str, ...]) -> Node:
    """The node with other operands, or itself."""
    return node if inputs == node.inputs else replace(node, inputs=inputs)


def _called(node: Node, names: dict[str, str]) -> Node:
    if names.keys().isdisjoint(node.inputs) and names.keys().isdisjoint(node.outputs):
        return node
    return replace(node, inputs=_renamed(node.inputs, names), outputs=_renamed(node.outputs, names))


def _renamed(names: Sequence[str], changed: dict[str, str]) -> tuple[str, ...]:
    return tuple(changed.get(name, name) for name in names)
