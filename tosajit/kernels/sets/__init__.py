"""Instruction sets: a folder each, with what depends on the vector registers of a CPU and on nothing else.

Begin with `registry`, which picks a CPU and the best set for it (`TOSAJIT_CPU` selects others). `cpus` has
CPUs and their features, `description` has what a set says about itself, `vectors` the primitives that any
set has. Nothing outside a set's folder knows a width. Of tosajit, it imports only errors and the logger.
"""
