"""What operators of TOSA are in SkriptND: a function each that gives the text of an invocation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Protocol, TypeAlias

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import BOOL, FP32, INT32, DType
from tosajit.frontends.frame import Refused
from tosajit.graph import Node, Value

TYPES: dict[DType, str] = {FP32: "real", INT32: "int", BOOL: "bool"}


class Naming(Protocol):
    """The graph that is written."""

    def value(self, name: str, /) -> Value:
        """A tensor of it."""

    def name(self, name: str, /) -> str:
        """What a tensor is called in the text."""

    def step(self, right: str, like: str, /) -> str:
        """A tensor that is invoked on the way to another one."""

    def held(self, array: Array, like: str, /) -> str:
        """A variable that holds elements."""


Form: TypeAlias = Callable[[Naming, Node], str]
FORMS: dict[str, Form] = {}


def form(*opcodes: str) -> Callable[[Form], Form]:
    """Declare the text of operators."""

    def declare(function: Form) -> Form:
        FORMS.update(dict.fromkeys(opcodes, function))
        return function

    return declare


def call(name: str, operands: Sequence[str], **attributes: Any) -> str:
    """An invocation."""
    given = ", ".join(f"{key}={literal(one)}" for key, one in attributes.items())
    return f"{name}{f'{{{given}}}' if given else ''}({', '.join(operands)})"


def literal(value: Any) -> str:
    """The value of an attribute."""
    match value:
        case bool():
            return str(value).lower()
        case list() | tuple():
            return f"[{', '.join(map(literal, value))}]"
        case str():
            return f"'{value}'"
    return repr(value)


def _named(name: str, count: int) -> Form:
    return lambda graph, node: call(name, [graph.name(one) for one in node.inputs[:count]])


FORMS.update({
    opcode: _named(f"math.{name}", 1) for opcode, name in (
        ("ABS", "abs"), ("CEIL", "ceil"), ("COS", "cos"), ("EXP", "exp"), ("FLOOR", "floor"), ("LOG", "log"),
        ("RECIPROCAL", "rcp"), ("RSQRT", "rsqrt"), ("SIN", "sin"), ("TANH", "tanh"), ("LOGICAL_NOT", "not"),
        ("NEGATE", "neg"), ("IDENTITY", "iden"),
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


def _known(graph: Naming, name: str, what: str) -> Array:
    data = graph.value(name).data
    if data is None:
        raise Refused(f"its {what} is computed when the graph runs, but NNEF's is known before")
    return data


@form("MUL")
def mul(graph: Naming, node: Node) -> str:
    """A product, without a shift."""
    if len(node.inputs) > 2 and _known(graph, node.inputs[2], "shift").any():
        raise Refused("its products are shifted, which NNEF does not say")
    return call("math.mul", [graph.name(one) for one in node.inputs[:2]])


@form("CLAMP")
def clamp(graph: Naming, node: Node) -> str:
    """Numbers between two ends, of which one may be open."""
    attributes = dict(node.operator)
    low, high, value = float(attributes["min_val"]), float(attributes["max_val"]), graph.name(node.inputs[0])
    if high == inf:
        return call("nn.relu", [value]) if low == 0 else call("math.max", [value, literal(low)])
    if low == -inf:
        return call("math.min", [value, literal(high)])
    return call("math.clamp", [value, literal(low), literal(high)])


def _reduction(name: str) -> Form:
    def write(graph: Naming, node: Node) -> str:
        axis = int(dict(node.operator)["axis"])
        return call(f"math.{name}_reduce", [graph.name(node.inputs[0])], axes=[axis])

    return write


for _opcode, _name in (("ALL", "all"), ("ANY", "any"), ("MAX", "max"), ("MIN", "min"), ("PRODUCT", "prod"),
                       ("SUM", "sum")):  # fmt: skip
    FORMS[f"REDUCE_{_opcode}"] = _reduction(_name)


@form("ARGMAX")
def argmax(graph: Naming, node: Node) -> str:
    """Where the greatest element is."""
    axis = int(dict(node.operator)["axis"])
    return call("math.argmax", [graph.name(node.inputs[0])], axis=axis, squeeze=True)


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
    start, size = (_known(graph, name, "part").tolist() for name in node.inputs[1:3])
    end = [one + extent for one, extent in zip(start, size, strict=True)]
    return call("layout.slice", [graph.name(node.inputs[0])], begin=start, end=end)


@form("TILE")
def tile(graph: Naming, node: Node) -> str:
    """A tensor repeated."""
    return call(
        "layout.tile", [graph.name(node.inputs[0])], repeats=_known(graph, node.inputs[1], "count").tolist()
    )


@form("TRANSPOSE")
def transpose(graph: Naming, node: Node) -> str:
    """Dimensions in another order."""
    return call("layout.transpose", [graph.name(node.inputs[0])], perm=list(dict(node.operator)["perms"]))


@form("PAD")
def pad(graph: Naming, node: Node) -> str:
    """A border of one number."""
    numbers = _known(graph, node.inputs[1], "border").tolist()
    filling = graph.held(_known(graph, node.inputs[2], "number").reshape(()), node.outputs[0])
    return call("layout.pad", [graph.name(node.inputs[0]), filling], padding=[*numbers[::2], *numbers[1::2]])


@form("GATHER")
def gather(graph: Naming, node: Node) -> str:
    """Rows by indices, for each batch."""
    rows = call("layout.unsqueeze", [graph.name(node.inputs[1])], axes=[2])
    indices = graph.step(rows, f"{node.outputs[0]}_rows")
    return call("layout.gather_nd", [graph.name(node.inputs[0]), indices], batch_dims=1)


@form("CAST")
def cast(graph: Naming, node: Node) -> str:
    """Numbers in another type; NNEF has no rounding to even ones."""
    given, made = (graph.value(one[0]).dtype for one in (node.inputs, node.outputs))
    if given is FP32 and made is not FP32:
        raise Refused("it rounds halves to even numbers, and NNEF's casts leave out fractions")
    return call(f"layout.cast<{TYPES[made]}>", [graph.name(node.inputs[0])])


@form("MATMUL")
def matmul(graph: Naming, node: Node) -> str:
    """The products of matrices."""
    return call("linalg.matmul", [graph.name(one) for one in node.inputs[:2]])


def _bias(graph: Naming, node: Node, count: int) -> str:
    """A bias for each channel; one for all of them is repeated."""
    name = node.inputs[2]
    if graph.value(name).shape == (count,):
        return graph.name(name)
    return graph.held(np.repeat(_known(graph, name, "bias"), count), name)


def _halves(numbers: Sequence[int], sign: int = 1) -> list[int]:
    return [sign * one for one in (*numbers[::2], *numbers[1::2])]


@form("CONV2D", "CONV3D")
def conv(graph: Naming, node: Node) -> str:
    """A convolution; channels are last."""
    given = dict(node.operator)
    count = (graph.value(node.inputs[1]).shape or ())[0]
    operands = [graph.name(node.inputs[0]), graph.name(node.inputs[1]), _bias(graph, node, count)]
    return call(
        "nn.conv", operands, stride=list(given["stride"]), dilation=list(given["dilation"]),
        padding=_halves(given["pad"]), data_format="NXC", filter_format="NXC",
    )  # fmt: skip


@form("DEPTHWISE_CONV2D")
def depthwise(graph: Naming, node: Node) -> str:
    """A convolution of each channel on its own."""
    given, weights = dict(node.operator), _known(graph, node.inputs[1], "weight")
    height, width, channels, depth = weights.shape
    kernels = weights.transpose(2, 3, 0, 1).reshape(channels * depth, height, width, 1)
    operands = [
        graph.name(node.inputs[0]), graph.held(kernels, node.inputs[1]), _bias(graph, node, channels * depth)
    ]  # fmt: skip
    return call(
        "nn.conv", operands, stride=list(given["stride"]), dilation=list(given["dilation"]),
        padding=_halves(given["pad"]), groups=0, data_format="NXC", filter_format="NXC",
    )  # fmt: skip


@form("TRANSPOSE_CONV2D")
def deconv(graph: Naming, node: Node) -> str:
    """A transposed convolution."""
    given, weights = dict(node.operator), _known(graph, node.inputs[1], "weight")
    operands = [
        graph.name(node.inputs[0]), graph.held(weights.transpose(3, 1, 2, 0), node.inputs[1]),
        _bias(graph, node, weights.shape[0]),
    ]  # fmt: skip
    return call(
        "nn.deconv", operands, stride=list(given["stride"]), padding=_halves(given["out_pad"], -1),
        data_format="NXC", filter_format="NXC",
    )  # fmt: skip


@form("MAX_POOL2D")
def max_pool(graph: Naming, node: Node) -> str:
    """The maximum of each window."""
    return _pool("nn.max_pool", graph, node)


@form("AVG_POOL2D")
def avg_pool(graph: Naming, node: Node) -> str:
    """The mean of each window; padding does not count."""
    return _pool("nn.avg_pool", graph, node)


def _pool(name: str, graph: Naming, node: Node) -> str:
    given = dict(node.operator)
    return call(
        name, [graph.name(node.inputs[0])], axes=[1, 2], size=list(given["kernel"]),
        stride=list(given["stride"]), padding=_halves(given["pad"]),
    )  # fmt: skip
