"""The vocabulary of expressions: every scalar operation, declared once.

A scalar is named by what it does and the type that it is for, `add_i32`. Its row says what it takes, what it
gives, what passes need to know of it, and what it costs. An expression can be made of nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal

from tiling.records import dataclass

Family = Literal[
    "leaf",  # a value that is not computed: `read`, `const`, `acc`, `axis`
    "cast",  # the same number in another type: wider, or cut to its low bits, or rounded
    "convert",  # between integers and floating-point numbers, saturating
    "add",  # sums and differences
    "multiply",  # products, of integers with their scaling
    "rescale",  # a factor given as multiplier and shift, with zero points or without
    "negate",  # the sign changed between zero points
    "clamp",  # kept inside bounds
    "compare",
    "choose",  # one of two values as it is
    "bits",
    "round",  # to an integer of the same type
    "divide",
    "function",
    "index",  # where a table is looked up
    "interpolate",
    "blend",  # a mean of four neighbours
    "order",  # integers that are in the order of numbers and their places
    "count",
    "arithmetic",  # what is none of these
]
"""What a scalar is, for passes that rewrite or recognise expressions."""
Cost = Literal["simple", "multiply", "rescale", "divide", "function", "interpolate", "blend", "convert"]
"""What a scalar is to a unit that computes it: a machine has cycles for each."""

INTEGERS = "i8 i16 i32 i64"
FLOATS = "f16 bf16 f32"
SMALL = "f8e4m3 f8e5m2"
"""Floating-point types that are only stored and converted."""
BITS = f"bool {INTEGERS}"
NUMBERS = f"{INTEGERS} {FLOATS}"
HOLDS: Mapping[str, frozenset[str]] = {
    "bool": frozenset({"bool"}),
    "i8": frozenset({"i8"}),
    "u8": frozenset({"u8"}),
    "i16": frozenset({"i8", "u8", "i16"}),
    "u16": frozenset({"u8", "u16"}),
    "i32": frozenset({"i8", "u8", "i16", "u16", "i32"}),
    "i64": frozenset({"i8", "u8", "i16", "u16", "i32", "i64"}),
    "f8e4m3": frozenset({"f8e4m3"}),
    "f8e5m2": frozenset({"f8e5m2"}),
    "f16": frozenset({"f8e4m3", "f8e5m2", "f16"}),
    "bf16": frozenset({"f8e4m3", "f8e5m2", "bf16"}),
    "f32": frozenset({"f8e4m3", "f8e5m2", "f16", "bf16", "f32"}),
}
"""The types of which a type has all values: an operand that is narrower is widened on its way in."""
CLASSES = {
    **HOLDS,
    "whole": HOLDS["bool"] | HOLDS["i64"] | HOLDS["u16"],
    "=i32": frozenset({"i32"}),
    "exact": HOLDS["i16"] | HOLDS["u16"] | HOLDS["f32"],
}
"""How rows name the types of an operand: also any integer, int32 alone, and what float32 holds exactly."""


class ScalarError(ValueError):
    """An expression that no scalar is for: a name that nothing has, or operands of a wrong number or type."""


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """One operation; there is one object for each, so that they are compared by identity."""

    name: str
    base: str
    """What it does, whatever the type."""
    type: str
    """The type that it is for, with which its name ends; empty if there is only one."""
    operands: tuple[frozenset[str], ...]
    """The types that each operand may have."""
    result: str
    family: Family
    cost: Cost
    free: bool
    """Whether a unit does it on the way to something else."""

    def check(self, operands: tuple[str, ...], result: str) -> None:
        """Raise ScalarError unless operands and result may have these types."""
        if len(operands) != len(self.operands):
            raise ScalarError(f"{self.name} takes {_operands(len(self.operands))}, not {len(operands)}")
        for number, (type, allowed) in enumerate(zip(operands, self.operands, strict=True), 1):
            if type not in allowed:
                known = " or ".join(name for name in HOLDS if name in allowed)
                raise ScalarError(f"{self.name}: operand {number} is {type}, but must be {known}")
        if result != self.result:
            raise ScalarError(f"{self.name} returns {self.result}, not {result}")


def scalar(name: str) -> Scalar:
    """The scalar of a name, such as `add_i32`."""
    found = SCALARS.get(name)
    if found is None:
        raise ScalarError(f"no scalar is named {name}{_remedy(name)}")
    return found


def _remedy(name: str) -> str:
    """What may be meant by a name that nothing has: other types of the same, or one that is spelt alike."""
    base, _, type = name.rpartition("_")
    types = [row.type for row in TABLE if row.base == base]
    if types:
        return f"; {base} is for {' or '.join(types)}"
    from difflib import get_close_matches

    near = get_close_matches(base, dict.fromkeys(row.base for row in TABLE), 1)
    rows = [row.name for row in TABLE if row.base in near]
    return f"; did you mean {next((row for row in rows if row.endswith(type)), rows[0])}?" if rows else ""


def _operands(count: int) -> str:
    return "1 operand" if count == 1 else f"{count} operands"


def _rows(
    bases: str,
    types: str,
    operands: str,
    result: str = "T",
    *,
    family: Family,
    cost: Cost = "simple",
    free: bool = False,
) -> Iterator[Scalar]:
    """Scalars that differ in what they do and in their type alone.

    `T` is the type that one is for; `types` is empty if it has no type in its name. An operand is named by
    the widest type that it may have, or by another of the CLASSES.
    """
    for base in bases.split():
        for type in types.split() or [""]:
            taken = [type if operand == "T" else operand for operand in operands.split()]
            yield Scalar(
                name=f"{base}_{type}" if type else base,
                base=base,
                type=type,
                operands=tuple(CLASSES[operand] for operand in taken),
                result=type if result == "T" else result,
                family=family,
                cost=cost,
                free=free,
            )


TABLE: tuple[Scalar, ...] = (
    # Between types.
    *_rows("to", f"{BITS} u8 u16", "whole", family="cast", cost="convert"),
    *_rows("to", f"{FLOATS} {SMALL}", "exact", family="cast", cost="convert"),
    *_rows("saturate", "i8 u8 i16 u16 i32", "i64", family="clamp", cost="convert"),
    *_rows("float_to", "i8 i16 i32", "f32", family="convert", cost="convert"),
    *_rows("i32_to", FLOATS, "=i32", family="convert", cost="convert"),
    # Arithmetic: integers wrap.
    *_rows("add sub", NUMBERS, "T T", family="add"),
    *_rows("mul", NUMBERS, "T T", family="multiply", cost="multiply"),
    *_rows("mul_high", "i32", "T T", family="multiply", cost="multiply"),
    *_rows("mul_shift", "i32", "T T T", family="multiply", cost="multiply"),
    *_rows("intdiv", "i32", "T T", family="divide", cost="divide"),
    *_rows("div", FLOATS, "T T", family="divide", cost="divide"),
    *_rows("reciprocal", FLOATS, "T", family="divide", cost="divide"),
    *_rows("neg abs", NUMBERS, "T", family="arithmetic"),
    *_rows("negate", "i8 i16 i32", "T T T", family="negate", cost="multiply"),
    *_rows("max min", NUMBERS, "T T", family="clamp"),
    *_rows("max_ignore min_ignore", FLOATS, "T T", family="clamp"),
    *_rows("clip", NUMBERS, "T T T", family="clamp"),
    *_rows("clip_ignore", FLOATS, "T T T", family="clamp"),
    *_rows("floor ceil", FLOATS, "T", family="round"),
    # Bits.
    *_rows("and or xor", BITS, "T T", family="bits"),
    *_rows("not", BITS, "T", family="bits"),
    *_rows("shl lshr ashr ashr_round", "i8 i16 i32", "T i32", family="bits"),
    *_rows("clz", "i32", "T", family="bits"),
    # Comparison and choice.
    *_rows("eq gt ge", f"{BITS} {FLOATS}", "T T", "bool", family="compare"),
    *_rows("select", f"{BITS} {FLOATS}", "bool T T", family="choose"),
    # Scaling: value, zero point, multiplier, shift, zero point; or without zero points.
    *_rows(
        "rescale_32 rescale_32_double", "", "i32 i32 i32 i32 i32", "i32", family="rescale", cost="rescale"
    ),
    *_rows("rescale_16", "", "i64 i64 i32 i32 i32", "i32", family="rescale", cost="rescale"),
    *_rows(
        "apply_scale_32 apply_scale_32_double", "", "i32 i32 i32", "i32", family="rescale", cost="rescale"
    ),
    *_rows("reciprocal_multiplier", "", "i32", "i32", family="divide", cost="divide"),
    *_rows("reciprocal_shift", "", "i32", "i32", family="bits"),
    # Functions of real numbers.
    *_rows("exp log tanh sigmoid erf sin cos rsqrt", FLOATS, "T", family="function", cost="function"),
    *_rows("pow", FLOATS, "T T", family="function", cost="function"),
    # Of whole operators.
    *_rows("table_index", "i8 i16", "T", "i64", family="index", free=True),
    *_rows("table_interpolate", "", "i16 i16 i16", "i32", family="interpolate", cost="interpolate"),
    *_rows("resize_blend", "i32 i64", "T T T T T T T T", family="blend", cost="blend"),
    *_rows("interpolate", "f32", "T T T T T T", family="blend", cost="blend"),
    *_rows("key key_ignore", "f32", "T i64", "i64", family="order"),
    *_rows("first_write", "", "i32", "i32", family="count", free=True),
)
"""Every scalar operation. What it computes is in the scalar library of whoever computes it."""
SCALARS: Mapping[str, Scalar] = MappingProxyType({row.name: row for row in TABLE})
LEAVES: Mapping[str, Scalar] = MappingProxyType(
    {
        name: Scalar(name, name, "", (), "", "leaf", "simple", True)
        for name in ("read", "const", "acc", "axis")
    }
)
"""What expressions begin with; their type is any, their argument a number."""
