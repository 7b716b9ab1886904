"""How long a layer takes on two NPUs, and that its bits are those of this computer."""

import numpy as np

import tosajit as tj
from tosajit import nn

weight = np.arange(-64, 64, dtype=np.int8).reshape(8, 16)
scales = {"x_scale": 0.1, "weight_scale": 0.1, "out_scale": 2.0}


def layer(x):
    return nn.quantized.dense(x, weight, **scales)


x = np.arange(-64, 64, dtype=np.int8).reshape(8, 16)
on_chip = tj.jit(machine="ethos-u55-128")(layer)
assert np.array_equal(on_chip(x), tj.jit(layer)(x))
small, large = on_chip.report, tj.simulate(on_chip, "ethos-u85-512")
assert small.cycles == tj.simulate(on_chip, "ethos-u55-128").cycles
print(small.machine, small.cycles, large.machine, large.cycles)
