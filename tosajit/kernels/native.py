"""From the text of a kernel to native object code, by Numba and LLVM."""

import ast
import contextlib
import functools
import json
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba import njit
from numba.core import compiler, types
from numba.core.registry import cpu_target

from tosajit.kernels.inline import inline_calls
from tosajit.kernels.objects import compile_into_cache

CALLED: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
    "_nrt": False,
}
"""Options of the functions that a kernel calls (those that are not inlined in its text)."""

WRAPPER = """
define void @{symbol}(i64 %args) {{
  %result = alloca ptr
  %exception = alloca ptr
  %status = call i32 @"{function}"(ptr %result, ptr %exception, i64 %args)
  ret void
}}
declare i32 @"{function}"(ptr, ptr, i64)
"""
"""A plain C function around Numba's calling convention; a kernel cannot raise, so the status is dropped."""

EXTERNAL = frozenset(
    "memcpy memmove memset memcmp sched_yield sin cos tan exp exp2 log log2 pow sqrt floor ceil rint tanh "
    "erf sinf cosf tanf expf exp2f logf log2f powf sqrtf floorf ceilf rintf tanhf erff fmod fmodf".split()
)
"""What a kernel may take from the process: the C library, never Numba's helpers."""


def compile_object(source: str, path: Path, symbol: str) -> bytes:
    """Compile the function `kernel` of `source` into an object that defines `void symbol(int64)`."""
    module = _optimized(source, path, symbol)
    _check_external(module)
    return target_machine().emit_object(module)  # type: ignore[no-any-return]


def llvm_text(source: str) -> str:
    """Return what LLVM makes of a kernel, for reading."""
    return str(_optimized(source, Path("kernel.py"), "kernel"))


def _optimized(source: str, path: Path, symbol: str) -> Any:
    namespace: dict[str, Any] = {"__name__": symbol}
    text = inline_calls(ast.parse(source))
    for statement in ast.walk(text):
        if isinstance(statement, ast.Raise | ast.Assert):
            raise ValueError(f"line {statement.lineno}: a kernel cannot raise")
    exec(compile(text, str(path), "exec"), namespace)
    for node in text.body:
        if isinstance(node, ast.FunctionDef) and node.name != "kernel" and not node.decorator_list:
            namespace[node.name] = njit(**CALLED)(namespace[node.name])
    module = _lower(namespace["kernel"], symbol)
    machine = target_machine()
    module.data_layout = str(machine.target_data)
    _optimize(module, machine)
    return module


def _lower(function: Any, symbol: str) -> Any:
    """Return the LLVM module of `function` with all that it calls; only `symbol` is visible from outside."""
    numba: Any = compiler
    flags = numba.Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.enable_pyobject = flags.nrt = False
    flags.error_model = "numpy"
    result = numba.compile_extra(
        cpu_target.typing_context, cpu_target.target_context, function, (types.int64,), types.none, flags, {}
    )
    module = result.library._final_module
    for library in result.library._linking_libraries:
        module.link_in(library._get_module_for_linking(), preserve=True)
    name = result.fndesc.llvm_func_name
    module.link_in(llvm.parse_assembly(WRAPPER.format(symbol=symbol, function=name)))
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != symbol:
            value.linkage = "internal"
    module.get_function(name).add_function_attribute("alwaysinline")
    return module


llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
llvm.initialize_native_asmparser()  # for inline assembly, also where Numba emits a callee itself


@functools.cache
def target_machine() -> Any:
    """Return the LLVM target machine of this host, for code that can be loaded anywhere."""
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="small",
    )


def _optimize(module: Any, machine: Any) -> None:
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


def serve() -> None:
    """Compile into the cache what standard input asks for, a line each: `[name, source]`.

    A line is printed when there is room for more work.
    """
    print(flush=True)
    for line in sys.stdin:
        with contextlib.suppress(Exception):  # the process that asked will see the same, and say it
            compile_into_cache(*json.loads(line))
        print(flush=True)
