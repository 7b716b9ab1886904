"""Layers above `tosajit.ops`, for floating-point numbers; `tosajit.nn.quantized` has those of integers.

```python
@tj.jit
def network(x):
    x = nn.relu(nn.conv2d(x, kernels, padding="same"))
    return nn.softmax(nn.dense(x.mean(axis=(1, 2)), weight, bias))
```

In a function that `tj.jit` or `tj.trace` traces, they take and give traced tensors, and arrays are constants;
on arrays alone they run at once. Types are FP32, FP16 and BF16, and never mix. Images have their channels
last, weights their outputs first.
"""

from tosajit.nn import quantized
from tosajit.nn.activation import dropout, gelu, log_softmax, relu, relu6, silu, softmax
from tosajit.nn.heads import attention
from tosajit.nn.images import avg_pool2d, conv2d, depthwise_conv2d, max_pool2d
from tosajit.nn.linear import dense, embedding, rope
from tosajit.nn.norms import batch_norm, layer_norm

__all__ = [
    "attention", "avg_pool2d", "batch_norm", "conv2d", "dense", "depthwise_conv2d", "dropout", "embedding",
    "gelu", "layer_norm", "log_softmax", "max_pool2d", "quantized", "relu", "relu6", "rope", "silu",
    "softmax",
]  # fmt: skip
