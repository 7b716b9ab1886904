"""Graphs in print: one line a node, with types, shapes and attributes."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from tiling.words import isolated, plain
from tosajit.graph import Block, Graph, Node, Value
from tosajit.graph.operator import shown

SPECIFICATION = "https://www.mlplatform.org/tosa/tosa_spec.html"
"""Where the sections of the specification are."""

_SHORT = 4
_LONG = 60


def graph_text(graph: Graph) -> str:
    """All regions of a graph."""
    return "\n\n".join(block_text(block, region.name) for region in graph.regions for block in region.blocks)


def block_text(block: Block, region: str = "") -> str:
    """A block: its signature, and a line for each node."""
    takes = ", ".join(_declared(block, name) for name in block.inputs)
    gives = ", ".join(_type(block, name) for name in block.outputs)
    lines = [f"{plain(region or block.name)}({takes}) -> ({gives}) {{"]
    lines += [f"  {line}" for line in _lines(block)]
    lines += [f"  return {', '.join(map(_named, block.outputs))}", "}"]
    return "\n".join(lines)


def _lines(block: Block) -> Iterator[str]:
    for node in block.nodes:
        results = ", ".join(map(_named, node.outputs))
        types = ", ".join(_type(block, name) for name in node.outputs)
        left = f"{results} = " if results else ""
        right = f" : {types}" if types else ""
        yield f"{left}{node.operator.opcode}({_arguments(block, node)}){right}"


def _arguments(block: Block, node: Node) -> str:
    parts = [_named(name) for name in node.inputs]
    constant = block.values.get(node.outputs[0]) if node.outputs else None
    if constant is not None and constant.data is not None and not node.inputs:
        parts.append(constant_text(constant))
    fields = type(node.operator).__pydantic_fields__
    parts += [f"{name}={shown(getattr(node.operator, name))}" for name in fields]
    return ", ".join(parts)


def constant_text(value: Value) -> str:
    """The elements of a small constant; how many there are of a large one, and their range."""
    data = value.data
    if data is None:
        return ""
    if data.size <= _SHORT or value.dtype.kind == "shape":
        text = ", ".join(str(element) for element in data.ravel().tolist())
        return text if data.ndim == 0 else f"[{text}]"
    numbers = data.astype(np.float64) if value.dtype.is_float else data
    return f"{data.size} × {numbers.min()}…{numbers.max()}"


def _named(name: str) -> str:
    return f"%{plain(name)}"


def _declared(block: Block, name: str) -> str:
    return f"{_named(name)}: {_type(block, name)}"


def _type(block: Block, name: str) -> str:
    value = block.values.get(name)
    return "?" if value is None else value.type


def graph_html(graph: Graph) -> str:
    """A table for notebooks, with links to the specification."""
    parts = []
    for region in graph.regions:
        for block in region.blocks:
            rows = "".join(_row(block, node) for node in block.nodes)
            head = "<tr><th>result</th><th>operator</th><th>arguments</th><th>type</th></tr>"
            takes = ", ".join(isolated(_declared(block, name)) for name in block.inputs)
            parts.append(f"<b>{isolated(region.name)}</b>({takes})<table>{head}{rows}</table>")
    return "".join(parts)


def _row(block: Block, node: Node) -> str:
    operator = node.operator
    link = f'<a href="{SPECIFICATION}#_{operator.opcode.lower()}" title="section {operator.section}">'
    cells = [
        ", ".join(map(isolated, node.outputs)),
        f"{link}{operator.opcode}</a>",
        escape(_cut(_arguments(block, node))),
        escape(", ".join(_type(block, name) for name in node.outputs)),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _cut(text: str) -> str:
    return text if len(text) <= 2 * _LONG else f"{text[: 2 * _LONG - 1]}…"
