"""Control flow, variables, constants and operators of the user's own, for traced functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, INT4, DType
from tosajit.errors import TraceError
from tosajit.operators import COND_IF, CUSTOM, WHILE_LOOP
from tosajit.tracing.call import extents
from tosajit.tracing.eager import run_recorded
from tosajit.tracing.numbers import Type, exactly, type_named, typed
from tosajit.tracing.recorder import Trace, current_trace, recording
from tosajit.tracing.tensor import Tensor, number_fault
from tosajit.tracing.tree import Tree, flatten

Function = Callable[..., Any]


def placed(trace: Trace, value: Any, what: str = "") -> Tensor:
    """A traced tensor, or an array as a constant."""
    match value:
        case Tensor():
            return trace.own(value)
        case np.ndarray() | np.generic():
            return trace.constant(*typed(value))
        case int() | float():
            raise number_fault(value)
    raise TraceError(f"{what or 'operand'}: expected a tensor, got {type(value).__name__}")


def cond_if(condition: Any, then_function: Function, else_function: Function, *inputs: Any) -> Any:
    """Run one of two functions of the inputs (COND_IF, TOSA 1.0.1 section 2.16.1).

    Both are traced into regions of the graph, and must give tensors of the same types and shapes, in the same
    structure. Traced tensors that they use from outside become inputs of the regions. On arrays, outside of a
    trace, the function that the condition chooses is called.
    """
    trace = current_trace()
    if trace is None:
        return (then_function if _decided(condition) else else_function)(*inputs)
    tensors = [placed(trace, value, "COND_IF inputs") for value in inputs]
    chosen = placed(trace, condition, "COND_IF condition")
    names = _names(trace, "then", "else")
    regions: list[Trace] = []
    trees: list[Tree] = []
    for name, function in zip(names, (then_function, else_function), strict=True):
        region, tree, _ = _region(trace, name, function, tensors, _captures(regions))
        regions.append(region)
        trees.append(tree)
    if trees[0] != trees[1]:
        raise TraceError("COND_IF: the functions return tensors in different structures")
    operands = [chosen, *tensors, *_joined(trace, regions)]
    results = trace.add_all(COND_IF(then_graph=names[0], else_graph=names[1]), operands)
    return trees[0].build(iter(results))


def while_loop(cond_function: Function, body_function: Function, *inputs: Any) -> Any:
    """Run a function as long as another one gives true (WHILE_LOOP, TOSA 1.0.1 section 2.16.2).

    `cond_function` gives one BOOL, `body_function` as many tensors as it takes, of the same types and shapes.
    What comes out is a tensor, or a tuple of them. On arrays, outside of a trace, they are called in a loop.
    """
    trace = current_trace()
    if trace is None:
        values = inputs
        while _decided(cond_function(*values)):
            given = body_function(*values)
            values = given if isinstance(given, tuple) else (given,)
        return values[0] if len(values) == 1 else tuple(values)
    tensors = [placed(trace, value, "WHILE_LOOP inputs") for value in inputs]
    names = _names(trace, "cond", "body")
    condition, _, _ = _region(trace, names[0], cond_function, tensors, {})
    body, _, count = _region(trace, names[1], body_function, tensors, condition.captured)
    if count != len(tensors):
        raise TraceError(f"WHILE_LOOP: body_function returns {count} tensors, not {len(tensors)}")
    captured = _joined(trace, [condition, body])
    body.builder.output(*(tensor.name for tensor in body.captured.values()))
    results = trace.add_all(WHILE_LOOP(cond_graph=names[0], body_graph=names[1]), [*tensors, *captured])
    return results[0] if len(tensors) == 1 else results[: len(tensors)]


@dataclass(frozen=True, slots=True)
class Variable:
    """A tensor that persists from run to run."""

    trace: Trace
    name: str
    dtype: DType
    shape: tuple[int, ...]

    def read(self) -> Tensor:
        """What it holds (VARIABLE_READ, TOSA 1.0.1 section 2.17.3)."""
        trace = self._active()
        return Tensor(trace, trace.builder.value(trace.builder.read(self.name, self.dtype, self.shape)))

    def write(self, value: Any) -> None:
        """Store a tensor (VARIABLE_WRITE, TOSA 1.0.1 section 2.17.2)."""
        trace = self._active()
        tensor = placed(trace, value, f"VARIABLE_WRITE {self.name}")
        if tensor.dtype is not self.dtype or tensor.shape != self.shape:
            wanted = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
            raise TraceError(f"variable {self.name} is {wanted}, but {tensor.value.type} is written")
        trace.builder.write(self.name, tensor.name)

    def _active(self) -> Trace:
        trace = around = current_trace()
        while around is not None and around is not self.trace:
            around = around.parent
        if trace is None or around is None:
            raise TraceError(f"variable {self.name} belongs to another trace")
        return trace


def variable(
    name: str,
    initial: Any = None,
    *,
    shape: Sequence[int] | None = None,
    dtype: Type | None = None,
) -> Variable:
    """Declare a variable (VARIABLE, TOSA 1.0.1 section 2.17.1), with an initial value or with shape and type.

    It has `read()` and `write(tensor)`, and keeps what was written from call to call of the traced function.
    """
    trace = _needed("a variable")
    chosen = type_named(dtype)
    if initial is not None:
        array, own = typed(initial)
        if shape is not None and extents(shape, "shape") != array.shape:
            raise TraceError(f"variable {name}: shape is {tuple(shape)}, but that of initial {array.shape}")
        declared = Variable(trace, name, chosen or own, array.shape)
    elif shape is None or chosen is None:
        raise TraceError(f"variable {name}: give an initial value, or shape and dtype")
    else:
        array, declared = None, Variable(trace, name, chosen, extents(shape, "shape"))
    trace.builder.variable(name, declared.dtype, declared.shape, array)
    return declared


def variable_read(variable: Variable) -> Tensor:
    """What a variable holds (VARIABLE_READ, TOSA 1.0.1 section 2.17.3)."""
    return variable.read()


def variable_write(variable: Variable, input1: Any) -> None:
    """Store a tensor in a variable (VARIABLE_WRITE, TOSA 1.0.1 section 2.17.2)."""
    variable.write(input1)


def custom(
    *inputs: Any,
    operator_name: str,
    domain_name: str,
    outputs: Sequence[tuple[Type, Sequence[int]]],
    implementation_attrs: bytes = b"",
) -> Any:
    """Run an operator of the user's own (CUSTOM, TOSA 1.0.1 section 2.15.1).

    `outputs` has the type and the shape of each result; `tj.register_custom` gives the operator its meaning.
    """
    trace = current_trace()
    if trace is None:
        named = {"operator_name": operator_name, "domain_name": domain_name}
        attributes = implementation_attrs
        return run_recorded(
            lambda *values: custom(*values, **named, outputs=outputs, implementation_attrs=attributes), inputs
        )
    operator = CUSTOM(
        operator_name=operator_name, domain_name=domain_name, implementation_attrs=implementation_attrs
    )
    declared = [(type_named(dtype), extents(shape, "outputs")) for dtype, shape in outputs]
    tensors = [placed(trace, value, "CUSTOM input_list") for value in inputs]
    known = [(dtype, shape) for dtype, shape in declared if dtype is not None]
    results = trace.add_all(operator, tensors, known)
    return results[0] if len(results) == 1 else results


def const(values: Any, dtype: Type | None = None) -> Any:
    """Make a constant tensor (CONST, TOSA 1.0.1 section 2.14.1); on its own, an array of the type."""
    chosen = type_named(dtype)
    array, own = typed(values) if chosen is None else (exactly(values, chosen.storage), chosen)
    if array is None:
        raise TraceError(f"CONST: {own} cannot hold these values")
    trace = current_trace()
    if trace is not None:
        return trace.constant(array, own)
    return _as_int4(array) if own is INT4 else array


def const_shape(values: Sequence[int]) -> Any:
    """Make a constant shape (CONST_SHAPE, TOSA 1.0.1 section 2.18.1); a tuple of integers does as well."""
    trace = current_trace()
    found = extents(values, "CONST_SHAPE")
    return np.array(found, np.int64) if trace is None else trace.shape(found)


def _as_int4(array: Array) -> Array:
    import ml_dtypes

    return array.astype(ml_dtypes.int4)


def _needed(what: str) -> Trace:
    trace = current_trace()
    if trace is None:
        raise TraceError(f"{what} belongs to a graph: use it in a function that tj.jit or tj.trace traces")
    return trace


def _decided(condition: Any) -> bool:
    array = np.asarray(condition)
    if array.dtype != np.bool_ or array.size != 1:
        raise TraceError(f"the condition is {array.dtype}{list(array.shape)}, but must be one {BOOL}")
    return bool(array.reshape(())[()])


def _names(trace: Trace, first: str, second: str) -> tuple[str, str]:
    number = 1
    names = {region.name for region in trace.builder.build().regions}
    while f"{first}_{number}" in names:
        number += 1
    return f"{first}_{number}", f"{second}_{number}"


def _captures(regions: Sequence[Trace]) -> dict[str, Tensor]:
    return regions[0].captured if regions else {}


def _region(
    trace: Trace, name: str, function: Function, tensors: Sequence[Tensor], captured: dict[str, Tensor]
) -> tuple[Trace, Tree, int]:
    """Trace a function into a region that takes `tensors`, and behind them what another one has captured."""
    region = trace.region(name)
    names = zip(_parameters(function, tensors), tensors, strict=True)
    parameters = [region.input(called, tensor.dtype, tensor.shape) for called, tensor in names]
    _capture(trace, region, captured)
    leaves: list[Tensor] = []
    with recording(region):
        tree = flatten(
            function(*parameters), name, lambda where, leaf: leaves.append(placed(region, leaf, where))
        )
    region.builder.output(*(leaf.name for leaf in leaves))
    return region, tree, len(leaves)


def _parameters(function: Function, tensors: Sequence[Tensor]) -> list[str]:
    """What a function calls its arguments, as far as it says so; else what they are called outside."""
    try:
        named = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        named = {}.values()
    positional = [one.name for one in named if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    said = positional[: len(tensors)]
    return [*said, *(tensor.name for tensor in tensors[len(said) :])]


def _capture(trace: Trace, region: Trace, names: dict[str, Tensor]) -> None:
    for name in names:
        if name not in region.captured:
            region.own(Tensor(trace, trace.builder.value(name)))


def _joined(trace: Trace, regions: Sequence[Trace]) -> list[Tensor]:
    """What two regions have captured, as tensors of the trace around them; both take all of it."""
    first, second = regions
    _capture(trace, first, second.captured)
    assert list(first.captured) == list(second.captured)
    return [Tensor(trace, trace.builder.value(name)) for name in first.captured]
