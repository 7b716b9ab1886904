"""What an operation gives: of the form that is declared, which its body must agree with (section 2.10)."""

from __future__ import annotations

from collections.abc import Mapping

from tosajit.frontends.nnef.compose.call import Call
from tosajit.frontends.nnef.compose.forms import Form, Forms, forms_of
from tosajit.frontends.nnef.compose.frame import Outputs
from tosajit.frontends.nnef.model import Argument
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.value import ValueFault


def outputs_of(
    call: Call, results: Mapping[str, Argument], outputs: Outputs | None
) -> Mapping[str, Argument]:
    """The outputs of an operation; those of a graph are what its body gives."""
    found: dict[str, Argument] = {}
    for one in call.definition.operator.outputs:
        declared = call.outputs[one.name]
        if one.name in results:
            result = forms_of(results[one.name])
            agree(one, call.types.get(one.type.name, one.type.name), declared, result)
            declared = result  # which extents it has, where the declaration says no more than their bounds
        elif declared is None:
            message = f"the shape of the output `{one.name}` is not said"
            raise ValueFault(one.span, message, "2.6", "write extents of names that are known")
        found[one.name] = results[one.name] if outputs is None else outputs(one.name, declared)
    return found


def agree(parameter: tree.Parameter, type: str, declared: Forms, result: Forms) -> None:
    """What a body computes must be of the form that its output is declared to have."""
    results = result if isinstance(result, tuple) else (result,)
    expected = declared if isinstance(declared, tuple) else (declared,) * len(results)
    if result is None and declared is not None and not parameter.type.optional:
        raise ValueFault(parameter.span, f"the output `{parameter.name}` is null", "2.10")
    if (
        isinstance(declared, tuple) != isinstance(result, tuple)
        and declared is not None
        and result is not None
    ):
        kind = "a pack" if isinstance(declared, tuple) else "one tensor"
        raise ValueFault(
            parameter.span, f"the output `{parameter.name}` is {kind}, but its result is not", "2.10"
        )
    if len(expected) != len(results):
        message = f"the output `{parameter.name}` has {len(expected)} tensors, but {len(results)} results"
        raise ValueFault(parameter.span, message, "2.10")
    for one, other in zip(expected, results, strict=True):
        if other is not None and (other.type != type or (one is not None and not fits(one, other))):
            message = f"the output `{parameter.name}` is {one or type}, but {other} is computed"
            raise ValueFault(parameter.span, message, "2.10")


def fits(declared: Form, result: Form) -> bool:
    """Whether two shapes can be the same."""
    if declared.type != result.type or len(declared.shape) != len(result.shape):
        return False
    return all(
        one == other or not (isinstance(one, int) and isinstance(other, int))
        for one, other in zip(declared.shape, result.shape, strict=True)
    )
