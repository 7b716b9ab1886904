"""What the sets of x86-64 have in common: packing registers of words, 128 bits of each in turn."""

from __future__ import annotations

from collections.abc import Sequence

from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors

TOGETHER = 4
"""Registers of words that become one of bytes."""


class X86(Vectors):
    """Registers of 256 or 512 bits."""

    def narrow_all(self, words: Sequence[Register], low: Value, high: Value) -> list[Register]:
        """Return registers of words as bytes within limits; four are packed into one."""
        if len(words) != TOGETHER:
            return super().narrow_all(words, low, high)
        pairs = [self._packed("packssdw", "i16", words[at], words[at + 1]) for at in (0, 2)]
        turns = self.view(self._packed("packsswb", "i8", *pairs), "i32")
        lanes = self.isa.lanes
        in_order = [TOGETHER * part + register for register in range(TOGETHER) for part in range(lanes // 4)]
        found = self.view(self.shuffled(turns, turns, in_order), "i8")
        for name, limit in (("smax", low), ("smin", high)):
            found = self.instruction(f"llvm.{name}", found, [found, self.splat(limit, "i8")])
        return [
            self.shuffled(found, found, range(at, at + lanes)) for at in range(0, TOGETHER * lanes, lanes)
        ]

    def _packed(self, name: str, kind: str, first: Register, second: Register) -> Register:
        """Return the lanes of two registers as narrower ones, which do not wrap: 128 bits of each in turn."""
        whole = f"avx512.{name}.512" if self.isa.lanes == 16 else f"avx2.{name}"
        return self._value(self._call(f"llvm.x86.{whole}", self._type(kind), [first.raw, second.raw]))
