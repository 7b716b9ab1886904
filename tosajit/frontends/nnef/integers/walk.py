"""A quantised model on its way into a graph of integers.

A quantiser gives what it quantises a form. An operator whose operands are integers waits for the form of its
result, which a quantiser of it tells, or one of what is made of it; it is written in that form by its rule.
Where there is no rule, no form, or none that integers have, the operator is written as without quantisation,
behind what makes its operands real; what quantises its results makes them integers again.

Where the text is silent: inputs that `@quantize` names are integers, and so are outputs that are quantised,
or are made of such without arithmetic.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tosajit import ops
from tosajit.arrays import Array
from tosajit.dtypes import FP32
from tosajit.errors import FileError, TosaError
from tosajit.frontends.common.bytes import UNSIGNED
from tosajit.frontends.common.numbers import nearest_away, number
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.ends import Ends
from tosajit.frontends.nnef.integers import activation, elements, moving, reduction, sums
from tosajit.frontends.nnef.integers.form import QUANTISERS, Form, form_of, usable
from tosajit.frontends.nnef.integers.node import Node, trace
from tosajit.frontends.nnef.integers.rules import RULES, Rule
from tosajit.frontends.nnef.integers.value import Deferred, Integers, Whole, fitted
from tosajit.frontends.nnef.lowering import Lowering, Unlowered, Walk
from tosajit.frontends.nnef.model import Operation, Quantized, Tensor, tensors_of
from tosajit.frontends.nnef.node import shape_of
from tosajit.frontends.nnef.operators import DECLARATIONS
from tosajit.tracing import tensor as tracing
from tosajit.tracing.recorder import Trace, recording

__all__ = ["IntegerWalk", "activation", "elements", "moving", "reduction", "sums"]


class IntegerWalk(Walk):
    """The bodies of one region on their way into its trace, in integers where that is possible."""

    def __init__(self, lowering: Lowering, trace: Trace, outer: Walk | None = None) -> None:
        super().__init__(lowering, trace, outer)
        self._whole: dict[Tensor, Whole] = {}
        self._same: dict[Tensor, Tensor] = {}
        """What stands for tensors that are quantised, before they are."""
        if isinstance(outer, IntegerWalk):
            self._whole, self._same = dict(outer._whole), dict(outer._same)

    def take(self, tensor: Tensor, ends: Ends) -> None:
        """Make a tensor an input of the graph: integers, if it is quantised."""
        said = self.lowering.quantized.get(tensor)
        form = None if said is None else self._usable(said.operation)
        if form is None:
            return super().take(tensor, ends)
        inside = UNSIGNED if form.offset else None
        given = ends.take(tensor.name, form.dtype, shape_of(tensor), form.type, inside, _scale(form))
        self._whole[tensor] = Integers(given, form)
        self.rounded.add(tensor)
        self._note_shift(tensor, form)

    def give(self, tensor: Tensor, ends: Ends) -> None:
        """Make a tensor an output of the graph: integers, if it is made of such."""
        found = self.whole(tensor)
        if not isinstance(found, Integers):
            return super().give(tensor, ends)
        form = found.form
        ends.give(found.tensor, tensor.name, form.type, UNSIGNED if form.offset else None, _scale(form))

    def _usable(self, operation: Operation) -> Form | None:
        try:
            return usable(form_of(operation))
        except Refused:
            return None

    def whole(self, tensor: Tensor) -> Whole | None:
        """A tensor that needs no floating point; what `@quantize` says of it is done now."""
        tensor = self._same.get(tensor, tensor)
        said = self.lowering.quantized.get(tensor)
        if said is not None and tensor not in self.rounded:
            self.rounded.add(tensor)
            with recording(self.trace):
                self._quantize(tensor, said)
        return self._whole.get(tensor)

    def _quantize(self, tensor: Tensor, said: Quantized) -> None:
        self._same[said.before] = tensor
        self.operation(said.operation)
        self._whole.pop(tensor, None)
        self.values.pop(tensor, None)
        if (found := self._whole.get(said.after)) is not None:
            self._whole[tensor] = found
        else:
            self.values[tensor] = self.values[said.after]

    def known(self, tensor: Tensor) -> Array | None:
        """The real numbers of a constant, as they are quantised."""
        tensor = self._same.get(tensor, tensor)
        found = self.whole(tensor)
        if found is not None:
            data = found.tensor.value.data if isinstance(found, Integers) else None
            return None if data is None or not isinstance(found, Integers) else found.form.unmoved(data)
        return self._held(tensor)

    def _held(self, tensor: Tensor) -> Array | None:
        """The real numbers of a constant, as they are before they are quantised."""
        if tensor in self.values and (data := self.values[tensor].value.data) is not None:
            return data
        if tensor.value is None or tensor in self.lowering.states or tensor.type != "real":
            return None
        numbers = self.real(tensor).value
        assert numbers is not None
        return np.broadcast_to(numbers, shape_of(tensor))

    def operand(self, tensor: Tensor) -> tracing.Tensor:
        """A tensor in floating point, or as whatever it is, in the trace that is being recorded."""
        tensor = self._same.get(tensor, tensor)
        found = self.whole(tensor)
        if found is not None and tensor not in self.values:
            with recording(self.trace):
                self.values[tensor] = self._real(found)
        return super().operand(tensor)

    def _real(self, found: Whole) -> tracing.Tensor:
        match found:
            case Integers():
                return made_real(found)
            case Deferred(owner=owner):
                assert isinstance(owner, IntegerWalk)
                return owner.floating(found)

    def floating(self, deferred: Deferred) -> tracing.Tensor:
        """A deferred result after all, in floating point."""
        operation = deferred.operation
        self.note(operation, "nothing tells the scale of its result")
        with recording(self.trace):
            super().operation(operation)
        return self.values[deferred.result]

    def note(self, operation: Operation, reason: str) -> None:
        """Note why an operation is in floating point."""
        if operation.name in QUANTISERS:
            return self._note(operation, self._name(_operands(operation)[0]), reason)
        name = operation.label or next((one.name for one in _results(operation)), operation.name)
        self._note(operation, name, reason)

    def _note(self, operation: Operation, name: str, reason: str) -> None:
        text = f"{name} ({operation.name}) is in floating point: {reason}"
        self.lowering.notes.setdefault(operation, text)

    def hand_on(self, result: Tensor, output: Tensor) -> None:
        """Let an output be what the body of an operation gives."""
        found = self.whole(result)
        if found is None:
            return super().hand_on(result, output)
        self._whole[output] = found

    def operation(self, operation: Operation) -> None:
        """Write an operation in integers, or note why not."""
        self.require(operation)
        try:
            if operation.definition.standard and operation.name in QUANTISERS:
                return self._integers(operation)
            if not any(self.whole(one) is not None for one in _operands(operation)):
                return super().operation(operation)
            return self._defer(operation)
        except (FileError, Unlowered):
            raise
        except FAULTS as fault:
            reason = reason_of(fault)
        if operation.body is None or operation.name in DECLARATIONS:
            self.note(operation, reason)
        super().operation(operation)

    def _defer(self, operation: Operation) -> None:
        """Let the results of an operation follow; those that keep numbers keep their form, too."""
        found = RULES.get(operation.name) if operation.definition.standard else None
        if found is None:
            raise Refused("there is no rule for it in integers")
        if any(one.extents is not None for one in (*_operands(operation), *_results(operation))):
            raise Refused("data decide how large its tensors are")
        node = Node(operation, self)
        options = () if found.attributes is None else (node.attributes(found.attributes),)
        if found.plain:
            return self.name(operation, lambda: (found.write(node, *options),))
        form = self._kept(node, found)
        for place, result in enumerate(_results(operation)):
            write = partial(_write, node, found, options, place)
            deferred = Deferred(self, operation, result, write)
            self._whole[result] = deferred if form is None else deferred.at(form)

    def _kept(self, node: Node, found: Rule) -> Form | None:
        """The form of all operands, if they have one and numbers beside them fit in it."""
        if not found.keeps:
            return None
        forms: list[Form] = []
        for one in _operands(node.operation):
            whole = self.whole(one)
            if isinstance(whole, Deferred):
                return None
            if whole is not None:
                forms.append(usable(whole.form))
        if not forms or any(one != forms[0] for one in forms):
            return None
        for one in _operands(node.operation):
            numbers = None if self.whole(one) is not None else self.known(one)
            if numbers is not None and not forms[0].holds(numbers):
                return None
        return forms[0]

    def written(self, deferred: Deferred, form: Form) -> Integers:
        """A deferred result in a form."""
        operation, result = deferred.operation, deferred.result
        with recording(self.trace), np.errstate(all="ignore"):
            name = self.names.get(result, result.name)
            with self.trace.builder.at(name, f"{operation.name} {operation.label}".rstrip()) as rename:
                try:
                    found = fitted(deferred.write(usable(form)), None, form)
                except (FileError, Unlowered):
                    raise
                except FAULTS as fault:
                    self.note(operation, reason_of(fault))
                    raise Refused(f"{name} is in floating point") from None
                if found.shape != shape_of(result) or found.dtype is not form.dtype:
                    raise Refused(f"{result.name} is {list(result.shape)}, but TOSA's is {found.value.type}")
                called = rename(found.name, name)
                return Integers(tracing.Tensor(self.trace, self.trace.builder.value(called)), form)

    def _integers(self, operation: Operation) -> None:
        """Write a quantiser: a constant as its integers, what follows in its form, other tensors rounded."""
        (given,), (result,) = _operands(operation), _results(operation)
        form = form_of(operation)
        self._note_shift(given, form)
        integers = self._constant(given, form)
        if integers is not None:
            stored = self.trace.constant(integers, form.dtype, self._name(given))
            self._whole[result] = Integers(stored, form)
            return
        usable(form)
        self._whole[result] = self._rounded(operation, given, form)

    def _constant(self, given: Tensor, form: Form) -> Array | None:
        """The integers of a constant: its numbers rounded, or those of a file, which are integers already."""
        tensor = self._same.get(given, given)
        is_first = tensor is not given and tensor not in self._whole and tensor not in self.lowering.states
        if is_first and tensor.value is not None and tensor.value.dtype.kind in "iu":
            return form.stored(tensor.name, tensor.value)
        numbers = self.known(given)
        return None if numbers is None else form.integers(numbers)

    def _note_shift(self, tensor: Tensor, form: Form) -> None:
        """Note that the range of a tensor is another one."""
        if not form.shift:
            return
        moved = f"the range of {self._name(tensor)} is moved by {form.shift:.2g} steps"
        self.lowering.notes.setdefault(tensor, f"{moved}, so that 0 is one of its numbers")

    def _name(self, tensor: Tensor) -> str:
        return self._same.get(tensor, tensor).name

    def _rounded(self, operation: Operation, given: Tensor, form: Form) -> Integers:
        tensor = self._same.get(given, given)
        found = self._whole.get(tensor)
        if found is not None:
            try:
                return found.at(form)
            except Refused as refused:
                if isinstance(found, Integers):
                    self.note(operation, refused.reason)
                self.values.setdefault(tensor, self._real(found))
        with self.trace.builder.at(tensor.name, f"quantisation of {tensor.name}"):
            return Integers(made_whole(super().operand(tensor), form), form)


FAULTS = (Refused, TosaError, ArithmeticError, LookupError, TypeError, ValueError)
"""What numbers of a text may lead to that have no form in integers."""


def reason_of(fault: Exception) -> str:
    """What to say of a fault."""
    return fault.reason if isinstance(fault, Refused) else f"its numbers make no sense ({fault})"


def made_real(value: Integers) -> tracing.Tensor:
    """The real numbers that integers stand for."""
    form, data = value.form, value.tensor.value.data
    if data is not None:
        return trace().constant(form.unmoved(data).astype(np.float32), FP32)
    found = ops.cast(trace().own(value.tensor), dtype=FP32)
    if form.zero_point:
        found = ops.sub(found, number(found, form.zero_point))
    return ops.mul(found, number(found, form.scale))


def made_whole(value: tracing.Tensor, form: Form) -> tracing.Tensor:
    """The integers that stand for real numbers."""
    places = nearest_away(ops.mul(value, number(value, 1 / form.scale)))
    if form.zero_point:
        places = ops.add(places, number(places, form.zero_point))
    least, most = form.bounds
    return ops.cast(ops.clamp(places, min_val=float(least), max_val=float(most)), dtype=form.dtype)


def _write(node: Node, found: Rule, options: tuple[object, ...], place: int, form: Form) -> tracing.Tensor:
    values = found.write(node, *options, form)
    made: tracing.Tensor = values[place] if isinstance(values, tuple) else values
    return made


def _scale(form: Form) -> tuple[float, int]:
    """What callers need to know."""
    return form.scale, form.zero_point + form.offset


def _operands(operation: Operation) -> list[Tensor]:
    """The real operands of an operation."""
    every = [one for argument in operation.inputs.values() for one in tensors_of(argument)]
    return [one for one in every if one.type == "real"]


def _results(operation: Operation) -> list[Tensor]:
    return [one for argument in operation.outputs.values() for one in tensors_of(argument)]
