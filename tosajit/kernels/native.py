"""From the text of a kernel to native object code, by LLVM."""

import ast
import functools
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from tosajit.kernels.inline import inline_calls
from tosajit.kernels.instances import written_out
from tosajit.kernels.intrinsics import BUILTINS
from tosajit.kernels.sets.cpus import Cpu
from tosajit.kernels.sets.registry import cpu
from tosajit.kernels.translation import translated

EXTERNAL = frozenset(
    "memcpy memmove memset memcmp usleep SwitchToThread sin cos tan exp exp2 log log2 pow sqrt floor "
    "ceil rint tanh erf sinf cosf tanf expf exp2f logf log2f powf sqrtf floorf ceilf rintf tanhf erff fmod "
    "fmodf".split()
)
"""What a kernel may take from the process: the C library, never Numba's helpers."""


def compile_object(source: str, path: Path, symbol: str) -> bytes:
    """Compile the function `kernel` of `source` into an object that defines `void symbol(int64)`."""
    with _without_collections():
        module = _optimized(source, path, symbol)
        _check_external(module)
        return target_machine().emit_object(module)  # type: ignore[no-any-return]


def llvm_text(source: str) -> str:
    """Return what LLVM makes of a kernel, for reading."""
    return str(_optimized(source, Path("kernel.py"), "kernel"))


@contextmanager
def _without_collections() -> Iterator[None]:
    """Look for no garbage: a tenth of the time goes into that, while hardly anything can be freed."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _optimized(source: str, path: Path, symbol: str) -> Any:
    """Return the LLVM module of a kernel with all that it calls; only `symbol` is visible from outside."""
    module = llvm.parse_assembly(_translated(source, path, symbol))
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != symbol:
            value.linkage = "internal"
    machine = target_machine()
    module.data_layout = str(machine.target_data)
    optimize(module, machine)
    return module


def _translated(source: str, path: Path, symbol: str) -> str:
    """Return LLVM's text of a module's function `kernel`."""
    parsed = written_out(ast.parse(source))
    for node in ast.walk(parsed):
        if isinstance(node, ast.Raise | ast.Assert):
            raise ValueError(f"line {node.lineno}: a kernel cannot raise")
    text = inline_calls(parsed)
    namespace: dict[str, Any] = {"__name__": symbol, **BUILTINS}
    others = [node for node in text.body if not isinstance(node, ast.FunctionDef)]
    exec(compile(ast.Module(others, []), str(path), "exec"), namespace)
    module = translated(text, namespace, symbol)
    module.triple = cpu().triple
    return str(module)


llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
llvm.initialize_native_asmparser()  # for inline assembly


def target_machine() -> Any:
    """Return the LLVM target machine of the chosen CPU, for code that can be loaded anywhere.

    What Numba knows of CPUs does not matter: it makes no machine code.
    """
    return _machine_of(cpu())


@functools.cache
def _machine_of(cpu: Cpu) -> Any:
    return llvm.Target.from_triple(cpu.triple).create_target_machine(
        cpu=cpu.name,
        features=cpu.switches,
        opt=3,
        reloc="pic",
        codemodel="small",
    )


def optimize(module: Any, machine: Any) -> None:
    """Run LLVM's passes on a module."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_unrolling = options.loop_interleaving = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _check_external(module: Any) -> None:
    names = {f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")}
    names |= {v.name for v in module.global_variables if v.is_declaration}
    if unknown := sorted(names - EXTERNAL):
        raise ValueError(f"a kernel refers to {', '.join(unknown)}, which only Numba could provide")
