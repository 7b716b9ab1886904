"""NNEF 2.0: models and operators written in SkriptND.

`syntax` reads the text of a module.
"""
