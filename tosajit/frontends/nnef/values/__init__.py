"""Values that are known before a model runs: attributes, extents, packs, and what is computed from them.

`evaluate.py` is the place to begin; `arithmetic.py` has the operators on single items, `packs.py` subscripts,
folds and what is taken item by item. An optional value that is null is None.
"""
