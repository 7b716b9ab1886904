"""Memory access, calls and atomics inside kernels, as Numba intrinsics.

A kernel addresses memory by `pointer` (an int64 address) and `index` (in elements). Three kinds of access:

* `load_<type>` reads an operand that the kernel never writes. LLVM may hoist it over every store.
* `reload_<type>` reads memory that the kernel itself, or another thread, may have written.
* `store_<type>` writes. A store and a `load` never meet, so loops vectorise without overlap checks. (A kernel
  may still write over its operand at the same index: each value is read before it is written.)

Nothing has to be aligned. A `store` takes a value of exactly its type, or a literal: casts are the kernel's.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from llvmlite.ir import IRBuilder as Builder
from numba.core import cgutils, errors, types
from numba.core.base import BaseContext as Target
from numba.core.typing.context import BaseContext as Typing
from numba.core.typing.templates import Signature
from numba.cpython import builtins
from numba.extending import intrinsic as numba_intrinsic

from tosajit.kernels.sets.registry import cpu

Values = Sequence[ir.Value]
Definition = tuple[Signature, Callable[[Target, Builder, Signature, Values], ir.Value]]
"""Types of an intrinsic's operands and its result, and what writes its code."""

helpers: Any = cgutils
numba_builtins: Any = builtins
POINTER, INDEX = types.int64, types.int64
TYPES = {
    "bool": types.boolean,
    "i8": types.int8,
    "u8": types.uint8,
    "i16": types.int16,
    "u16": types.uint16,
    "i32": types.int32,
    "u32": types.uint32,
    "i64": types.int64,
    "f32": types.float32,
    "f64": types.float64,
}
PAUSE, YIELD = ("llvm.x86.sse2.pause",), ("llvm.aarch64.hint", 1)
SPIN_HINTS = {"x86_64": PAUSE, "i686": PAUSE, "aarch64": YIELD, "arm64": YIELD}
"""LLVM's functions, and what they are called with."""
REST_MICROSECONDS = 50
SCOPE, DOMAIN = "operands", "tosajit"


def intrinsic(definition: Callable[..., Definition]) -> Callable[..., int]:
    """As kernels call it: a function of numbers; what gives no result is called for its effect."""
    made: Callable[..., int] = numba_intrinsic(definition)
    return made


def _scope(builder: Builder) -> ir.MDValue:
    module = builder.module
    domain = module.add_metadata([DOMAIN])
    return module.add_metadata([module.add_metadata([SCOPE, domain])])


def _element(
    context: Target, builder: Builder, element: types.Type, pointer: ir.Value, index: ir.Value
) -> ir.Value:
    data = context.get_data_type(element)
    return builder.gep(builder.inttoptr(pointer, data.as_pointer()), [index], inbounds=True)


def _check_integer(*arguments: types.Type) -> None:
    for argument in arguments:
        if not isinstance(argument, types.Integer):
            raise errors.TypingError(f"a pointer or index must be an integer, not {argument}")


def _accepts(element: types.Type, value: types.Type) -> bool:
    if isinstance(value, types.Literal):
        return isinstance(value, types.IntegerLiteral | types.BooleanLiteral)
    return bool(value == element)


def _load(name: str) -> Callable[..., int]:
    return _read(f"load_{name}", TYPES[name], operand=True)


def _reload(name: str) -> Callable[..., int]:
    return _read(f"reload_{name}", TYPES[name], operand=False)


def _read(name: str, element: types.Type, operand: bool) -> Callable[..., int]:
    def load(typing_context: Typing, pointer: types.Type, index: types.Type) -> Definition:
        _check_integer(pointer, index)

        def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
            address = _element(context, builder, element, *arguments)
            value = builder.load(address, align=1)
            if operand:
                value.set_metadata("alias.scope", _scope(builder))
            return context.data_model_manager[element].from_data(builder, value)

        return element(POINTER, INDEX), generate

    return _named(load, name)


def _store(name: str) -> Callable[..., int]:
    element = TYPES[name]

    def store(
        typing_context: Typing, pointer: types.Type, index: types.Type, value: types.Type
    ) -> Definition:
        _check_integer(pointer, index)
        if not _accepts(element, value):
            raise errors.TypingError(f"store of {value} as {element}: cast it first")

        def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
            address = _element(context, builder, element, *arguments[:2])
            data = context.data_model_manager[element].as_data(builder, arguments[2])
            builder.store(data, address, align=1).set_metadata("noalias", _scope(builder))
            return context.get_dummy_value()

        return types.void(POINTER, INDEX, element), generate

    return _named(store, f"store_{name}")


def _named(definition: Callable[..., Definition], name: str) -> Callable[..., int]:
    definition.__name__ = definition.__qualname__ = name
    return intrinsic(definition)


load_bool, load_i8, load_u8, load_i16 = _load("bool"), _load("i8"), _load("u8"), _load("i16")
load_u16, load_i32, load_u32, load_i64 = _load("u16"), _load("i32"), _load("u32"), _load("i64")
load_f32, load_f64 = _load("f32"), _load("f64")

reload_bool, reload_i8, reload_u8, reload_i16 = _reload("bool"), _reload("i8"), _reload("u8"), _reload("i16")
reload_u16, reload_i32, reload_u32, reload_i64 = (
    _reload("u16"),
    _reload("i32"),
    _reload("u32"),
    _reload("i64"),
)
reload_f32, reload_f64 = _reload("f32"), _reload("f64")

store_bool, store_i8, store_u8, store_i16 = _store("bool"), _store("i8"), _store("u8"), _store("i16")
store_u16, store_i32, store_u32, store_i64 = _store("u16"), _store("i32"), _store("u32"), _store("i64")
store_f32, store_f64 = _store("f32"), _store("f64")


def _chosen(name: str, comparison: Callable[..., object]) -> Callable[..., int]:
    def choose(typing_context: Typing, first: types.Type, second: types.Type) -> Definition:
        common = typing_context.unify_types(first, second)
        if common is None:
            raise errors.TypingError(f"{name} of {first} and {second}")

        def generate(context: Target, b: Builder, signature: Signature, values: Values) -> ir.Value:
            return numba_builtins.do_minmax(context, b, signature.args, values, comparison)

        return common(first, second), generate

    return _named(choose, name)


interleaved = interleaved_at_need = by_registers = by_halves = by_masks = overlapping_at_need = range
"""What loops go over whose turns LLVM does beside each other, by several registers of vectors, on all CPUs or
on those that need it; whose turns fill single registers, or halves of them with AVX-512; those that masks
leave some of a register out of, or whose last register does points of the one before on CPUs without masks;
and those that do so there and are plain on others."""


def exactly(first: int, end: int, extent: int) -> range:
    """What loops go over that mostly have so many turns, a number of the text."""
    return range(first, end)


BUILTINS = {"min": _chosen("min", operator.lt), "max": _chosen("max", operator.gt)}
"""What Python has of itself, for two numbers; Numba's own take any number of them as a tuple."""


@intrinsic
def call(typing_context: Typing, address: types.Type, args: types.Type) -> Definition:
    """Call the kernel at `address` with the address of its arguments."""
    _check_integer(address, args)

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        function = ir.FunctionType(ir.VoidType(), [ir.IntType(64)]).as_pointer()
        builder.call(builder.inttoptr(arguments[0], function), [arguments[1]])
        return context.get_dummy_value()

    return types.void(POINTER, POINTER), generate


@intrinsic
def local(typing_context: Typing, size: types.Type) -> Definition:
    """Return the address of `size` (a literal) bytes on the stack, aligned to 64, one block per call site."""
    if not isinstance(size, types.IntegerLiteral):
        raise errors.RequireLiteralValue("the size of local memory must be a literal")

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        with builder.goto_entry_block():
            block = builder.alloca(ir.ArrayType(ir.IntType(8), size.literal_value))
            block.align = 64
        return builder.ptrtoint(block, ir.IntType(64))

    return POINTER(size), generate


@intrinsic
def copy_bytes(
    typing_context: Typing, destination: types.Type, source: types.Type, size: types.Type
) -> Definition:
    """Copy `size` bytes; the two ranges must not overlap."""
    _check_integer(destination, source, size)

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        to, origin = (builder.inttoptr(address, cgutils.voidptr_t) for address in arguments[:2])
        helpers.raw_memcpy(builder, to, origin, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(POINTER, POINTER, INDEX), generate


@intrinsic
def fill_bytes(
    typing_context: Typing, destination: types.Type, value: types.Type, size: types.Type
) -> Definition:
    """Set `size` bytes to the low byte of `value`."""
    _check_integer(destination, value, size)

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        destination = builder.inttoptr(arguments[0], cgutils.voidptr_t)
        byte = builder.trunc(arguments[1], ir.IntType(8))
        helpers.memset(builder, destination, arguments[2], byte)
        return context.get_dummy_value()

    return types.void(POINTER, types.int64, INDEX), generate


def _atomic(operation: str) -> Callable[..., int]:
    def fetch(
        typing_context: Typing, pointer: types.Type, index: types.Type, value: types.Type
    ) -> Definition:
        _check_integer(pointer, index, value)

        def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
            address = _element(context, builder, types.int64, *arguments[:2])
            return builder.atomic_rmw(operation, address, arguments[2], "seq_cst")

        return types.int64(POINTER, INDEX, types.int64), generate

    return _named(fetch, f"atomic_{operation}")


fetch_add, exchange = _atomic("add"), _atomic("xchg")
"""Atomic read-modify-write of an aligned int64; both return the value before."""


@intrinsic
def compare_exchange(
    typing_context: Typing, pointer: types.Type, index: types.Type, expected: types.Type, value: types.Type
) -> Definition:
    """Put `value` for `expected` in an aligned int64; return what was there, `expected` if it was put."""
    _check_integer(pointer, index, expected, value)

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        address = _element(context, builder, types.int64, *arguments[:2])
        pair = builder.cmpxchg(address, arguments[2], arguments[3], "seq_cst", "seq_cst")
        return builder.extract_value(pair, 0)

    return types.int64(POINTER, INDEX, types.int64, types.int64), generate


@intrinsic
def load_acquire(typing_context: Typing, pointer: types.Type, index: types.Type) -> Definition:
    """Read an aligned int64; later accesses stay later."""
    _check_integer(pointer, index)

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        return builder.load_atomic(_element(context, builder, types.int64, *arguments), "acquire", 8)

    return types.int64(POINTER, INDEX), generate


@intrinsic
def store_release(
    typing_context: Typing, pointer: types.Type, index: types.Type, value: types.Type
) -> Definition:
    """Write an aligned int64; earlier accesses stay earlier."""
    _check_integer(pointer, index, value)

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        address = _element(context, builder, types.int64, *arguments[:2])
        builder.store_atomic(arguments[2], address, "release", 8)
        return context.get_dummy_value()

    return types.void(POINTER, INDEX, types.int64), generate


@intrinsic
def whole_i64(typing_context: Typing, value: types.Type, zero: types.Type) -> Definition:
    """A number that may be what a place has already, to be stored there all the same.

    Where registers of 64-bit numbers have no maximum, LLVM would store by a mask, which takes ten times as
    long on AMD's cores; so it does not get to know that the other number is zero.
    """

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        known = cpu().is_arm or "avx512vl" in cpu().features
        return arguments[0] if known else builder.add(*arguments)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def is_inside(typing_context: Typing, index: types.Type, extent: types.Type) -> Definition:
    """Return whether an index of 32 bits is at least 0 and less than an extent: one comparison of words."""
    _check_integer(index, extent)

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        words = [builder.trunc(argument, ir.IntType(32)) for argument in arguments]
        return builder.icmp_unsigned("<", *words)

    return types.boolean(types.int64, types.int64), generate


@intrinsic
def pause(typing_context: Typing) -> Definition:
    """Tell the core that this is a spin loop."""

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        if found := SPIN_HINTS.get(cpu().architecture):
            name, *numbers = found
            words = [ir.Constant(ir.IntType(32), number) for number in numbers]
            function = ir.FunctionType(ir.VoidType(), [word.type for word in words])
            builder.call(helpers.get_or_insert_function(builder.module, function, name), words)
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def rest(typing_context: Typing) -> Definition:
    """Let other threads have the core for a moment: POSIX `usleep`, or `SwitchToThread` of Windows.

    Linux counts `sched_yield` as a whole turn: on a busy core it takes milliseconds, and sleeping does not.
    The shortest sleep of Windows takes up to 16 ms.
    """

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        word = ir.IntType(32)
        name, numbers = ("SwitchToThread", []) if cpu().is_windows else ("usleep", [REST_MICROSECONDS])
        words = [ir.Constant(word, number) for number in numbers]
        function = ir.FunctionType(word, [word] * len(words))
        builder.call(helpers.get_or_insert_function(builder.module, function, name), words)
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def multiply_high(typing_context: Typing, first: types.Type, second: types.Type) -> Definition:
    """Return the upper half of the product of two uint32, in a form that becomes few vector instructions."""
    if not first == second == types.uint32:
        raise errors.TypingError(f"the factors must be uint32, not {first} and {second}")

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        word = ir.IntType(32)
        function_type = ir.FunctionType(word, [word] * 3)
        function = helpers.get_or_insert_function(builder.module, function_type, "llvm.umul.fix.i32")
        return builder.call(function, [*arguments, ir.Constant(word, 32)])

    return types.uint32(types.uint32, types.uint32), generate
