"""Control flow (TOSA 1.0.1 section 2.16): operators that run the regions of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import prod

from tosajit.dtypes import BOOL
from tosajit.graph import Block, Graph, Value
from tosajit.graph.operator import Operator, error_if, read, reads, table, writes
from tosajit.operators.types import Shape

CONTROL_FLOW = table("", "EXT-CONTROLFLOW | All")

Values = tuple[Value, ...]


class COND_IF(Operator):
    """Runs one of two regions."""

    section, modes = "2.16.1", CONTROL_FLOW

    condition = read("bool_t", "shape")
    input_list = reads()
    output_list = writes()

    regions = "then_graph", "else_graph"

    then_graph: str
    else_graph: str

    def results(self, graph: Graph) -> Values:
        """What comes out is what the regions give."""
        block = entry(graph, self.then_graph)
        if block is None:
            return ()
        return tuple(block.values[name] for name in block.outputs if name in block.values)

    @error_if("condition")
    def several_conditions(self, shape: Shape) -> bool:
        """It has the shape {shape}, but must have one element."""
        return prod(shape) != 1

    @error_if()
    def unlike_signatures(self, input_list: Values, output_list: Values, graph: Graph) -> Iterator[str]:
        """Both regions take the inputs and give the outputs."""
        for name, region in (("then_graph", self.then_graph), ("else_graph", self.else_graph)):
            yield from _signature(graph, name, region, input_list, output_list)


class WHILE_LOOP(Operator):
    """Runs a region as long as another one says so."""

    section, modes = "2.16.2", CONTROL_FLOW

    input_list = reads()
    output_list = writes()

    regions = "cond_graph", "body_graph"

    cond_graph: str
    body_graph: str

    def results(self, input_list: Values) -> Values:
        """What comes out is what went in."""
        return input_list

    @error_if("output_list")
    def unlike_lists(self, input_list: Values, output_list: Values) -> Iterator[str]:
        """What goes round is what comes out."""
        return _mismatch(output_list, input_list, "output", "input_list")

    @error_if()
    def unlike_body(self, input_list: Values, graph: Graph) -> Iterator[str]:
        """The body takes and gives what goes round."""
        return _signature(graph, "body_graph", self.body_graph, input_list, input_list)

    @error_if()
    def unlike_condition(self, input_list: Values, graph: Graph) -> Iterator[str]:
        """The condition takes what goes round, and gives one Boolean."""
        yield from _signature(graph, "cond_graph", self.cond_graph, input_list, None)
        block = entry(graph, self.cond_graph)
        if block is None:
            return
        given = [block.values[name] for name in block.outputs if name in block.values]
        if len(given) != 1 or given[0].dtype is not BOOL or prod(given[0].shape or ()) != 1:
            types = ", ".join(value.type for value in given) or "nothing"
            yield f"cond_graph {self.cond_graph} gives {types}, but must give one BOOL"


def entry(graph: Graph, name: str) -> Block | None:
    """The block that a region called `name` starts with."""
    region = graph.region(name)
    return region.blocks[0] if region is not None and region.blocks else None


def _signature(graph: Graph, name: str, region: str, inputs: Values, outputs: Values | None) -> Iterator[str]:
    block = entry(graph, region)
    if block is None:
        return iter((f"{name} is {region!r}, but there is no such region",))
    takes = [block.values[key] for key in block.inputs if key in block.values]
    gives = [block.values[key] for key in block.outputs if key in block.values]
    faults = _mismatch(inputs, takes, "input", f"{name} {region}")
    return (
        faults if outputs is None else chain(faults, _mismatch(outputs, gives, "output", f"{name} {region}"))
    )


def _mismatch(bound: Sequence[Value], wanted: Sequence[Value], what: str, where: str) -> Iterator[str]:
    if len(bound) != len(wanted):
        yield f"there are {len(bound)} {what}s, but {len(wanted)} in {where}"
        return
    for number, (one, other) in enumerate(zip(bound, wanted, strict=True)):
        if one.shape != other.shape or one.dtype is not other.dtype:
            yield f"{what} {number} is {one.type}, but {other.type} in {where}"
