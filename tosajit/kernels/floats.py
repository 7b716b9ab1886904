"""Floating-point numbers inside kernels: narrow ones are float32 in registers and bit patterns in memory.

`load_f16` widens exactly, `store_f16` rounds to nearest even, `put_f16` stores what `f16` holds exactly, and
`round_f16` keeps in float32 what `f16` holds; so for bf16, f8e4m3 and f8e5m2 (TOSA 1.0.1 section 1.8).
Subnormal numbers are kept. What is too large for f8e4m3 becomes NaN, for the others infinity. `choose` takes
one of two values without a branch. Two neighbours of bf16 are one word: in loops over words, widening them is
a shift and a mask, where vectors of single ones have to be spread and packed.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir
from llvmlite.ir import IRBuilder as Builder
from numba.core import errors, types
from numba.core.base import BaseContext as Target
from numba.core.typing.context import BaseContext as Typing
from numba.core.typing.templates import Signature

from tosajit.kernels.intrinsics import (
    INDEX,
    POINTER,
    Definition,
    Values,
    _check_integer,
    _element,
    _named,
    _scope,
    intrinsic,
)
from tosajit.kernels.plain import fuses
from tosajit.kernels.sets.registry import cpu

I32, F32, HALF = ir.IntType(32), ir.FloatType(), ir.HalfType()
INFINITY, MAGNITUDE, QUIET, HIGH = 0x7F800000, 0x7FFFFFFF, 0x7FC00000, 0xFFFF0000
LITTLE = sys.byteorder == "little"


@dataclass(frozen=True)
class Format:
    """A narrow format: bits of its exponent and of its fraction, and whether it has infinities."""

    exponent: int
    fraction: int
    infinite: bool = True

    @property
    def bits(self) -> int:
        """Of the whole number."""
        return 1 + self.exponent + self.fraction

    @property
    def element(self) -> types.Type:
        """What it is in memory."""
        return types.int8 if self.bits == 8 else types.int16

    @property
    def shift(self) -> int:
        """Fraction bits that float32 has more."""
        return 23 - self.fraction

    @property
    def rebias(self) -> int:
        """By how much the exponents of float32 are larger."""
        return 128 - (1 << (self.exponent - 1))

    @property
    def top(self) -> int:
        """The magnitude that stands for infinity, or for NaN where there is none."""
        ones = (1 << (self.exponent + self.fraction)) - 1
        return ones >> self.fraction << self.fraction if self.infinite else ones


FORMATS = {
    "f16": Format(5, 10),
    "bf16": Format(8, 7),
    "f8e4m3": Format(4, 3, infinite=False),
    "f8e5m2": Format(5, 2),
}


def _has_half() -> bool:
    """Whether the CPU converts half precision itself."""
    return "f16c" in cpu().features or cpu().is_arm


def _float(bits: int) -> ir.Value:
    """The float32 constant with these bits."""
    return ir.Constant(I32, bits).bitcast(F32)


def _widen(builder: Builder, kind: str, data: ir.Value) -> ir.Value:
    """Bits of a narrow number as float32, exactly."""
    made = FORMATS[kind]
    if kind == "f16" and _has_half():
        return builder.fpext(builder.bitcast(data, HALF), F32)
    bits = builder.zext(data, I32)
    if kind == "bf16":
        return builder.bitcast(builder.shl(bits, I32(16)), F32)
    low = made.exponent + made.fraction
    sign = builder.shl(builder.and_(bits, I32(1 << low)), I32(31 - low))
    magnitude = builder.and_(bits, I32((1 << low) - 1))
    moved = builder.shl(magnitude, I32(made.shift))
    scaled = builder.fmul(builder.bitcast(moved, F32), _float((127 + made.rebias) << 23))
    special = builder.icmp_unsigned(">=", magnitude, I32(made.top))
    beyond = builder.or_(moved, I32(INFINITY if made.infinite else QUIET))
    return builder.bitcast(
        builder.or_(builder.select(special, beyond, builder.bitcast(scaled, I32)), sign), F32
    )


def _narrow(builder: Builder, kind: str, value: ir.Value, any_nan: bool = True) -> ir.Value:
    """float32 as bits of a narrow number, rounded to nearest even; with `any_nan`, whatever bits NaN has."""
    made = FORMATS[kind]
    memory = ir.IntType(made.bits)
    if kind == "f16" and _has_half():
        return builder.bitcast(builder.fptrunc(value, HALF), memory)
    bits = builder.bitcast(value, I32)
    if kind == "bf16":
        half = builder.add(builder.and_(builder.lshr(bits, I32(16)), I32(1)), I32(0x7FFF))
        rounded = builder.add(bits, half)
        if any_nan:
            quiet, number = builder.or_(bits, I32(QUIET)), builder.fcmp_ordered("ord", value, value)
            rounded = builder.select(number, rounded, quiet)
        return builder.trunc(builder.lshr(rounded, I32(16)), memory)
    magnitude = builder.and_(bits, I32(MAGNITUDE))
    odd = builder.and_(builder.lshr(magnitude, I32(made.shift)), I32(1))
    half = builder.add(odd, I32((1 << (made.shift - 1)) - 1))
    rounded = builder.lshr(builder.add(magnitude, half), I32(made.shift))
    result = builder.sub(rounded, I32(made.rebias << made.fraction))
    if made.rebias:
        # Adding a number so large that its last bit is the smallest subnormal rounds to a multiple of it.
        large = (made.rebias + 1 + made.shift) << 23
        small = builder.fadd(builder.bitcast(magnitude, F32), _float(large))
        below = builder.icmp_unsigned("<", magnitude, I32((made.rebias + 1) << 23))
        result = builder.select(below, builder.sub(builder.bitcast(small, I32), I32(large)), result)
    over = builder.icmp_unsigned(">=", rounded, I32(made.top + (made.rebias << made.fraction)))
    result = builder.select(over, I32(made.top), result)
    quiet = made.top | (1 << (made.fraction - 1))
    result = builder.select(builder.icmp_unsigned(">", magnitude, I32(INFINITY)), I32(quiet), result)
    sign = builder.and_(builder.lshr(bits, I32(32 - made.bits)), I32(1 << (made.bits - 1)))
    return builder.trunc(builder.or_(result, sign), memory)


def _pack(builder: Builder, kind: str, value: ir.Value) -> ir.Value:
    """float32 that a narrow format holds exactly as its bits."""
    if kind != "bf16":
        return _narrow(builder, kind, value)
    return builder.trunc(builder.lshr(builder.bitcast(value, I32), I32(16)), ir.IntType(16))


def _load(kind: str, operand: bool) -> Callable[..., int]:
    def load(typing_context: Typing, pointer: types.Type, index: types.Type) -> Definition:
        _check_integer(pointer, index)

        def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
            value = builder.load(_element(context, builder, FORMATS[kind].element, *arguments), align=1)
            if operand:
                value.set_metadata("alias.scope", _scope(builder))
            return _widen(builder, kind, value)

        return types.float32(POINTER, INDEX), generate

    return _named(load, f"load_{kind}" if operand else f"reload_{kind}")


def _store(kind: str, exact: bool = False) -> Callable[..., int]:
    narrow = _pack if exact else _narrow

    def store(
        typing_context: Typing, pointer: types.Type, index: types.Type, value: types.Type
    ) -> Definition:
        _check_integer(pointer, index)
        if value != types.float32:
            raise errors.TypingError(f"store of {value} as {kind}: cast it to float32 first")

        def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
            address = _element(context, builder, FORMATS[kind].element, *arguments[:2])
            data = narrow(builder, kind, arguments[2])
            builder.store(data, address, align=1).set_metadata("noalias", _scope(builder))
            return context.get_dummy_value()

        return types.void(POINTER, INDEX, types.float32), generate

    return _named(store, f"put_{kind}" if exact else f"store_{kind}")


@intrinsic
def load_two_bf16(typing_context: Typing, pointer: types.Type, index: types.Type) -> Definition:
    """An element of an operand and the next one, as the bits of an int32."""
    _check_integer(pointer, index)

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        address = _element(context, builder, types.int16, *arguments)
        value = builder.load(builder.bitcast(address, I32.as_pointer()), align=1)
        value.set_metadata("alias.scope", _scope(builder))
        return value if LITTLE else _turned(builder, value)

    return types.int32(POINTER, INDEX), generate


def _turned(builder: Builder, word: ir.Value) -> ir.Value:
    """Exchange the halves of a word."""
    return builder.or_(builder.shl(word, I32(16)), builder.lshr(word, I32(16)))


def _half(name: str, place: Callable[[Builder, ir.Value], ir.Value]) -> Callable[..., int]:
    def half(typing_context: Typing, word: types.Type) -> Definition:
        def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
            return builder.bitcast(place(builder, arguments[0]), F32)

        return types.float32(types.int32), generate

    return _named(half, name)


first_bf16 = _half("first_bf16", lambda builder, word: builder.shl(word, I32(16)))
second_bf16 = _half("second_bf16", lambda builder, word: builder.and_(word, I32(HIGH)))


def _store_two(exact: bool) -> Callable[..., int]:
    narrow = _pack if exact else _narrow

    def store(
        typing_context: Typing, pointer: types.Type, index: types.Type, first: types.Type, second: types.Type
    ) -> Definition:
        _check_integer(pointer, index)

        def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
            address = _element(context, builder, types.int16, *arguments[:2])
            low, high = (builder.zext(narrow(builder, "bf16", value), I32) for value in arguments[2:])
            word = builder.or_(low, builder.shl(high, I32(16)))
            place = builder.bitcast(address, I32.as_pointer())
            stored = builder.store(word if LITTLE else _turned(builder, word), place, align=1)
            stored.set_metadata("noalias", _scope(builder))
            return context.get_dummy_value()

        return types.void(POINTER, INDEX, types.float32, types.float32), generate

    return _named(store, "put_two_bf16" if exact else "store_two_bf16")


put_two_bf16, store_two_bf16 = _store_two(exact=True), _store_two(exact=False)


def _round(kind: str, any_nan: bool = True) -> Callable[..., int]:
    """In float32; NaN that bfloat16 numbers give end in zeros, so that rounding them leaves them NaN."""

    def rounded(typing_context: Typing, value: types.Type) -> Definition:
        def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
            return _widen(builder, kind, _narrow(builder, kind, arguments[0], any_nan))

        return types.float32(types.float32), generate

    return _named(rounded, f"round_{kind}" if kind != "bf16" or not any_nan else "nearest_bf16")


load_f16, load_bf16 = _load("f16", True), _load("bf16", True)
load_f8e4m3, load_f8e5m2 = _load("f8e4m3", True), _load("f8e5m2", True)
reload_f16, reload_bf16 = _load("f16", False), _load("bf16", False)
store_f16, store_bf16 = _store("f16"), _store("bf16")
store_f8e4m3, store_f8e5m2 = _store("f8e4m3"), _store("f8e5m2")
put_f16, put_bf16 = _store("f16", exact=True), _store("bf16", exact=True)
put_f8e4m3, put_f8e5m2 = _store("f8e4m3", exact=True), _store("f8e5m2", exact=True)
round_f16, round_bf16, nearest_bf16 = _round("f16"), _round("bf16", any_nan=False), _round("bf16")
round_f8e4m3, round_f8e5m2 = _round("f8e4m3"), _round("f8e5m2")


@intrinsic
def near_bf16(typing_context: Typing, value: types.Type) -> Definition:
    """As `round_bf16`, but halves away from zero: for functions none of whose results it changes."""

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        added = builder.add(builder.bitcast(arguments[0], I32), I32(0x8000))
        return builder.bitcast(builder.and_(added, I32(HIGH)), F32)

    return types.float32(types.float32), generate


@intrinsic
def choose(typing_context: Typing, condition: types.Type, yes: types.Type, no: types.Type) -> Definition:
    """Take `yes` where the condition holds, without a branch."""
    if yes != no:
        raise errors.TypingError(f"choose between {yes} and {no}: cast them first")

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        return builder.select(*arguments)

    return yes(types.boolean, yes, yes), generate


@intrinsic
def bits_of(typing_context: Typing, value: types.Type) -> Definition:
    """The bits of a float32 as an int32."""

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        return builder.bitcast(arguments[0], I32)

    return types.int32(types.float32), generate


@intrinsic
def float_of(typing_context: Typing, bits: types.Type) -> Definition:
    """The float32 with the bits of an int32."""

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        return builder.bitcast(arguments[0], F32)

    return types.float32(types.int32), generate


def _unary(name: str, llvm: str) -> Callable[..., int]:
    """An operation that LLVM has for float32."""

    def operation(typing_context: Typing, value: types.Type) -> Definition:
        def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
            function = builder.module.declare_intrinsic(llvm, [F32])
            return builder.call(function, arguments)

        return types.float32(types.float32), generate

    return _named(operation, name)


float_floor, float_ceil = _unary("float_floor", "llvm.floor"), _unary("float_ceil", "llvm.ceil")
float_even, float_root = _unary("float_even", "llvm.rint"), _unary("float_root", "llvm.sqrt")
float_abs = _unary("float_abs", "llvm.fabs")


@intrinsic
def float_fused(
    typing_context: Typing, first: types.Type, second: types.Type, third: types.Type
) -> Definition:
    """The first times the second, plus the third; rounded once if the core has such an instruction."""

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        if not fuses():
            return builder.fadd(builder.fmul(*arguments[:2]), arguments[2])
        function = builder.module.declare_intrinsic("llvm.fma", [F32], ir.FunctionType(F32, [F32] * 3))
        return builder.call(function, arguments)

    return types.float32(types.float32, types.float32, types.float32), generate


@intrinsic
def sum_f32(typing_context: Typing, total: types.Type, value: types.Type) -> Definition:
    """Add to a sum whose order is free, as of REDUCE_SUM, so that several parts of it may grow at once."""

    def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
        return builder.fadd(*arguments, flags=("reassoc",))

    return types.float32(types.float32, types.float32), generate


def _extreme(name: str, llvm: str) -> Callable[..., int]:
    """The greatest or least value so far, NaN if there was one; either zero is greater than the other."""

    def extreme(typing_context: Typing, first: types.Type, second: types.Type) -> Definition:
        def generate(context: Target, builder: Builder, signature: Signature, arguments: Values) -> ir.Value:
            function = builder.module.declare_intrinsic(llvm, [F32], ir.FunctionType(F32, [F32, F32]))
            return builder.call(function, arguments, fastmath=("nsz",))

        return types.float32(types.float32, types.float32), generate

    return _named(extreme, name)


greatest_f32, least_f32 = _extreme("greatest_f32", "llvm.maximum"), _extreme("least_f32", "llvm.minimum")
