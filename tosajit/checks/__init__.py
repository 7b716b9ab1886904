"""Checks of whole graphs: each violation of the specification, with node, rule and section.

It imports the graph and the operators' declarations. Begin with `validation.py`.
"""
