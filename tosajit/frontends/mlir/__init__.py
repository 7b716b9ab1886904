"""MLIR: the TOSA dialect as text, in its three forms, and as bytecode; read and written.

`loading.py` is the place to begin. `syntax` makes records of a text and knows no TOSA; `lowering.py` makes a
graph of them, with the operators' own declarations; `writing.py` is the way back.
"""
