"""A graph as text of MLIR's TOSA dialect, for compilers that read no TOSA files: what our models need."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from tosajit.graph import Graph, Node, Value

TYPES = {
    "FP32": "f32",
    "FP16": "f16",
    "BF16": "bf16",
    "INT32": "i32",
    "INT16": "i16",
    "INT8": "i8",
    "BOOL": "i1",
}


def module_text(graph: Graph) -> str:
    """The module with the function `main`."""
    block = graph.main
    lines = [_node(node, block.values) for node in block.nodes]
    arguments = ", ".join(f"{_name(v.name)}: {_type(v)}" for v in graph.inputs)
    results = ", ".join(_type(v) for v in graph.outputs)
    outputs = ", ".join(_name(v.name) for v in graph.outputs)
    body = "\n".join(f"    {line}" for line in lines)
    return (
        f"module {{\n  func.func @main({arguments}) -> ({results}) {{\n{body}\n"
        f"    return {outputs} : {results}\n  }}\n}}\n"
    )


def _node(node: Node, values: Mapping[str, Value]) -> str:
    """One operator in the generic form."""
    operator = node.operator
    results = ", ".join(map(_name, node.outputs))
    operands = ", ".join(map(_name, node.inputs))
    given = ", ".join(_type(values[name]) for name in node.inputs)
    made = ", ".join(_type(values[name]) for name in node.outputs)
    if node.operator.opcode in ("CONST", "CONST_SHAPE"):
        attributes = {"values": _data(values[node.outputs[0]])}
    else:
        attributes = {name: _attribute(name, value) for name, value in operator}
    text = ", ".join(f"{name} = {value}" for name, value in attributes.items() if value)
    properties = f" <{{{text}}}>" if text else ""
    return f'{results} = "tosa.{operator.opcode.lower()}"({operands}){properties} : ({given}) -> ({made})'


def _attribute(name: str, value: Any) -> str:
    """An attribute in MLIR's way; what is false, and a way with NaN that is the usual one, are left out."""
    match value:
        case bool():
            return "true" if value else ""
        case Enum():
            return TYPES.get(value.name, "")
        case int():
            return f"{value} : i32"
        case float():
            return f"0x{np.float32(value).view(np.uint32):08X} : f32"
    kind = "i32" if name == "perms" else "i64"
    return f"array<{kind}: {', '.join(map(str, value))}>"


def _name(name: str) -> str:
    """A value's name in letters that MLIR takes."""
    return "%" + "".join(one if one.isascii() and one.isalnum() else f"_{ord(one):x}_" for one in name)


def _type(value: Value) -> str:
    """The type of a value."""
    assert value.shape is not None
    if value.dtype.name == "SHAPE":
        return f"!tosa.shape<{value.shape[0]}>"
    return f"tensor<{'x'.join([*map(str, value.shape), TYPES[value.dtype.name]])}>"


def _data(value: Value) -> str:
    """A constant."""
    array = value.data
    assert array is not None
    if value.dtype.name == "SHAPE":
        return f"dense<[{', '.join(map(str, array.tolist()))}]> : tensor<{array.size}xindex>"
    return f'dense<"0x{array.tobytes().hex().upper()}"> : {_type(value)}'
