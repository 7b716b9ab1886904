"""The types of scalars and of what is done with them, and the instructions for it: both are Numba's.

What Numba has found once, the type of a call or the code for it, is not looked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import callconv, cpu, types
from numba.core.decorators import jit
from numba.core.descriptors import TargetDescriptor
from numba.core.errors import TypingError
from numba.core.extending import _Intrinsic
from numba.core.target_extension import (
    CPU,
    dispatcher_registry,
    jit_registry,
    target_override,
    target_registry,
)
from numba.core.typing import npydecl
from numba.core.typing.context import Context
from numba.np import npyimpl

NAME = "tosajit"
"""What Numba knows our target by."""


class _TypingContext(Context):
    """The types of Python's and NumPy's scalars."""

    def load_additional_registries(self) -> None:
        """Know NumPy's scalars."""
        self.install_registry(npydecl.registry)


class _TargetContext(cpu.CPUContext):
    """The code of scalars and of their functions."""

    def init(self) -> None:
        """Divide as NumPy does."""
        super().init()
        self.error_model = callconv.create_error_model("numpy", self)

    def load_additional_registries(self) -> None:
        """Know Python's and NumPy's scalars: arrays, lists and the like take as long as the rest of Numba."""
        from numba.cpython import builtins, numbers  # noqa: F401

        self.install_registry(npyimpl.registry)

    def add_linking_libs(self, libs: Any) -> None:
        """Refuse what would be code of its own, in another module."""
        if libs:
            raise NotImplementedError("this takes a function of Numba's library")


class Kernels(CPU):
    """What Numba writes kernels for: a CPU, without what it knows of arrays and Python's objects."""


class _Description(TargetDescriptor):
    """What Numba asks about it."""

    typing_context = _TypingContext()

    @cached_property
    def target_context(self) -> _TargetContext:
        """What writes code."""
        return _TargetContext(self.typing_context, self._target_name)


class _Dispatcher:
    """What Numba finds it by."""

    targetdescr = _Description(NAME)


target_registry[NAME] = Kernels
dispatcher_registry[Kernels] = _Dispatcher
jit_registry[Kernels] = jit
with target_override(NAME):
    TYPING: Any = _Dispatcher.targetdescr.typing_context
    CONTEXT: Any = _Dispatcher.targetdescr.target_context
    CONTEXT.refresh()


class Typed(NamedTuple):
    """A value with its type."""

    type: Any
    raw: Any


def literal(number: bool | int | float) -> Typed:
    """Return a number that stands in the text."""
    type = types.float64 if isinstance(number, float) else types.literal(number)
    return Typed(type, ir.Constant(CONTEXT.get_value_type(types.unliteral(type)), number))


def plain(value: Typed) -> Typed:
    """Return a value of which only the type is known."""
    return Typed(types.unliteral(value.type), value.raw)


def cast(builder: ir.IRBuilder, value: Typed, type: types.Type) -> ir.Value:
    """Write a cast."""
    return CONTEXT.cast(builder, value.raw, types.unliteral(value.type), types.unliteral(type))


def unified(values: Sequence[Typed]) -> Any:
    """Return the type that all values fit into, or None."""
    first, *others = dict.fromkeys(value.type for value in values)
    return TYPING.unify_types(*map(types.unliteral, (first, *others))) if others else types.unliteral(first)


def truth(builder: ir.IRBuilder, value: Typed) -> ir.Value:
    """Write whether a value is not zero."""
    kind = types.unliteral(value.type)
    return value.raw if kind == types.boolean else CONTEXT.is_true(builder, kind, value.raw)


def apply(builder: ir.IRBuilder, function: Any, operands: Sequence[Typed]) -> Typed:
    """Write a call of an operator, of a function of Python's or NumPy's, or of an intrinsic."""
    kinds = tuple(operand.type for operand in operands)
    if isinstance(function, _Intrinsic):
        signature, write = _defined(function, kinds)
    else:
        signature, write = _known(function, tuple(map(types.unliteral, kinds)))
    given = [cast(builder, operand, type) for operand, type in zip(operands, signature.args, strict=True)]
    return Typed(signature.return_type, write(builder, given))


def _defined(function: Any, kinds: tuple[Any, ...]) -> tuple[Any, Callable[..., Any]]:
    """Return the signature of an intrinsic and what writes it: one of numbers, or else of literals."""
    try:
        signature, write = function._defn(TYPING, *map(types.unliteral, kinds))
    except TypingError:
        signature, write = function._defn(TYPING, *kinds)
    return signature, lambda builder, given: write(CONTEXT, builder, signature, given)


@cache
def _known(function: Any, kinds: tuple[Any, ...]) -> tuple[Any, Callable[..., Any]]:
    with target_override(NAME):
        operation = TYPING.resolve_value_type(function)
        signature = TYPING.resolve_function_type(operation, kinds, {})
        write = CONTEXT.get_function(operation, signature)._imp
    return signature, lambda builder, given: write(CONTEXT, builder, signature, given, loc=None)
