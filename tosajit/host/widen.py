"""Activations of narrow floating-point types, which the array kernels take as float32."""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from tiling.expr import Expr, call, const, read
from tiling.nest import Access, Axis, Nest, Reduction, Write, along
from tiling.records import replace
from tosajit.host.match import Match, match
from tosajit.host.unit import Prepared
from tosajit.kernels.sets.description import InstructionSet

NARROW = frozenset({"f16", "bf16", "f8e4m3", "f8e5m2"})


def widened(group: Nest, made: Prepared, constants: Collection[str], isa: InstructionSet) -> Nest:
    """The group with float32 on the left of its products, after a nest that converts if it has to be.

    Groups that read the same operand, as the parts of a transposed convolution do, share what is converted.
    """
    found = match(group)
    if found is None or group.reads[found.left.read].type not in NARROW:
        return group
    left, right = group.reads[found.left.read], group.reads[found.right.read]
    if found.depthwise:
        as_it_is = right.operand not in constants
    else:
        pairs = left.type == right.type and found.geometry.depth % 2 == 0
        as_it_is = pairs and _multiplies(isa, found, left.type, right.operand in constants)
    if as_it_is:
        return group
    # What `match` has found pads with nothing but zeros.
    zero = None if left.fill is None else const(0.0, "f32")
    wide = replace(left, operand=f"{left.operand}.wide", type="f32", fill=zero)
    if wide.operand not in made.temporaries:
        made.groups.append(_conversion(left, wide, group.members[0]))
        made.temporaries[wide.operand] = Access(wide.operand, "f32", (prod(wide.shape),), (along(0, 1),))
    reads = tuple(wide if place == found.left.read else access for place, access in enumerate(group.reads))
    assert group.reduction is not None
    sides = (found.left.read, found.right.read)
    first, second = (_element(side, reads[side]) for side in sides)
    return replace(group, reads=reads, reduction=Reduction("add", 0.0, "f32", first * second))


def _multiplies(isa: InstructionSet, found: Match, type: str, constant: bool) -> bool:
    """Whether a set multiplies pairs of a type: of float16, rows that are in place by constants."""
    if type != "f16":
        return type == "bf16" and isa.bf16_pairs
    shape = found.geometry
    return constant and shape.is_plain and not found.batch and shape.positions <= isa.half_rows


def _element(number: int, access: Access) -> Expr:
    value = read(number, access.type)
    return value if access.type == "f32" else call("to_f32", value, type="f32")


def _conversion(narrow: Access, wide: Access, member: str) -> Nest:
    """The nest that makes all elements of an operand float32."""
    shape, index = (prod(narrow.shape),), (along(0, 1),)
    source = replace(narrow, shape=shape, index=index, fill=None)
    target = replace(wide, shape=shape, index=index, fill=None)
    value = call("to_f32", read(0, narrow.type), type="f32")
    return Nest(
        "map", (Axis("i", shape[0]),), (source,), (Write(target, value),), members=(f"{member}.wide",)
    )
