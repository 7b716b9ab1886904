"""Variables of a part: what its program reads and writes of them, as inputs and outputs behind the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from math import prod
from operator import mul

from tiling.nest import dense_strides
from tiling.records import dataclass, replace
from tosajit.compiler.options import Options
from tosajit.compiler.parts import Part
from tosajit.graph import Block, Node
from tosajit.operators import IDENTITY, RESHAPE, SLICE, VARIABLE, VARIABLE_READ, VARIABLE_WRITE

ROOM = 4
"""A variable lies in a tensor that is at most so many times as large as it is."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a variable holds afterwards: elements of a result, from `start` on."""

    variable: str
    result: str
    start: int


@dataclass(frozen=True, slots=True)
class State:
    """The variables of a part, and the part with their contents as inputs and outputs."""

    part: Part
    accesses: tuple[Node, ...]
    """In order."""
    reads: tuple[str, ...]
    """The variables that the last inputs are of."""
    writes: tuple[Written, ...]
    """What the last outputs are for."""


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
    results = _Results(part, nodes)
    writes = tuple(Written(name, *results.one_for(value)) for name, value in written.items())
    outputs = (*part.outputs, *(one.result for one in writes))
    whole = replace(
        part,
        block=replace(part.block, values=results.values),
        nodes=_needed(results.nodes, outputs),
        inputs=(*part.inputs, *reads),
        outputs=outputs,
    )
    return State(whole, tuple(accesses), tuple(reads.values()), writes)


def _needed(nodes: Sequence[Node], outputs: Sequence[str]) -> tuple[Node, ...]:
    """The nodes that these outputs are made of."""
    wanted, found = {*outputs}, []
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.outputs):
            wanted.update(node.inputs)
            found.append(node)
    return tuple(reversed(found))


class _Results:
    """Finds results of a part for what is written: each is made by the part, and nothing else's."""

    def __init__(self, part: Part, nodes: Sequence[Node]) -> None:
        self._constants, self._taken = part.constants, {*part.outputs, *part.constants}
        self.nodes, self.values = [*nodes], dict(part.block.values)
        self._makers = {name: node for node in nodes for name in node.outputs}

    def one_for(self, written: str) -> tuple[str, int]:
        """The largest tensor that a value is a part of, as far as that pays, and where it begins there."""
        most = ROOM * prod(self.values[written].shape or ())
        found = [
            (name, start)
            for name, start in self._around(written)
            if name in self._makers
            and name not in self._taken
            and prod(self.values[name].shape or ()) <= most
        ]
        name, start = found[-1] if found else (self._copied(written), 0)
        self._taken.add(name)
        return name, start

    def _around(self, name: str) -> Iterator[tuple[str, int]]:
        """A value, and the tensors that it lies in as elements that follow each other."""
        start: int | None = 0
        while start is not None:
            yield name, start
            node = self._makers.get(name)
            if node is None:
                return
            match node.operator:
                case IDENTITY() | RESHAPE():
                    pass
                case SLICE():
                    begin = self._start(node)
                    start = None if begin is None else start + begin
                case _:
                    return
            name = node.inputs[0]

    def _start(self, node: Node) -> int | None:
        """The element of its input at which the result of a SLICE begins; None if its elements lie apart."""
        x, *known = node.inputs
        shape = self.values[x].shape
        if shape is None or any(name not in self._constants for name in known):
            return None
        first, size = (self._constants[name].tolist() for name in known)
        cut = max((d for d, extent in enumerate(shape) if size[d] != extent), default=0)
        strides = dense_strides(shape)
        return sum(map(mul, first, strides)) if all(extent == 1 for extent in size[:cut]) else None

    def _copied(self, name: str) -> str:
        """A copy of a value, which a node makes."""
        number = next(n for n in count() if f"{name}.{n}" not in self.values)
        copy = f"{name}.{number}"
        self.values[copy] = replace(self.values[name], name=copy, data=None)
        self.nodes.append(Node(IDENTITY(), (name,), (copy,)))
        return copy
