"""Modules of PyTorch and functions of JAX: graphs that know how these are called, and `torch.compile`.

Begin with `calling.py` and `functions.py`. `torch` and `jax` are imported only when one of them is used.
"""

from tosajit.modules.calling import CompiledModule, ModuleGraph, from_torch
from tosajit.modules.functions import CompiledFunction, FunctionGraph, from_jax

__all__ = ["CompiledFunction", "CompiledModule", "FunctionGraph", "ModuleGraph", "from_jax", "from_torch"]
