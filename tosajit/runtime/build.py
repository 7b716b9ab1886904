"""From a graph to what runs it: a block as steps, those of its regions first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tosajit.compiler import rounds
from tosajit.compiler.journal import Journal
from tosajit.compiler.names import distinct
from tosajit.compiler.options import Options
from tosajit.compiler.parts import Part, split
from tosajit.compiler.stages import BACK, FRONT, interpreter_of, through, until
from tosajit.compiler.variables import State, joins, state_of
from tosajit.graph import Block, Graph, Node
from tosajit.graph.binding import constants_of, use_of
from tosajit.kernels.runner import Runner
from tosajit.operators import COND_IF, CUSTOM, VARIABLE, VARIABLE_READ, VARIABLE_WRITE, WHILE_LOOP
from tosajit.runtime.body import Body, Branch, Compute, Loop, Run
from tosajit.runtime.called import CheckLate, custom_call
from tosajit.runtime.meanwhile import Meanwhile
from tosajit.runtime.scan import Scan
from tosajit.runtime.stateful import Access, Stateful
from tosajit.runtime.steps import Declare, ReadVariable, Step, WriteVariable

VARIABLES = (VARIABLE, VARIABLE_READ, VARIABLE_WRITE)


def build(
    graph: Graph, options: Options, journal: Journal | None = None, meanwhile: Meanwhile | None = None
) -> Body:
    """The main block of a graph; regions that control flow runs are built once each, the innermost first."""
    blocks = {region.name: region.blocks[0] for region in graph.regions}
    scans = _scans(graph, options)
    blocks |= {name: scan.body for name, scan in scans.items()}
    bodies: dict[str, Body] = {}
    waiting = [*_runs(graph.main, scans)]
    while waiting:
        name = waiting[-1]
        inner = [found for found in _runs(blocks[name], scans) if found not in bodies]
        if name not in bodies and inner:
            waiting += inner
            continue
        waiting.pop()
        if name not in bodies:
            bodies[name] = _Builder(name, blocks[name], options, bodies, scans, journal, meanwhile).body()
    return _Builder("main", graph.main, options, bodies, scans, journal, meanwhile).body()


def _scans(graph: Graph, options: Options) -> dict[str, rounds.Scan]:
    """Loops by rows, by the names of their bodies; none where nests are watched or interpreted."""
    if options.checked or options.interpret:
        return {}
    blocks = {region.name: region.blocks[0] for region in graph.regions}
    return {name: rounds.scanned(blocks[name], count) for name, count in rounds.counted(graph).items()}


def _runs(block: Block, scans: Mapping[str, rounds.Scan]) -> Iterator[str]:
    """The regions that a block needs."""
    for node in block.nodes:
        known = [name for name in node.runs if name in scans]
        yield from known or node.runs


class _Builder:
    """One block while it is built; `regions` has those that its control flow runs."""

    def __init__(
        self,
        name: str,
        block: Block,
        options: Options,
        regions: Mapping[str, Body],
        scans: Mapping[str, rounds.Scan],
        journal: Journal | None,
        meanwhile: Meanwhile | None,
    ) -> None:
        self._name, self._block = name, distinct(block)
        self._options, self._regions, self._journal = options, regions, journal
        self._meanwhile = meanwhile
        self._constants = constants_of(self._block)
        self._loops = {
            node.name: self._scan(node, scans[body])
            for node in self._block.nodes
            for body in node.runs
            if isinstance(node.operator, WHILE_LOOP) and body in scans
        }

    def body(self) -> Body:
        """The block as steps."""
        block, steps = self._block, tuple(self._steps())
        return Body(self._name, block.inputs, block.outputs, self._constants, steps)

    def _steps(self) -> Iterator[Step]:
        joined = VARIABLES if joins(self._block, self._options) else ()
        for part in split(self._name, self._block, self._constants, self._options, joined, self._reads):
            if part.late:
                yield CheckLate(part.nodes[0], self._block, part.late)
            if part.is_executed:
                yield self._executed(part)
            elif any(isinstance(node.operator, VARIABLES) for node in part.nodes):
                yield self._stateful(state_of(part))
            elif part.outputs or not self._loops:  # else it makes what a loop has no need of
                yield self._computed(part)

    def _leaves(self, node: Node) -> bool:
        """Whether results of a node are outputs of the graph, and nothing else."""
        taken = {name for other in self._block.nodes for name in other.inputs}
        return self._name == "main" and taken.isdisjoint(node.outputs)

    def _computed(self, part: Part) -> Compute | Run:
        options, journal = self._options, self._journal
        if options.interpret:
            nests = through(until(options.interpret), part, options, journal)
            return Run(interpreter_of(nests, options.checked))
        groups = through(FRONT, part, options, journal)
        if not options.run:
            return Compute(groups, None)
        linked = through(BACK, groups, options, journal)
        runner = Runner(linked, waits=linked.own is not None)
        if self._meanwhile is not None:
            self._meanwhile.add(runner, linked)
        return Compute(groups, runner)

    def _stateful(self, state: State) -> Stateful:
        """A program with variables."""
        computed = self._computed(state.part)
        assert isinstance(computed, Compute)
        assert computed.runner is not None
        accesses = tuple(map(self._access, state.accesses))
        writes = tuple((one.variable, one.start) for one in state.writes)
        return Stateful(computed.runner, accesses, state.reads, writes)

    def _executed(self, part: Part) -> Step:
        (node,) = part.nodes
        if isinstance(node.operator, VARIABLES):
            return self._access(node)
        match node.operator:
            case COND_IF():
                return Branch(node.inputs, node.outputs, *(self._regions[name] for name in node.runs))
            case WHILE_LOOP() if node.name in self._loops:
                return self._loops[node.name]
            case WHILE_LOOP():
                return Loop(node.inputs, node.outputs, *(self._regions[name] for name in node.runs))
            case CUSTOM():
                use = use_of(node, self._block, self._constants)
                return custom_call(use, node, self._options, leaves=self._leaves(node))
        raise AssertionError(node.operator.opcode)

    def _reads(self, node: Node) -> Sequence[str]:
        """What a node looks at of its operands."""
        loop = self._loops.get(node.name)
        return node.inputs if loop is None else loop.reads

    def _scan(self, node: Node, scan: rounds.Scan) -> Scan:
        """A loop by rows, with those of its results that something reads."""
        block, count = self._block, scan.count
        read = {*block.outputs, *(name for other in block.nodes for name in other.inputs)}
        taken, made = (tuple((one.place, one.count) for one in rows) for rows in (scan.taken, scan.made))
        outputs = tuple((place, name) for place, name in enumerate(node.outputs) if name in read)
        numbers = count.rounds, count.first, count.step, count.place
        values, body = (block.values[name] for name in node.inputs), self._regions[scan.body.name]
        types = tuple((value.shape or (), value.dtype.storage) for value in values)
        return Scan(node.inputs, types, outputs, body, *numbers, scan.states, scan.fixed, taken, made)

    def _access(self, node: Node) -> Access:
        values = self._block.values
        match node.operator:
            case VARIABLE(name=name):
                return Declare(node.name, name, values[node.outputs[0]])
            case VARIABLE_READ(name=name):
                return ReadVariable(node.name, name, values[node.outputs[0]])
            case VARIABLE_WRITE(name=name):
                return WriteVariable(node.name, name, values[node.inputs[0]])
        raise AssertionError(node.operator.opcode)
