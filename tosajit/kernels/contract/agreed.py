"""Numbers that kernels and those who prepare their operands agree upon; to know them imports no LLVM."""

FEW = (2, 3, 4, 8)
"""How many rows are put side by side, and columns apart, at once."""
SHIFT = 6
"""Bits below the integers of a line that stands for a table."""
