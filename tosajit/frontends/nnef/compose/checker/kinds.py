"""Types of expressions, which are known without any call (NNEF 2.0 sections 2.3 and 2.4)."""

from __future__ import annotations

from dataclasses import dataclass

from tiling.records import replace

UNKNOWN = ""
"""The type of an empty list, and of what was refused: it goes with every other."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of an expression."""

    type: str
    """`int`, `real`, `bool`, `str`, or the name of a generic type."""
    packed: bool = False
    optional: bool = False
    tensor: bool = False

    def __str__(self) -> str:
        optional = "optional " if self.optional else ""
        tensor = "[…]" if self.tensor else ""
        return f"{optional}{self.type or 'anything'}{tensor}{'..' if self.packed else ''}"

    @property
    def item(self) -> Kind:
        """An item of a pack."""
        return replace(self, packed=False)

    @property
    def resolved(self) -> Kind:
        """What it is where it is not null."""
        return replace(self, optional=False)


ANY = Kind(UNKNOWN)
INT, REAL, BOOL, STR = Kind("int"), Kind("real"), Kind("bool"), Kind("str")
_NUMERIC = ("int", "real", UNKNOWN)


@dataclass(frozen=True, slots=True)
class Generics:
    """The generic types of an operator, with what each may be."""

    bases: dict[str, str]

    def numeric(self, type: str) -> bool:
        """Whether one can calculate with a type."""
        return type in _NUMERIC or self.bases.get(type) == "num"

    def castable(self, type: str) -> bool:
        """Whether a type can be cast."""
        return type == "bool" or self.numeric(type) or self.bases.get(type) == "arith"

    def known(self, type: str) -> bool:
        """Whether there is such a type."""
        return type in ("int", "real", "bool", "str") or type in self.bases


def same(left: str, right: str) -> bool:
    """Whether two types are one, as far as they are known."""
    return left == right or UNKNOWN in (left, right)
