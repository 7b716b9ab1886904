"""A rescale to int8 is the array kernels' where its parameters are constants, and all uses go through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.test_match import access, product_of_matrices
from tiling.expr import Expr, acc, call, const, read
from tiling.nest import Nest, Write
from tosajit.arrays import Array
from tosajit.host.match import match
from tosajit.host.rescale import Rescale, rescale_of

NAMES = ("data", "weights", "point", "bias", "multiplier", "shift", "zero", "out", "low", "high")
"""Reads of the group, whose sum has four columns."""
BIAS, MULTIPLIER, SHIFT, ZERO, OUT, LOW, HIGH = range(3, 10)
CONSTANTS: dict[str, Array] = {
    "bias": np.array([1, -200, 3, 4], np.int32),
    "multiplier": np.array([1 << 30, 1500000000, 1 << 29, 7], np.int32),
    "shift": np.array([38, 39, 40, 41], np.int32),
    "zero": np.array([0], np.int32),
    "out": np.array([-7], np.int32),
    "low": np.array([-100], np.int8),
    "high": np.array([90], np.int8),
}


def rescaled(value: Expr | None = None, op: str = "rescale_32", **given: Expr) -> Expr:
    """The sum plus its bias, rescaled to int8 by what is read, or by what is given."""
    total = call("add_i32", acc("i32"), read(BIAS, "i32"), type="i32") if value is None else value
    parts = {"zero": ZERO, "multiplier": MULTIPLIER, "shift": SHIFT, "out": OUT}
    operands = [given.get(name, read(number, "i32")) for name, number in parts.items()]
    return call("saturate_i8", call(op, total, *operands, type="i32"), type="i8")


def group(*values: Expr, column: bool = True) -> Nest:
    """A product of matrices with results; parameters are for each column, or for each row."""
    nest = product_of_matrices()
    axis, extent = ("f", 4) if column else ("y", 3)
    names = "yfc"
    reads = list(nest.reads)
    for name in NAMES[3:]:
        many = name in ("bias", "multiplier", "shift")
        type = "i8" if name in ("low", "high") else "i32"
        reads.append(access(type, names, [(extent, {axis: 1}, 0) if many else (1, {}, 0)]))
    named = [replace(one, operand=name) for one, name in zip(reads, NAMES, strict=True)]
    write = nest.writes[0].access
    writes = tuple(
        Write(replace(write, operand=f"r{n}", type=value.type), value) for n, value in enumerate(values)
    )
    return replace(nest, reads=tuple(named), writes=writes)


def found(nest: Nest, constants: Mapping[str, Array] = CONSTANTS) -> Rescale | None:
    """The rescale of a group."""
    seen = match(nest)
    assert seen is not None
    return rescale_of(nest, seen, constants, np.full(4, 1000, np.int64))


def clamped(value: Expr, **given: Expr) -> Expr:
    """A value between constant bounds."""
    return call(
        "clip_i8", value, given.get("low", read(LOW, "i8")), given.get("high", read(HIGH, "i8")), type="i8"
    )


def test_a_rescale_has_its_constants() -> None:
    made = found(group(rescaled()))
    assert made is not None
    assert (made.low, made.high, made.complete, made.expr) == (-128, 127, True, rescaled())
    assert made.bias.tolist() == CONSTANTS["bias"].tolist()


@pytest.mark.parametrize(("op", "sign"), [("rescale_32", 32), ("rescale_32_double", 31)])
def test_rounding_twice_looks_at_the_sign(op: str, sign: int) -> None:
    made = found(group(rescaled(op=op)))
    assert made is not None
    assert made.table.sign == sign


def test_a_clamp_around_it_is_taken_with_it() -> None:
    made = found(group(clamped(rescaled())))
    assert made is not None
    assert (made.low, made.high, made.complete, made.expr) == (-100, 90, True, clamped(rescaled()))


@pytest.mark.parametrize(
    ("values", "complete"),
    [
        ((clamped(rescaled()), rescaled()), False),
        ((clamped(rescaled()), call("abs_i8", rescaled(), type="i8")), False),
        ((clamped(call("abs_i8", rescaled(), type="i8")),), False),
        ((clamped(rescaled(), low=const(50, "i8"), high=const(49, "i8")),), False),
        ((call("clip_i8", read(LOW, "i8"), rescaled(), read(HIGH, "i8"), type="i8"),), False),
        ((rescaled(), rescaled()), False),
    ],
)
def test_a_clamp_that_is_not_around_all_of_it_stays_behind_it(
    values: tuple[Expr, ...], complete: bool
) -> None:
    made = found(group(*values))
    assert made is not None
    assert (made.low, made.high, made.complete, made.expr) == (-128, 127, complete, rescaled())


def test_a_clamp_to_one_number_is_a_clamp() -> None:
    made = found(group(clamped(rescaled(), low=const(5, "i8"), high=const(5, "i8"))))
    assert made is not None
    assert (made.low, made.high) == (5, 5)


@pytest.mark.parametrize("name", ["bias", "multiplier", "shift", "zero", "out"])
def test_what_is_not_constant_is_not_for_the_kernels(name: str) -> None:
    others = {key: value for key, value in CONSTANTS.items() if key != name}
    assert found(group(rescaled()), others) is None


@pytest.mark.parametrize("name", ["low", "high"])
def test_a_bound_that_is_not_constant_stays_behind(name: str) -> None:
    made = found(group(clamped(rescaled())), {key: one for key, one in CONSTANTS.items() if key != name})
    assert made is not None
    assert (made.expr, made.low, made.high, made.complete) == (rescaled(), -128, 127, False)


def test_a_zero_point_of_the_sum_is_not_for_the_kernels() -> None:
    assert found(group(rescaled()), {**CONSTANTS, "zero": np.array([1], np.int32)}) is None
    assert found(group(rescaled(zero=const(0, "i32")))) is not None
    assert found(group(rescaled(zero=const(1, "i32")))) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"shift": np.array([38, 31, 40, 41], np.int32)},
        {"multiplier": np.array([1 << 30, 7, -1, 7], np.int32)},
        {"multiplier": np.array([1 << 30, 7], np.int32)},
        {"bias": np.array([1, 2, 3], np.int32)},
        {"out": np.array([1, 2, 3, 4], np.int32)},
        {"bias": np.array([0, 0, 0, -(1 << 31)], np.int32)},
    ],
)
def test_what_the_kernels_cannot_do_exactly_is_not_for_them(changes: dict[str, Any]) -> None:
    assert found(group(rescaled()), {**CONSTANTS, **changes}) is None


@pytest.mark.parametrize("name", ["bias", "multiplier", "shift"])
def test_one_number_is_for_every_column(name: str) -> None:
    made = found(group(rescaled()), {**CONSTANTS, name: CONSTANTS[name][:1]})
    assert made is not None
    assert made.bias.tolist() == ([1] * 4 if name == "bias" else CONSTANTS["bias"].tolist())


def test_parameters_of_rows_are_not_those_of_columns() -> None:
    short = {name: array[:3] if array.size == 4 else array for name, array in CONSTANTS.items()}
    assert found(group(rescaled(), column=False), short) is None
    assert found(group(rescaled(), column=False)) is None


@pytest.mark.parametrize(
    ("value", "bias"),
    [
        (acc("i32"), [0, 0, 0, 0]),
        (call("add_i32", read(BIAS, "i32"), acc("i32"), type="i32"), [1, -200, 3, 4]),
        (call("sub_i32", acc("i32"), read(BIAS, "i32"), type="i32"), None),
        (call("add_i32", acc("i32"), acc("i32"), type="i32"), None),
        (call("add_i32", read(BIAS, "i32"), read(BIAS, "i32"), type="i32"), None),
        (read(BIAS, "i32"), None),
    ],
)
def test_the_sum_has_no_bias_or_a_constant_one(value: Expr, bias: list[int] | None) -> None:
    made = found(group(rescaled(value)))
    assert (None if made is None else made.bias.tolist()) == bias


def test_no_use_of_the_sum_passes_it_by() -> None:
    plain = call("add_i32", acc("i32"), const(1, "i32"), type="i32")
    assert found(group(rescaled(), plain)) is None
    assert found(group(plain)) is None
    other = found(group(rescaled(), read(BIAS, "i32")))
    assert other is not None
    assert not other.complete


def test_a_result_of_another_type_is_not_stored_by_the_kernel() -> None:
    nest = group(rescaled())
    (write,) = nest.writes
    wide = replace(nest, writes=(replace(write, access=replace(write.access, type="u8")),))
    made = found(wide)
    assert made is not None
    assert not made.complete
