"""Traced tensors: what a traced function sees in place of arrays.

What they can do is in `arithmetic`, `shaping` and `reducing`; NumPy's functions are in `numpy_functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Never

import numpy as np

from tosajit.errors import TraceError
from tosajit.tracing.numbers import untyped
from tosajit.tracing.numpy_functions import FUNCTIONS, UFUNCS
from tosajit.tracing.reducing import Reducing


class Tensor(Reducing):
    """A tensor of a graph that is being recorded.

    Python's operators, and NumPy's methods and functions that TOSA has, record operators of TOSA. Types never
    mix by themselves; Python numbers and lists take the type of the tensor beside them. All of TOSA is in
    `tosajit.ops`.
    """

    __slots__ = ()

    def __bool__(self) -> Never:
        raise TraceError(
            f"{self!r} has no value while it is traced, so Python cannot branch on it: "
            "use np.where, ops.cond_if or ops.while_loop"
        )

    def __index__(self) -> Never:
        raise TraceError(f"{self!r} has no value while it is traced, so it cannot be a Python number")

    __int__ = __float__ = __complex__ = __index__

    def __array__(self, *_: object, **__: object) -> Never:
        raise TraceError(f"{self!r} has no value while it is traced, so it cannot be an array")

    def __array_function__(
        self, function: Callable[..., Any], _: object, arguments: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        return self._called(function, FUNCTIONS.get(function), arguments, options)

    def __array_ufunc__(self, function: np.ufunc, method: str, *arguments: Any, **options: Any) -> Any:
        found = UFUNCS.get(function) if method == "__call__" else None
        return self._called(function, found, arguments, options)

    def _called(
        self,
        function: Callable[..., Any],
        found: Callable[..., Any] | None,
        arguments: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Any:
        name = f"NumPy's {getattr(function, '__name__', function)}"
        if found is None:
            raise TraceError(f"{name} cannot be applied to {self!r}: use the functions of tosajit.ops")
        try:
            return found(*arguments, **options)
        except TraceError:
            raise
        except TypeError as error:
            raise TraceError(f"{name} of {self!r}: {str(error).rpartition('() ')[2]}") from None


def number_fault(value: object) -> TraceError:
    """What to say of a Python number where only tensors are."""
    return TraceError(untyped(value))
