"""A kernel that runs any elementwise nest at once, while the nest's own is compiled.

`steps.py` has a step for each scalar: a loop over vectors around the scalar's text, so that bits are those
of any other kernel. `program.py` makes lists of steps of a nest, and `code.py` words for `walker.py`, the
kernel that calls them, vector by vector. It and the steps are compiled when the package is built.
"""
