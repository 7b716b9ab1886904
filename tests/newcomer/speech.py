"""A model that comes with the package: what it hears, how fast, and where the time goes."""

import numpy as np

import tosajit as tj

graph = tj.samples.load("ds_cnn")
inputs = [np.zeros(value.shape or (), value.dtype.storage) for value in graph.inputs]
run = tj.compile(graph)
outputs = run(*inputs)
first = outputs[0] if isinstance(outputs, tuple) else outputs
report = tj.simulate(graph, "ethos-u55-128")
slowest = max(report.operators, key=lambda one: one.total)
assert sum(one.total for one in report.operators) == report.cycles
print(first.shape, slowest.label)
