"""PyTorch modules that tosajit runs: graphs that know how their module is called, and `torch.compile`.

Begin with `calling.py`. `torch` is imported only when one of them is used.
"""

from tosajit.modules.calling import CompiledModule, ModuleGraph, from_torch

__all__ = ["CompiledModule", "ModuleGraph", "from_torch"]
