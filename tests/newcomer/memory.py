"""A running mean: a function that remembers, and forgets when it is told to."""

import numpy as np

import tosajit as tj
from tosajit import ops


@tj.jit
def smooth(x):
    held = ops.variable("held", np.zeros(3, np.float32))
    mean = held.read() * 0.5 + x * 0.5
    held.write(mean)
    return mean


ones = np.ones(3, np.float32)
assert [float(smooth(ones)[0]) for _ in range(3)] == [0.5, 0.75, 0.875]
smooth.clear()
assert float(smooth(ones)[0]) == 0.5
print(smooth.context["held"])
