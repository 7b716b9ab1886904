"""A float graph on its way to integers, value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tosajit.arrays import Array
from tosajit.dtypes import FP32, INT8, INT16, DType
from tosajit.frontends.frame.ends import Ends
from tosajit.frontends.scaled import Affine, Function, Held, Scaled, Sum
from tosajit.frontends.scaled.affine import quantized
from tosajit.graph import Graph, Node
from tosajit.graph.binding import constants_of, use_of
from tosajit.quantization.elements import OPCODES, elementwise
from tosajit.quantization.grids import Range, constant, grid_of, onto
from tosajit.quantization.rules import RULES, argmax, softmax
from tosajit.quantization.step import Step
from tosajit.quantization.uses import Uses
from tosajit.tracing.recorder import Trace, recording
from tosajit.tracing.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Stayed:
    """A node that has real numbers still."""

    name: str
    opcode: str
    reason: str


class Rewriting:
    """Writes a graph of integers for one of real numbers."""

    def __init__(
        self,
        graph: Graph,
        ranges: Mapping[str, Range],
        activations: DType,
        by_channel: bool,
        kept: frozenset[str],
    ) -> None:
        self.graph, self.uses, self._ranges = graph, Uses(graph.main), dict(ranges)
        self.is_wide, self.by_channel, self.kept = activations is INT16, by_channel, kept
        self.trace = Trace()
        self.ends = Ends(self.trace)
        self.stayed: list[Stayed] = []
        self._known: dict[str, Scaled | Tensor] = {}
        self._given: dict[str, Affine] = {}

    def run(self, has_integer_ends: bool) -> Graph:
        """The graph, whose inputs and outputs are integers or real numbers."""
        block = self.graph.main
        constants = constants_of(block)
        with recording(self.trace):
            for value in self.graph.inputs:
                self._take(value.name, has_integer_ends)
            for node in self.uses.needed:
                if not node.inputs and node.outputs and self.uses.is_constant(node.outputs[0]):
                    continue
                step = Step(node, use_of(node, block, constants), self)
                with self.trace.builder.at(node.name, node.location):
                    self._write(step)
            for value in self.graph.outputs:
                self._give(value.name, has_integer_ends)
        return self.ends.graph()

    def _take(self, name: str, is_integer: bool) -> None:
        value = self.graph.main.values[name]
        label = self.graph.outside.get(name, "")
        if value.dtype is not FP32 or not is_integer:
            found = self.ends.take(
                name, value.dtype, value.shape or (), label, scale=self.graph.scales.get(name)
            )
            self._known[name] = found
            return
        affine = self.grid(name)
        scale = affine.scale, affine.zero_point
        integers = self.ends.take(name, affine.dtype, value.shape or (), "", scale=scale)
        self._settle(name, Held.of(integers, affine))

    def _give(self, name: str, is_integer: bool) -> None:
        if self.uses.is_real(name) and is_integer and not self.uses.is_constant(name):
            found = self.held(name)
            self.ends.give(found.tensor, name, "", scale=(found.scale, found.zero_point))
        else:
            self.ends.give(self.real(name), name, self.graph.outside.get(name, ""))

    def _write(self, step: Step) -> None:
        """Write a node as integers, or as it is."""
        found, reason = self._on_integers(step)
        if isinstance(found, Tensor):
            self._known[step.name] = found
        elif found is not None:
            if isinstance(found, Held):
                self._settle(step.name, found)
            else:
                self._known[step.name] = found
                if isinstance(found, Sum) and not self.uses.is_once(step.name):
                    self.held(step.name)
        else:
            if any(self.uses.is_real(name) for name in (*step.node.inputs, *step.node.outputs)):
                self.stayed.append(Stayed(step.name, step.node.operator.opcode, reason))
            results = self._as_it_is(step.node, {})
            self._known.update(zip(step.node.outputs, results, strict=True))

    def _on_integers(self, step: Step) -> tuple[Scaled | Tensor | None, str]:
        opcode = step.node.operator.opcode
        if step.name in self.kept:
            return None, "it was asked to"
        if opcode == "ARGMAX" and self.uses.is_real(step.node.inputs[0]):
            return argmax(step), ""
        if len(step.node.outputs) != 1 or not self.uses.is_real(step.name):
            return None, "its result is no real number"
        whole = self.uses.softmaxes.get(step.name)
        if whole is not None:
            return softmax(step, whole), ""
        rule = elementwise if opcode in OPCODES else RULES.get(opcode)
        if rule is None:
            return None, f"{opcode} has no form in integers here"
        return rule(step), "its integers would not fit, or an operand that must be known is not"

    # What rules ask for, as `Target` says.

    def range(self, name: str) -> Range:
        """The range of a value on the samples."""
        return self._ranges[name]

    def grid(self, name: str) -> Affine:
        """The grid that a value is put on."""
        if name in self._given:
            return self._given[name]
        wide = self.is_wide or self.uses.is_wide(name)
        return grid_of(self.range(name), INT16 if wide else INT8)

    def giving(self, name: str, affine: Affine) -> Rewriting:
        """The same, with another grid for a value."""
        other = object.__new__(Rewriting)
        other.__dict__.update(self.__dict__, _given={**self._given, name: affine})
        return other

    def elements(self, name: str) -> Array | None:
        """The elements of a real constant."""
        return self.graph.main.values[name].data

    def sum(self, name: str) -> Sum | None:
        """Sums that are not written yet, and that nobody else needs."""
        found = self._known.get(name)
        return found if isinstance(found, Sum) and self.uses.is_once(name) else None

    def known(self, name: str) -> Scaled:
        """What a real value is known by."""
        found = self._known.get(name)
        if found is None:
            elements = self.elements(name)
            assert elements is not None
            return constant(elements, name)
        return self.held(name) if isinstance(found, Tensor) else found

    def settled(self, name: str) -> Scaled:
        """The same, once sums are written."""
        found = self.known(name)
        return self.held(name) if isinstance(found, Sum) else found

    def held(self, name: str, dtype: DType | None = None) -> Held:
        """The integers of a real value, which are written when they are first asked for."""
        found = self._known.get(name)
        if isinstance(found, Held):
            return found if dtype in (None, found.dtype) else self._again(name, found, dtype)
        if found is None:
            held = self.known(name)
            assert isinstance(held, Held)
            return held if dtype in (None, held.dtype) else self._again(name, held, dtype)
        affine = self.grid(name)
        if isinstance(found, Function):
            affine = grid_of(self.range(name), INT8)  # tables of bytes give bytes
        node = self.uses.makers.get(name)
        with self.trace.builder.at(name, node.location if node is not None else "") as rename:
            tensor = quantized(found, affine) if isinstance(found, Tensor) else onto(found, affine)
            called = rename(tensor.name, name)
        self._settle(name, Held.of(Tensor(self.trace, self.trace.builder.value(called)), affine))
        return self.held(name, dtype)

    def _again(self, name: str, held: Held, dtype: DType | None) -> Held:
        """Integers of another type."""
        assert dtype is not None
        known = self.elements(name)
        ends = self.range(name) if known is None else (float(known.min()), float(known.max()))
        affine = grid_of(ends, dtype)
        return Held.of(onto(held, affine), affine)

    def real(self, name: str) -> Tensor:
        """A value as a tensor: real numbers, or what TOSA has for it."""
        found = self._known.get(name)
        if found is None:
            value = self.graph.main.values[name]
            assert value.data is not None
            if value.dtype.kind == "shape":
                return self.trace.shape(value.data.tolist())
            return self.trace.constant(value.data, value.dtype, name)
        return found.real() if isinstance(found, Scaled) else self.trace.own(found)

    def plainly(self, step: Step) -> Callable[[], Tensor]:
        """What writes a node with real numbers."""

        def write() -> Tensor:
            self.stayed.append(Stayed(step.name, step.node.operator.opcode, "its real numbers are needed"))
            (found,) = self._as_it_is(step.node, {})
            return found

        return write

    def again(self, step: Step, operands: Mapping[str, Tensor]) -> Tensor:
        """A node's operator on other operands."""
        (found,) = self._as_it_is(step.node, operands)
        return found

    def _as_it_is(self, node: Node, operands: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
        inputs = [operands[name] if name in operands else self.real(name) for name in node.inputs]
        if operands:
            return self.trace.add_all(node.operator, inputs)
        values = self.graph.main.values
        outputs = [(values[name].dtype, values[name].shape or ()) for name in node.outputs]
        return self.trace.add_all(node.operator, inputs, outputs)

    def _settle(self, name: str, held: Held) -> None:
        self._known[name] = held

    @property
    def placed(self) -> dict[str, tuple[str, Affine]]:
        """What values of the float graph are in the other one: tensors, and their grids."""
        return {
            name: (one.held.name, one.affine) for name, one in self._known.items() if isinstance(one, Held)
        }
