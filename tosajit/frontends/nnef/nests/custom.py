"""CUSTOM operators of domain `nnef`, as the compiler meets them: text and operands give an operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tiling.nest import Nest
from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import DType
from tosajit.errors import CompileError, ScriptError
from tosajit.frontends.nnef.model import Argument, Operation, Tensor, tensors_of, tensors_told
from tosajit.frontends.nnef.nests.assignment import Unfit, largest_shape
from tosajit.frontends.nnef.nests.bound import Form, operation_of
from tosajit.frontends.nnef.nests.extents import Extents
from tosajit.frontends.nnef.nests.general import General
from tosajit.frontends.nnef.nests.operation import Lowered, lowered
from tosajit.frontends.nnef.nests.stepped import Stepped, is_stepped
from tosajit.frontends.nnef.nests.text import Written, decoded
from tosajit.graph.binding import Use
from tosajit.operators import CUSTOM
from tosajit.operators.lowering import Lowering

KINDS = {"float": "real", "int": "int", "bool": "bool"}
"""What types of tensors are called in the language."""


def written(use: Use, text: str | None) -> Custom:
    """The operator of a CUSTOM node: its text is in its attributes, or was registered for it."""
    operator = use.operator
    assert isinstance(operator, CUSTOM)
    where = f"{use.name} (CUSTOM)"
    try:
        call = decoded(operator.implementation_attrs) if text is None else _registered(operator, text)
        operation = operation_of(
            call, tuple(_form(where, value.name, value.dtype, value.shape) for value in use.inputs)
        )
    except ValueError as error:
        raise CompileError(f"{where} implementation_attrs: {error}") from None
    except ScriptError as error:
        raise CompileError(f"{where}: the text of {operator.operator_name} is wrong: {error}") from error
    found = Custom(use, operation, call)
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


@dataclass(frozen=True, slots=True)
class Custom:
    """A CUSTOM node and the operation that it is."""

    use: Use
    operation: Operation
    written: Written

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
        return [one for one in self._told(self.operation.inputs) if one.kind != "constant"]

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors that are computed."""
        return self._told(self.operation.outputs)

    def _told(self, arguments: Mapping[str, Argument]) -> list[Tensor]:
        """All tensors of arguments; behind them their extents, where these are asked for."""
        if self.written.opened is not None:
            return tensors_told(arguments.values())
        return [tensor for one in arguments.values() for tensor in tensors_of(one)]

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
    def _general(self) -> General | Stepped:
        runner = Stepped if is_stepped(self.operation) else General
        return runner(self.use.name, self.operation)

    def call(self) -> Callable[..., Sequence[Array]]:
        """What computes it by the general kernel, compiled."""
        inputs, outputs = self.inputs, self.outputs
        try:
            general = self._general.compiled()
        except Unfit as reason:
            raise CompileError(f"{self.use.name} (CUSTOM): cannot be compiled: {reason}") from None
        dtypes = [value.dtype.storage for value in self.use.outputs]
        told = None if self.written.opened is None else Extents(self.use.name, self.operation, self.written)

        def run(*arrays: Array) -> Sequence[Array]:
            given = dict(zip(inputs, arrays, strict=True))
            found = general(given, outputs) if told is None else told.run(general, given, outputs)
            return [array.astype(dtype) for array, dtype in zip(found, dtypes, strict=True)]

        return run

    def estimates(self) -> Sequence[Nest]:
        """Nests that take about as long as the general kernel."""
        return self._general.estimates()
