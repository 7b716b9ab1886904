"""Running whole graphs: constants, control flow, variables, CUSTOM (TOSA 1.0.1 sections 2.2, 2.14-2.18)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .numbers import STORAGE, Unpredictable, error_if
from .operators import OPERATORS, run

Custom = Mapping[tuple[str, str], Callable[..., Any]]


@dataclass
class Variable:
    """A variable tensor: what VARIABLE allocates."""

    shape: tuple[int, ...]
    type_name: str
    data: np.ndarray | None = None
    is_written: bool = False


@dataclass
class Context:
    """Variables that persist between executions, and which were declared in the execution at hand.

    The text clears "seen" whenever a graph starts, even the sub-graphs of control flow. Two declarations are
    a fault only within one graph or sub-graph; a write finds what any graph of the execution has declared.
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)


@dataclass
class _Execution:
    graph: Any
    context: Context
    custom: Custom
    maximum_nesting: int
    nesting: int = 0

    def block_of(self, region: str) -> Any:
        """Return the block of a region."""
        return next(r for r in self.graph.regions if r.name == region).blocks[0]


def run_graph(
    graph: Any,
    inputs: Sequence[np.ndarray] | Mapping[str, np.ndarray],
    context: Context | None = None,
    custom: Custom | None = None,
    maximum_nesting: int = 6,
) -> list[np.ndarray]:
    """Run the main block of a graph and return its outputs in order."""
    execution = _Execution(graph, context or Context(), custom or {}, maximum_nesting)
    execution.context.seen.clear()
    block = graph.main
    values = [inputs[name] for name in block.inputs] if isinstance(inputs, Mapping) else list(inputs)
    return _run_block(execution, block, values)


def _run_block(execution: _Execution, block: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    error_if(
        len(inputs) != len(block.inputs), f"{block.name} takes {len(block.inputs)} inputs, not {len(inputs)}"
    )
    values: dict[str, np.ndarray] = {
        name: np.asarray(value.data) for name, value in block.values.items() if value.data is not None
    }
    for name, array in zip(block.inputs, inputs, strict=True):
        declared = block.values[name]
        error_if(
            tuple(array.shape) != tuple(declared.shape),
            f"{name} has shape {array.shape}, not {declared.shape}",
        )
        values[name] = np.asarray(array).astype(STORAGE[declared.dtype.name])
    declared_here: set[str] = set()
    for node in block.nodes:
        try:
            results = _run_node(execution, block, node, [values[name] for name in node.inputs], declared_here)
        except Unpredictable as fault:
            fault.node = fault.node or (node.outputs[0] if node.outputs else type(node.operator).__name__)
            fault.operator = fault.operator or type(node.operator).__name__
            raise
        for name, array in zip(node.outputs, results, strict=True):
            shape = block.values[name].shape
            error_if(tuple(shape) != array.shape, f"{name} is declared as {shape}, but is {array.shape}")
            values[name] = array
    return [values[name] for name in block.outputs]


def _run_node(
    execution: _Execution, block: Any, node: Any, inputs: list[np.ndarray], declared_here: set[str]
) -> list[np.ndarray]:
    operator, attributes = type(node.operator).__name__, dict(node.operator)
    outputs = [block.values[name] for name in node.outputs]
    match operator:
        case "CONST" | "CONST_SHAPE":
            return [np.asarray(outputs[0].data)]
        case "COND_IF":
            return _cond_if(execution, attributes, inputs)
        case "WHILE_LOOP":
            return _while_loop(execution, attributes, inputs)
        case "CUSTOM":
            return _custom(execution, attributes, inputs)
        case "VARIABLE":
            _variable(execution.context, attributes["name"], outputs[0], declared_here)
            return [np.zeros(outputs[0].shape, STORAGE[outputs[0].dtype.name])]
        case "VARIABLE_WRITE":
            kind = block.values[node.inputs[0]].dtype.name
            return _variable_write(execution.context, attributes["name"], inputs[0], kind)
        case "VARIABLE_READ":
            return _variable_read(execution.context, attributes["name"], outputs[0])
    assert operator in OPERATORS, operator
    input_types = [block.values[name].dtype.name for name in node.inputs]
    return run(operator, inputs, attributes, input_types, [value.dtype.name for value in outputs])


def _enter(execution: _Execution, region: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    return _run_block(execution, execution.block_of(region), inputs)


def _cond_if(
    execution: _Execution, attributes: Mapping[str, Any], inputs: list[np.ndarray]
) -> list[np.ndarray]:
    error_if(execution.nesting >= execution.maximum_nesting, "control flow is nested too deeply")
    error_if(inputs[0].size != 1, "the condition must have one element")
    execution.nesting += 1
    taken = "then_graph" if inputs[0].reshape(-1)[0] else "else_graph"
    results = _enter(execution, attributes[taken], inputs[1:])
    execution.nesting -= 1
    return results


def _while_loop(
    execution: _Execution, attributes: Mapping[str, Any], inputs: list[np.ndarray]
) -> list[np.ndarray]:
    error_if(execution.nesting >= execution.maximum_nesting, "control flow is nested too deeply")
    execution.nesting += 1
    values = inputs
    while _enter(execution, attributes["cond_graph"], values)[0].reshape(-1)[0]:
        values = _enter(execution, attributes["body_graph"], values)
    execution.nesting -= 1
    return values


def _custom(
    execution: _Execution, attributes: Mapping[str, Any], inputs: list[np.ndarray]
) -> list[np.ndarray]:
    key = (attributes["domain_name"], attributes["operator_name"])
    error_if(key not in execution.custom, f"nothing is registered for {key}")
    results = execution.custom[key](*inputs)
    return list(results) if isinstance(results, list | tuple) else [results]


def _variable(context: Context, name: str, declared: Any, declared_here: set[str]) -> None:
    """Declare a variable; shape, type and initial value are those of the node's output."""
    if name in declared_here:
        raise Unpredictable(f"the variable {name} is declared twice in one execution")
    if name not in context.variables:
        variable = Variable(tuple(declared.shape), declared.dtype.name)
        if declared.data is not None:
            data = np.asarray(declared.data)
            if data.shape != variable.shape:
                raise Unpredictable(
                    f"the initial value of {name} has shape {data.shape}, not {variable.shape}"
                )
            if data.dtype != STORAGE[variable.type_name]:
                raise Unpredictable(
                    f"the initial value of {name} has type {data.dtype}, not {variable.type_name}"
                )
            variable.data, variable.is_written = data.copy(), True
        context.variables[name] = variable
    declared_here.add(name)
    context.seen.add(name)


def _variable_write(context: Context, name: str, value: np.ndarray, type_name: str) -> list[np.ndarray]:
    variable = context.variables.get(name)
    if variable is None or name not in context.seen:
        raise Unpredictable(f"the variable {name} is written, but not declared in this execution")
    if variable.shape != value.shape:
        raise Unpredictable(f"the variable {name} has shape {variable.shape}, not {value.shape}")
    if variable.type_name != type_name:
        raise Unpredictable(f"the variable {name} has type {variable.type_name}, not {type_name}")
    variable.data, variable.is_written = value.copy(), True
    return []


def _variable_read(context: Context, name: str, output: Any) -> list[np.ndarray]:
    variable = context.variables.get(name)
    if variable is None:
        raise Unpredictable(f"the variable {name} is read, but not declared")
    if not variable.is_written or variable.data is None:
        raise Unpredictable(f"the variable {name} is read before it is written")
    if variable.shape != tuple(output.shape):
        raise Unpredictable(f"the variable {name} has shape {variable.shape}, not {tuple(output.shape)}")
    if variable.type_name != output.dtype.name:
        raise Unpredictable(f"the variable {name} has type {variable.type_name}, not {output.dtype.name}")
    return [variable.data.copy()]
