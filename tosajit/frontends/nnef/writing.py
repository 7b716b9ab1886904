"""Writes graphs as models of NNEF: a folder with a text in SkriptND, and the elements of variables."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import SHAPE
from tosajit.errors import ModelError, Refusal
from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.forms import FORMS, TYPES
from tosajit.frontends.nnef.loading import MAIN
from tosajit.frontends.nnef.syntax.tokens import KEYWORDS, WORD_OPERATORS
from tosajit.frontends.nnef.weights import written_dat
from tosajit.graph import Graph, Node, Value
from tosajit.storage import file_errors, write_file

_SILENT = ("CONST", "CONST_SHAPE")
_MODULES = ("layout", "math", "linalg", "nn")


def save_model(graph: Graph, folder: str | Path) -> int:
    """Write a graph as a folder; how many bytes it takes. `ModelError` says everything that NNEF lacks."""
    text, held = Text(graph).written()
    place = Path(folder)
    with file_errors(place):
        place.mkdir(exist_ok=True)
    files = {f"main.main.{name}.dat": written_dat(array) for name, array in held.items()}
    files[MAIN] = text.encode()
    for name, data in files.items():
        write_file(place / name, data)
    return sum(map(len, files.values()))


class Text:
    """The text of a graph, while it is written."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.block = graph, graph.main
        self.variables: dict[str, Array] = {}
        self.lines: list[str] = []
        self._names: dict[str, str] = {}
        self._taken = {*KEYWORDS, *WORD_OPERATORS, *_MODULES}

    def written(self) -> tuple[str, dict[str, Array]]:
        """The text, and the elements of its variables."""
        refusals = []
        for node in self.block.nodes:
            if node.operator.opcode in _SILENT:
                continue
            try:
                self.lines.append(self._line(node))
            except Refused as found:
                name = node.outputs[0] if node.outputs else node.operator.opcode
                refusals.append(Refusal(name, node.operator.opcode, found.reason, found.remedy))
        if refusals:
            raise ModelError(refusals, "NNEF")
        inputs = "".join(self._declared(name) for name in self.block.inputs)
        outputs = "".join(map(self._output, dict.fromkeys(self.block.outputs)))
        copies = [f"{self._given(name)} = math.iden({self.name(name)});" for name in self._bound()]
        held = "".join(
            f"        {name}: {_type(array)}[{_extents(array.shape)}];\n"
            for name, array in self.variables.items()
        )
        variables = f"    @variable {{\n{held}    }}\n" if held else ""
        body = "".join(f"        {line}\n" for line in (*self.lines, *copies))
        imports = "".join(f"import {one};\n" for one in _MODULES if f"{one}." in body)
        blocks = f"    @input {{\n{inputs}    }}\n    @output {{\n{outputs}    }}\n{variables}"
        text = f"{imports}\ngraph main {{\n{blocks}    @compose {{\n{body}    }}\n}}\n"
        return text, self.variables

    def value(self, name: str) -> Value:
        """A tensor of the graph."""
        return self.block.values[name]

    def name(self, name: str) -> str:
        """What a tensor is called in the text; a constant becomes a variable when it is first asked for."""
        known = self._names.get(name)
        if known is not None:
            return known
        value = self.value(name)
        found = self._names[name] = self._free(name)
        if value.data is not None:
            if value.dtype not in TYPES:
                raise Refused(f"{name} is {value.dtype}, and NNEF's tensors are real, int or bool")
            self.variables[found] = np.asarray(value.data)
        return found

    def step(self, right: str, like: str) -> str:
        """A tensor that is invoked on the way to another one."""
        name = self._free(like)
        self.lines.append(f"{name} = {right};")
        return name

    def held(self, array: Array, like: str) -> str:
        """A variable that holds elements which the graph has otherwise."""
        name = self._free(f"{like}_held")
        self.variables[name] = np.ascontiguousarray(array).reshape(array.shape)
        return name

    def _line(self, node: Node) -> str:
        for name in node.outputs:
            dtype = self.value(name).dtype
            if dtype not in TYPES and dtype is not SHAPE:
                raise Refused(f"its result is {dtype}, and NNEF's tensors are real, int or bool")
        form = FORMS.get(node.operator.opcode)
        if form is None:
            raise Refused("NNEF has no operator that does this")
        right = form(self, node)
        return f"{', '.join(map(self.name, node.outputs))} = {right};"

    def _bound(self) -> list[str]:
        """Outputs that are inputs or constants as well."""
        outputs = dict.fromkeys(self.block.outputs)
        return [one for one in outputs if one in self.block.inputs or self.value(one).data is not None]

    def _given(self, name: str) -> str:
        return f"{self.name(name)}_given"

    def _declared(self, name: str) -> str:
        value = self.value(name)
        if value.dtype not in TYPES:
            refusal = Refusal(name, "input", f"it is {value.dtype}, and NNEF's tensors are real, int or bool")
            raise ModelError([refusal], "NNEF")
        return f"        {self.name(name)}: {TYPES[value.dtype]}[{_extents(value.shape or ())}];\n"

    def _output(self, name: str) -> str:
        value = self.value(name)
        called = self._given(name) if name in self._bound() else self.name(name)
        return f"        {called}: {TYPES[value.dtype]}[{_extents(value.shape or ())}];\n"

    def _free(self, name: str) -> str:
        """A name that SkriptND takes, and that no other tensor has."""
        stem = re.sub(r"\W", "_", name, flags=re.ASCII)
        stem = stem if re.match(r"[A-Za-z_]", stem) else f"t{stem}"
        found, number = stem, 1
        while found in self._taken:
            found, number = f"{stem}_{number}", number + 1
        self._taken.add(found)
        return found


def _type(array: Array) -> str:
    return {"f": "real", "i": "int", "b": "bool"}[array.dtype.kind]


def _extents(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))
