"""What `@quantize` says: which tensors are quantised, and how (NNEF 2.0 section 2.14).

Where the text is silent: a definition may name all of its own tensors, private or not; a pack stands for all
tensors in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tosajit.frontends.nnef.compose.call import Call
from tosajit.frontends.nnef.compose.forms import CallFault
from tosajit.frontends.nnef.compose.frame import Maker
from tosajit.frontends.nnef.compose.suggest import suggestion
from tosajit.frontends.nnef.model import Argument, Quantized, Tensor, tensors_of
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.evaluate import evaluate
from tosajit.frontends.nnef.values.value import ValueFault


def quantized(
    maker: Maker, call: Call, scope: str, own: Mapping[str, Argument], shown: Mapping[str, tuple[Tensor, ...]]
) -> list[Quantized]:
    """The quantised tensors that a definition names: `own` ones, and those `shown` by what it invokes."""
    found = []
    for one in call.definition.operator.quantizations:
        tensors = tensors_of(own[one.tensor]) if one.tensor in own else shown.get(scope + one.tensor)
        if tensors is None:
            raise _unknown(one, scope, own, shown)
        found += [_bound(maker, call, one, tensor) for tensor in tensors]
    return found


def _unknown(
    one: tree.Quantization, scope: str, own: Mapping[str, Argument], shown: Mapping[str, tuple[Tensor, ...]]
) -> ValueFault:
    names = [*own, *(name.removeprefix(scope) for name in shown if name.startswith(scope))]
    remedy = suggestion(one.tensor, names, "known are")
    if "." in one.tensor and not remedy.startswith("did"):
        remedy = "variables and constants are seen from outside, other tensors of public operators only"
    return ValueFault(one.span, f"there is no tensor `{one.tensor}` to quantize", "2.14", remedy)


def _bound(maker: Maker, call: Call, one: tree.Quantization, tensor: Tensor) -> Quantized:
    """An algorithm with its attributes, for a tensor."""
    definition = maker.library.operator(call.definition, one.operator, one)
    operator = definition.operator
    if len(operator.inputs) != 1 or len(operator.outputs) != 1:
        message = f"`{one.operator}` has {len(operator.inputs)} inputs and {len(operator.outputs)} outputs"
        raise ValueFault(one.span, message, "2.14", "one input and one output make a quantisation")
    types = [call.types.get(type, type) for type in one.types]
    given = {attribute.name: evaluate(attribute.value, call.scope) for attribute in one.attributes}
    try:
        bound = maker.call(definition, types, given, {operator.inputs[0].name: tensor})
    except CallFault as fault:
        message = f"{definition.name}: {fault.message}"
        raise ValueFault(one.span, message, fault.section, fault.remedy) from None
    attributes = {attribute.name: bound.scope.symbols[attribute.name] for attribute in operator.attributes}
    return Quantized(tensor, definition, bound.types, attributes)
