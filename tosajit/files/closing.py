"""Open extents, which some converters write as -1: all shapes follow from those of the inputs."""

from __future__ import annotations

from math import prod

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.errors import FileError, GraphError
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.binding import infer_outputs
from tosajit.graph.extents import Open, Shapes, check_names, closed, fits, written
from tosajit.graph.order import topological
from tosajit.operators import RESHAPE


def closed_graph(graph: Graph, shapes: Shapes | None = None) -> Graph:
    """The graph without open extents, with the shapes of inputs that are given."""
    inputs = graph.main.inputs
    check_names(shapes, inputs)
    given = {name: _shape_of(graph.main.values[name], shape) for name, shape in (shapes or {}).items()}
    is_open = any(_is_open(value) for block in _blocks(graph) for value in block.values.values())
    if not is_open and all(graph.main.values[name].shape is not None for name in given):
        return graph
    if len(graph.regions) > 1 or len(graph.regions[0].blocks) > 1:
        raise FileError("its extents are open, and it has control flow: convert it with a fixed batch")
    region = graph.regions[0]
    return replace(graph, regions=(Region(region.name, (_closed_block(region.blocks[0], shapes or {}),)),))


def _blocks(graph: Graph) -> list[Block]:
    return [block for region in graph.regions for block in region.blocks]


def _is_open(value: Value) -> bool:
    return value.shape is None or min(value.shape, default=0) < 0


def _shape_of(value: Value, given: object) -> tuple[int, ...]:
    try:
        return closed(value.name, value.shape, given)  # type: ignore[arg-type]
    except Open as error:
        raise FileError(f"input {value.name}: {error}") from None


def _closed_block(block: Block, shapes: Shapes) -> Block:
    """Every node again, with the shapes that its operands have now."""
    values = dict(block.values)
    for name in block.inputs:
        values[name] = replace(values[name], shape=_shape_of(values[name], shapes.get(name)))
    constants = {name: one.data for name, one in values.items() if one.data is not None}
    for node in topological(block.nodes):
        if node.operator.holds_data or not node.outputs:
            continue
        if isinstance(node.operator, RESHAPE) and len(node.inputs) == 2:
            _close_target(node, values, constants)
        found = _outputs(node, values, constants)
        for name, shape in zip(node.outputs, found, strict=True):
            values[name] = replace(values[name], shape=shape)
    for one in values.values():
        if _is_open(one):
            raise FileError(
                f"{one.name}: its shape is {written(one.shape or ())}, and no node says more of it"
            )
    return replace(block, values=values)


def _close_target(node: Node, values: dict[str, Value], constants: dict[str, Array]) -> None:
    """Let the one open extent of a new shape be what is left of the elements."""
    source, target = (values[name] for name in node.inputs)
    extents = constants.get(target.name)
    if extents is None or source.shape is None or np.count_nonzero(extents < 0) != 1:
        return
    known = prod(int(one) for one in extents if one >= 0)
    rest = prod(source.shape) // known if known else 0
    constants[target.name] = np.where(extents < 0, rest, extents)
    values[target.name] = replace(target, data=constants[target.name])


def _outputs(node: Node, values: dict[str, Value], constants: dict[str, Array]) -> list[tuple[int, ...]]:
    """The shapes of the results of a node."""
    declared = [values[name] for name in node.outputs]
    try:
        inferred = infer_outputs(
            node.operator, [values[name] for name in node.inputs], constants, dtype=declared[0].dtype
        )
    except GraphError as error:
        if any(map(_is_open, declared)):
            raise FileError(f"{node.name} ({node.operator.opcode}): {error}") from None
        return [one.shape or () for one in declared]
    for value, (_, shape) in zip(declared, inferred, strict=True):
        if value.shape is not None and not fits(shape, value.shape):
            raise FileError(
                f"{node.name} ({node.operator.opcode}): its result is declared as {written(value.shape)}, "
                f"but its operands give {written(shape)}"
            )
    return [shape for _, shape in inferred]
