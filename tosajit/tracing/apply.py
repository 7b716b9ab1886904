"""What each function of `tosajit.ops` does: record its operator, or run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tosajit.graph.operator import Operator
from tosajit.tracing.call import complete
from tosajit.tracing.eager import run
from tosajit.tracing.numbers import Type
from tosajit.tracing.recorder import current_trace


def apply(
    operator: type[Operator],
    operands: Sequence[Any],
    attributes: Mapping[str, Any] | None = None,
    dtype: Type | None = None,
) -> Any:
    """Record an operator in the current trace; outside of one, run it on arrays."""
    call = complete(operator, operands, attributes or {}, dtype)
    trace = current_trace()
    if trace is not None:
        results: tuple[Any, ...] = call.record(trace)
    else:
        results = run(call)
    return results[0] if len(results) == 1 else results
