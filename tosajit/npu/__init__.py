"""Graphs on modelled machines: planned, timed and explored.

It brings the compiler and `sim` together; nothing below it knows of machines. Begin with `simulate.py`.
"""
