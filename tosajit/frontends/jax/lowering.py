"""From the records of a function to a graph: each equation that the results need, by its declaration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import INT8
from tosajit.frontends.common.broadcast import expanded
from tosajit.frontends.common.bytes import WIDE
from tosajit.frontends.frame import Refused
from tosajit.frontends.frame.ends import Ends
from tosajit.frontends.frame.proportion import Proportion, below
from tosajit.frontends.frame.tidy import tidied
from tosajit.frontends.frame.walk import Lowering, Unlowered
from tosajit.frontends.jax.node import Node, Operand, dtype_of, type_of
from tosajit.frontends.jax.operators import DECLARATIONS
from tosajit.frontends.jax.records import Equation, Function, Jaxpr, Value
from tosajit.frontends.jax.schema import KNOWN, Type
from tosajit.graph import Graph
from tosajit.profiles import LEVELS
from tosajit.tracing.recorder import Trace, current_trace, recording
from tosajit.tracing.tensor import Tensor

_INSIDE, _OUTSIDE = {Type.UINT8: WIDE}, {Type.UINT8: INT8}
_HIGHEST_RANK = LEVELS["8K"].MAX_RANK


def lowered(function: Function) -> Graph:
    """The graph of a function."""
    trace = Trace()
    lowering = Lowering(function, Proportion(trace, function.equations, function.size))
    walk, ends, refusals = Walk(lowering, trace), Ends(trace), lowering.refusals
    with recording(trace):
        for name, one in zip(function.inputs, function.body.inputs, strict=True):
            with refusals.collecting(name, "argument"):
                walk.values[one.number] = _taken(trace, name, one, ends)
        with suppress(Unlowered):
            results = walk.results(function.body)
            for name, found in zip(function.outputs, results, strict=True):
                with refusals.collecting(name, "result"):
                    ends.give(found.tensor, name, found.type.label, _INSIDE.get(found.type))
    refusals.settle()
    return tidied(ends.graph())


def _taken(trace: Trace, name: str, value: Value, ends: Ends) -> Operand:
    """An input of the graph."""
    kind = type_of(value.type)
    _check_shape(value.shape)
    dtype = _OUTSIDE.get(kind) or dtype_of(kind)
    return Operand(trace, ends.take(name, dtype, value.shape, kind.label, _INSIDE.get(kind)), kind, name)


def _check_shape(shape: Sequence[int]) -> None:
    if len(shape) > _HIGHEST_RANK:
        raise Refused(f"it has {len(shape)} dimensions, but TOSA allows {_HIGHEST_RANK}")
    if 0 in shape:
        raise Refused(f"its shape {list(shape)} has no elements, and TOSA's tensors have some")


class Walk:
    """One jaxpr on its way into a trace."""

    def __init__(
        self,
        lowering: Lowering[Function],
        trace: Trace,
        prefix: str = "",
        depth: int = 0,
        is_mapped: bool = False,
        source: str = "",
    ) -> None:
        self.lowering, self.trace, self.prefix, self.depth = lowering, trace, prefix, depth
        self.source = source
        """Where it is called from: JAX keeps jaxprs that do not say so themselves."""
        self.is_mapped = is_mapped
        """Whether tensors stand for the numbers that it speaks of."""
        self.values: dict[int, Operand] = {}
        self.uses: Counter[int] = Counter()

    def results(self, jaxpr: Jaxpr) -> tuple[Operand, ...]:
        """Lower a jaxpr whose inputs are there; what uses a refused equation is looked at as well."""
        for number, array in jaxpr.constants.items():
            if array.dtype.name in KNOWN:
                self.values[number] = self._constant(array, f"{self.prefix}constant_{number}")
        needed = _needed(jaxpr)
        self.uses.update(one.number for equation in needed for one in _variables(equation.inputs))
        self.uses.update(one.number for one in _variables(jaxpr.outputs))
        for equation in needed:
            self.lowering.proportion.spend()
            scope = f"{equation.scope}/" if equation.scope else ""
            name = f"{self.prefix}{scope}{equation.primitive}"
            with suppress(Unlowered), self.lowering.refusals.collecting(name, _label(equation, self.source)):
                self._lower(equation, name)
        if not all(one.number in self.values for one in _variables(jaxpr.outputs)):
            raise Unlowered
        return tuple(map(self._operand, jaxpr.outputs))

    def _lower(self, equation: Equation, name: str) -> None:
        """Write one equation."""
        declared = DECLARATIONS.find(equation.primitive)
        if not all(one.number in self.values for one in _variables(equation.inputs)):
            declared.check(1, None)
            self._look(equation, name, equation.source or self.source)
            return
        if all(0 in one.shape for one in equation.outputs):
            for one in equation.outputs:
                kind = type_of(one.type)
                self.values[one.number] = Operand(self.trace, np.zeros(one.shape, kind.storage), kind, name)
            return
        operands = tuple(map(self._operand, equation.inputs))
        typed = operands[declared.typed] if len(operands) > declared.typed else None
        declared.check(1, None if typed is None else typed.type.label)
        with self.trace.builder.at(name, _label(equation, self.source)) as rename:
            inside = _Inside(self, name, equation.source or self.source)
            node = Node(equation, operands, self.trace, inside)
            with np.errstate(all="ignore"):
                found = declared.results(node, bool(operands) and all(one.is_foldable for one in operands))
            raw = (one.value if isinstance(one, Operand) else one for one in found)
            self.lowering.proportion.fold([one for one in raw if isinstance(one, np.ndarray)])
            for place, (output, value) in enumerate(zip(equation.outputs, found, strict=True)):
                label = f"{name}:{place}" if place else name
                self.values[output.number] = self._kept(label, output, value, rename)

    def _look(self, equation: Equation, name: str, source: str) -> None:
        """Note what is refused inside of an equation whose operands are not there."""
        for jaxpr in _jaxprs(equation):
            for inner in _needed(jaxpr):
                label = f"{name}/{inner.primitive}"
                with self.lowering.refusals.collecting(label, _label(inner, source)):
                    DECLARATIONS.find(inner.primitive).check(1, None)
                self._look(inner, label, inner.source or source)

    def _kept(self, label: str, wanted: Value, value: Tensor | Array | Operand, rename: Any) -> Operand:
        """A result under the name of its equation, with the type and shape that the jaxpr says."""
        if isinstance(value, Operand):
            if value.name:
                return value
            value = value.value
        kind = type_of(wanted.type)
        if isinstance(value, np.ndarray | np.generic):
            constant = np.asarray(value, kind.storage)
            return Operand(self.trace, np.broadcast_to(constant, wanted.shape), kind, label)
        _check_shape(wanted.shape)
        if value.shape != wanted.shape and not self.is_mapped:
            value = expanded(value, wanted.shape)
        if value.dtype is not dtype_of(kind):
            raise Refused(f"its result is {wanted.type}, but what stands for it is {value.dtype}")
        found = Tensor(value.trace, value.trace.builder.value(rename(value.name, label)))
        return Operand(self.trace, found, kind, label)

    def _operand(self, atom: Value | Array) -> Operand:
        if isinstance(atom, Value):
            return replace(self.values[atom.number], trace=self.trace, uses=self.uses[atom.number])
        return self._constant(atom, "")

    def _constant(self, array: Array, name: str) -> Operand:
        return Operand(self.trace, array, type_of(array.dtype.name), name)

    def inside(
        self,
        jaxpr: Jaxpr,
        operands: Sequence[Operand],
        prefix: str,
        source: str,
        *,
        is_mapped: bool = False,
    ) -> tuple[Operand, ...]:
        """Lower a jaxpr of an equation on operands, into the trace that is being recorded."""
        trace = current_trace()
        assert trace is not None
        walk = Walk(self.lowering, trace, f"{prefix}/", below(self.depth), is_mapped, source)
        if len(jaxpr.inputs) != len(operands):
            raise Refused(f"its jaxpr takes {len(jaxpr.inputs)} tensors, not {len(operands)}")
        pairs = zip(jaxpr.inputs, operands, strict=True)
        walk.values.update((one.number, replace(operand, uses=2)) for one, operand in pairs)
        return walk.results(jaxpr)


@dataclass(frozen=True, slots=True)
class _Inside:
    """The jaxprs of an equation, as its lowering sees them."""

    walk: Walk
    caller: str
    source: str

    def inside(self, jaxpr: Jaxpr, operands: Sequence[Operand], part: str = "", /) -> tuple[Operand, ...]:
        """Lower a jaxpr on operands, into the trace that is being recorded."""
        prefix = f"{self.caller}/{part}" if part else self.caller
        return self.walk.inside(jaxpr, operands, prefix, self.source, is_mapped=self.walk.is_mapped)

    def mapped(self, jaxpr: Jaxpr, operands: Sequence[Operand], part: str, /) -> tuple[Operand, ...]:
        """Lower a jaxpr of numbers on each element of tensors."""
        return self.walk.inside(jaxpr, operands, f"{self.caller}/{part}", self.source, is_mapped=True)


def _label(equation: Equation, source: str) -> str:
    """What an equation is, and where it is asked for."""
    source = equation.source or source
    return f"{equation.primitive} at {source}" if source else equation.primitive


def _variables(atoms: Sequence[Value | Array]) -> Iterator[Value]:
    return (one for one in atoms if isinstance(one, Value))


def _jaxprs(equation: Equation) -> Iterator[Jaxpr]:
    """The jaxprs inside of an equation."""
    for value in equation.parameters.values():
        yield from (
            one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Jaxpr)
        )


def _needed(jaxpr: Jaxpr) -> list[Equation]:
    """The equations that results depend on: a jaxpr has them in order."""
    wanted, found = {one.number for one in _variables(jaxpr.outputs)}, []
    for equation in reversed(jaxpr.equations):
        if any(one.number in wanted for one in equation.outputs):
            found.append(equation)
            wanted.update(one.number for one in _variables(equation.inputs))
    return found[::-1]
