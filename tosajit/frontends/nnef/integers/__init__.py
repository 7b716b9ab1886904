"""Integer graphs of models that say with `@quantize` what integers their tensors stand for.

`form.py` says what the integers of a quantiser are, `value.py` what tensors are meanwhile, `walk.py` writes a
model; the other modules have a rule for each operator that has a form in integers. Begin with `walk.py`.
"""
