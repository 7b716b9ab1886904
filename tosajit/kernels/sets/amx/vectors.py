"""The primitives of AMX: those of AVX-512, and registers of rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from llvmlite import ir

from tosajit.kernels.sets.amx import amx
from tosajit.kernels.sets.avx512.vectors import Avx512
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.values import I8, Number, Register, Value, constant
from tosajit.kernels.sets.vectors import VOID, Vectors

PALETTE, ROWS, REGISTERS = 1, 48, 8
"""Of a configuration: its kind, and where the rows of each register are in its 64 bytes."""
PRODUCTS = {"i8": "tdpbssd", "bf16": "tdpbf16ps"}
"""What multiplies registers of a type."""


class Amx(Avx512):
    """Registers of 512 bits, and eight of 16 times as many."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return amx(features)

    def dot_bytes(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of four signed bytes: vpdpbusd takes the left ones as 128 more than they are."""
        more = self.opaque(self.constant(-128, "i8", left.lanes))
        zero = self.constant(0, "i32", total.lanes)
        return super().dot_bytes(total, left ^ more, right) - super().dot_bytes(zero, more, right)

    def start_matrices(self, heights: Collection[tuple[int, Value]]) -> None:
        """Let registers have some rows, and the others all that they have room for, by their numbers."""
        room = self._value(self._room(ir.ArrayType(I8, 64)))
        full = self.isa.lanes
        fixed = [PALETTE, *[0] * 15, *[64, 0] * REGISTERS, *[0] * 16, *[full] * REGISTERS, *[0] * 8]
        assert len(fixed) == 64
        self._put(ir.Constant(ir.VectorType(I8, 64), fixed), room.raw)
        for number, rows in heights:
            self._put(self.b.trunc(rows.raw, I8), (room + (ROWS + number)).raw)
        self._tiles("ldtilecfg", self._pointer(room))

    def end_matrices(self) -> None:
        """Give the registers of rows back."""
        self._tiles("tilerelease")

    def load_rows(self, number: int, where: Value, pitch: Number) -> None:
        """Load a register of rows, some bytes apart."""
        self._tiles("tileloadd64", constant(number, I8), self._pointer(where), self.number(pitch).raw)

    def store_rows(self, number: int, where: Value, pitch: Number) -> None:
        """Store a register of rows, some bytes apart."""
        self._tiles("tilestored64", constant(number, I8), self._pointer(where), self.number(pitch).raw)

    def clear_rows(self, number: int) -> None:
        """Let a register of rows be zeros."""
        self._tiles("tilezero", constant(number, I8))

    def multiply_rows(self, kind: str, total: int, left: int, right: int) -> None:
        """Add products of int8, or of bfloat16: rows of A times columns of B."""
        self._tiles(PRODUCTS[kind], *(constant(number, I8) for number in (total, left, right)))

    def _pointer(self, where: Value) -> Any:
        return self.b.inttoptr(where.raw, I8.as_pointer())

    def _tiles(self, name: str, *arguments: Any) -> None:
        self._call(f"llvm.x86.{name}", VOID, arguments)


VECTORS: type[Vectors] = Amx
