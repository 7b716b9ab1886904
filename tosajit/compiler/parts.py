"""A block cut into parts: nodes that compile together, and those that the executor carries out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.checks.validation import late_operands
from tosajit.compiler.options import Options
from tosajit.graph import Block, Node
from tosajit.graph.binding import use_of
from tosajit.graph.operator import Operator
from tosajit.graph.order import topological
from tosajit.operators import CUSTOM


@dataclass(frozen=True, slots=True)
class Part:
    """Nodes of a block, in order; what they take from before and what is wanted of them."""

    name: str
    block: Block
    constants: Mapping[str, Array]
    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    late: tuple[str, ...] = ()
    """Operands of the first node that its checks have to wait for."""
    is_executed: bool = False
    """Whether this is one node that the executor carries out."""


def split(
    name: str,
    block: Block,
    constants: Mapping[str, Array],
    options: Options,
    joined: tuple[type[Operator], ...] = (),
    reads: Callable[[Node], Sequence[str]] = lambda node: node.inputs,
) -> Iterator[Part]:
    """The parts of a block, in order, named after it; operators of the `joined` types cut nothing.

    `reads` tells which operands a node looks at.
    """
    alone = {
        id(node)
        for node in block.nodes
        if not isinstance(node.operator, joined) and _is_executed(node, block, constants, options)
    }
    nodes = [node for node in block.nodes if not node.operator.holds_data]
    groups = _runs_of(topological(nodes), constants, alone)
    read_later: list[set[str]] = [set(block.outputs)]
    for group in reversed(groups):
        read_later.append(read_later[-1] | {name for node in group for name in reads(node)})
    read_later.reverse()
    for number, (group, later) in enumerate(zip(groups, read_later[1:], strict=True)):
        late = tuple(late_operands(group[0], constants))
        if len(groups) == 1:
            part, inputs, outputs = name, block.inputs, block.outputs
        else:
            made = dict.fromkeys(name for node in group for name in node.outputs)
            taken = dict.fromkeys(name for node in group for name in reads(node))
            part = f"{name}.{number}"
            inputs = tuple(one for one in taken if one not in made and one not in constants)
            outputs = tuple(one for one in made if one in later and one not in constants)
        yield Part(part, block, constants, tuple(group), inputs, outputs, late, id(group[0]) in alone)


def _is_executed(node: Node, block: Block, constants: Mapping[str, Array], options: Options) -> bool:
    """Whether there are no nests for a node; of a CUSTOM operator its text may say some."""
    if not isinstance(node.operator, CUSTOM):
        return node.operator.is_executed
    written = options.written(use_of(node, block, constants))
    return written is None or not written.is_tiled


def _runs_of(
    nodes: Sequence[Node], constants: Mapping[str, Array], executed: Collection[int]
) -> list[list[Node]]:
    """Runs of nodes that compile together, and nodes for the executor on their own, whose `id` is given.

    A node whose checks have to wait for data starts a run: the data are there when the run before is done.
    """
    groups: list[list[Node]] = []
    open_group = False
    for node in nodes:
        alone = id(node) in executed
        if alone or not open_group or late_operands(node, constants):
            groups.append([node])
        else:
            groups[-1].append(node)
        open_group = not alone
    return groups
