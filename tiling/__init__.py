"""Tiling: loop nests, fused into groups and planned for a machine of given capacities.

Begin with `nest.py`: axes, accesses and what is computed at each point, in expressions (`expr.py`) of the
scalars that `scalars.py` declares. `normal.py`, `substitute.py` and `fuse.py` make groups; `contraction.py`
finds what the axes of a contraction are for. `plan.py` cuts groups into the tiles of a `program.py` for a
`target.py`: `menu.py` and `choose.py` choose tiles, `residence.py` and `cascade.py` what stays in the
scratchpad, `allocate.py` addresses. `verify.py` says what is well-formed, `text.py` prints it. It imports
nothing but NumPy: neither TOSA nor machines nor times are known here.
"""
