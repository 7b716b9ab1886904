"""The vocabulary of scalars: what an expression can be made of, and that everybody knows it."""

from __future__ import annotations

import ast
import inspect
import math
import pickle
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from sim.cost.vector import CYCLES
from tests.scalar_oracle import ANYTHING, FORBIDDEN, INTEGERS, ORACLES, bounds, rounded
from tiling.expr import Expr, acc, apply, axis, call, const, read
from tiling.nest import Reduction
from tiling.scalars import SCALARS, TABLE, Cost, Family, Scalar, ScalarError
from tiling.substitute import ASSOCIATIVE
from tiling.text import SYMBOLS
from tosajit.host.ranges import AMOUNTS, CORNERS, SCALES
from tosajit.host.simplify import CHEAP
from tosajit.kernels.emit import IN_ANY_ORDER
from tosajit.kernels.phase import BY_BITS
from tosajit.kernels.scalars import requirement, scalar
from tosajit.kernels.scalars import scalars as definitions

ROOT = Path(__file__).parents[1]


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
        (lambda: Expr("eq_i32", (read(0, "i32"), read(1, "i32")), "i32"), "eq_i32 returns bool, not i32"),
        (lambda: Expr("abs_i32", (3,), "i32"), "abs_i32 takes 1 operand, not 0"),
        (lambda: Expr("abs_i32", (read(0, "i32"), 3), "i32"), "abs_i32 takes expressions alone, not"),
        (lambda: read(0, "i33"), "read: i33 is not a type; types are bool, i8"),
        (lambda: apply("clz", read(0, "i8")), "no scalar is named clz_i8; clz is for i32"),
        (lambda: Reduction("summe", 0, "i32", read(0, "i32")), "no scalar is named summe_i32"),
        (lambda: Reduction("add", 0, "i8", read(0, "i32")), "add_i8: operand 2 is i32, but must be i8"),
        (lambda: Reduction("clip", 0, "i8", read(0, "i8")), "clip_i8 takes 3 operands, not 2"),
    ],
)
def test_nothing_else_can_be_made(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ScalarError) as caught:
        make()
    assert str(caught.value).startswith(message)


# The vocabulary, the texts of kernels, their REQUIREs and the oracles.


def reachable(names: Iterable[str]) -> set[str]:
    """Definitions that the named ones need."""
    found: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack += definitions()[name].calls
    return found


def test_every_scalar_has_a_text_with_its_operands() -> None:
    for row in TABLE:
        assert len(inspect.signature(scalar(row.name)).parameters) == len(row.operands), row.name


def test_every_text_belongs_to_a_scalar() -> None:
    required = [name for row in TABLE if (name := requirement(row.name))]
    unused = definitions().keys() - reachable([*SCALARS, *required, *BY_BITS.values()])
    assert unused == {"index_ok"}, "the REQUIRE of indices that data say belongs to no scalar"


def test_every_scalar_is_used() -> None:
    """A module that makes or rewrites nests names it; one with a type is named by what it does."""
    words = set()
    for path in (
        ROOT / "tiling/expr.py",
        *(ROOT / "tosajit/operators").glob("*.py"),
        *(ROOT / "tosajit/host").glob("*.py"),
    ):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.add(node.value)
    for row in TABLE:
        stems = {row.name, row.base, f"{row.base}_", row.base.removesuffix("_ignore")}
        assert stems & words, f"no module makes a {row.name}"


def test_every_scalar_has_an_oracle() -> None:
    assert ORACLES.keys() == {row.base for row in TABLE}


def drawn(type: str, count: int, generator: np.random.Generator) -> list[int | float | bool]:
    """Values of a type, its ends and small ones more often than chance has it."""
    if type == "bool":
        return [bool(value) for value in generator.integers(0, 2, count)]
    if type in INTEGERS:
        low, high = bounds(type)
        ends = [low, low + 1, -1, 0, 1, 2, 31, 32, 63, high - 1, high]
        known = [value for value in ends if low <= value <= high]
        far = generator.integers(low, high, count, endpoint=True)
        small = generator.integers(max(low, -9), 64, count)
        picked = generator.choice(known, count)
        return np.choose(generator.integers(0, 3, count), [far, small, picked]).tolist()  # type: ignore[no-any-return]
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, math.inf, -math.inf, math.nan, 1e-6, 300.0, 0.25]
    near = generator.normal(0, 3, count)
    values = np.where(generator.integers(0, 3, count) == 0, generator.choice(special, count), near)
    return [rounded(type, float(value)) for value in values]


NUMPY = {
    "bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16,
    "i32": np.int32, "i64": np.int64,
}  # fmt: skip
NEAR = {"f32": 2.0**-18, "f16": 2.0**-10, "bf16": 2.0**-7}
"""Errors of functions that are beyond all bounds; those themselves are for the tests of functions."""


def agree(row: Scalar, found: Any, expected: Any) -> bool:
    """Whether a result is the one of the oracle; of functions, whether it is near."""
    if row.result in INTEGERS or row.result == "bool":
        return bool(found == expected)
    if math.isnan(expected) or math.isinf(expected) or row.family not in ("function", "blend"):
        return bool(found == expected) or bool(found != found and expected != expected)
    return bool(abs(float(found) - expected) <= NEAR[row.type] * max(abs(expected), 2.0**-7))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SCALARS)
def test_scalars_compute_what_the_oracles_say(name: str) -> None:
    row, generator = SCALARS[name], np.random.default_rng(len(name))
    test = requirement(name)
    compared = 0
    for types in zip(*(generator.choice(sorted(known), 40) for known in row.operands), strict=True):
        for values in zip(*(drawn(type, 12, generator) for type in types), strict=True):
            expected = ORACLES[row.base](row, *values)
            if expected is ANYTHING:
                continue
            given = [NUMPY.get(type, np.float32)(value) for type, value in zip(types, values, strict=True)]
            allowed = expected is not FORBIDDEN
            assert (test is None or bool(scalar(test)(*given))) == allowed, (name, values)
            if allowed:
                found = scalar(name)(*given)
                assert agree(row, found, expected), (name, types, values, found, expected)
                compared += 1
    assert compared > 20


# Modules ask for what a scalar is.

PARSES = {
    "startswith",
    "endswith",
    "partition",
    "rpartition",
    "split",
    "rsplit",
    "removeprefix",
    "removesuffix",
}
SETS: Mapping[str, Iterable[str]] = {
    "tiling.substitute.ASSOCIATIVE": ASSOCIATIVE,
    "tiling.text.SYMBOLS": SYMBOLS,
    "tosajit.host.ranges.CORNERS": CORNERS,
    "tosajit.host.ranges.AMOUNTS": AMOUNTS,
    "tosajit.host.ranges.SCALES": SCALES,
    "tosajit.host.simplify.CHEAP": CHEAP,
    "tosajit.kernels.phase.BY_BITS": BY_BITS,
    "tosajit.kernels.emit.IN_ANY_ORDER": IN_ANY_ORDER,
}


@cache
def sources() -> list[tuple[Path, ast.Attribute | ast.Compare]]:
    """Every look at how a word is spelt and every comparison of the packages, and the file where it is."""
    return [
        (path, node)
        for package in ("tiling", "sim", "tosajit")
        for path in sorted((ROOT / package).rglob("*.py"))
        if re.search(r"\.op\b|\bscalar\.", text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare) or (isinstance(node, ast.Attribute) and node.attr in PARSES)
    ]


def named(node: ast.AST) -> bool:
    """Whether it is the name of an expression's scalar."""
    return isinstance(node, ast.Attribute) and (
        node.attr == "op" or (node.attr in ("base", "name") and ast.unparse(node.value).endswith("scalar"))
    )


def test_no_module_looks_at_the_spelling_of_a_name() -> None:
    for path, node in sources():
        if isinstance(node, ast.Attribute):
            assert not named(node.value), f"{path}:{node.lineno}"


def test_names_that_scalars_are_compared_with_are_declared() -> None:
    known = {*SCALARS, *(row.base for row in TABLE)}
    compared = 0
    for path, node in sources():
        if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("scalar.base"):
            for constant in ast.walk(node):
                if isinstance(constant, ast.Constant):
                    assert constant.value in known, f"{path}:{node.lineno}"
                    compared += 1
    assert compared > 5


@pytest.mark.parametrize("name", SETS)
def test_names_in_tables_are_declared(name: str) -> None:
    assert set(SETS[name]) <= {*SCALARS, *(row.base for row in TABLE)}


def test_default_cycles_are_of_costs() -> None:
    assert CYCLES.keys() <= set(get_args(Cost))
    assert {row.cost for row in TABLE} == set(get_args(Cost))
    assert {row.family for row in TABLE} == set(get_args(Family)) - {"leaf"}
