"""PyTorch: programs of `torch.export` as frozen records, and those as TOSA.

`records.py` says what a program is; `reader.py` makes one of a live `ExportedProgram`, and only it and
`loading.py` import `torch`. `functional.py` takes writes in place out of it, and `lowering.py` walks its
nodes, by the declarations in `operators`.
"""
