"""NNEF 2.0: models and operators written in SkriptND.

`syntax` reads the text of a module, `values` computes what is known before a model runs, `compose` makes a
`model` of both. No graph is made of it yet.
"""
