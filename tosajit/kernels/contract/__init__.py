"""Contractions: convolutions and matrix products, in register tiles of any instruction set.

A kernel has two layers, both written once as Python that can be run as such. Loops over panels of A, columns
and tiles are functions on ints (`convolution`, `depthwise`, `packs`); `source` makes the texts that ask for
them with the values of a structure (`spec`) and an epilogue, and `kernels.instances` writes these out. What
works in registers is a function on `sets.vectors.Vectors` (`tile`, `pairs`, `products`, `fused`, `requant`,
`rows`, `interleave`, `packing`, `transposing`), which `procedures` has Numba call: the primitives of a set
write LLVM's instructions. Arguments are records of int64 with names in `slots`. Widths, heights of tiles
and what a CPU can do come from `sets.description`; `geometry` is a shape, `blocking` how a set works on it,
`pack` what does not change between runs in the form that a set takes it. Begin with `convolution.kernel`
and `tile.TileLoops`.
"""
