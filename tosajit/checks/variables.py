"""Variables of a graph: what can be said about them before it runs (TOSA 1.0.1 section 2.17)."""

from __future__ import annotations

from collections.abc import Iterator

from tosajit.errors import Violation
from tosajit.graph import Block, Graph, Node, Value
from tosajit.operators import VARIABLE, VARIABLE_READ, VARIABLE_WRITE


def declared_variables(graph: Graph) -> dict[str, Value]:
    """The variables that a graph declares, by name: type, shape and, as data, the initial value."""
    found: dict[str, Value] = {}
    for block, node in _uses(graph):
        if isinstance(node.operator, VARIABLE) and node.outputs and node.outputs[0] in block.values:
            found.setdefault(node.operator.name, block.values[node.outputs[0]])
    return found


def variable_faults(graph: Graph) -> Iterator[Violation]:
    """Variables that are declared twice in a block, written without being declared, or of another type."""
    declared = declared_variables(graph)
    seen: set[tuple[str, str]] = set()
    for block, node in _uses(graph):
        match node.operator:
            case VARIABLE(name=name):
                key = (block.name, name)
                if key in seen:
                    yield _fault(node, "declared_twice", f"{name} is declared twice")
                seen.add(key)
                yield from _unlike(node, name, declared.get(name), block.values.get(_first(node.outputs)))
            case VARIABLE_WRITE(name=name):
                if name not in declared:
                    yield _fault(node, "not_declared", f"{name} is not declared")
                yield from _unlike(node, name, declared.get(name), block.values.get(_first(node.inputs)))
            case VARIABLE_READ(name=name):
                yield from _unlike(node, name, declared.get(name), block.values.get(_first(node.outputs)))


def _uses(graph: Graph) -> Iterator[tuple[Block, Node]]:
    for region in graph.regions:
        for block in region.blocks:
            for node in block.nodes:
                if isinstance(node.operator, VARIABLE | VARIABLE_READ | VARIABLE_WRITE):
                    yield block, node


def _first(names: tuple[str, ...]) -> str:
    return names[0] if names else ""


def _unlike(node: Node, name: str, declared: Value | None, used: Value | None) -> Iterator[Violation]:
    if declared is None or used is None:
        return
    if declared.dtype is not used.dtype or declared.shape != used.shape:
        yield _fault(node, "unlike_types", f"{name} is {declared.type}, but {used.type} is used")
    if used.data is not None and isinstance(node.operator, VARIABLE) and used.data.shape != used.shape:
        yield _fault(node, "initial_value", f"{name} is {used.type}, but its initial value {used.data.shape}")


def _fault(node: Node, rule: str, text: str) -> Violation:
    return Violation("require", node.name, node.operator.opcode, "name", rule, text, node.operator.section)
