"""`vmap`: a function of single examples as one of batches, by what operators declare of these."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tosajit.dtypes import INT48, SHAPE, DType
from tosajit.errors import TraceError
from tosajit.graph import Graph, Node, Value
from tosajit.graph.operator import BATCH, Operand, Operator
from tosajit.operators import RESHAPE, TILE, TRANSPOSE
from tosajit.operators.forms import Unary
from tosajit.tracing.compiled import Jitted, Settings
from tosajit.tracing.recorder import Trace, current_trace, recording
from tosajit.tracing.structured import placed
from tosajit.tracing.tensor import Tensor
from tosajit.tracing.tree import Tree, flatten

Axes = int | None | Sequence[Any] | Mapping[str, Any]
"""An axis for all tensors, None for those that all examples share, or one for each part of nested values."""


def vmap(function: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Callable[..., Any]:
    """A function of batches from one of single examples.

    * `in_axes` says which axis of an argument counts the examples: one for all, or a tuple with one for each;
      None for an argument that all examples share. Arguments by keyword have axis 0.
    * `out_axes` says where that axis is in what the function returns.

    The result is called with arrays, or in a function that `tj.jit` or `tj.trace` traces. It is one graph
    without a loop, in which each operator does all examples at once. Raises `TraceError` where an operator
    cannot, such as a convolution whose weights differ from example to example.
    """
    name = getattr(function, "__name__", "the function")

    @functools.wraps(function)
    def batched(*args: Any, **kwargs: Any) -> Any:
        trace = current_trace()
        if trace is None:
            return alone(*args, **kwargs)
        return _mapped(trace, name, function, (args, kwargs), in_axes, out_axes)

    alone: Jitted[Any] = Jitted(batched, Settings())
    return batched


@dataclass(frozen=True, slots=True)
class Placed:
    """A value of the function in the graph around it: the batch is its first dimension, or not there."""

    tensor: Tensor
    is_batched: bool
    place: int | None = None
    """The dimension that the batch is still a part of: INT48 has no RESHAPE, until it is scaled."""


def _mapped(
    trace: Trace, name: str, function: Callable[..., Any], given: Any, in_axes: Axes, out_axes: Axes
) -> Any:
    """Record a function of one example, and then its operators for all of them."""
    leaves: list[tuple[str, Any]] = []
    trees = [
        flatten(part, stem, lambda where, leaf: leaves.append((where.removeprefix("_"), leaf)))
        for part, stem in zip(given, ("argument", ""), strict=True)
    ]
    axes = [*_axes(in_axes, trees[0], f"vmap of {name} in_axes"), *_axes(0, trees[1], "")]
    inner = Trace(parent=trace)
    known: dict[str, Placed] = {}
    parameters: list[Any] = []
    count: int | None = None
    for (where, leaf), axis in zip(leaves, axes, strict=True):
        if axis is None:
            parameters.append(leaf)
            continue
        front = _front(trace, f"vmap of {name}: {where}", leaf, axis)
        if count not in (None, front.shape[0]):
            raise TraceError(
                f"vmap of {name}: {where} has {front.shape[0]} examples along axis {axis}, others {count}"
            )
        count = front.shape[0]
        parameter = inner.input(where, front.dtype, front.shape[1:])
        known[parameter.name] = Placed(front, True)
        parameters.append(parameter)
    if count is None:
        raise TraceError(f"vmap of {name}: no argument has an axis of examples, as in in_axes=0")
    results: list[str] = []
    with recording(inner):
        arguments = iter(parameters)
        taken, named = (tree.build(arguments) for tree in trees)
        returned = function(*taken, **named)
        structure = flatten(
            returned,
            "result",
            lambda where, leaf: results.append(placed(inner, leaf, f"{name} returns {where}").name),
        )
    batch = _Batch(trace, f"vmap of {name}", count, known)
    known |= {
        one.name: Placed(Tensor(trace, trace.builder.value(outer)), False)
        for outer, one in inner.captured.items()
    }
    batch.replay(inner.builder.build())
    places = _axes(out_axes, structure, f"vmap of {name} out_axes")
    return structure.build(batch.result(one, axis) for one, axis in zip(results, places, strict=True))


@dataclass(frozen=True, slots=True)
class _Batch:
    """The operators of a function, recorded for so many examples."""

    trace: Trace
    where: str
    count: int
    known: dict[str, Placed]

    def replay(self, graph: Graph) -> None:
        """Record all nodes of a function."""
        for node in graph.main.nodes:
            values = [graph.main.values[name] for name in node.outputs]
            if node.operator.holds_data:
                self.known[node.name] = Placed(self._constant(values[0]), False)
                continue
            if not node.operator.batched:
                raise TraceError(f"{self.where}: {node.name} ({node.operator.opcode}) takes no batch")
            given = [self.known[name] for name in node.inputs]
            is_batched = any(one.is_batched for one in given)
            operator, tensors, place = (
                self._batched(node, given)
                if is_batched
                else (node.operator, [one.tensor for one in given], None)
            )
            results = self._add(operator, tensors, values[0].dtype)
            for name, one in zip(node.outputs, results, strict=True):
                self.known[name] = self._separate(one, place) if is_batched else Placed(one, False)

    def _separate(self, result: Tensor, place: int | None) -> Placed:
        """A result with the batch first, if its type can be reshaped."""
        if place is None or result.dtype is INT48:
            return Placed(result, True, place)
        return Placed(self._apart(result, place), True)

    def _constant(self, value: Value) -> Tensor:
        assert value.data is not None
        if value.dtype is SHAPE:
            return self.trace.shape(value.data.tolist())
        return self.trace.constant(value.data, value.dtype)

    def result(self, name: str, axis: int | None) -> Tensor:
        """A result with the batch along an axis."""
        found = self.known[name]
        if axis is None:
            if found.is_batched:
                raise TraceError(
                    f"{self.where} out_axes: a result differs from example to example, so it needs an axis"
                )
            return found.tensor
        rank = found.tensor.ndim + (not found.is_batched)
        if not -rank <= axis < rank:
            raise TraceError(f"{self.where} out_axes: a result of {rank} dimensions has no axis {axis}")
        if found.place is not None:
            raise TraceError(
                f"{self.where}: a result is INT48, which TOSA only scales of a batch: rescale it"
            )
        whole = found.tensor if found.is_batched else self._tiled(found.tensor)
        order = [*range(1, rank)]
        order.insert(axis % rank, 0)
        return _transposed(self.trace, whole, order)

    def _batched(self, node: Node, given: Sequence[Placed]) -> tuple[Operator, list[Tensor], int | None]:
        """An operator for a batch, its operands, and the dimension of results that the batch is a part of."""
        operator, operands = node.operator, _declared(node)
        for operand, one in zip(operands, given, strict=True):
            if one.is_batched and not operator.takes_batch(operand):
                raise TraceError(
                    f"{self.where}: {node.name} ({operator.opcode}) {operand.name}: it differs from example "
                    "to example, which the operator has no dimension for"
                )
        pairs = list(zip(operands, given, strict=True))
        inside = next((one.place for one in given if one.place is not None), None)
        if inside is not None and isinstance(operator, Unary):
            return operator, [one.tensor for one in given], inside
        if inside is not None:
            raise TraceError(
                f"{self.where}: {node.name} ({operator.opcode}): TOSA only scales INT48 of a batch"
            )
        if operator.batched == "first":
            return _moved(operator), [self._first(operator, *pair) for pair in pairs], None
        place = _own_dimension(operator, operands, given)
        return operator, [self._folded(operator, *pair, place) for pair in pairs], place

    def _first(self, operator: Operator, operand: Operand, one: Placed) -> Tensor:
        """An operand where tensors have the batch first."""
        if operand.name in operator.before_batch:
            data = one.tensor.value.data
            assert data is not None
            before = [
                self.count if number is BATCH else number for number in operator.before_batch[operand.name]
            ]
            return self.trace.shape([*before, *data.tolist()])
        if one.is_batched or not operator.takes_batch(operand):
            return one.tensor
        return self._tiled(one.tensor) if operand.is_list else self._raised(one.tensor)

    def _folded(self, operator: Operator, operand: Operand, one: Placed, place: int) -> Tensor:
        """An operand where the batch is a part of dimension N, or of the one behind it."""
        if not operator.takes_batch(operand) or (place and not one.is_batched):
            return one.tensor
        return _joined(self.trace, one.tensor if one.is_batched else self._tiled(one.tensor), place)

    def _apart(self, result: Tensor, place: int) -> Tensor:
        """A result whose dimension has the batch in it, with that as the first dimension."""
        head, extent, tail = result.shape[:place], result.shape[place], result.shape[place + 1 :]
        return _reshaped(self.trace, result, (self.count, *head, extent // self.count, *tail))

    def _tiled(self, tensor: Tensor) -> Tensor:
        """A tensor for each example."""
        raised = self._raised(tensor)
        return self.trace.add(TILE(), [raised, self.trace.shape((self.count, *(1,) * tensor.ndim))])

    def _raised(self, tensor: Tensor) -> Tensor:
        return _reshaped(self.trace, tensor, (1, *tensor.shape))

    def _add(self, operator: Operator, tensors: Sequence[Tensor], dtype: DType) -> tuple[Tensor, ...]:
        if len(operator.operands_written) == 1:
            return (self.trace.add(operator, tensors, dtype),)
        return self.trace.add_all(operator, tensors)


def _own_dimension(operator: Operator, operands: Sequence[Operand], given: Sequence[Placed]) -> int:
    """1 if the batch fits in the dimension behind N, as rows that a matrix multiplies; else 0."""
    pairs = list(zip(operands, given, strict=True))
    batched = [operand for operand, one in pairs if one.is_batched]
    shared = [one.tensor for operand, one in pairs if operator.takes_batch(operand) and not one.is_batched]
    if len(batched) != 1 or not shared or any(one.shape[0] != 1 for one in shared):
        return 0
    _, own, *_ = batched[0].dims or ()
    others = [operand.dims or () for operand in operands if operand not in batched]
    results = [operand.dims or () for operand in operator.operands_written]
    return int(not any(own in one for one in others) and all(one[1] == own for one in results))


def _moved(operator: Operator) -> Operator:
    """An operator whose axes are one further behind."""
    attributes = dict(operator)
    if "axis" in attributes:
        attributes["axis"] += 1
    if "perms" in attributes:
        attributes["perms"] = (0, *(one + 1 for one in attributes["perms"]))
    return type(operator)(**attributes)


def _declared(node: Node) -> list[Operand]:
    """The operand that each input is; the last one repeats if it is a list."""
    declared = node.operator.operands_read
    return [declared[min(number, len(declared) - 1)] for number in range(len(node.inputs))]


def _axes(axes: Axes, tree: Tree, where: str) -> Iterator[int | None]:
    """An axis for each leaf of a nested value."""
    if axes is None or (isinstance(axes, int) and not isinstance(axes, bool)):
        yield from _repeated(axes, tree)
        return
    parts: Sequence[Any]
    match axes:
        case Mapping() if tree.kind is dict and set(axes) == set(tree.keys):
            parts = [axes[str(key)] for key in tree.keys]
        case list() | tuple() if tree.children and len(axes) == len(tree.children):
            parts = axes
        case _:
            raise TraceError(f"{where} is {axes!r}, which does not fit {len(tree.children)} values")
    for part, child in zip(parts, tree.children, strict=True):
        yield from _axes(part, child, where)


def _repeated(axis: int | None, tree: Tree) -> Iterator[int | None]:
    if tree.kind is None:
        yield axis
    for child in tree.children:
        yield from _repeated(axis, child)


def _front(trace: Trace, where: str, leaf: Any, axis: int) -> Tensor:
    """An argument with its examples first."""
    if not isinstance(leaf, Tensor | np.ndarray | np.generic):
        raise TraceError(f"{where}: expected an array, got {type(leaf).__name__}; give it None in in_axes")
    tensor = placed(trace, leaf, where)
    if not -tensor.ndim <= axis < tensor.ndim:
        raise TraceError(f"{where}: {tensor.value.type} has no axis {axis}")
    order = [place for place in range(tensor.ndim) if place != axis % tensor.ndim]
    return _transposed(trace, tensor, [axis % tensor.ndim, *order])


def _transposed(trace: Trace, tensor: Tensor, order: Sequence[int]) -> Tensor:
    if list(order) == sorted(order):
        return tensor
    return trace.add(TRANSPOSE(perms=tuple(order)), [tensor])


def _joined(trace: Trace, tensor: Tensor, place: int) -> Tensor:
    """The first dimension, in which examples are, as a part of another one of each example."""
    count, head, (extent, *tail) = tensor.shape[0], tensor.shape[1 : place + 1], tensor.shape[place + 1 :]
    return _reshaped(trace, tensor, (*head, count * extent, *tail))


def _reshaped(trace: Trace, tensor: Tensor, shape: Sequence[int]) -> Tensor:
    if tensor.value.data is not None:
        return trace.constant(tensor.value.data.reshape(tuple(shape)), tensor.dtype)
    return trace.add(RESHAPE(), [tensor, trace.shape(shape)])
