"""Operators on integers that NNEF lacks: module `tosa` has their formulas."""

from __future__ import annotations

from typing import Any

from tosajit.dtypes import BOOL, FP32, INT16, INT48
from tosajit.frontends.nnef.forms.registry import Form, Naming, call, form, kind_of, known, single
from tosajit.graph import Node


def bits_of(graph: Naming, name: str) -> int:
    """How many bits the elements of a tensor have in TOSA."""
    return graph.value(name).dtype.bits


def _elementwise(name: str, *attributes: str) -> Form:
    def write(graph: Naming, node: Node) -> str:
        given: dict[str, Any] = {"bits": bits_of(graph, node.inputs[0])}
        given |= {one: bool(dict(node.operator)[one]) for one in attributes}
        return call(f"tosa.{name}", [graph.name(one) for one in node.inputs], **given)

    return write


for _opcode in ("BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "BITWISE_NOT", "LOGICAL_LEFT_SHIFT",
                "LOGICAL_RIGHT_SHIFT"):  # fmt: skip
    form(_opcode)(_elementwise(_opcode.lower()))
form("ARITHMETIC_RIGHT_SHIFT")(_elementwise("arithmetic_right_shift", "round"))


@form("INTDIV")
def intdiv(graph: Naming, node: Node) -> str:
    """A quotient without its fraction, where NNEF rounds down."""
    return call("tosa.intdiv", [graph.name(one) for one in node.inputs])


@form("CLZ")
def clz(graph: Naming, node: Node) -> str:
    """Leading bits that are zero."""
    return call("tosa.clz", [graph.name(node.inputs[0])])


@form("MUL")
def mul(graph: Naming, node: Node) -> str:
    """A product; one of integers may be shifted."""
    operands = [graph.name(one) for one in node.inputs[:2]]
    if len(node.inputs) > 2:
        shift = single(graph, node.inputs[2])
        if shift != "0":
            return call("tosa.mul", [*operands, shift])
    return call("math.mul", operands)


@form("NEGATE")
def negate(graph: Naming, node: Node) -> str:
    """The other sign."""
    value = graph.value(node.inputs[0])
    if value.dtype is FP32:
        return call("math.neg", [graph.name(value.name)])
    operands = [graph.name(value.name), *(single(graph, one) for one in node.inputs[1:3])]
    return call("tosa.negate", operands, bits=value.dtype.bits)


@form("TABLE")
def table(graph: Naming, node: Node) -> str:
    """What a table has for integers."""
    wide = graph.value(node.inputs[0]).dtype is INT16
    return call("tosa.table16" if wide else "tosa.table", [graph.name(one) for one in node.inputs])


@form("CAST")
def cast(graph: Naming, node: Node) -> str:
    """Numbers in another type."""
    name = graph.name(node.inputs[0])
    given, made = (graph.value(one[0]).dtype for one in (node.inputs, node.outputs))
    kind = kind_of(made)
    if made is BOOL or given is BOOL or made is FP32:
        return call("math.iden" if made is given else f"layout.cast<{kind}>", [name])
    if given is FP32:
        return call("tosa.cast_to_int", [name], bits=made.bits)
    return (
        call("tosa.narrow", [name], bits=made.bits) if made.bits < given.bits else call("math.iden", [name])
    )


@form("RESCALE")
def rescale(graph: Naming, node: Node) -> str:
    """Integers times factors, between zero points and types."""
    given = dict(node.operator)
    value, result = graph.value(node.inputs[0]), graph.value(node.outputs[0])
    input_zp, output_zp = (single(graph, one) for one in node.inputs[3:5])
    factors = node.inputs[1:3]
    plain = all((data := graph.value(one).data) is not None and data.size == 1 for one in factors)
    scales = [single(graph, one) if plain else graph.name(one) for one in factors]
    if value.dtype is INT48:
        operands = [*graph.pair(value.name), *scales, output_zp]
        return call("tosa.rescale_48", operands, output_bits=result.dtype.bits)
    chosen: dict[str, Any] = {"rounding": given["rounding_mode"].name} if given["rounding_mode"].value else {}
    chosen |= {"scale32": False} if not given["scale32"] else {}
    chosen |= {"input_bits": value.dtype.bits, "output_bits": result.dtype.bits}
    chosen |= {one: True for one in ("input_unsigned", "output_unsigned") if given[one]}
    return call("tosa.rescale", [graph.name(value.name), *scales, input_zp, output_zp], **chosen)


@form("ARGMAX")
def argmax(graph: Naming, node: Node) -> str:
    """Where the greatest element is."""
    axis, value = int(dict(node.operator)["axis"]), graph.value(node.inputs[0])
    if value.dtype is FP32:
        return call("math.argmax", [graph.name(value.name)], axis=axis, squeeze=True)
    return call("tosa.argmax", [graph.name(value.name)], axis=axis, bits=value.dtype.bits)


@form("RESIZE")
def resize(graph: Naming, node: Node) -> str:
    """Images of another size."""
    value = graph.value(node.inputs[0])
    chosen: dict[str, Any] = {
        key: known(graph, name, key).tolist()
        for key, name in zip(("scale", "offset", "border"), node.inputs[1:4], strict=True)
    }
    nearest = dict(node.operator)["mode"].name == "NEAREST"
    kind_of(graph.value(node.outputs[0]).dtype)
    if value.dtype is FP32:
        name = "resize_nearest" if nearest else "resize_linear"
    else:
        name, chosen = (
            "resize_nearest" if nearest else "resize_bilinear",
            {**chosen, "bits": value.dtype.bits},
        )
    return call(f"tosa.{name}", [graph.name(value.name)], **chosen)
