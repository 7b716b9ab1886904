"""The nests of a whole operation: of its own formulas, or of the operations that its body calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tiling.nest import Nest
from tosajit.arrays import Array
from tosajit.frontends.nnef.model import Body, Operation, Tensor, tensors_of
from tosajit.frontends.nnef.nests import meaning
from tosajit.frontends.nnef.nests.assigned import Nests
from tosajit.frontends.nnef.nests.assignment import Unfit, static_shape
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
    _lower(operation, nests)
    return Lowered(tuple(nests.made), nests.added)


def _lower(operation: Operation, nests: Nests) -> None:
    if operation.update is not None:
        raise Unfit(f"{operation.name} updates variables")
    if operation.body is not None:
        _lower_body(operation, operation.body, nests)
    elif operation.definition.operator.lowerings is None:
        raise Unfit(f"{operation.name} has neither formulas nor a body")
    else:
        nests.assign(assignments(operation))


def _lower_body(operation: Operation, body: Body, nests: Nests) -> None:
    """The steps of a body; what it gives is written to the outputs at once, where that can be."""
    outputs = [tensor for one in operation.outputs.values() for tensor in tensors_of(one)]
    results = [tensor for one in body.results for tensor in tensors_of(one)]
    made = {tensor for step in body.steps if isinstance(step, Operation) for tensor in _outputs(step)}
    copied = []
    for output, result in zip(outputs, results, strict=True):
        if output is result:
            continue
        if result in made and result not in nests.places:
            nests.places[result] = nests.place(output)
        else:
            copied.append((result, output))
    for step in body.steps:
        if not isinstance(step, Operation):
            raise Unfit(f"{operation.name} has control flow that data decide")
        for tensor in _outputs(step):
            if tensor not in nests.places:
                place = f"{nests.name}.{tensor.name}"
                nests.places[tensor] = Place(place, meaning.COMPUTED[tensor.type], static_shape(tensor))
        _lower(step, nests)
    for result, output in copied:
        nests.copy(result, output)


def _outputs(step: Operation) -> list[Tensor]:
    return [tensor for one in step.outputs.values() for tensor in tensors_of(one)]
