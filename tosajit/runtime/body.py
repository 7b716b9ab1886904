"""A block as steps: segments of compiled nests, and what the executor does between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tiling.nest import Nest
from tosajit.checks.validation import late_operands
from tosajit.dtypes import dtype_of
from tosajit.errors import CompileError
from tosajit.graph import Block, Graph, Node
from tosajit.graph.binding import Use, constants_of, use_of
from tosajit.graph.order import topological
from tosajit.runtime.context import Context
from tosajit.runtime.groups import Stretch, Tensor, tensor_of
from tosajit.runtime.names import apart
from tosajit.runtime.segment import Segment
from tosajit.runtime.steps import (
    Branch,
    CheckLate,
    Declare,
    Frame,
    Loop,
    ReadVariable,
    Step,
    WriteVariable,
    custom_call,
)

if TYPE_CHECKING:
    from tosajit.runtime.options import Options

Array = np.ndarray[Any, Any]
EXECUTED = frozenset({"COND_IF", "WHILE_LOOP", "VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE", "CUSTOM"})
DATA = frozenset({"CONST", "CONST_SHAPE"})


@dataclass(frozen=True, slots=True)
class Compute:
    """A step that runs a segment; there is none where the graph is only timed."""

    stretch: Stretch
    segment: Segment | None

    def run(self, frame: Frame) -> None:
        """Take the inputs from the frame and put the outputs there."""
        assert self.segment is not None
        results = self.segment.run(frame.take(self.segment.inputs))
        frame.values.update(zip(self.segment.outputs, results, strict=True))


def build(graph: Graph, options: Options) -> Body:
    """The main block of a graph; regions that control flow runs are built once each, the innermost first."""
    blocks = {region.name: region.blocks[0] for region in graph.regions}
    bodies: dict[str, Body] = {}
    waiting = [name for node in graph.main.nodes for name in _runs(node)]
    while waiting:
        name = waiting[-1]
        inner = [found for node in blocks[name].nodes for found in _runs(node) if found not in bodies]
        if name not in bodies and inner:
            waiting += inner
            continue
        waiting.pop()
        if name not in bodies:
            bodies[name] = Body(blocks[name], options, bodies)
    return Body(graph.main, options, bodies)


def _runs(node: Node) -> tuple[str, ...]:
    """The names of the regions that a node runs."""
    operator: Any = node.operator
    match operator.opcode:
        case "COND_IF":
            return operator.then_graph, operator.else_graph
        case "WHILE_LOOP":
            return operator.cond_graph, operator.body_graph
    return ()


class Body:
    """A compiled block; `regions` has those that its control flow runs."""

    def __init__(self, block: Block, options: Options, regions: Mapping[str, Body]) -> None:
        self.block = block = apart(block)
        self._options, self._regions = options, regions
        self._constants = constants_of(block)
        self.steps: list[Compute | Step] = list(self._make_steps())
        first = self.steps[0] if len(self.steps) == 1 else None
        self.whole = first.segment if isinstance(first, Compute) else None
        """The segment that is all of the block, if there is one."""
        elsewhere, outputs = {*block.inputs, *self._constants}, block.outputs
        self._shared = [n in elsewhere or n in outputs[:place] for place, n in enumerate(outputs)]
        """Whether an output's array is another's as well; steps themselves make new ones."""

    def run(self, arrays: Sequence[Array], context: Context) -> list[Array]:
        """Run the block's steps in order."""
        if self.whole is not None:
            return self.whole.run(arrays)
        frame = Frame(dict(zip(self.block.inputs, arrays, strict=True)), self._constants, context, set())
        for step in self.steps:
            step.run(frame)
        results = frame.take(self.block.outputs)
        return [
            array.copy() if shared else array for array, shared in zip(results, self._shared, strict=True)
        ]

    @property
    def segments(self) -> list[Segment]:
        """The compiled segments of this block, without those of nested regions."""
        return [step.segment for step in self.steps if isinstance(step, Compute) and step.segment]

    def _make_steps(self) -> Iterator[Compute | Step]:
        nodes = [node for node in self.block.nodes if node.operator.opcode not in DATA]
        groups = _stretches(topological(nodes), self._constants)
        read_later: list[set[str]] = [set(self.block.outputs)]
        for group in reversed(groups):
            read_later.append(read_later[-1] | {name for node in group for name in node.inputs})
        read_later.reverse()
        alone = len(groups) == 1
        for group, later in zip(groups, read_later[1:], strict=True):
            late = late_operands(group[0], self._constants)
            if late:
                yield CheckLate(group[0], self.block, late)
            if group[0].operator.opcode in EXECUTED:
                yield self._executed(group[0])
            else:
                stretch = self._stretch(group, later, whole=alone)
                yield Compute(stretch, Segment(stretch, self._options) if self._options.run else None)

    def _stretch(self, nodes: Sequence[Node], later: set[str], whole: bool) -> Stretch:
        block, options = self.block, self._options
        nests: list[Nest] = []
        constants = dict(self._constants)
        for node in nodes:
            use = replace(use_of(node, block, self._constants), checked=self._options.checked)
            nests += self._lowered(use)
            constants |= use.tables
        if whole:
            inputs, outputs = list(block.inputs), list(block.outputs)
        else:
            made = dict.fromkeys(name for node in nodes for name in node.outputs)
            taken = dict.fromkeys(name for node in nodes for name in node.inputs)
            inputs = [name for name in taken if name not in made and name not in self._constants]
            outputs = [name for name in made if name in later and name not in self._constants]
        tensors = _tensors(block, constants, nests)
        return Stretch(nests, tensors, inputs, outputs, constants, options.checked)

    def _lowered(self, use: Use) -> list[Nest]:
        lower = getattr(use.operator, "lower", None)
        if lower is None:
            raise CompileError(f"{use.name} ({use.operator.opcode}): cannot be compiled yet")
        nests: list[Nest] = lower(use)
        if use.checked:
            # Reports of violated requirements call nests by their members.
            nests = [replace(nest, members=(f"{use.name} ({use.operator.opcode})",)) for nest in nests]
        return nests

    def _executed(self, node: Node) -> Step:
        block, options = self.block, self._options
        values = block.values
        operator: Any = node.operator
        match operator.opcode:
            case "COND_IF" | "WHILE_LOOP":
                made = Branch if operator.opcode == "COND_IF" else Loop
                return made(node, *(self._regions[name] for name in _runs(node)))
            case "VARIABLE":
                return Declare(node, values[node.outputs[0]])
            case "CUSTOM":
                return custom_call(node, values, options)
            case "VARIABLE_READ":
                return ReadVariable(node, values[node.outputs[0]])
            case "VARIABLE_WRITE":
                return WriteVariable(node, values[node.inputs[0]])
        raise AssertionError(operator.opcode)


def _tensors(block: Block, constants: Mapping[str, Array], nests: Sequence[Nest]) -> dict[str, Tensor]:
    """All that nests may read or write, by name."""
    shaped = [value for value in block.values.values() if value.shape is not None]
    found = {value.name: Tensor(value.name, value.dtype, value.shape or ()) for value in shaped}
    ours = {name: array for name, array in constants.items() if name not in found}
    found |= {name: Tensor(name, dtype_of(array.dtype), array.shape) for name, array in ours.items()}
    return found | {t.name: t for nest in nests for t in _temporaries(nest, found)}


def _temporaries(nest: Nest, known: Mapping[str, Tensor]) -> Iterator[Tensor]:
    """Tensors that only nests know, such as an intermediate result inside one operator."""
    for write in nest.writes:
        name = write.access.operand
        if name not in known:
            yield tensor_of(name, write.access.type, write.access.shape)


def _stretches(nodes: Sequence[Node], constants: Mapping[str, Array]) -> list[list[Node]]:
    """Runs of nodes that compile together, and nodes for the executor on their own.

    A node whose checks have to wait for data starts a run: the data are there when the run before is done.
    """
    groups: list[list[Node]] = []
    open_group = False
    for node in nodes:
        alone = node.operator.opcode in EXECUTED
        if alone or not open_group or late_operands(node, constants):
            groups.append([node])
        else:
            groups[-1].append(node)
        open_group = not alone
    return groups
