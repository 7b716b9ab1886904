"""Making a failing graph small: fewer outputs, fewer operators, inputs in place of what is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from tests import oracle
from tests.strategies import Drawn
from tosajit.graph import Block, Graph, Region

Fails = Callable[[Drawn], bool]


def reduced(drawn: Drawn, fails: Fails) -> Drawn:
    """Return the smallest graph found that still fails."""
    while True:
        for smaller in candidates(drawn):
            if fails(smaller):
                drawn = smaller
                break
        else:
            return drawn


def candidates(drawn: Drawn) -> Iterator[Drawn]:
    """Yield graphs with one output, with an input for a value, with an inner value for an output."""
    block = drawn.graph.main
    computed = [
        name for node in block.nodes if not is_constant(block, node.outputs[0]) for name in node.outputs
    ]
    values = values_of(drawn, computed)
    if len(block.outputs) > 1:
        for name in block.outputs:
            yield cut(drawn, values, [name], set())
    for name in computed:
        if name not in block.outputs:
            yield cut(drawn, values, list(block.outputs), {name})
            yield cut(drawn, values, [name], set())


def is_constant(block: Block, name: str) -> bool:
    """Whether a value is given with the graph."""
    return block.values[name].data is not None


def values_of(drawn: Drawn, names: list[str]) -> dict[str, np.ndarray]:
    """Compute all values of a graph."""
    block = replace(drawn.graph.main, outputs=tuple(names))
    arrays = oracle.run_graph(Graph((Region("main", (block,)),)), drawn.inputs)
    return dict(zip(names, arrays, strict=True))


def cut(drawn: Drawn, values: Mapping[str, np.ndarray], outputs: list[str], given: set[str]) -> Drawn:
    """Take what some outputs need, with some values given as inputs."""
    block = drawn.graph.main
    needed, nodes = set(outputs), []
    for node in reversed(block.nodes):
        if needed & set(node.outputs) and not given & set(node.outputs):
            needed |= set(node.inputs)
            nodes.append(node)
    nodes.reverse()
    inputs = {name: array for name, array in drawn.inputs.items() if name in needed}
    inputs |= {name: values[name] for name in given if name in needed}
    kept = {name: value for name, value in block.values.items() if name in needed}
    smaller = Block(block.name, tuple(nodes), kept, tuple(inputs), tuple(outputs))
    expected = {name: values[name] for name in outputs}
    graph = Graph((Region("main", (smaller,)),))
    operators = tuple((node.operator.opcode, "") for node in nodes)
    return Drawn(graph, inputs, expected, operators, f"{graph}\n")
