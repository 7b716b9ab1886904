"""Graphs on modelled machines: planned, timed and explored.

It brings `compiler`, `runtime` and `sim` together; nothing below it knows of machines but as targets. Begin
with `simulate.py`.
"""
