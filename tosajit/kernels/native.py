"""From the text of a kernel to native object code, by Numba and LLVM."""

import ast
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from numba.core import compiler, typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from tosajit.kernels.inline import inline_calls
from tosajit.kernels.instances import written_out
from tosajit.kernels.sets.cpus import Cpu
from tosajit.kernels.sets.registry import cpu

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
    """Return the LLVM module of a kernel with all that it calls; only `symbol` is visible from outside."""
    module, name = _lower(_function(source, path, symbol))
    module.link_in(llvm.parse_assembly(WRAPPER.format(symbol=symbol, function=name)))
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name != symbol:
            value.linkage = "internal"
    module.get_function(name).add_function_attribute("alwaysinline")
    machine = target_machine()
    module.data_layout = str(machine.target_data)
    _optimize(module, machine)
    return module


def _function(source: str, path: Path, name: str) -> Callable[..., Any]:
    """Return `kernel` of a module text as a Python function, ready for Numba."""
    parsed = written_out(ast.parse(source))
    for node in ast.walk(parsed):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []  # `njit` at most: every function is compiled
        elif isinstance(node, ast.Raise | ast.Assert):
            raise ValueError(f"line {node.lineno}: a kernel cannot raise")
    text = inline_calls(parsed)
    namespace: dict[str, Any] = {"__name__": name}
    exec(compile(text, str(path), "exec"), namespace)
    for node in text.body:
        if isinstance(node, ast.FunctionDef) and node.name != "kernel":
            namespace[node.name] = _callee(namespace[node.name])
    return namespace["kernel"]  # type: ignore[no-any-return]


class _Library(JITCodeLibrary):
    """Code that is only ever linked into a kernel: neither optimised nor emitted on its own."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Put all that is called into the module."""
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)
"""Numba's passes without those for closures, comprehensions, arrays and exceptions, a fifth of its time."""


class _Pipeline(compiler.CompilerBase):
    """Numba's compiler for the little that kernels use of Python."""

    def define_pipelines(self) -> list[Any]:
        new_manager: Any = PassManager
        manager = new_manager("kernel")
        for kind in PASSES:
            manager.add_pass(kind, kind._name)
        manager.finalize()
        return [manager]


def _compile(function: Callable[..., Any], arguments: tuple[Any, ...], result: Any) -> Any:
    numba: Any = compiler
    new_library: Any = _Library
    flags = numba.Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.enable_pyobject = flags.nrt = False
    flags.error_model = "numpy"
    typing_context, target_context = cpu_target.typing_context, cpu_target.target_context
    library = new_library(target_context.codegen(), function.__qualname__)
    return numba.compile_extra(
        typing_context, target_context, function, arguments, result, flags, {}, library, _Pipeline
    )


def _callee(function: Callable[..., Any]) -> Any:
    """Return what Numba takes for `function` when a kernel calls it."""
    compiled: dict[tuple[Any, ...], Any] = {}
    numba_types: Any = types

    def call(typing_context: Any, *arguments: Any) -> Any:
        plain = tuple(numba_types.unliteral(argument) for argument in arguments)
        if plain not in compiled:
            compiled[plain] = _compile(function, plain, None)
        result = compiled[plain]

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            context.add_linking_libs([result.library])
            return context.call_internal(builder, result.fndesc, result.signature, values)

        return result.signature, generate

    parameters = inspect.signature(function).parameters.values()
    context = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    call.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = function.__name__
    return intrinsic(call)


def _lower(function: Callable[..., Any]) -> tuple[Any, str]:
    """Return the LLVM module of a kernel before optimisation, and the kernel's name in it."""
    with global_compiler_lock:
        result = _compile(function, (types.int64,), types.none)
        result.library.finalize()
    return result.library._final_module, result.fndesc.llvm_func_name


llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
llvm.initialize_native_asmparser()  # for inline assembly, also where Numba emits a callee itself


def target_machine() -> Any:
    """Return the LLVM target machine of the chosen CPU, for code that can be loaded anywhere.

    What Numba knows of CPUs does not matter: it hands over LLVM modules before any machine code is made.
    """
    return _machine_of(cpu())


@functools.cache
def _machine_of(cpu: Cpu) -> Any:
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=cpu.name,
        features=cpu.switches,
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
