"""Machines: what they are made of, from and to files, and those that are known by name.

Begin with `machine.py`, the machine as a whole, then `parts.py` and `arrays.py`, what it is made of;
`figures.py` has the bounds of numbers, `faults.py` and `errors.py` how what is wrong is said. `catalog.py`
knows names, `ethos.py` and `generic.py` make the machines that they stand for, with the source of each
figure; `formats.py` and `files.py` read and write, `variants.py` makes many machines at once. Machines say
what hardware is, never what work takes on it: of `sim` only `files` is imported, of `tiling` the target.
"""
