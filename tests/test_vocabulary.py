"""The vocabulary of scalars: what an expression can be made of."""

import pickle

import pytest

from tiling.expr import Expr, acc, apply, axis, call, const, read
from tiling.nest import Reduction
from tiling.scalars import SCALARS, TABLE, ScalarError


def test_every_name_is_declared_once() -> None:
    assert len(SCALARS) == len(TABLE)
    assert all(row.name == (f"{row.base}_{row.type}" if row.type else row.base) for row in TABLE)


def test_an_expression_knows_its_scalar() -> None:
    value = apply("add", read(0, "i32"), const(1, "i32"))
    assert value.scalar is SCALARS["add_i32"]
    assert (value.op, value.type, value.is_leaf) == ("add_i32", "i32", False)
    assert read(0, "i32").scalar.family == acc("i8").scalar.family == axis(1).scalar.family == "leaf"
    assert pickle.loads(pickle.dumps(value)) is value


def test_a_result_has_the_type_that_is_declared() -> None:
    assert apply("eq", read(0, "f16"), read(1, "f16")).type == "bool"
    assert call("table_index_i8", read(0, "i8")).type == "i64"


def test_narrower_operands_are_widened_on_their_way_in() -> None:
    assert call("sub_i32", read(0, "i8"), read(1, "u16")).type == "i32"
    assert Reduction("add", 0, "i32", read(0, "i8")).scalar is SCALARS["add_i32"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: call("ad_i32", read(0, "i32"), read(1, "i32")),
            "no scalar is named ad_i32; did you mean a",
        ),
        (lambda: apply("frobnicate", read(0, "i8")), "no scalar is named frobnicate_i8"),
        (
            lambda: Expr("sqrt_f32", (read(0, "f32"),), "f32"),
            "no scalar is named sqrt_f32; did you mean rsqrt_f32?",
        ),
        (lambda: call("add_i32", read(0, "i32")), "add_i32 takes 2 operands, not 1"),
        (lambda: apply("not", read(0, "i8"), read(0, "i8")), "not_i8 takes 1 operand, not 2"),
        (
            lambda: call("add_i16", read(0, "i16"), read(1, "i32")),
            "add_i16: operand 2 is i32, but must be i8 or u8 or i16",
        ),
        (
            lambda: call("select_f32", read(0, "i8"), read(1, "f32"), read(1, "f32")),
            "select_f32: operand 1 is i8, but must be bool",
        ),
        (lambda: Expr("eq_i32", (read(0, "i32"), read(1, "i32")), "i32"), "eq_i32 gives bool, not i32"),
        (lambda: Expr("abs_i32", (3,), "i32"), "abs_i32 takes 1 operand, not 0"),
        (lambda: Expr("abs_i32", (read(0, "i32"), 3), "i32"), "abs_i32 takes expressions alone, not"),
        (lambda: read(0, "i33"), "read: i33 is no type; types are bool, i8"),
        (lambda: apply("clz", read(0, "i8")), "no scalar is named clz_i8; clz is for i32"),
        (lambda: Reduction("summe", 0, "i32", read(0, "i32")), "no scalar is named summe_i32"),
        (lambda: Reduction("add", 0, "i8", read(0, "i32")), "add_i8: operand 2 is i32, but must be i8"),
        (lambda: Reduction("clip", 0, "i8", read(0, "i8")), "clip_i8 takes 3 operands, not 2"),
    ],
)
def test_nothing_else_can_be_made(make, message) -> None:
    with pytest.raises(ScalarError) as caught:
        make()
    assert str(caught.value).startswith(message)
