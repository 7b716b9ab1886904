"""Control flow, variables, and operators whose text the graph has."""

from __future__ import annotations

from tosajit.frontends.frame import Refused
from tosajit.frontends.nnef.forms.registry import Naming, form, literal, scalar
from tosajit.frontends.nnef.nests.text import DOMAIN, decoded, grouped
from tosajit.graph import Node


@form("COND_IF")
def cond_if(graph: Naming, node: Node) -> str:
    """One of two blocks."""
    regions = dict(node.operator)
    if not node.outputs:
        raise Refused("it has no results, and NNEF runs a block only for its results")
    condition, operands = scalar(graph, node.inputs[0]), [graph.name(one) for one in node.inputs[1:]]
    then, otherwise = (graph.region(regions[one], operands) for one in ("then_graph", "else_graph"))
    return f"if {condition} then {then} else {otherwise}"


@form("WHILE_LOOP")
def while_loop(graph: Naming, node: Node) -> str:
    """A block that is done again and again."""
    regions, given = dict(node.operator), [graph.name(one) for one in node.inputs]
    if not node.outputs:
        raise Refused("it has no results, and NNEF runs a block only for its results")
    names = graph.loop(node)
    state = ", ".join(f"{name} = {one}" for name, one in zip(names, given, strict=True))
    condition, body = (graph.region(regions[one], names) for one in ("cond_graph", "body_graph"))
    return f"with {state} while {condition} do {body}"


@form("VARIABLE")
def variable(graph: Naming, node: Node) -> None:
    """A declaration, which stands with those of constants."""
    graph.variable(str(dict(node.operator)["name"]))


@form("VARIABLE_READ")
def variable_read(graph: Naming, node: Node) -> str:
    """What a variable holds, or what has been written into it."""
    return f"math.iden({graph.variable(str(dict(node.operator)['name']))})"


@form("VARIABLE_WRITE")
def variable_write(graph: Naming, node: Node) -> None:
    """An update, which NNEF does behind everything else."""
    graph.write(str(dict(node.operator)["name"]), graph.name(node.inputs[0]))


@form("CUSTOM")
def custom(graph: Naming, node: Node) -> str:
    """An operator in SkriptND, whose text the node has."""
    given = dict(node.operator)
    if given["domain_name"] != DOMAIN:
        raise Refused(
            f"nothing says what {given['operator_name']} of {given['domain_name']!r} computes",
            "write it in SkriptND: tosajit.nnef.operator",
        )
    try:
        call = decoded(given["implementation_attrs"])
        operands = None if call.inputs is None else grouped(call.inputs, node.inputs)
    except ValueError as error:
        raise Refused(f"its text cannot be read: {error}") from None
    texts = []
    for one in node.inputs if operands is None else operands.values():
        if one is None:
            texts.append("~")
        elif isinstance(one, tuple):
            texts.append(f"[{', '.join(map(graph.name, one))}]")
        else:
            texts.append(graph.name(one))
    while texts and texts[-1] == "~":
        texts.pop()
    if "~" in texts:
        raise Refused("it leaves out an operand that is not the last one")
    if call.opened is not None:
        raise Refused("data decide the extents of its operands")
    module = graph.module(call.text, dict(call.modules))
    types = f"<{', '.join(call.types)}>" if call.types else ""
    attributes = ", ".join(f"{name}={literal(value)}" for name, value in call.attributes)
    return f"{module}.{call.operator}{types}{f'{{{attributes}}}' if attributes else ''}({', '.join(texts)})"
