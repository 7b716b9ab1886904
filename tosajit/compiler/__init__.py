"""From a legal graph to programs that can run: the stages of the pipeline, and the values between them.

`stages.py` is the list, and the place to begin: each stage is a function from a frozen value to the next
one. `parts.py` cuts blocks where control flow, variables and CUSTOM come in; `lower.py` gives the nests of
a part, `constants.py` computes those that depend on constants alone, `planning.py` makes a program for a
target. `segment.py` has the values; `journal.py`, `text.py`, `dump.py` and `explain.py` show them. May
import `checks`, `display`, `host`, `kernels` and all below, `tiling` and `sim`.
"""
