"""Names of tensors that cannot be those of operands of our own, such as `conv.packed` for a tensor `conv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tiling.records import replace
from tosajit.graph import Block

MARK = "'"
"""Ends the names that are changed; no name of ours ends so."""


def distinct(block: Block) -> Block:
    """The block with a mark behind each name that begins with another tensor's name and a dot."""
    names = {name: name + MARK for name in block.values if _is_within(name, block.values)}
    if not names:
        return block

    def changed(old: Sequence[str]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in old)

    found = ((names.get(name, name), value) for name, value in block.values.items())
    values = {name: replace(value, name=name) for name, value in found}
    nodes = tuple(
        replace(node, inputs=changed(node.inputs), outputs=changed(node.outputs)) for node in block.nodes
    )
    return Block(block.name, nodes, values, changed(block.inputs), changed(block.outputs))


def _is_within(name: str, values: Mapping[str, object]) -> bool:
    place = name.find(".")
    while place >= 0:
        if name[:place] in values:
            return True
        place = name.find(".", place + 1)
    return False
