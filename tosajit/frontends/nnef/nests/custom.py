"""CUSTOM operators of domain `nnef`, as the compiler meets them: text and operands give an operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tiling.nest import Nest
from tosajit.arrays import Array
from tosajit.dtypes import DType
from tosajit.errors import CompileError, ScriptError
from tosajit.frontends.nnef.compose import Library, invoke
from tosajit.frontends.nnef.compose.checker import check
from tosajit.frontends.nnef.library import Standard
from tosajit.frontends.nnef.model import Argument, Definition, Operation, Tensor, tensors_of
from tosajit.frontends.nnef.nests.assignment import Unfit, largest_shape
from tosajit.frontends.nnef.nests.general import General
from tosajit.frontends.nnef.nests.operation import Lowered, lowered
from tosajit.frontends.nnef.nests.text import Written, decoded, grouped
from tosajit.graph.binding import Use
from tosajit.operators import CUSTOM
from tosajit.operators.lowering import Lowering

KINDS = {"float": "real", "int": "int", "bool": "bool"}
"""What types of tensors are called in the language."""
Form = tuple[str, tuple[int, ...]]


def written(use: Use, text: str | None) -> Custom:
    """The operator of a CUSTOM node: its text is in its attributes, or was registered for it."""
    operator = use.operator
    assert isinstance(operator, CUSTOM)
    where = f"{use.name} (CUSTOM)"
    try:
        call = decoded(operator.implementation_attrs) if text is None else _registered(operator, text)
        operation = _bound(
            call, tuple(_form(where, value.name, value.dtype, value.shape) for value in use.inputs)
        )
    except ValueError as error:
        raise CompileError(f"{where} implementation_attrs: {error}") from None
    except ScriptError as error:
        raise CompileError(f"{where}: the text of {operator.operator_name} is wrong: {error}") from error
    found = Custom(use, operation)
    found.check()
    return found


def _registered(operator: CUSTOM, text: str) -> Written:
    """A call of an operator whose text was registered; attributes, if there are any, say the rest."""
    if not operator.implementation_attrs:
        return Written(text, operator.operator_name)
    call = decoded(operator.implementation_attrs)
    return replace(call, text=text, operator=operator.operator_name)


def _form(where: str, name: str, dtype: DType, shape: tuple[int, ...] | None) -> Form:
    kind = KINDS.get(dtype.kind)
    if kind is None or dtype.compute == "i64" or shape is None:
        raise CompileError(f"{where} {name}: it is {dtype}, which SkriptND has no type for")
    return kind, shape


@lru_cache(maxsize=256)
def _library(text: str) -> Library:
    """The modules of a text without faults."""
    library = Library({"main": text}, Standard())
    check(library, graph=False)
    return library


def definition_of(text: str, operator: str) -> Definition:
    """An operator of a text; `ValueError` if it has none of that name."""
    known = _library(text).main.definitions
    if operator not in known:
        raise ValueError(f"the text has no operator {operator!r}; it has {', '.join(known) or 'none'}")
    return known[operator]


def operator_names(text: str) -> list[str]:
    """The operators of a text."""
    return list(_library(text).main.definitions)


@lru_cache(maxsize=256)
def _bound(call: Written, forms: tuple[Form, ...]) -> Operation:
    """The operation of a call on operands of such types and shapes."""
    definition = definition_of(call.text, call.operator)
    names = [one.name for one in definition.operator.inputs]
    counts = call.inputs or tuple(
        (name, -1 if place < len(forms) else None) for place, name in enumerate(names)
    )
    operands = [Tensor(f"input{place}", kind, shape, "input") for place, (kind, shape) in enumerate(forms)]
    inputs: dict[str, Argument] = grouped(counts, operands)
    return invoke(
        definition, _library(call.text), types=call.types, attributes=dict(call.attributes), inputs=inputs
    )


def operation_of(call: Written, forms: Sequence[Form]) -> Operation:
    """The operation of a call on operands of such types and shapes."""
    return _bound(call, tuple(forms))


@dataclass(frozen=True, slots=True)
class Custom:
    """A CUSTOM node and the operation that it is."""

    use: Use
    operation: Operation

    def check(self) -> None:
        """Raise unless the outputs of the node are those that the text gives."""
        given = [(KINDS.get(value.dtype.kind), value.shape) for value in self.use.outputs]
        wanted = [(tensor.type, largest_shape(tensor)) for tensor in self.outputs]
        if given != wanted:
            texts = [
                ", ".join(f"{kind}{list(shape or ())}" for kind, shape in forms) for forms in (given, wanted)
            ]
            raise CompileError(
                f"{self.use.name} (CUSTOM) output_list: is {texts[0]}, but the text gives {texts[1]}"
            )

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors that the operands stand for."""
        return [tensor for one in self.operation.inputs.values() for tensor in tensors_of(one)]

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that are computed."""
        return [tensor for one in self.operation.outputs.values() for tensor in tensors_of(one)]

    @property
    def constants(self) -> Mapping[Tensor, Array]:
        """The operands that are constants of the graph."""
        pairs = zip(self.inputs, self.use.inputs, strict=True)
        known = self.use.constants
        return {tensor: known[value.name] for tensor, value in pairs if value.name in known}

    def _lowered(self) -> Lowered:
        values = zip((*self.inputs, *self.outputs), (*self.use.inputs, *self.use.outputs), strict=True)
        operands = [(tensor, value.name, value.dtype.compute) for tensor, value in values]
        return lowered(self.use.name, self.operation, operands, self.constants)

    @property
    def is_tiled(self) -> bool:
        """Whether nests compute it."""
        try:
            self._lowered()
        except Unfit:
            return False
        return True

    def nests(self, at: Lowering) -> list[Nest]:
        """The nests that compute it."""
        found = self._lowered()
        at.added.update(found.added)
        return list(found.nests)

    @property
    def _general(self) -> General:
        return General(self.use.name, self.operation)

    def call(self) -> Callable[..., Sequence[Array]]:
        """What computes it by the general kernel, compiled."""
        inputs, outputs = self.inputs, self.outputs
        try:
            general = self._general.compiled()
        except Unfit as reason:
            raise CompileError(f"{self.use.name} (CUSTOM): cannot be compiled: {reason}") from None
        dtypes = [value.dtype.storage for value in self.use.outputs]

        def run(*arrays: Array) -> Sequence[Array]:
            found = general(inputs, outputs, arrays)
            return [array.astype(dtype) for array, dtype in zip(found, dtypes, strict=True)]

        return run

    def estimates(self) -> Sequence[Nest]:
        """Nests that take about as long as the general kernel."""
        return self._general.estimates()
