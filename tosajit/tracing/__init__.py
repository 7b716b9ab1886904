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

from tosajit.errors import TraceError
from tosajit.tracing.compiled import Jitted, jit, trace
from tosajit.tracing.structured import Variable
from tosajit.tracing.tensor import Tensor

__all__ = ["Jitted", "Tensor", "TraceError", "Variable", "jit", "trace"]
