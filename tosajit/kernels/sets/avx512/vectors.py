"""The primitives of AVX-512: masks are registers of their own, and words have products of bytes added."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from llvmlite import ir

from tosajit.kernels.sets.avx512 import avx512
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.values import I1, I16, I32, Register, Value, constant
from tosajit.kernels.sets.vectors import VOID
from tosajit.kernels.sets.x86 import X86


class Avx512(X86):
    """Registers of 512 bits."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return avx512(features)

    def opaque(self, register: Register) -> Register:
        """Hide from LLVM what a register or a number is.

        A splat constant is otherwise combined ahead of each broadcast, and a constant that flips the sign of
        vpdpbusd's operand keeps LLVM 22 combining forever.
        """
        type = ir.FunctionType(register.raw.type, [register.raw.type])
        place = "v" if isinstance(register.raw.type, ir.VectorType) else "r"
        return self._value(self.b.asm(type, "", f"={place},0", [register.raw], False))

    def steps_at_once(self, kind: str, panels: int) -> int:
        """Return more than one of float32: loads are what bounds a tile of one panel."""
        return 1 if kind != "f32" else 4 if panels == 1 else 2

    def broadcasts_at_once(self, kind: str, panels: int) -> int:
        """Return one where there are no registers left: LLVM would store the others."""
        return self.steps_at_once(kind, panels) if panels == 1 else 1

    def load_part(
        self, where: Value, mask: Value, kind: str, other: Register | None = None, lanes: int | None = None
    ) -> Register:
        """Load the lanes of a mask."""
        type = self._type(kind, lanes)
        rest = constant(0, type) if other is None else other.raw
        pointer = self.b.inttoptr(where.raw, type.as_pointer())
        arguments = [pointer, constant(1, I32), self._bits(mask, type), rest]
        return self._value(self._call(f"llvm.masked.load.{_suffix(type)}", type, arguments))

    def store_part(self, register: Register, where: Value, mask: Value) -> None:
        """Store the lanes of a mask."""
        type = register.raw.type
        pointer = self.b.inttoptr(where.raw, type.as_pointer())
        arguments = [register.raw, pointer, constant(1, I32), self._bits(mask, type)]
        self._call(f"llvm.masked.store.{_suffix(type)}", VOID, arguments)

    def dot_bytes(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of four bytes, the left ones unsigned."""
        return self._named("avx512.vpdpbusd", total, [left, right])

    def dot_halves(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of two int16, by vpdpwssd or vpmaddwd."""
        if self.isa.byte_dots:
            return self._named("avx512.vpdpwssd", total, [left, right])
        pairs = [self.view(register, "i16").raw for register in (left, right)]
        return total + self._value(self._call("llvm.x86.avx512.pmaddw.d.512", total.raw.type, pairs))

    def fused(self, total: Register, left: Register, right: Register) -> Register:
        """Return total + left * right, rounded once."""
        return self.instruction("llvm.fma", total, [left, right, total])

    def dot_pairs(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of two bfloat16; the CPU takes subnormal operands and sums for zero here."""
        return self._named("avx512bf16.dpbf16ps", total, [left, right])

    def narrow(self, words: Register, low: Value, high: Value) -> Register:
        """Return words as bytes within limits."""
        type = self._type("i8", words.lanes)
        arguments = [words.raw, constant(0, type), constant(-1, I16)]
        found = self._value(self._call("llvm.x86.avx512.mask.pmovs.db.512", type, arguments))
        for name, limit in (("smax", low), ("smin", high)):
            found = self.instruction(f"llvm.{name}", found, [found, self.splat(limit, "i8", words.lanes)])
        return found

    def looked_up(self, table: Sequence[Register], index: Register) -> Register:
        """Return entries of a table of 256 bytes in four registers, by signed bytes that count from -128."""
        low, middle, high, top = table
        name = "llvm.x86.avx512.vpermi2var.qi.512"
        positive, negative = (
            self._value(self._call(name, index.raw.type, [first.raw, index.raw, second.raw]))
            for first, second in ((high, top), (low, middle))
        )
        return self.choose(index < 0, negative, positive)

    def _named(self, name: str, total: Register, operands: Sequence[Register]) -> Register:
        raw = [register.raw for register in (total, *operands)]
        return self._value(self._call(f"llvm.x86.{name}.512", total.raw.type, raw))

    def _bits(self, mask: Value, type: Any) -> Any:
        integer = mask.raw if type.count == 64 else self.b.trunc(mask.raw, ir.IntType(type.count))
        return self.b.bitcast(integer, ir.VectorType(I1, type.count))


def _suffix(type: Any) -> str:
    return f"v{type.count}i{type.element.width}.p0"


VECTORS = Avx512
