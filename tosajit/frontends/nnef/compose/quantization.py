"""What `@quantize` says: which tensors are quantised, and how (NNEF 2.0 section 2.14).

Where the text is silent: a definition may name all of its own tensors, private or not; a pack stands for all
tensors in it; what a caller says of a tensor counts, not what the operator says that makes it; a quantisation
leaves the shape and the type of a tensor, and keeps nothing between calls.
"""

from __future__ import annotations

from collections.abc import Mapping

from tosajit.errors import Fault, ScriptError
from tosajit.frontends.nnef.compose.call import Call
from tosajit.frontends.nnef.compose.forms import CallFault, Form
from tosajit.frontends.nnef.compose.frame import Maker
from tosajit.frontends.nnef.compose.suggest import suggestion
from tosajit.frontends.nnef.model import Argument, Operation, Quantized, Tensor, operations, tensors_of
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.values.evaluate import evaluate
from tosajit.frontends.nnef.values.value import ValueFault

Shown = Mapping[str, tuple[Tensor, ...]]


def quantized(
    maker: Maker, call: Call, scope: str, own: Mapping[str, Argument], shown: Shown
) -> tuple[list[Quantized], list[Fault]]:
    """The quantised tensors that a definition names, its `own` ones and those `shown`; and all faults."""
    found: dict[Tensor, Quantized] = {}
    faults: list[Fault] = []
    for one in call.definition.operator.quantizations:
        try:
            for tensor in _named(one, scope, own, shown):
                if tensor in found:
                    raise ValueFault(one.span, f"`{tensor.name}` is quantised twice", "2.14", "say it once")
                found[tensor] = Quantized(tensor, _bound(maker, call, one, tensor))
        except ValueFault as fault:
            faults.append(
                call.definition.source.fault(fault.span, fault.message, fault.section, fault.remedy)
            )
        except ScriptError as error:
            faults += error.faults
    return list(found.values()), faults


def _named(
    one: tree.Quantization, scope: str, own: Mapping[str, Argument], shown: Shown
) -> tuple[Tensor, ...]:
    """The tensors that a line of the block speaks of."""
    if one.tensor in own:
        return tensors_of(own[one.tensor])
    found = shown.get(scope + one.tensor)
    if found is not None:
        return found
    names = [*own, *(name.removeprefix(scope) for name in shown if name.startswith(scope))]
    remedy = suggestion(one.tensor, names, "known are")
    if "." in one.tensor and not remedy.startswith("did"):
        remedy = "variables and constants are seen from outside, other tensors of public operators only"
    raise ValueFault(one.span, f"there is no tensor `{one.tensor}` to quantize", "2.14", remedy)


def _bound(maker: Maker, call: Call, one: tree.Quantization, tensor: Tensor) -> Operation:
    """An algorithm with its attributes, as it is called for a tensor."""
    definition = maker.library.operator(call.definition, one.operator, one)
    operator = definition.operator
    if len(operator.inputs) != 1 or len(operator.outputs) != 1:
        message = f"`{one.operator}` has {len(operator.inputs)} inputs and {len(operator.outputs)} outputs"
        raise ValueFault(one.span, message, "2.14", "one input and one output make a quantisation")
    types = [call.types.get(type, type) for type in one.types]
    given = {attribute.name: evaluate(attribute.value, call.scope) for attribute in one.attributes}
    before = maker.tensor(f"{tensor.name}/real", Form(tensor.type, tensor.shape))
    inputs: dict[str, Argument] = {operator.inputs[0].name: before}
    try:
        bound = maker.call(definition, types, given, inputs)
        scope = maker.labelled("", f"{tensor.name}/quantized", one, explicit=False)
        made = maker.operation(bound, scope, inputs, lambda name, forms: _result(maker, one, tensor, forms))
    except CallFault as fault:
        message = f"{definition.name}: {fault.message}"
        raise ValueFault(one.span, message, fault.section, fault.remedy) from None
    except ValueFault as fault:
        if fault.span is one.span:
            raise
        within = definition.source.fault(fault.span, fault.message, fault.section, fault.remedy)
        bound_at = call.definition.source.fault(one.span, f"`{definition.name}` is bound here", "2.14")
        raise ScriptError([within, bound_at]) from None
    if any(inner.update is not None for inner in (made, *operations(made.body))):
        message = f"`{one.operator}` updates variables"
        raise ValueFault(one.span, message, "2.14", "a quantisation that keeps nothing between calls")
    return made


def _result(maker: Maker, one: tree.Quantization, tensor: Tensor, forms: object) -> Tensor:
    """What an algorithm gives, which is of the form of what it takes."""
    form = Form(tensor.type, tensor.shape)
    if forms != form:
        message = f"`{one.operator}` makes {forms} of `{tensor.name}`, which is {form}"
        raise ValueFault(one.span, message, "2.14", "a quantisation leaves type and shape")
    return maker.tensor(f"{tensor.name}/quantized", form)
