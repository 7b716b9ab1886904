"""Tiling: loop nests, fused into groups and planned for a machine of given capacities.

`nest` and `expr` are the language. `normal`, `fold` and `fuse` rewrite it; `plan` cuts nests into the tiles
of a `program` for a `target`, whose buffers `allocate` places. `text` prints nests and programs.
"""
