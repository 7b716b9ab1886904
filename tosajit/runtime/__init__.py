"""Running graphs: control flow between programs, variables, and executables, which are what users call.

`executable.py` is the place to begin. `making.py` makes one of a graph; `body.py` has a block as steps,
`steps.py` those that are no programs. May import `compiler` and all below it.
"""
