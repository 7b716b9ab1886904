"""What goes wrong at first: each message says what to write, and that works."""

import numpy as np

import tosajit as tj
from tosajit import nn

whole = np.arange(4, dtype=np.int32)
matrix = np.ones((8, 3), np.float32)
rows = np.ones((2, 8), np.float32)


def message(call, *arguments):
    try:
        call(*arguments)
    except tj.TraceError as error:
        return str(error)
    return "nothing was said"


halved = tj.jit(lambda x: x * 0.5)
assert "x.astype(np.float32)" in message(halved, whole)
assert tj.jit(lambda x: x.astype(np.float32) * 0.5)(whole).tolist() == [0, 0.5, 1, 1.5]

assert "x.astype(np.float32)" in message(nn.relu, np.ones(2))
assert nn.relu(np.ones(2).astype(np.float32)).tolist() == [1, 1]

assert "weight.T" in message(nn.dense, rows, matrix)
assert nn.dense(rows, matrix.T).shape == (2, 3)

branching = tj.jit(lambda x: x if x.sum() > 0 else -x)
assert "np.where" in message(branching, whole)
assert tj.jit(lambda x: np.where(x.sum() > 0, x, -x))(-whole).tolist() == [0, 1, 2, 3]

print("all mistakes are told")
