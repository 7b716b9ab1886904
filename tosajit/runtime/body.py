"""A block as steps: programs that run, control flow, and what else the executor does between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tosajit.arrays import Array
from tosajit.compiler.journal import Journal
from tosajit.compiler.names import distinct
from tosajit.compiler.options import Options
from tosajit.compiler.parts import Part, split
from tosajit.compiler.segment import Groups
from tosajit.compiler.stages import BACK, FRONT, interpreter_of, through, until
from tosajit.graph import Block, Graph, Node
from tosajit.graph.binding import constants_of, use_of
from tosajit.kernels.interpreter import Interpreter
from tosajit.kernels.runner import Runner
from tosajit.operators import COND_IF, CUSTOM, VARIABLE, VARIABLE_READ, VARIABLE_WRITE, WHILE_LOOP
from tosajit.runtime.context import Context
from tosajit.runtime.steps import CheckLate, Declare, Frame, ReadVariable, Step, WriteVariable, custom_call


@dataclass(frozen=True, slots=True)
class Compute:
    """A step that runs groups; there is no runner where the graph is only timed."""

    groups: Groups
    runner: Runner | None

    def run(self, frame: Frame) -> None:
        """Take the inputs from the frame and put the outputs there."""
        assert self.runner is not None
        _run(self.runner, frame)


@dataclass(frozen=True, slots=True)
class Interpret:
    """A step that interprets nests."""

    runner: Interpreter

    def run(self, frame: Frame) -> None:
        """Take the inputs from the frame and put the outputs there."""
        _run(self.runner, frame)


def _run(runner: Runner | Interpreter, frame: Frame) -> None:
    results = runner.run(frame.take(runner.inputs))
    frame.values.update(zip(runner.outputs, results, strict=True))


@dataclass(frozen=True, slots=True)
class Branch:
    """COND_IF (TOSA 1.0.1 section 2.16.1)."""

    node: Node
    then_body: Body
    else_body: Body

    def run(self, frame: Frame) -> None:
        """Run one of the two regions."""
        condition, *arrays = frame.take(self.node.inputs)
        body = self.then_body if condition.reshape(-1)[0] else self.else_body
        frame.values.update(zip(self.node.outputs, body.run(arrays, frame.context), strict=True))


@dataclass(frozen=True, slots=True)
class Loop:
    """WHILE_LOOP (TOSA 1.0.1 section 2.16.2)."""

    node: Node
    condition: Body
    body: Body

    def run(self, frame: Frame) -> None:
        """Run the body as long as the condition gives true."""
        given = arrays = frame.take(self.node.inputs)
        while self.condition.run(arrays, frame.context)[0].reshape(-1)[0]:
            arrays = self.body.run(arrays, frame.context)
        if arrays is given:
            arrays = [array.copy() for array in given]
        frame.values.update(zip(self.node.outputs, arrays, strict=True))


def build(graph: Graph, options: Options, journal: Journal | None = None) -> Body:
    """The main block of a graph; regions that control flow runs are built once each, the innermost first."""
    blocks = {region.name: region.blocks[0] for region in graph.regions}
    bodies: dict[str, Body] = {}
    waiting = [name for node in graph.main.nodes for name in node.runs]
    while waiting:
        name = waiting[-1]
        inner = [found for node in blocks[name].nodes for found in node.runs if found not in bodies]
        if name not in bodies and inner:
            waiting += inner
            continue
        waiting.pop()
        if name not in bodies:
            bodies[name] = Body(name, blocks[name], options, bodies, journal)
    return Body("main", graph.main, options, bodies, journal)


class Body:
    """A compiled block; `regions` has those that its control flow runs."""

    def __init__(
        self,
        name: str,
        block: Block,
        options: Options,
        regions: Mapping[str, Body],
        journal: Journal | None,
    ) -> None:
        self.name, self.block = name, (block := distinct(block))
        self._options, self._regions, self._journal = options, regions, journal
        self._constants = constants_of(block)
        self.steps: list[Step] = list(self._make_steps())
        first = self.steps[0] if len(self.steps) == 1 else None
        self.whole = first.runner if isinstance(first, Compute | Interpret) else None
        """What runs all of the block, if one step does."""
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
    def runners(self) -> list[Runner]:
        """The programs of this block, without those of nested regions; there are none to interpret."""
        steps = [step for step in self.steps if isinstance(step, Compute)]
        return [step.runner for step in steps if isinstance(step.runner, Runner)]

    def _make_steps(self) -> Iterator[Step]:
        for part in split(self.name, self.block, self._constants, self._options):
            if part.late:
                yield CheckLate(part.nodes[0], self.block, part.late)
            yield self._executed(part) if part.is_executed else self._computed(part)

    def _computed(self, part: Part) -> Compute | Interpret:
        options, journal = self._options, self._journal
        if options.interpret:
            nests = through(until(options.interpret), part, options, journal)
            return Interpret(interpreter_of(nests, options.checked))
        groups = through(FRONT, part, options, journal)
        return Compute(groups, Runner(through(BACK, groups, options, journal)) if options.run else None)

    def _executed(self, part: Part) -> Step:
        (node,), values = part.nodes, self.block.values
        regions = [self._regions[name] for name in node.runs]
        match node.operator:
            case COND_IF():
                return Branch(node, *regions)
            case WHILE_LOOP():
                return Loop(node, *regions)
            case VARIABLE():
                return Declare(node, values[node.outputs[0]])
            case VARIABLE_READ():
                return ReadVariable(node, values[node.outputs[0]])
            case VARIABLE_WRITE():
                return WriteVariable(node, values[node.inputs[0]])
            case CUSTOM():
                return custom_call(use_of(node, self.block, self._constants), node, self._options)
        raise AssertionError(node.operator.opcode)
