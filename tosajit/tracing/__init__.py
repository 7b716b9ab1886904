"""Tracing: Python functions of arrays become graphs.

```python
@tj.jit
def layer(x):
    total = ops.conv2d(x, weight, bias, input_zp=-3, pad=(1, 1, 1, 1))
    return ops.rescale(total, multiplier, shift, output_zp=5, dtype=tj.INT8)
```

While a function is traced, its parameters are `Tensor`s, and what it calls is recorded. Each thread records
traces of its own.

`compiled.py` has `jit` and is the place to begin; `recorder.py` and `tensor.py` record, `apply.py` is what
every function of `tosajit.ops` calls. May import `runtime` and all below it.
"""

from typing import TYPE_CHECKING, Any

from tosajit.errors import TraceError
from tosajit.tracing.structured import Variable
from tosajit.tracing.tensor import Tensor

if TYPE_CHECKING:
    from tosajit.tracing.batching import vmap
    from tosajit.tracing.compiled import Jitted, jit, trace

__all__ = ["Jitted", "Tensor", "TraceError", "Variable", "jit", "trace", "vmap"]


def __getattr__(name: str) -> Any:
    """What runs traced functions is imported when it is first used: recording alone needs none of it."""
    if name in ("Jitted", "jit", "trace"):
        from tosajit.tracing import compiled

        return getattr(compiled, name)
    if name == "vmap":
        from tosajit.tracing.batching import vmap

        return vmap
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
