"""TFLite models: a reader of our own for its flatbuffers, and a lowering for each operator.

`reader.py` makes the frozen records of `records.py` from a file, by `schema.py` and `options.py`, and knows
no TOSA. `lowering.py` is the place to begin: it walks over a model and calls the declarations in `operators`,
to which `node.py` presents a node. It may import `frame`, `common` and `ops`.
"""
