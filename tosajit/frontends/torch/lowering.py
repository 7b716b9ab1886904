"""From the records of an exported program to a graph: each node that results need, by its declaration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tiling.records import replace
from tosajit.dtypes import INT8
from tosajit.errors import FileError
from tosajit.frontends.common.bytes import UNSIGNED, WIDE
from tosajit.frontends.common.complex import Complex
from tosajit.frontends.common.layout import constant_of, reshaped
from tosajit.frontends.common.state import State, state
from tosajit.frontends.frame import Declaration, Refused
from tosajit.frontends.frame.ends import Ends
from tosajit.frontends.frame.proportion import Proportion
from tosajit.frontends.frame.tidy import tidied
from tosajit.frontends.frame.walk import Lowering, Unlowered
from tosajit.frontends.scaled import Held, Scaled, Unsigned
from tosajit.frontends.scaled.operand import Value
from tosajit.frontends.torch import records
from tosajit.frontends.torch.autocast import converted
from tosajit.frontends.torch.complexes import on_complex
from tosajit.frontends.torch.functional import functional
from tosajit.frontends.torch.integers import on_integers
from tosajit.frontends.torch.node import Node, Operand, dtype_of
from tosajit.frontends.torch.operators import DECLARATIONS
from tosajit.frontends.torch.records import Argument, Program, Reference, Type
from tosajit.graph import Graph
from tosajit.log import LOG
from tosajit.profiles import LEVELS
from tosajit.tracing.recorder import Trace, recording
from tosajit.tracing.tensor import Tensor

_INSIDE, _OUTSIDE = {Type.UINT8: WIDE}, {Type.UINT8: INT8}
_HIGHEST_RANK = LEVELS["8K"].MAX_RANK
_PLACES = frozenset(("self", "input", "other", "exponent"))
"""Arguments that may be numbers in place of tensors."""
_NUMBERS = {bool: Type.BOOL, int: Type.INT64, float: Type.FLOAT64, complex: Type.COMPLEX64}


def lowered(program: Program) -> Graph:
    """The graph of a program."""
    program = functional(program)
    if not program.results:
        raise FileError("the program has no output")
    for one in program.fixed:
        LOG.warning("%s is dynamic, and fixed as in the example", one)
    trace = Trace()
    walk, ends = Walk(program, trace), Ends(trace)
    with recording(trace):
        wanted = [program.graph.outputs[place] for place in (*program.results, *program.mutations)]
        needed = _needed(program.graph.nodes, [one for one in wanted if isinstance(one, Reference)])
        walk.begin(needed, wanted)
        for value in program.graph.inputs:
            walk.take(value, ends)
        walk.run(needed)
        walk.lowering.refusals.settle()
        walk.write()
        walk.settle(wanted)
        for place, name in program.results.items():
            walk.give(program.graph.outputs[place], name, ends)
    walk.lowering.refusals.settle()
    return tidied(ends.graph())


def unknown(program: Program) -> frozenset[str]:
    """The operators of a program that have no lowering."""
    nodes = functional(program).graph.nodes
    return frozenset(node.target for node in nodes if node.outputs and node.target not in DECLARATIONS)


def _needed(nodes: Sequence[records.Node], wanted: Sequence[Reference]) -> list[records.Node]:
    """The nodes that results depend on."""
    names, found = {one.name for one in wanted}, []
    for node in reversed(nodes):
        if any(one.name in names for one in node.outputs):
            found.append(node)
            names.update(one.name for one in _references(tuple(node.arguments.values())))
    return found[::-1]


def _references(argument: Argument) -> Iterator[Reference]:
    if isinstance(argument, Reference):
        yield argument
    elif isinstance(argument, tuple):
        for one in argument:
            yield from _references(one)


class Walk:
    """A program on its way into a trace."""

    def __init__(self, program: Program, trace: Trace) -> None:
        self.program, self.trace = program, trace
        proportion = Proportion(trace, len(program.graph.nodes), program.size)
        self.lowering = Lowering(program, proportion)
        self.values: dict[str, Operand] = {}
        self.refused: set[str] = set()
        self.states: dict[str, State] = {}
        self.uses: Counter[str] = Counter()

    def begin(self, nodes: Sequence[records.Node], wanted: Sequence[Argument]) -> None:
        """Note how often each tensor is used."""
        for node in nodes:
            self.uses.update(one.name for one in _references(tuple(node.arguments.values())))
        self.uses.update(one.name for one in _references(tuple(wanted)))

    def take(self, value: records.Value, ends: Ends) -> None:
        """Make an input of the program a constant, a variable, or an input of the graph."""
        held = self.program.held.get(value.name)
        with self.lowering.refusals.collecting(value.name if held is None else held.label, "input"):
            if held is None:
                self._given(value, ends)
            elif value.name in self.program.mutations.values():
                self._variable(value.name, held)
            else:
                self.values[value.name] = Operand(self.trace, held.elements, held.type, held.label)

    def _given(self, value: records.Value, ends: Ends) -> None:
        self.refused.add(value.name)
        if value.type is None:
            return  # a number or a text, which the program has taken in
        if len(value.shape) > _HIGHEST_RANK:
            raise Refused(f"it has {len(value.shape)} dimensions, but TOSA allows {_HIGHEST_RANK}")
        if 0 in value.shape:
            LOG.warning("%s: the input has no elements, and is left out", value.name)
            made: Value = np.empty(value.shape, value.type.storage)
        else:
            dtype = _OUTSIDE.get(value.type) or dtype_of(value.type)
            made = ends.take(value.name, dtype, value.shape, value.type.label, _INSIDE.get(value.type))
        self.values[value.name] = Operand(self.trace, made, value.type, value.name)
        self.refused.discard(value.name)

    def _variable(self, name: str, held: records.Held) -> None:
        dtype = dtype_of(held.type)
        raw = Operand(self.trace, held.elements, held.type, held.label)._stored(held.elements)
        kept = state(held.label, dtype, raw.shape or (1,), raw.reshape(raw.shape or (1,)))
        self.states[name] = kept
        value = kept.read() if raw.shape else reshaped(kept.read(), ())
        self.values[name] = Operand(self.trace, value, held.type, held.label)

    def write(self) -> None:
        """Let variables hold what the program has written to buffers."""
        for place, name in self.program.mutations.items():
            result = self.program.graph.outputs[place]
            kept = self.states.get(name)
            if kept is None:
                LOG.warning("%s: the module writes to this input, which stays as it is", name)
                continue
            assert isinstance(result, Reference)
            with self.lowering.refusals.collecting(self.program.held[name].label, "buffer"):
                kept.write(reshaped(self.operand(result.name).tensor, kept.shape))

    def settle(self, results: Sequence[Argument]) -> None:
        """Write results that have been put off: tensors are called otherwise when they become outputs."""
        for one in results:
            if isinstance(one, Reference) and one.name in self.values:
                found = self.values[one.name]
                if found.scaled is not None and not found.is_constant:
                    self.values[one.name] = replace(found, value=found.tensor)

    def give(self, result: Argument, name: str, ends: Ends) -> None:
        """Make a result an output of the graph."""
        with self.lowering.refusals.collecting(name, "output"):
            if not isinstance(result, Reference):
                raise Refused(f"it is {result!r}, and no tensor", "let the module return tensors only")
            found = self.operand(result.name)
            if 0 in found.shape:
                raise Refused(f"its shape {list(found.shape)} has no elements, and TOSA's tensors have some")
            if isinstance(found.value, Unsigned) and found.type is Type.UINT8:
                ends.give(found.value.tensor, name, found.type.label, UNSIGNED)
            else:
                ends.give(found.tensor, name, found.type.label, _INSIDE.get(found.type))

    def run(self, nodes: Sequence[records.Node]) -> None:
        """Lower nodes; what uses a refused one is looked at as well."""
        for node in nodes:
            self.lowering.proportion.spend()
            done = False
            with suppress(Unlowered), self.lowering.refusals.collecting(label_of(node), node.target):
                done = self.lower(node)
            if not done:
                self.refused.update(one.name for one in node.outputs)

    def lower(self, record: records.Node) -> bool:
        """Write one node; whether its operands were there."""
        declared = DECLARATIONS.find(record.target)
        if any(one.name in self.refused for one in _references(tuple(record.arguments.values()))):
            declared.check(1, None)
            return False
        label = label_of(record)
        with self.trace.builder.at(label, f"{record.target} {label} (node {record.place})") as rename:
            found = self._computed(declared, converted(self._node(record)))
            for place, (output, value) in enumerate(zip(record.outputs, found, strict=False)):
                name = f"{label}:{place}" if place else label
                self.values[output.name] = self._kept(name, value, output, rename)
        return True

    def _node(self, record: records.Node) -> Node:
        arguments = {name: self._bound(name, one) for name, one in record.arguments.items()}
        operands = tuple(_operands(tuple(arguments.values())))
        return Node(record, arguments, operands, self.trace)

    def _bound(self, name: str, argument: Argument) -> Any:
        """An argument with its tensors as operands."""
        if isinstance(argument, Reference):
            return self.operand(argument.name)
        if isinstance(argument, tuple):
            return tuple(self._bound("", one) for one in argument)
        if name in _PLACES and type(argument) in _NUMBERS:
            kind = _NUMBERS[type(argument)]
            return Operand(self.trace, np.array(argument, kind.storage), kind, name, is_number=True)
        return argument

    def _computed(self, declared: Declaration, node: Node) -> tuple[Value | Operand, ...]:
        """The results of a node: folded where they follow from constants, else written as TOSA."""
        foldable = all(one.is_foldable for one in node.operands)
        with np.errstate(all="ignore"):
            found = on_complex(node, declared)
            if found is None:
                declared.check(1, node.operands[0].type.label if node.operands else None)
                found = on_integers(node, declared) or declared.results(node, foldable)
        raw = (one.value if isinstance(one, Operand) else one for one in found)
        self.lowering.proportion.fold([one for one in raw if isinstance(one, np.ndarray)])
        return found

    def _kept(self, label: str, value: Value | Operand, output: records.Value, rename: Any) -> Operand:
        """A result under the name of its node, if it has the type and the shape that the program says."""
        if isinstance(value, Operand):
            if value.name and not value.is_number:
                return value
            value = value.value
        known = constant_of(value) if isinstance(value, Tensor) else None
        value = known if known is not None else value
        value = _named(value, label, rename)
        if output.type is None:
            raise Refused("its result is no tensor")
        if len(value.shape) != len(output.shape) or any(
            one not in (-1, found) for one, found in zip(output.shape, value.shape, strict=True)
        ):
            raise Refused(f"its result is {list(value.shape)}, but {list(output.shape)} in the program")
        if isinstance(value, np.ndarray):
            value = value.astype(output.type.storage, copy=False)
        elif isinstance(value, Tensor) and value.dtype is not dtype_of(output.type):
            raise Refused(f"its result is {value.dtype}, but {output.type.label} in the program")
        return Operand(self.trace, value, output.type, label)

    def operand(self, name: str) -> Operand:
        """A result of a node that has been lowered."""
        found = self.values.get(name)
        if found is None:
            raise Refused(f"{name} has no form in TOSA, or is computed behind it")
        return replace(found, uses=self.uses[name])


def _named(value: Value, label: str, rename: Any) -> Value:
    """A value whose tensor has the name of its node."""
    match value:
        case Tensor():
            return _renamed(value, label, rename)
        case Unsigned():
            return Unsigned.of(_renamed(value.held, label, rename))
        case Held():
            return value.moved(_renamed(value.held, label, rename))
        case Complex(real, imag):
            found = None if imag is None else _renamed(imag, f"{label}/imag", rename)
            return Complex(_renamed(real, f"{label}/real", rename), found)
        case Scaled():
            return value
    return np.asarray(value)


def _renamed(value: Tensor, label: str, rename: Any) -> Tensor:
    if value.ndim > _HIGHEST_RANK:
        raise Refused(f"{label} has {value.ndim} dimensions, but TOSA allows {_HIGHEST_RANK}")
    return Tensor(value.trace, value.trace.builder.value(rename(value.name, label)))


def _operands(argument: Any) -> Iterator[Operand]:
    if isinstance(argument, Operand):
        yield argument
    elif isinstance(argument, tuple):
        for one in argument:
            yield from _operands(one)


def label_of(node: records.Node) -> str:
    """What users see of a node: its module and its name."""
    return f"{node.module}/{node.name}" if node.module else node.name
