"""Plans as values: how the groups of a graph run on a machine, printed, changed, stored and given back.

Begin with `plan.py`; `reading.py` makes a plan of what a file says, `files.py` reads and writes files.
"""
