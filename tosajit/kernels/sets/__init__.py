"""Instruction sets: a folder each, with what depends on the vector registers of a CPU and on nothing else.

`cpus` knows CPUs and their features, `registry` picks one and the best set for it (`TOSAJIT_CPU` asks for
others), `description` says what a set tells the rest of the package about itself.
"""
