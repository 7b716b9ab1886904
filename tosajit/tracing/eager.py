"""Operators on arrays, outside of a trace: each is a graph of its own, kept for the next call."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tosajit.arrays import Array
from tosajit.errors import TraceError
from tosajit.graph.operator import Operand
from tosajit.tracing.call import Call, Given, record_alone
from tosajit.tracing.numbers import typed
from tosajit.tracing.recorder import Trace
from tosajit.tracing.tensor import Tensor

if TYPE_CHECKING:
    from tosajit.runtime.executable import Executable

KEPT = 512
"""Executables that are kept, those that were used last."""

_lock = threading.Lock()
_executables: OrderedDict[object, Executable] = OrderedDict()


def run(call: Call) -> tuple[Array, ...]:
    """Run a call on its arrays."""
    executable = _executable(call)
    outputs = executable(*(array for array, is_input in _arrays(call) if is_input))
    return outputs if isinstance(outputs, tuple) else (outputs,)


def run_recorded(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Record a function of arrays in a graph of its own, and run that once."""
    from tosajit.runtime.making import executable_of

    arrays: list[Array] = []

    def body(trace: Trace) -> tuple[Tensor, ...]:
        values: list[Any] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray | np.generic):
                array, dtype = typed(argument)
                arrays.append(array)
                argument = trace.input(f"input_{len(arrays)}", dtype, array.shape)
            values.append(argument)
        results = function(*values)
        return results if isinstance(results, tuple) else (results,)

    return executable_of(record_alone(body).builder.build())(*arrays)


def _executable(call: Call) -> Executable:
    key = _key(call)
    with _lock:
        found = _executables.get(key)
        if found is not None:
            _executables.move_to_end(key)
            return found
    made = _compiled(call)
    with _lock:
        _executables[key] = made
        while len(_executables) > KEPT:
            _executables.popitem(last=False)
    return made


def _compiled(call: Call) -> Executable:
    from tosajit.runtime.making import executable_of

    def body(trace: Trace) -> tuple[Tensor, ...]:
        pairs = zip(_declared(call), call.operands, strict=True)
        return Call(call.operator, tuple(_named(trace, *pair) for pair in pairs), call.dtype).record(trace)

    return executable_of(record_alone(body).builder.build())


def _named(trace: Trace, operand: Operand, given: Given) -> Given:
    assert isinstance(given.value, np.ndarray)
    if operand.constant_in:
        return given
    return Given(trace.input(operand.name, given.dtype, given.value.shape), given.dtype)


def _key(call: Call) -> object:
    parts: list[object] = [call.operator, type(call.operator), call.dtype]
    for given, (array, is_input) in zip(call.operands, _arrays(call), strict=True):
        parts.append((given.dtype, array.shape, None if is_input else array.tobytes()))
    return tuple(parts)


def _arrays(call: Call) -> list[tuple[Array, bool]]:
    """Each operand's array, and whether it is an input: what must be constant is part of the graph."""
    found = []
    for operand, given in zip(_declared(call), call.operands, strict=True):
        if isinstance(given.value, Tensor):
            raise TraceError(f"{given.value!r} is used outside its trace")
        found.append((given.value, not operand.constant_in))
    return found


def _declared(call: Call) -> list[Operand]:
    """The operand that each tensor is bound to; the last one repeats if it is a list."""
    declared = call.operator.operands_read
    last = max(len(declared) - 1, 0)
    return [declared[min(number, last)] for number in range(len(call.operands))]
