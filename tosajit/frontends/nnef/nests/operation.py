"""A whole operation: its own formulas, or those of the operations that its body calls, and their nests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tiling.nest import Nest
from tosajit.arrays import Array
from tosajit.frontends.nnef.model import Operation, Tensor, tensors_of
from tosajit.frontends.nnef.nests.assigned import Nests
from tosajit.frontends.nnef.nests.assignment import Assignment, Unfit, copied, static_shape
from tosajit.frontends.nnef.nests.places import Place
from tosajit.frontends.nnef.nests.reading import assignments


@dataclass(frozen=True, slots=True)
class Lowered:
    """Nests in their order, and the constants that they read besides operands."""

    nests: tuple[Nest, ...]
    added: Mapping[str, Array]


def lowered(
    name: str,
    operation: Operation,
    operands: Iterable[tuple[Tensor, str, str]],
    constants: Mapping[Tensor, Array],
) -> Lowered:
    """The nests of an operation, whose operands have a name and a type each; `Unfit` if there are none."""
    places = {tensor: Place(given, type, static_shape(tensor)) for tensor, given, type in operands}
    nests = Nests(name, places, constants)
    try:
        nests.assign(list(formulas(operation)))
    except RecursionError:
        raise Unfit("formulas are nested too deeply") from None
    made = {write.access.operand for nest in nests.made for write in nest.writes}
    outputs = [tensor for one in operation.outputs.values() for tensor in tensors_of(one)]
    if any(nests.place(tensor).name not in made for tensor in outputs):
        raise Unfit("an output is assigned nowhere")
    return Lowered(tuple(nests.made), nests.added)


def formulas(operation: Operation) -> Iterator[Assignment]:
    """The formulas of an operation and of all that its body calls, in order."""
    if operation.variables:
        raise Unfit(f"{operation.name} has variables, which only a graph can hold")
    if operation.body is None:
        if operation.definition.operator.lowerings is None:
            raise Unfit(f"{operation.name} has neither formulas nor a body")
        yield from assignments(operation)
        return
    for step in operation.body.steps:
        if not isinstance(step, Operation):
            raise Unfit(f"{operation.name} has control flow that data decide")
        yield from formulas(step)
    outputs = [tensor for one in operation.outputs.values() for tensor in tensors_of(one)]
    results = [tensor for one in operation.body.results for tensor in tensors_of(one)]
    for output, result in zip(outputs, results, strict=True):
        if output is not result:
            yield copied(result, output)
