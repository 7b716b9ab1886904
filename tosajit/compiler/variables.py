"""Variables of a part: what its program reads and writes of them, as inputs and outputs behind the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tiling.records import dataclass
from tosajit.compiler.options import Options
from tosajit.compiler.parts import Part
from tosajit.graph import Block, Node
from tosajit.operators import IDENTITY, VARIABLE, VARIABLE_READ, VARIABLE_WRITE


@dataclass(frozen=True, slots=True)
class State:
    """The variables of a part, and the part with their contents as inputs and outputs."""

    part: Part
    accesses: tuple[Node, ...]
    """In order."""
    reads: tuple[str, ...]
    """The variables that the last inputs are of."""
    writes: tuple[str, ...]
    """The variables that the last outputs are for."""


def joins(block: Block, options: Options) -> bool:
    """Whether variables are operands of a block's programs: kernels run it, and all agree on their types."""
    if not options.run or options.interpret or not options.on_host:
        return False
    kinds: dict[str, object] = {}
    return all(
        kinds.setdefault(name, kind) == kind for node in block.nodes for name, kind in _kinds(node, block)
    )


def _kinds(node: Node, block: Block) -> Sequence[tuple[str, object]]:
    match node.operator:
        case VARIABLE(name=name) | VARIABLE_READ(name=name) | VARIABLE_WRITE(name=name):
            value = block.values[(*node.inputs, *node.outputs)[0]]
            return [(name, (value.dtype, value.shape or ()))]
    return []


def state_of(part: Part) -> State:
    """The part as one that computes: what is read after a write is what has been written."""
    nodes, accesses = [], []
    reads: dict[str, str] = {}
    written: dict[str, str] = {}
    for node in part.nodes:
        match node.operator:
            case VARIABLE():
                accesses.append(node)
            case VARIABLE_READ(name=name):
                accesses.append(node)
                if name in written:
                    nodes.append(replace(node, operator=IDENTITY(), inputs=(written[name],)))
                else:
                    reads[node.outputs[0]] = name
            case VARIABLE_WRITE(name=name):
                accesses.append(node)
                written[name] = node.inputs[0]
            case _:
                nodes.append(node)
    whole = replace(
        part,
        nodes=tuple(nodes),
        inputs=(*part.inputs, *reads),
        outputs=(*part.outputs, *written.values()),
    )
    return State(whole, tuple(accesses), tuple(reads.values()), tuple(written))
