"""Kernels: scalar arithmetic, memory access, compiling and loading of native objects."""
