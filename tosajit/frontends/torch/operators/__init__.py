"""The operators of ATen by family: each module here is imported, and declares what it lowers.

```python
@operator("aten.softmax.int", types=REAL)
def soft_max(node: Node, self: Operand, dim: int, dtype: Type | None = None) -> Tensor:
    "Exponentials over their sum."
```

Parameters behind the node have the names of the operator's schema, and its defaults; those that do not matter
are left out of the function and named in `ignored`. Results have the types and shapes of the program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from tosajit.frontends.frame import Declarations, Refused
from tosajit.frontends.torch.node import Node, Operand

DECLARATIONS = Declarations(__name__)
refuse = DECLARATIONS.refuse

REAL = "float32 float16 bfloat16"
WHOLE = "int32 int64 uint32 uint64"
NARROW = "int8 int16 uint8 uint16"
"""Integers that are computed as int32."""
NUMBERS = f"{REAL} {WHOLE}"
MOVED = f"{NUMBERS} {NARROW} bool float8_e4m3fn float8_e5m2"
"""The types of what is only moved."""

Lowering = TypeVar("Lowering", bound=Callable[..., Any])


def operator(
    names: str,
    *,
    types: str = "",
    fold: Callable[..., Any] | None = None,
    ignored: str = "",
) -> Callable[[Lowering], Lowering]:
    """Declare operators that share a lowering; names and types are separated by spaces."""

    def declare(function: Lowering) -> Lowering:
        lower = _bound(function, ignored)
        folded = None if fold is None else _bound(fold, ignored)
        DECLARATIONS.operator(names, types=types, fold=folded)(lower)
        return function

    return declare


def _bound(function: Callable[..., Any], ignored: str) -> Callable[[Node], Any]:
    """A lowering of a node alone, which gives its arguments by their names."""
    known = list(signature(function).parameters.values())[1:]
    names, unused = {one.name for one in known}, set(ignored.split())
    tensors = {one.name for one in known if str(one.annotation) in ("Operand", "Operand | None")}

    @wraps(function)
    def lower(node: Node) -> Any:
        if not known:
            return function(node)
        given = {name: one for name, one in node.arguments.items() if name not in unused}
        for name, value in given.items():
            if name not in names:
                raise Refused(f"its argument {name} is {value!r:.60}, which is not known")
            is_left_out = value is None and str(signature(function).parameters[name].annotation) != "Operand"
            if name in tensors and not isinstance(value, Operand) and not is_left_out:
                raise Refused(f"its argument {name} is {value!r:.60}, but must be a tensor")
        return function(node, **given)

    return lower
