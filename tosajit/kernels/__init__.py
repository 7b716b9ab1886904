"""Native code: its text, its compiling and loading, and running a linked program.

`link.py` is the place to begin: what a program needs to run. `emit.py` writes kernels, in scalars from
`arithmetic.py` and its neighbours; `objects.py` compiles and finds them; `driver.py` walks an image;
`runner.py` calls it with arrays, and `interpreter.py` does the same without any kernel. `contract` and
`sets` are the array kernels. It imports nothing of tosajit but types, errors and the logger.
"""
