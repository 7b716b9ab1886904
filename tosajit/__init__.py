"""Compile TOSA 1.0.1 graphs with Numba, run them bit-exactly, see the program that an NPU would run.

```python
import tosajit as tj

graph = tj.load("model.tosa")
model = tj.compile(graph)
outputs = model(*inputs)
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tosajit.garbage import keeps_garbage
from tosajit.version import VERSION

if TYPE_CHECKING:
    from sim import Machine, MachineError, Report, ReportError, machine, machines
    from sim.explore.errors import ExplorationError, SpaceError
    from sim.explore.exploration import Exploration
    from sim.explore.objectives import Objective
    from sim.explore.space import Space
    from sim.explore.values import Range
    from tiling.target import HOST, TINY, Target
    from tosajit import accuracy, nn, nnef, ops, samples
    from tosajit.checks.validation import validate
    from tosajit.compiler.options import Custom, register_custom
    from tosajit.compiling import compile
    from tosajit.dtypes import (
        BF16,
        BOOL,
        FP8E4M3,
        FP8E5M2,
        FP16,
        FP32,
        INT4,
        INT8,
        INT16,
        INT32,
        INT48,
        SHAPE,
        DType,
    )
    from tosajit.errors import (
        CompileError,
        FileError,
        GraphError,
        InputError,
        ModelError,
        PlanError,
        Refusal,
        RequireError,
        TosaError,
        TraceError,
        Violation,
    )
    from tosajit.files import from_bytes, to_bytes
    from tosajit.frontends import from_tensorflow, load, save
    from tosajit.graph import Block, Graph, Node, Region, Value
    from tosajit.graph.operator import OPERATORS
    from tosajit.modules.calling import from_torch
    from tosajit.modules.functions import from_jax
    from tosajit.npu.explore import explore
    from tosajit.npu.plan import plan
    from tosajit.npu.share import Sharing, Tenant, share
    from tosajit.npu.simulate import simulate
    from tosajit.npu.stream import stream
    from tosajit.plans.plan import Plan
    from tosajit.quantization import Quantized, quantize
    from tosajit.runtime.context import Context
    from tosajit.runtime.executable import Executable, load_executable
    from tosajit.tracing import jit, trace, vmap
    from tosajit.tracing.builder import GraphBuilder

__version__ = VERSION

_WHERE = {
    "tosajit.tracing.builder": "GraphBuilder",
    "tosajit.dtypes": "BF16 BOOL FP8E4M3 FP8E5M2 FP16 FP32 INT4 INT8 INT16 INT32 INT48 SHAPE DType",
    "tosajit.errors": (
        "CompileError FileError GraphError InputError ModelError PlanError Refusal RequireError TosaError "
        "TraceError Violation"
    ),
    "tosajit.npu.explore": "explore",
    "tosajit.files": "from_bytes to_bytes",
    "tosajit.frontends": "from_tensorflow load save",
    "tosajit.modules": "from_jax from_torch",
    "tosajit.graph": "Block Graph Node Region Value",
    "tosajit.npu.plan": "plan",
    "tosajit.npu.simulate": "simulate",
    "tosajit.npu.share": "Sharing Tenant share",
    "tosajit.npu.stream": "stream",
    "tosajit.plans.plan": "Plan",
    "tosajit.quantization": "Quantized quantize",
    "tosajit.graph.operator": "OPERATORS",
    "tosajit.runtime.context": "Context",
    "tosajit.compiling": "compile",
    "tosajit.runtime.executable": "Executable load_executable",
    "tosajit.compiler.options": "Custom register_custom",
    "tosajit.tracing": "jit trace vmap",
    "tosajit.checks.validation": "validate",
    "sim": "Machine MachineError Report ReportError machine machines",
    "sim.explore.errors": "ExplorationError SpaceError",
    "sim.explore.exploration": "Exploration",
    "sim.explore.objectives": "Objective",
    "sim.explore.space": "Space",
    "sim.explore.values": "Range",
    "tiling.target": "HOST TINY Target",
}
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = [
    "BF16", "BOOL", "Block", "CompileError", "Context", "Custom", "DType", "Executable", "Exploration",
    "ExplorationError", "FP16", "FP32", "FP8E4M3", "FP8E5M2", "FileError", "Graph", "GraphBuilder",
    "GraphError", "HOST", "INT16", "INT32", "INT4", "INT48", "INT8", "InputError", "Machine",
    "MachineError", "ModelError", "Node", "OPERATORS", "Objective", "Plan", "PlanError", "Quantized",
    "Range", "Refusal", "Region", "Report", "ReportError", "RequireError", "SHAPE", "Sharing", "Space",
    "SpaceError", "TINY", "Target", "Tenant", "TosaError", "TraceError", "Value", "Violation", "accuracy",
    "compile", "explore", "from_bytes", "from_jax", "from_tensorflow", "from_torch", "jit", "load",
    "load_executable", "machine", "machines", "nn", "nnef", "ops", "plan", "quantize", "register_custom",
    "samples", "save", "share", "simulate", "stream", "to_bytes", "trace", "validate", "vmap",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import tosajit` is quick."""
    if name in ("accuracy", "nn", "nnef", "ops", "samples"):
        return _imported(f"tosajit.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'tosajit' has no attribute {name!r}")
    found = globals()[name] = getattr(_imported(_MODULE_OF[name]), name)
    return found


_imported = keeps_garbage(import_module)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
