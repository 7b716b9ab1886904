"""The text of SkriptND modules: tokens, grammar, and records of what a text says.

`parser.py` is the place to begin, `tree.py` has the records. Nothing here knows tensors or TOSA.
"""
