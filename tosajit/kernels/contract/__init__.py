"""Contractions: convolutions and matrix products, in register tiles.

`source` writes the kernels, `spec` says what they are called with, `pack` readies constants for them.
"""
