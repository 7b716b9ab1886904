"""Loops whose rounds are counted: how many there are, and which rows of tensors each of them takes and makes.

A round that gathers a row of a tensor by its number, or scatters one, needs neither: it can be told where the
row is. So its body becomes one of rows in place of tensors, and the number goes if nothing else needs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tiling.records import dataclass, replace
from tosajit.arrays import Array
from tosajit.graph import Block, Graph, Node
from tosajit.graph.binding import constants_of
from tosajit.operators import WHILE_LOOP


@dataclass(frozen=True, slots=True)
class Count:
    """The number of a round: which operand it is, the first one, what is added, and how many there are."""

    place: int
    first: int
    step: int
    rounds: int

    def inside(self, rows: int) -> bool:
        """Whether all numbers are those of rows."""
        last = self.first + self.step * (self.rounds - 1)
        return self.rounds > 0 and 0 <= min(self.first, last) and max(self.first, last) < rows


@dataclass(frozen=True, slots=True)
class Rows:
    """An operand of a loop of which each round takes or makes a row, and how many rows it has."""

    place: int
    count: int


@dataclass(frozen=True, slots=True)
class Scan:
    """A counted loop by rows: of `states`, what is `fixed` and rows, its body makes states and rows."""

    count: Count
    body: Block
    states: tuple[int, ...]
    """The operands that each round makes of those before it."""
    fixed: tuple[int, ...]
    """Those that are the same in all rounds."""
    taken: tuple[Rows, ...]
    made: tuple[Rows, ...]


def counted(graph: Graph) -> dict[str, Count]:
    """The counts of loops, by the names of their bodies, that only one loop runs."""
    found: dict[str, Count] = {}
    runs = Counter(name for node in graph.nodes for name in node.runs)
    blocks = {region.name: region.blocks[0] for region in graph.regions if region.blocks}
    for block in blocks.values():
        constants = constants_of(block)
        for node in block.nodes:
            if not isinstance(node.operator, WHILE_LOOP) or runs[node.operator.body_graph] > 1:
                continue
            condition, body = (blocks[name] for name in node.runs)
            count = _count(node, constants, condition, body)
            if count is not None:
                found[body.name] = count
    return found


def scanned(body: Block, count: Count) -> Scan:
    """A counted loop by rows."""
    return _Scanning(body, count).made()


def _count(node: Node, constants: Mapping[str, Array], condition: Block, body: Block) -> Count | None:
    limit = _Limit.of(condition)
    if limit is None or limit.place >= len(node.inputs) or node.inputs[limit.place] not in constants:
        return None
    step = _step(body, limit.place)
    if step is None or not limit.is_reached(step):
        return None
    first = int(constants[node.inputs[limit.place]].reshape(-1)[0])
    rounds = max(0, -(-(limit.least_outside(step) - first) // step))
    last = first + rounds * step
    return Count(limit.place, first, step, rounds) if -(2**31) <= last < 2**31 else None


@dataclass(frozen=True, slots=True)
class _Limit:
    """What a condition compares a number with."""

    place: int
    number: int
    goes_up: bool
    """Whether the number has to be less."""
    included: bool

    @classmethod
    def of(cls, condition: Block) -> _Limit | None:
        """What it is; None if the condition is another one, or does more."""
        views = _Views(condition)
        made = views.maker(condition.outputs[0])
        if made is None or any(node.operator.is_executed for node in condition.nodes):
            return None
        if made.operator.opcode not in ("GREATER", "GREATER_EQUAL"):
            return None
        more, less = (views.source(name) for name in made.inputs)
        constants, included = constants_of(condition), made.operator.opcode == "GREATER_EQUAL"
        for place, number, goes_up in ((less, more, True), (more, less, False)):
            data = constants.get(number)
            if place in condition.inputs and data is not None and data.size == 1 and data.dtype.kind == "i":
                return cls(condition.inputs.index(place), int(data.reshape(-1)[0]), goes_up, included)
        return None

    def least_outside(self, step: int) -> int:
        """The first number for which the condition is false, on the way there."""
        return self.number + (1 if step > 0 else -1) * self.included

    def is_reached(self, step: int) -> bool:
        """Whether numbers go towards it."""
        return step > 0 if self.goes_up else step < 0


def _step(body: Block, place: int) -> int | None:
    """What a round adds to its number."""
    views = _Views(body)
    made = views.maker(body.outputs[place])
    if made is None or made.operator.opcode not in ("ADD", "SUB"):
        return None
    sources, constants = [views.source(name) for name in made.inputs], constants_of(body)
    if made.operator.opcode == "ADD" and sources[1] == body.inputs[place]:
        sources.reverse()
    data = constants.get(sources[1])
    if sources[0] != body.inputs[place] or data is None or data.size != 1 or data.dtype.kind != "i":
        return None
    amount = int(data.reshape(-1)[0])
    return amount if made.operator.opcode == "ADD" else -amount


class _Views:
    """Which values are others in another shape."""

    def __init__(self, block: Block) -> None:
        self.makers = {name: node for node in block.nodes for name in node.outputs}

    def source(self, name: str) -> str:
        """What a value is in another shape, perhaps itself."""
        while (made := self.makers.get(name)) and made.operator.opcode in ("RESHAPE", "IDENTITY"):
            name = made.inputs[0]
        return name

    def maker(self, name: str) -> Node | None:
        """The node that computes it."""
        return self.makers.get(self.source(name))


class _Scanning:
    """A body on its way to one by rows."""

    def __init__(self, body: Block, count: Count) -> None:
        self.body, self.count, self.views = body, count, _Views(body)
        self.readers = Counter(name for node in body.nodes for name in node.inputs) + Counter(body.outputs)

    def made(self) -> Scan:
        """The loop by rows."""
        body, own = self.body, self.count.place
        places = [place for place in range(len(body.inputs)) if place != own]
        same = [place for place in places if body.outputs[place] == body.inputs[place]]
        taken = [(place, node) for place in same for node in self._gathers(place)]
        made = [(place, node) for place in places if (node := self._put(place)) is not None]
        states = [place for place in places if place not in same and place not in dict(made)]
        rows = [node.inputs[2] for _, node in made]
        nodes = self._needed([body.outputs[place] for place in states] + rows, [node for _, node in taken])
        if self._reads(nodes, rows, own):
            states = [own, *states]
            nodes = self._needed(
                [body.outputs[place] for place in states] + rows, [node for _, node in taken]
            )
        fixed = [place for place in same if self._reads(nodes, rows, place)]
        inputs = [body.inputs[place] for place in (*states, *fixed)] + [node.outputs[0] for _, node in taken]
        outputs = [body.outputs[place] for place in states] + rows
        return Scan(
            self.count,
            replace(body, nodes=nodes, inputs=tuple(inputs), outputs=tuple(outputs)),
            tuple(states),
            tuple(fixed),
            tuple(Rows(place, self._extent(node)) for place, node in taken),
            tuple(Rows(place, self._extent(node)) for place, node in made),
        )

    def _gathers(self, place: int) -> Iterator[Node]:
        """The nodes that take the round's row of an operand."""
        for node in self.body.nodes:
            if node.operator.opcode == "GATHER" and self._is_own(node):
                if self.views.source(node.inputs[0]) == self.body.inputs[place]:
                    yield node

    def _put(self, place: int) -> Node | None:
        """The node that puts the round's row into an operand that nothing else looks at."""
        node = self._alone(self.body.outputs[place])
        if node is None or node.operator.opcode != "SCATTER" or not self._is_own(node):
            return None
        base, given = node.inputs[0], self.body.inputs[place]
        while base != given and self._alone(base, "RESHAPE") is not None:
            base = self.views.makers[base].inputs[0]
        return node if base == given and self.readers[given] == 1 else None

    def _alone(self, name: str, *opcodes: str) -> Node | None:
        """The node behind reshapes that makes a value, if each of these is read once."""
        while self.readers[name] == 1 and (made := self.views.makers.get(name)):
            if made.operator.opcode != "RESHAPE" or opcodes:
                return made if not opcodes or made.operator.opcode in opcodes else None
            name = made.inputs[0]
        return None

    def _is_own(self, node: Node) -> bool:
        """Whether a gather or scatter is of one row, which the number of the round chooses."""
        indices = self.body.values[node.inputs[1]]
        number = self.body.inputs[self.count.place]
        is_one = indices.shape == (1, 1) and self.views.source(indices.name) == number
        return is_one and self.count.inside(self._extent(node))

    def _extent(self, node: Node) -> int:
        """How many rows there are."""
        shape = self.body.values[node.inputs[0]].shape
        return shape[1] if shape is not None and len(shape) == 3 else 0

    def _needed(self, outputs: Sequence[str], without: Sequence[Node]) -> tuple[Node, ...]:
        """The nodes that outputs need, and those that do more than compute."""
        left = [node for node in self.body.nodes if not any(node is one for one in without)]
        makers = {name: node for node in left for name in node.outputs}
        kept = {id(node): node for node in left if node.operator.is_executed}
        waiting = [*outputs, *(name for node in kept.values() for name in node.inputs)]
        while waiting:
            node = makers.get(waiting.pop())
            if node is not None and id(node) not in kept:
                kept[id(node)] = node
                waiting += node.inputs
        return tuple(node for node in left if id(node) in kept)

    def _reads(self, nodes: Sequence[Node], rows: Sequence[str], place: int) -> bool:
        """Whether nodes or rows are made of an operand."""
        name = self.body.inputs[place]
        return name in rows or any(name in node.inputs for node in nodes)
