"""A layer of bytes: quantised by hand, and near the real one."""

import numpy as np

import tosajit as tj

q = tj.nn.quantized
generator = np.random.default_rng(3)
weight = generator.uniform(-1, 1, (6, 20)).astype(np.float32)
bias = generator.uniform(-1, 1, 6).astype(np.float32)
x_scale, out_scale = 2 / 255, 16 / 255
scales = abs(weight).max(axis=1) / 127
integers = np.round(weight / scales[:, None]).astype(np.int8)
start = np.round(bias / (scales * x_scale)).astype(np.int32)


@tj.jit
def layer(real):
    x = q.quantize(real, x_scale)
    x = q.dense(x, integers, start, x_scale=x_scale, weight_scale=scales, out_scale=out_scale)
    return q.dequantize(x, out_scale)


real = generator.uniform(-1, 1, (8, 20)).astype(np.float32)
away = abs(layer(real) - (real @ weight.T + bias)).max()
assert away < out_scale
print(round(float(away), 3))
