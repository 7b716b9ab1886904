"""Graphs on modelled machines: planned, timed and explored.

Begin with `simulate.py`; `steps.py` is what takes time in a graph with control flow, `explore.py` makes
workloads of models. It brings `compiler`, `runtime`, `frontends` and `sim` together and may import all
of them; nothing below it knows machines, except as targets.
"""
