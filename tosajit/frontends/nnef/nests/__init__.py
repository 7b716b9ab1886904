"""Operators that are written as formulas, `@lower`, as loop nests (NNEF 2.0 section 2.12).

`reading.py` turns formulas into assignments of terms over loops, `assigned.py` those into nests of `tiling`;
what no nest can say is run by the kernel of `loops.py`. `custom.py` is how the compiler meets them: as CUSTOM
operators of domain `nnef`, whose attributes keep the text.
"""
