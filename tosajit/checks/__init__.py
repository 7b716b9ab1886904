"""Checks of whole graphs: each violation of the specification, with node, rule and section.

May import `operators`, `graph` and what is below. Begin with `validation.py`; `variables.py` has what
blocks say of the same variable.
"""
