"""Operators of TOSA that NNEF has."""

from __future__ import annotations

from math import inf

from tosajit.dtypes import FP32
from tosajit.frontends.nnef.forms.registry import FORMS, Form, Naming, call, form, known, literal
from tosajit.graph import Node


def _named(name: str, count: int) -> Form:
    return lambda graph, node: call(name, [graph.name(one) for one in node.inputs[:count]])


FORMS.update({
    opcode: _named(f"math.{name}", 1) for opcode, name in (
        ("ABS", "abs"), ("CEIL", "ceil"), ("COS", "cos"), ("EXP", "exp"), ("FLOOR", "floor"), ("LOG", "log"),
        ("RECIPROCAL", "rcp"), ("RSQRT", "rsqrt"), ("SIN", "sin"), ("TANH", "tanh"), ("LOGICAL_NOT", "not"),
        ("IDENTITY", "iden"),
    )
})  # fmt: skip
FORMS.update(
    {"SIGMOID": _named("nn.sigmoid", 1), "ERF": _named("nn.erf", 1), "SELECT": _named("math.select", 3)}
)
FORMS.update({
    opcode: _named(f"math.{name}", 2) for opcode, name in (
        ("ADD", "add"), ("SUB", "sub"), ("MAXIMUM", "max"), ("MINIMUM", "min"), ("POW", "pow"),
        ("GREATER", "gt"), ("GREATER_EQUAL", "ge"), ("EQUAL", "eq"), ("LOGICAL_AND", "and"),
        ("LOGICAL_OR", "or"), ("LOGICAL_XOR", "xor"),
    )
})  # fmt: skip


@form("CLAMP")
def clamp(graph: Naming, node: Node) -> str:
    """Numbers between two ends, of which one may be open."""
    attributes, value = dict(node.operator), graph.value(node.inputs[0])
    name, (low, high) = graph.name(value.name), (attributes["min_val"], attributes["max_val"])
    if value.dtype is not FP32:
        return call("math.clamp", [name, literal(int(low)), literal(int(high))])
    low, high = float(low), float(high)
    if high == inf:
        return call("nn.relu", [name]) if low == 0 else call("math.max", [name, literal(low)])
    if low == -inf:
        return call("math.min", [name, literal(high)])
    return call("math.clamp", [name, literal(low), literal(high)])


def _reduction(name: str) -> Form:
    def write(graph: Naming, node: Node) -> str:
        axis = int(dict(node.operator)["axis"])
        return call(f"math.{name}_reduce", [graph.name(node.inputs[0])], axes=[axis])

    return write


for _opcode, _name in (("ALL", "all"), ("ANY", "any"), ("MAX", "max"), ("MIN", "min"), ("PRODUCT", "prod"),
                       ("SUM", "sum")):  # fmt: skip
    form(f"REDUCE_{_opcode}")(_reduction(_name))


@form("CONCAT")
def concat(graph: Naming, node: Node) -> str:
    """Tensors one behind the other."""
    values = ", ".join(map(graph.name, node.inputs))
    return call("layout.concat", [f"[{values}]"], axis=int(dict(node.operator)["axis"]))


@form("RESHAPE")
def reshape(graph: Naming, node: Node) -> str:
    """The same elements in another shape; a single one may have none."""
    value, result = graph.value(node.inputs[0]), graph.value(node.outputs[0])
    before, behind = list(value.shape or ()), list(result.shape or ())
    operand = [graph.name(node.inputs[0])]
    if not before:
        name, axes = ("layout.unsqueeze", {"axes": list(range(len(behind)))}) if behind else ("math.iden", {})
        return call(name, operand, **axes)
    if not behind:
        return call("layout.squeeze", operand, axes=list(range(len(before))))
    return call("layout.reshape", operand, shape=behind)


@form("REVERSE")
def reverse(graph: Naming, node: Node) -> str:
    """A dimension turned round."""
    axis = int(dict(node.operator)["axis"])
    last = (graph.value(node.inputs[0]).shape or ())[axis] - 1
    ends = {"axes": [axis], "begin": [last], "end": [-1], "stride": [-1]}
    return call("layout.slice", [graph.name(node.inputs[0])], **ends)


@form("SLICE")
def slice_(graph: Naming, node: Node) -> str:
    """A part of a tensor."""
    start, size = (known(graph, name, "part").tolist() for name in node.inputs[1:3])
    end = [one + extent for one, extent in zip(start, size, strict=True)]
    return call("layout.slice", [graph.name(node.inputs[0])], begin=start, end=end)


@form("TILE")
def tile(graph: Naming, node: Node) -> str:
    """A tensor repeated."""
    return call(
        "layout.tile", [graph.name(node.inputs[0])], repeats=known(graph, node.inputs[1], "count").tolist()
    )


@form("TRANSPOSE")
def transpose(graph: Naming, node: Node) -> str:
    """Dimensions in another order."""
    return call("layout.transpose", [graph.name(node.inputs[0])], perm=list(dict(node.operator)["perms"]))


@form("PAD")
def pad(graph: Naming, node: Node) -> str:
    """A border of one number."""
    numbers = known(graph, node.inputs[1], "border").tolist()
    filling = graph.held(known(graph, node.inputs[2], "number").reshape(()), node.outputs[0])
    return call("layout.pad", [graph.name(node.inputs[0]), filling], padding=[*numbers[::2], *numbers[1::2]])


@form("GATHER")
def gather(graph: Naming, node: Node) -> str:
    """Rows by indices, for each batch."""
    operands = [graph.name(node.inputs[0]), _rows(graph, node)]
    return call("layout.gather_nd", operands, batch_dims=1)


@form("SCATTER")
def scatter(graph: Naming, node: Node) -> str:
    """A tensor with other rows where indices say so, for each batch."""
    operands = [graph.name(node.inputs[0]), _rows(graph, node), graph.name(node.inputs[2])]
    return call("layout.scatter_nd", operands, batch_dims=1)


def _rows(graph: Naming, node: Node) -> str:
    """Indices of one number each."""
    found = call("layout.unsqueeze", [graph.name(node.inputs[1])], axes=[2])
    return graph.step(found, f"{node.outputs[0]}_rows")
