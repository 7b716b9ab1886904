"""Operators by hand: formulas with their symbols and arrays, as operations, and what their nests compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiling.nest import Nest
from tiling.program import Operand
from tiling.verify import verify_nests
from tosajit.arrays import Array
from tosajit.frontends.nnef.model import Argument, Definition, Operation, Tensor, tensors_of
from tosajit.frontends.nnef.nests.meaning import COMPUTED
from tosajit.frontends.nnef.nests.operation import Lowered, lowered
from tosajit.frontends.nnef.syntax.parser import parse
from tosajit.frontends.nnef.syntax.source import Source
from tosajit.frontends.nnef.values.value import Value
from tosajit.kernels.interpreter import Interpreter

KINDS = {"f": "real", "i": "int", "b": "bool"}
TYPES = {"real": np.dtype(np.float32), "int": np.dtype(np.int32), "bool": np.dtype(np.bool_)}


@dataclass(frozen=True)
class Hand:
    """An operator whose symbols, inputs and outputs are given by hand."""

    lower: str
    inputs: Mapping[str, Any]
    """Arrays, lists of them for packs, None for null."""
    outputs: Mapping[str, tuple[int, ...]]
    symbols: Mapping[str, Value] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    """Of outputs, where they are not real."""
    known: bool = False
    """Whether the inputs are constants of the graph."""

    @property
    def operation(self) -> Operation:
        """The operation."""
        source = Source("main", f"operator f {{ @lower {{ {self.lower} }} }}")
        operator = parse(source).operators[0]
        inputs = {name: _argument(name, array) for name, array in self.inputs.items()}
        outputs = {
            name: Tensor(name, self.types.get(name, "real"), shape, "output")
            for name, shape in self.outputs.items()
        }
        return Operation(Definition("main", operator, source), "f", {}, self.symbols, inputs, outputs)

    @property
    def arrays(self) -> list[Array]:
        """The inputs, in order."""
        found: list[Array] = []
        for one in self.inputs.values():
            found += [one] if isinstance(one, np.ndarray) else list(one or ())
        return found

    def lowered(self) -> tuple[Lowered, list[Tensor], list[Tensor]]:
        """The nests, inputs and outputs."""
        operation = self.operation
        inputs = [tensor for one in operation.inputs.values() for tensor in tensors_of(one)]
        outputs = [tensor for one in operation.outputs.values() for tensor in tensors_of(one)]
        operands = [(tensor, tensor.name, COMPUTED[tensor.type]) for tensor in (*inputs, *outputs)]
        constants = dict(zip(inputs, self.arrays, strict=True)) if self.known else {}
        return lowered("f", operation, operands, constants), inputs, outputs

    @property
    def nests(self) -> tuple[Nest, ...]:
        """The nests alone."""
        return self.lowered()[0].nests

    def run(self) -> list[Array]:
        """What well-formed nests give, interpreted."""
        return interpreted(*self.lowered(), self.arrays)

    def result(self) -> Array:
        """The only output."""
        (found,) = self.run()
        return found


def interpreted(
    made: Lowered, inputs: Sequence[Tensor], outputs: Sequence[Tensor], arrays: Sequence[Array]
) -> list[Array]:
    """What well-formed nests give."""
    kinds = dict.fromkeys([tensor.name for tensor in inputs], "input")
    kinds |= dict.fromkeys([tensor.name for tensor in outputs], "output")
    kinds |= dict.fromkeys(made.added, "constant")
    accesses = [access for nest in made.nests for access in nest.accesses]
    operands = {
        one.operand: Operand(
            one.operand,
            one.type,
            int(np.prod(one.shape)),
            kinds.get(one.operand, "temporary"),  # type: ignore[arg-type]
        )
        for one in accesses
    }
    assert verify_nests(made.nests, operands) == []
    results = {tensor.name: (_shape(tensor), TYPES[tensor.type]) for tensor in outputs}
    names = [tensor.name for tensor in inputs]
    return Interpreter(made.nests, names, results, made.added).run(arrays)


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(extent for extent in tensor.shape if isinstance(extent, int))


def _argument(name: str, array: Any) -> Argument:
    if array is None:
        return None
    if isinstance(array, np.ndarray):
        return Tensor(name, KINDS[array.dtype.kind], array.shape, "input")
    return tuple(
        Tensor(f"{name}{k}", KINDS[one.dtype.kind], one.shape, "input") for k, one in enumerate(array)
    )


def verbs(case: Hand) -> list[str]:
    """What the nests do."""
    return [nest.verb for nest in case.nests]
