"""Writes graphs as models of NNEF: a folder with texts in SkriptND, and the elements of variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import INT48
from tosajit.errors import ModelError, Refusal
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.forms import FORMS
from tosajit.frontends.nnef.forms.registry import call, kind_of
from tosajit.frontends.nnef.library import EXTENSIONS, MODULES, text_of
from tosajit.frontends.nnef.loading import MAIN, SUFFIX
from tosajit.frontends.nnef.syntax.tokens import KEYWORDS, WORD_OPERATORS
from tosajit.frontends.nnef.weights import written_dat
from tosajit.graph import Block, Graph, Node, Value
from tosajit.graph.order import topological
from tosajit.operators.types import NanMode
from tosajit.storage import file_errors, write_file

_SILENT = ("CONST", "CONST_SHAPE")


def save_model(graph: Graph, folder: str | Path) -> int:
    """Write a graph as a folder; how many bytes it takes. `ModelError` says everything that NNEF lacks."""
    text = Text(graph)
    modules, place = text.written(), Path(folder)
    with file_errors(place):
        place.mkdir(exist_ok=True)
    files = {f"main.main.{name}.dat": written_dat(array) for name, array in text.variables.items()}
    files |= {f"{name.replace('.', '/')}{SUFFIX}": module.encode() for name, module in modules.items()}
    for name, data in files.items():
        with file_errors(place / name):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
        write_file(place / name, data)
    return sum(map(len, files.values()))


class Text:
    """The texts of a graph, while they are written."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.variables: dict[str, Array] = {}
        self.updates: dict[str, str] = {}
        """Variables by what they are called, and what they will be."""
        self.modules: dict[str, str] = {}
        """The texts of operators that the graph brings along, by module."""
        self.states: dict[str, str] = {}
        """What variables of the graph are called."""
        self.refusals: list[Refusal] = []
        self._taken = {*KEYWORDS, *WORD_OPERATORS, *MODULES, *EXTENSIONS}

    def written(self) -> Mapping[str, str]:
        """The texts of all modules."""
        block = Writing(self, self.graph.main)
        inputs = "".join(map(block.declared, block.block.inputs))
        block.nodes()
        outputs = "" if self.refusals else block.outputs()
        if self.refusals:
            raise ModelError(self.refusals, "NNEF")
        body = "".join(f"        {line}\n" for line in block.lines)
        variables = "".join(
            f"        {name}: {_type(array)}[{', '.join(map(str, array.shape))}];\n"
            for name, array in self.variables.items()
        )
        updates = "".join(
            f"        {name} = {call('math.iden', [one])};\n" for name, one in self.updates.items()
        )
        text = "graph main {\n" + "".join(
            f"    {name} {{\n{part}    }}\n" for name, part in (
                ("@input", inputs), ("@output", outputs), ("@variable", variables), ("@compose", body),
                ("@update", updates),
            ) if part or name in ("@input", "@output", "@compose")
        ) + "}\n"  # fmt: skip
        modules = dict(self.modules)
        modules |= {one: text_of(one) for one in EXTENSIONS if re.search(rf"\b{one}\.", text)}
        known = [one for one in (*MODULES, *modules) if re.search(rf"\b{re.escape(one)}\.", text)]
        imports = "".join(f"import {one};\n" for one in known)
        return {Path(MAIN).stem: f"{imports}\n{text}", **modules}

    @contextmanager
    def collecting(self, name: str, operator: str) -> Iterator[None]:
        """Note what is refused inside of `with`, and go on behind it."""
        try:
            yield
        except Refused as found:
            refusal = Refusal(name, operator, found.reason, found.remedy)
            if refusal not in self.refusals:
                self.refusals.append(refusal)

    def free(self, name: str) -> str:
        """A name that SkriptND takes, and that nothing else has."""
        stem = re.sub(r"\W", "_", name, flags=re.ASCII)
        stem = stem if re.match(r"[A-Za-z_]", stem) else f"t{stem}"
        found, number = stem, 1
        while found in self._taken:
            found, number = f"{stem}_{number}", number + 1
        self._taken.add(found)
        return found

    def held(self, array: Array, like: str) -> str:
        """A new variable that holds elements."""
        name = self.free(like)
        self.variables[name] = np.ascontiguousarray(array).reshape(array.shape)
        return name


class Writing:
    """A block of the graph, while it is written."""

    def __init__(self, text: Text, block: Block, names: Sequence[str] = (), depth: int = 1) -> None:
        self.text, self.block, self.depth = text, block, depth
        self.lines: list[str] = []
        self._names = dict(zip(block.inputs, names, strict=False))
        self._pairs: dict[str, tuple[str, str]] = {}

    def nodes(self) -> None:
        """Write all nodes; what is refused is noted."""
        for node in topological(self.block.nodes):
            opcode = node.operator.opcode
            if opcode not in _SILENT:
                with self.text.collecting(node.outputs[0] if node.outputs else opcode, opcode):
                    self._node(node)

    def _node(self, node: Node) -> None:
        form = FORMS.get(node.operator.opcode)
        if form is None:
            raise Refused("NNEF has no operator that does this")
        if getattr(node.operator, "nan_mode", NanMode.PROPAGATE) is NanMode.IGNORE:
            raise Refused("it ignores NaN, which NNEF's own operator does not")
        right = form(self, node)
        if right is not None:
            self.lines.append(f"{', '.join(self._results(node))} = {right};")

    def _results(self, node: Node) -> Iterator[str]:
        for name in node.outputs:
            if self.value(name).dtype is INT48:
                yield from self.pair(name)
            else:
                yield self.name(name)

    def value(self, name: str) -> Value:
        """A tensor of the block."""
        return self.block.values[name]

    def name(self, name: str) -> str:
        """What a tensor is called in the text; a constant becomes a variable when it is first asked for."""
        known = self._names.get(name)
        if known is not None:
            return known
        value = self.value(name)
        kind_of(value.dtype)
        if value.data is not None:
            found = self.text.held(np.asarray(value.data), name)
        else:
            found = self.text.free(name)
        self._names[name] = found
        return found

    def pair(self, name: str) -> tuple[str, str]:
        """What the halves of a tensor of 48 bits are called."""
        found = self._pairs.get(name)
        if found is None:
            data = self.value(name).data
            if data is None:
                found = self.text.free(f"{name}_high"), self.text.free(f"{name}_low")
            else:
                high, low = ((data >> 24).astype(np.int32), (data & 0xFFFFFF).astype(np.int32))
                found = self.text.held(high, f"{name}_high"), self.text.held(low, f"{name}_low")
            self._pairs[name] = found
        return found

    def step(self, right: str, like: str) -> str:
        """A tensor that is invoked on the way to another one."""
        name = self.text.free(like)
        self.lines.append(f"{name} = {right};")
        return name

    def held(self, array: Array, like: str) -> str:
        """A variable that holds elements which the graph has otherwise."""
        return self.text.held(array, f"{like}_held")

    def variable(self, name: str) -> str:
        """What a variable of the graph is called; once it has been written, what it will be."""
        states = self.text.states
        if name not in states:
            (value,) = (
                one for block in (part for region in self.text.graph.regions for part in region.blocks)
                for one in block.values.values() if one.variable_name == name
            )  # fmt: skip
            kind_of(value.dtype)
            data = np.zeros(value.shape or (), value.dtype.storage) if value.data is None else value.data
            states[name] = self.text.held(np.asarray(data), name)
        found = states[name]
        return self.text.updates.get(found, found)

    def write(self, name: str, value: str) -> None:
        """Let a variable be a tensor from the next run on."""
        if self.depth > 1:
            raise Refused("it is inside control flow, and NNEF updates variables after everything else")
        self.variable(name)
        self.text.updates[self.text.states[name]] = value

    def region(self, name: str, operands: Sequence[str]) -> str:
        """The text of a region, whose inputs are called like the operands."""
        region = self.text.graph.region(name)
        if region is None or len(region.blocks) != 1:
            raise Refused(f"region {name} is not one block")
        inner = Writing(self.text, region.blocks[0], operands, self.depth + 1)
        inner.nodes()
        results = [inner.name(one) for one in inner.block.outputs]
        indent = "    " * (self.depth + 2)
        body = "".join(f"{indent}{line}\n" for line in (*inner.lines, f"yield {', '.join(results)};"))
        return f"{{\n{body}{indent[4:]}}}"

    def loop(self, node: Node) -> Sequence[str]:
        """New names for what goes round in a loop."""
        return [self.text.free(f"{name}_round") for name in node.outputs]

    def module(self, text: str, others: Mapping[str, str]) -> str:
        """What the module of an operator is called; those that it imports keep their names."""
        modules = self.text.modules
        for name, one in others.items():
            if name in (Path(MAIN).stem, *MODULES, *EXTENSIONS) or modules.setdefault(name, one) != one:
                raise Refused(
                    f"the module {name} that it imports is not the only one of that name", "rename it"
                )
        for name, known in modules.items():
            if known == text:
                return name
        name = self.text.free("custom")
        modules[name] = text
        return name

    def outputs(self) -> str:
        """The declarations of outputs; those that are inputs or constants as well are copied."""
        for name in dict.fromkeys(self.block.outputs):
            if name in self.block.inputs or self.value(name).data is not None:
                with self.text.collecting(name, "tensor"):
                    given = self.name(name)
                    self._names[name] = self.step(call("math.iden", [given]), f"{given}_given")
        return "".join(map(self.declared, dict.fromkeys(self.block.outputs)))

    def declared(self, name: str) -> str:
        """The declaration of an input or an output; nothing where NNEF has no such tensors."""
        value, found = self.value(name), ""
        with self.text.collecting(name, "tensor"):
            extents = ", ".join(map(str, value.shape or ()))
            found = f"        {self.name(name)}: {kind_of(value.dtype)}[{extents}];\n"
        return found


def _type(array: Array) -> str:
    return {"f": "real", "i": "int", "b": "bool"}[array.dtype.kind]
