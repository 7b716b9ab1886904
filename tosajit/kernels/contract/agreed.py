"""Numbers that kernels and those who prepare their operands agree upon; to know them imports no LLVM."""

FEW = (2, 3, 4, 8)
"""How many rows are put side by side, and columns apart, at once."""
SHIFT = 6
"""Bits below the integers of a line that stands for a table."""
RADIX = 4
"""Of a step of a Fourier transform."""
FACTORS = 2 * (RADIX - 1)
"""Numbers that the factors of a step's number are: real and imaginary parts of all but the first."""
LANES = (1, 4, 8, 16)
"""Numbers in a register of transforms: sets have 4, 8 or 16, and short transforms take fewer."""
STEPS = (
    *("quarters_first", "quarters_first_of_pairs", "quarters_second", "quarters_apart"),
    *("halves", "spectrum"),
)
"""What transforms are made of."""
