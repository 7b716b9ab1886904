"""From Python functions to an LLVM module, by those parts of Numba's compiler that kernels need.

Kernels have no closures, arrays, exceptions or generators. So the passes for these are left out, with what
they find out about variables between them; and what Numba has found once, the type of a call or the code for
it, is not looked for again.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from numba.core import (
    bytecode,
    callconv,
    compiler,
    cpu,
    funcdesc,
    interpreter,
    ir_utils,
    lowering,
    ssa,
    transforms,
    typed_passes,
    types,
)
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.decorators import jit
from numba.core.descriptors import TargetDescriptor
from numba.core.target_extension import (
    CPU,
    dispatcher_registry,
    jit_registry,
    target_override,
    target_registry,
)
from numba.core.targetconfig import ConfigStack
from numba.core.typing import npydecl
from numba.core.typing.context import Context
from numba.core.typing.templates import signature
from numba.extending import intrinsic
from numba.np import npyimpl

NAME = "tosajit"
"""What Numba knows our target by."""


def translated(function: Callable[..., Any]) -> tuple[Any, str]:
    """Return the LLVM module of a kernel before optimisation, and the kernel's name in it."""
    with global_compiler_lock, target_override(NAME):
        try:
            _, described, library = _translate(function, (types.int64,), types.none)
        except NotImplementedError as error:
            raise ValueError(f"a kernel has scalars alone: {error}") from error
        library.finalize()
    return library._final_module, described.llvm_func_name


def callee(function: Callable[..., Any]) -> Any:
    """Return what Numba takes for `function` when a kernel calls it."""
    translations: dict[tuple[Any, ...], Any] = {}

    def call(typing_context: Any, *arguments: Any) -> Any:
        plain = tuple(types.unliteral(argument) for argument in arguments)
        if plain not in translations:
            translations[plain] = _translate(function, plain, None)
        result, described, library = translations[plain]

        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
            context.add_linking_libs([library])
            return context.call_internal(builder, described, result, values)

        return result, generate

    parameters = inspect.signature(function).parameters.values()
    context = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    call.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = function.__name__
    return intrinsic(call)


def _translate(function: Callable[..., Any], arguments: tuple[Any, ...], result: Any) -> tuple[Any, Any, Any]:
    """Return a function's signature and description, and the library that has its code."""
    target_context = _Dispatcher.targetdescr.target_context
    typing_context = target_context.typing_context
    typing_context.refresh()
    flags: Any = compiler.Flags()
    flags.error_model = "numpy"
    identity = bytecode.FunctionIdentity.from_function(function)
    with ConfigStack().enter(flags):
        code = _Interpreter(identity).interpret(bytecode.ByteCode(identity))
        code.blocks = transforms.canonicalize_cfg(code.blocks)
        code = _with_definitions(ssa.reconstruct_ssa(code))
        typed = typed_passes.type_inference_stage(typing_context, target_context, code, arguments, result)
        code = _with_definitions(STRIP._strip_phi_nodes(code))
        described = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            code,
            typed.typemap,
            typed.return_type,
            typed.calltypes,
            mangler=target_context.mangler,
            inline=False,
            noalias=False,
            abi_tags=[flags.get_mangle_string()],
        )
        library = _Library(target_context.codegen(), identity.func_qualname)
        with target_context.push_code_library(library):
            _Lower(target_context, library, described, code, metadata={}).lower()
    return signature(typed.return_type, *arguments), described, library


def _with_definitions(code: Any) -> Any:
    """Note anew where variables of Numba's code are defined."""
    code._definitions = ir_utils.build_definitions(code.blocks)
    return code


STRIP = typed_passes.PreLowerStripPhis()


class _Interpreter(interpreter.Interpreter):
    """What turns bytecode into Numba's code, without what tidies up after `with`, tuples and keywords."""

    def post_process(self, peepholes: Any, func_ir: Any) -> Any:
        return func_ir


class _Lower(lowering.Lower):
    """What writes LLVM's instructions, without looking for variants for operands that are constants."""

    def lower_block(self, block: Any) -> None:
        """Write what a block of statements does."""
        self.pre_block(block)
        for statement in block.body:
            self.loc = statement.loc
            self.lower_inst(statement)
        self.post_block(block)

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """Write an operator of two operands."""
        context, builder, arguments = self.context, self.builder, self.fndesc.calltypes[expr].args
        operator = context.typing_context.resolve_value_type(op)
        signature = context.typing_context.resolve_function_type(operator, arguments, {})
        operands = [
            context.cast(builder, self.loadvar(operand.name), self.typeof(operand.name), kind)
            for operand, kind in zip((expr.lhs, expr.rhs), arguments, strict=True)
        ]
        result = context.get_function(operator, signature)(builder, operands)
        return context.cast(builder, result, signature.return_type, resty)


class _Library(JITCodeLibrary):
    """Code that is only ever linked into a kernel: neither optimised nor emitted on its own."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Put all that is called into the module."""
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _TypingContext(Context):
    """The types of scalars and of their functions; it remembers what calls come to."""

    def init(self) -> None:
        """Begin with nothing remembered."""
        self._signatures: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
        self._types: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def load_additional_registries(self) -> None:
        """Know NumPy's scalars."""
        self.install_registry(npydecl.registry)

    def resolve_value_type(self, val: Any) -> Any:
        """Return the type of a value that a function knows by name."""
        if not callable(val):
            return super().resolve_value_type(val)
        if val not in self._types:
            self._types[val] = super().resolve_value_type(val)
        return self._types[val]

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        if kws:
            return super().resolve_function_type(func, args, kws)
        try:
            known = self._signatures.setdefault(func, {})
        except TypeError:
            return super().resolve_function_type(func, args, kws)
        args = tuple(args)
        found = known.get(args)
        if found is None:
            found = known[args] = super().resolve_function_type(func, args, kws)
        return found


class _TargetContext(cpu.CPUContext):
    """The code of scalars and of their functions; it remembers that for each signature."""

    def init(self) -> None:
        """Begin with nothing remembered; divide as NumPy does."""
        super().init()
        self.error_model = callconv.create_error_model("numpy", self)
        self._code: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()

    def load_additional_registries(self) -> None:
        """Know Python's and NumPy's scalars: arrays, lists and the like take as long as the rest of Numba."""
        from numba.cpython import builtins, numbers, rangeobj, tupleobj  # noqa: F401

        self.install_registry(npyimpl.registry)

    def post_lowering(self, mod: Any, library: Any) -> None:
        """Link none of what counts references to objects."""

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """Return what writes the code of a call."""
        try:
            known = self._code.setdefault(fn, {})
        except TypeError:
            return super().get_function(fn, sig, _firstcall)
        key = sig.args, sig.return_type
        if key not in known:
            found = super().get_function(fn, sig, _firstcall)
            known.setdefault(key, found if inspect.isfunction(found) else found._imp)
        write = known[key]

        def written(builder: Any, arguments: Any, loc: Any = None) -> Any:
            result = write(self, builder, sig, arguments, loc=loc)
            self.add_linking_libs(getattr(write, "libs", ()))
            return result

        return written


class Kernels(CPU):
    """What Numba compiles kernels for: a CPU, without what it knows of arrays and Python's objects."""


class _Description(TargetDescriptor):
    """What Numba asks about it."""

    typing_context = _TypingContext()

    @functools.cached_property
    def target_context(self) -> _TargetContext:
        """What writes code."""
        return _TargetContext(self.typing_context, self._target_name)


class _Dispatcher:
    """What Numba finds it by."""

    targetdescr = _Description(NAME)


target_registry[NAME] = Kernels
dispatcher_registry[Kernels] = _Dispatcher
jit_registry[Kernels] = jit
