"""The primitives of AVX-VNNI: those of AVX2, with products that are added to words."""

from collections.abc import Collection, Sequence

from tosajit.kernels.sets.avx2.vectors import Avx2
from tosajit.kernels.sets.avxvnni import avxvnni
from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.values import Register


class AvxVnni(Avx2):
    """Registers of 256 bits."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for."""
        return avxvnni(features)

    def begin_step(self, kind: str) -> None:
        """Leave the order of loads to LLVM: products need no registers of their own."""

    def dot_bytes(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of four bytes, the left ones unsigned."""
        return self._named("vpdpbusd", total, [left, right])

    def dot_halves(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of two int16."""
        return self._named("vpdpwssd", total, [left, right])

    def _named(self, name: str, total: Register, operands: Sequence[Register]) -> Register:
        raw = [register.raw for register in (total, *operands)]
        return self._value(self._call(f"llvm.x86.avx512.{name}.256", total.raw.type, raw))


VECTORS = AvxVnni
