"""From a graph to the text of a module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TypeAlias

from tiling.words import plain
from tosajit.dtypes import SHAPE
from tosajit.errors import FileError
from tosajit.frontends.mlir.kinds import NAMES
from tosajit.frontends.mlir.spelling import Form, dense, plain_form, properties, quoted
from tosajit.graph import Block, Graph, Node, Value
from tosajit.graph.order import topological
from tosajit.operators import VARIABLE, VARIABLE_READ, VARIABLE_WRITE
from tosajit.storage import write_file

_MOST_REGIONS = 10_000
"""How often regions are written: each operator that runs one has a copy of it."""
_IDENTIFIER = re.compile(r"[0-9]+|[A-Za-z_$.-][A-Za-z0-9_$.-]*")
_GENERIC = ("CONST", "CONST_SHAPE", "COND_IF", "WHILE_LOOP", "VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE")
"""Operators whose form differs from tool to tool, but for the generic one, which all of them read."""
FORMS: tuple[Form, ...] = ("tosa", "llvm", "generic")


def save_module(graph: Graph, path: str | Path, form: str | None = None) -> None:
    """Write a graph as a text; the file is written as a whole or not at all."""
    write_file(path, (piece.encode() for piece in module_text(graph, form)))


def module_text(graph: Graph, form: str | None = None) -> Iterator[str]:
    """The text of a module, in pieces; FileError if MLIR cannot say something.

    `tosa`, which is the default, has attributes in braces, as Arm's tosa-tools read them; `llvm` has them as
    arguments, as IREE and newer LLVM do; `generic` is what all tools read.
    """
    chosen = form or FORMS[0]
    if chosen not in FORMS:
        raise FileError(f"form is {chosen!r}, but must be one of {', '.join(FORMS)}")
    writer = _Writer(graph, chosen)
    pieces = writer.module()
    first = next(pieces)  # what is wrong with the graph is told before anything is written
    yield first
    yield from pieces


Names: TypeAlias = Mapping[str, str]


class _Writer:
    """Writes the operations of a graph, each on a line."""

    def __init__(self, graph: Graph, form: Form) -> None:
        self.graph, self.form = graph, form
        self._used: set[str] = set()
        self._regions = 0

    def module(self) -> Iterator[str]:
        main = self.graph.main
        names = self._named(main)
        self._check(main, ("main",))
        generic = self.form == "generic"
        yield '"builtin.module"() ({\n' if generic else "module {\n"
        for node in self.graph.nodes:
            if isinstance(node.operator, VARIABLE):
                yield self._variable(node)
        yield self._head(main, names)
        yield from self._nodes(main, names, "    ")
        yield self._end(main, names, "func.return" if generic else "return", "    ")
        yield "  }) : () -> ()\n}) : () -> ()\n" if generic else "  }\n}\n"

    def _head(self, block: Block, names: Names) -> str:
        """The beginning of the function, with the names of inputs and outputs."""
        inputs, outputs = (tuple(block.values[name] for name in one) for one in (block.inputs, block.outputs))
        given, results = (
            [f"{{tosa.tensor_name = {quoted(value.name)}}}" for value in one] for one in (inputs, outputs)
        )
        taken = [f"%{names[value.name]}: {_type(value)}" for value in inputs]
        if self.form != "generic":
            arguments = ", ".join(map(" ".join, zip(taken, given, strict=True)))
            types = ", ".join(f"{_type(value)} {name}" for value, name in zip(outputs, results, strict=True))
            return f"  func.func @main({arguments}) -> ({types}) {{\n"
        attributes = (
            f"arg_attrs = [{', '.join(given)}], function_type = {_function(inputs, outputs)}, "
            f'res_attrs = [{", ".join(results)}], sym_name = "main"'
        )
        return f'  "func.func"() <{{{attributes}}}> ({{\n  ^bb0({", ".join(taken)}):\n'

    def _nodes(self, block: Block, names: Names, indent: str) -> Iterator[str]:
        for node in topological(block.nodes):
            if not isinstance(node.operator, VARIABLE):
                yield from self._node(block, node, names, indent)

    def _node(self, block: Block, node: Node, names: Names, indent: str) -> Iterator[str]:
        results = ", ".join(f"%{names[name]}" for name in node.outputs)
        operands = ", ".join(f"%{names[name]}" for name in node.inputs)
        called = f"tosa.{node.operator.opcode.lower()}"
        extra = _kept(node, names)
        inputs, outputs = ([block.values[name] for name in one] for one in (node.inputs, node.outputs))
        place = f" loc({quoted(node.location)})" if node.location else ""
        type = f"{_function(inputs, outputs)}{place}\n"
        yield f"{indent}{results} = " if results else indent
        if self.form != "generic" and node.operator.opcode not in _GENERIC:
            dtype = inputs[0].dtype if inputs else None
            yield f"{called} {operands}{plain_form(node.operator, dtype, extra, self.form)} : {type}"
            return
        yield f'"{called}"({operands})'
        yield from self._properties(node, inputs, outputs)
        if node.runs:
            yield " ("
            for number, region in enumerate(node.runs):
                yield ", {\n" if number else "{\n"
                yield from self._region(region, indent)
                yield f"{indent}}}"
            yield ")"
        yield f" {{{extra}}}" if extra else ""
        yield f" : {type}"

    def _properties(self, node: Node, inputs: Sequence[Value], outputs: Sequence[Value]) -> Iterator[str]:
        operator = node.operator
        if operator.holds_data:
            yield " <{values = "
            yield from _elements(outputs[0])
            yield "}>"
        elif isinstance(operator, VARIABLE_READ | VARIABLE_WRITE):
            yield f" <{{name = {quoted(operator.name)}}}>"
        elif text := properties(operator, inputs[0].dtype if inputs else None):
            yield f" <{{{text}}}>"

    def _region(self, name: str, indent: str) -> Iterator[str]:
        region = self.graph.region(name)
        assert region is not None  # `_check` has seen to it
        block = region.blocks[0]
        names = self._named(block)
        arguments = ", ".join(f"%{names[name]}: {_type(block.values[name])}" for name in block.inputs)
        yield f"{indent}^bb0({arguments}):\n" if arguments else ""
        yield from self._nodes(block, names, indent + "  ")
        yield self._end(block, names, "tosa.yield", indent + "  ")

    def _end(self, block: Block, names: Names, ending: str, indent: str) -> str:
        operands = ", ".join(f"%{names[name]}" for name in block.outputs)
        values = [block.values[name] for name in block.outputs]
        if self.form == "generic" or ending == "tosa.yield":
            return f'{indent}"{ending}"({operands}) : {_function(values, ())}\n'
        types = ", ".join(map(_type, values))
        return f"{indent}{ending} {operands} : {types}\n" if operands else f"{indent}{ending}\n"

    def _variable(self, node: Node) -> str:
        """The declaration of a variable, in front of the function."""
        assert isinstance(node.operator, VARIABLE)
        value = next(
            block.values[node.outputs[0]]
            for region in self.graph.regions
            for block in region.blocks
            if node in block.nodes
        )
        name, shape = node.operator.name, value.shape or ()
        initial = f"initial_value = {''.join(_elements(value))}, " if value.data is not None else ""
        extents = f"dense<[{', '.join(map(str, shape))}]>" if shape else "dense<>"
        kept = f" {{tosa.tensor_name = {quoted(value.name)}}}" if value.name != name else ""
        return (
            f'  "tosa.variable"() <{{{initial}sym_name = {quoted(name)}, type = {NAMES[value.dtype]}, '
            f"var_shape = {extents} : tensor<{len(shape)}xindex>}}>{kept} : () -> ()\n"
        )

    def _named(self, block: Block) -> dict[str, str]:
        """Identifiers of the values of a block, which no other block has."""
        found = {}
        for name in block.values:
            word = name if _IDENTIFIER.fullmatch(name) else f"v_{re.sub(r'[^A-Za-z0-9_]', '_', name)[:60]}"
            if word in self._used:
                word = next(one for number in count(1) if (one := f"v_{word}_{number}") not in self._used)
            self._used.add(word)
            found[name] = word
        return found

    def _check(self, block: Block, within: tuple[str, ...]) -> None:
        """Refuse what a module cannot say: loops of values or of regions, and values that nothing gives."""
        ordered = topological(block.nodes)
        if len(ordered) != len(block.nodes):
            raise FileError(f"region {plain(within[-1])}: values depend on themselves, which MLIR cannot say")
        known = set(block.inputs)
        for node in ordered:
            if isinstance(node.operator, VARIABLE):
                continue
            _check_node(node, block, known)
            for name in node.runs:
                self._check_region(node, name, within)
        for name in block.outputs:
            if name not in known:
                raise FileError(f"{plain(name)}: nothing gives this output of region {plain(within[-1])}")

    def _check_region(self, node: Node, name: str, within: tuple[str, ...]) -> None:
        region = self.graph.region(name)
        self._regions += 1
        if region is None or len(region.blocks) != 1:
            raise FileError(f"{plain(node.name)}: there is no region {plain(name)} of one block")
        if name in within or len(within) > 60:
            raise FileError(f"{plain(node.name)}: region {plain(name)} runs itself, or is nested too deep")
        if self._regions > _MOST_REGIONS:
            raise FileError(f"{plain(node.name)}: regions have more than {_MOST_REGIONS} copies in a text")
        self._check(region.blocks[0], (*within, name))


def _check_node(node: Node, block: Block, known: set[str]) -> None:
    for name in node.inputs:
        if name not in known or name not in block.values:
            raise FileError(f"{plain(node.name)}: nothing gives its input {plain(name)}")
    for name in node.outputs:
        if name in known or name not in block.values:
            raise FileError(f"{plain(node.name)}: {plain(name)} is given twice, or is no value of the block")
        if node.operator.holds_data and block.values[name].data is None:
            raise FileError(f"{plain(name)}: a constant needs data")
    known.update(node.outputs)


def _kept(node: Node, names: Names) -> str:
    """The names of results, where identifiers are not the same."""
    if all(names[name] == name for name in node.outputs):
        return ""
    texts = [quoted(name) for name in node.outputs]
    return f"tosa.tensor_name = {texts[0] if len(texts) == 1 else '[' + ', '.join(texts) + ']'}"


def _type(value: Value) -> str:
    if value.dtype is SHAPE:
        return f"!tosa.shape<{(value.shape or (0,))[0]}>"
    return _tensor(value)


def _tensor(value: Value) -> str:
    extents = "*x" if value.shape is None else "".join(f"{'?' if one < 0 else one}x" for one in value.shape)
    return f"tensor<{extents}{NAMES[value.dtype]}>"


def _function(inputs: Sequence[Value], outputs: Sequence[Value]) -> str:
    results = ", ".join(map(_type, outputs))
    return f"({', '.join(map(_type, inputs))}) -> {results if len(outputs) == 1 else f'({results})'}"


def _elements(value: Value) -> Iterator[str]:
    assert value.data is not None
    if value.data.dtype != value.dtype.storage or value.data.shape != value.shape:
        raise FileError(f"{plain(value.name)}: its data are {value.data.dtype}{list(value.data.shape)}")
    yield from dense(value.data, value.dtype)
    yield f" : {_tensor(value)}"
