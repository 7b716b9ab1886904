"""Cheaper forms of scaling and tables of functions agree with the specification's arithmetic in every bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tosajit as tj
from tiling.expr import Expr, acc, axis, call, const, read, walk
from tiling.nest import Access, Axis, Nest, Reduction, Write, identity
from tiling.scalars import SCALARS
from tosajit import ops
from tosajit.dtypes import INT8, INT32, DType
from tosajit.host.ranges import AMOUNTS, CORNERS, TYPES, Ranges, apply_scale
from tosajit.host.scale import Scale, Term, _addends, _steps, scale_of, scaled
from tosajit.kernels.scalars import scalar
from tosajit.operators import ADD, CLAMP, RESCALE, TABLE
from tosajit.operators.types import RoundingMode
from tosajit.tracing.builder import GraphBuilder

INT32_RANGE = TYPES["i32"]


def value_of(expr: Expr, leaf: int) -> int:
    if expr.op == "read":
        return leaf
    if expr.op == "const":
        (value,) = expr.args
        assert isinstance(value, int)
        return value
    arguments = [np.dtype(f"int{a.type[1:]}").type(value_of(a, leaf)) for a in expr.operands]
    return int(scalar(expr.op)(*arguments))


Scaling = tuple[tuple[int, int], int, int, bool]


@st.composite
def scalings(draw: st.DrawFn) -> Scaling:
    bits = draw(st.integers(1, 31))
    low = draw(st.integers(-(1 << bits), (1 << bits) - 1))
    high = min(low + draw(st.integers(0, draw(st.sampled_from([4, 511, 1 << bits])))), (1 << bits) - 1)
    multiplier = draw(st.integers(1, (1 << 31) - 1) | st.integers(0, 30).map(lambda bit: 1 << bit))
    return (low, high), multiplier, draw(st.integers(2, 62)), draw(st.booleans())


@settings(max_examples=400, deadline=None)
@given(scalings(), st.integers(-128, 127), st.integers(0, 20), st.integers(-128, 127), st.data())
def test_every_form_of_scaling_is_exact(
    scaling: Scaling, zero: int, ahead: int, out: int, data: st.DataObject
) -> None:
    (low, high), multiplier, shift, double = scaling
    ends = [apply_scale(v << ahead, multiplier, shift, double) + out for v in (low, high)]
    if (
        low << ahead < INT32_RANGE[0]
        or high << ahead > INT32_RANGE[1]
        or not all(INT32_RANGE[0] <= e <= INT32_RANGE[1] for e in ends)
    ):
        return
    if not INT32_RANGE[0] <= low + zero <= high + zero <= INT32_RANGE[1]:
        return
    term = Term(read(0, "i32"), zero, (low, high))
    found = scaled(term, scale_of(multiplier, shift, double, out, ahead), lambda value: const(value, "i32"))
    if found is None:
        return
    with np.errstate(all="ignore"):
        for value in {
            low,
            high,
            min(max(0, low), high),
            min(max(-1, low), high),
            *data.draw(st.lists(st.integers(low, high), max_size=20)),
        }:
            assert (
                value_of(found, value + zero) == apply_scale(value << ahead, multiplier, shift, double) + out
            )


def drawn_scaling(random: Random) -> tuple[Term, Scale]:
    """A difference of one of many ranges, and what scales it, often at the end of what a form can do."""
    bits = random.choice((1, 4, 7, 8, 9, 15, 16, 17, 24, 30, 31))
    low = random.choice(
        (0, -1, 1, -(1 << bits), -(1 << (bits - 1)), random.randint(-(1 << bits), 1 << (bits - 1)))
    )
    span = random.choice((0, 1, 255, 511, (1 << 16) - 2, (1 << 16) - 1, 1 << 16, (1 << bits) - 1))
    high = min(max(low + span, low), (1 << bits) - 1)
    low = min(low, high)
    multiplier = random.choice((1 << random.randint(0, 30), random.randint(1, (1 << 31) - 1), 3 << 20))
    scale = scale_of(
        multiplier,
        random.randint(2, 62),
        random.random() < 0.5,
        random.choice((0, 0, -128, 5)),
        random.choice((0, 0, 7, 20)),
    )
    return Term(read(0, "i32"), random.choice((0, 0, -3, 128)), (low, high)), scale


def test_scaling_takes_the_forms_that_it_took(golden: Callable[[str, str], None]) -> None:
    random, lines = Random(21), []
    for _ in range(500):
        term, scale = drawn_scaling(random)
        found = scaled(term, scale, lambda value: const(value, "i32"))
        given = f"{term.values} {term.less} {scale.factor} {scale.addend} {scale.correction} {scale.shift}"
        lines.append(f"{crc32(given.encode()):08x} {found}")
    golden("scalings", "\n".join(lines))


def test_addends_that_are_right_beside_steps_are_right_for_all_values() -> None:
    random, fewer = Random(22), 0
    for _ in range(300):
        term, scale = drawn_scaling(random)
        scale, (low, high) = scale.within(term.values), term.values
        steps = _steps(term.values, scale)
        if steps is None:
            continue
        fewer += len(steps[0]) < high - low
        every = np.arange(low, high + 1)
        wanted = (every * scale.factor + scale.addend - scale.correction * (every < 0)) >> scale.shift
        factors = np.array([scale.factor, scale.factor >> 1, (scale.factor >> 4) + 1])
        shifts = np.array([scale.shift, max(scale.shift - 1, 0), max(scale.shift - 4, 0)])
        for found, exact in zip(
            _addends(steps, factors, shifts), _addends((every, wanted), factors, shifts), strict=True
        ):
            np.testing.assert_array_equal(found, exact)
    assert fewer > 20


def test_apply_scale_agrees_with_the_scalars() -> None:
    for value in (-(1 << 31), -77777, -1, 0, 1, 12345, (1 << 31) - 1):
        for shift in (31, 32, 40, 62):
            for double, name in ((False, "apply_scale_32"), (True, "apply_scale_32_double")):
                with np.errstate(all="ignore"):
                    got = scalar(name)(np.int32(value), np.int32(1412345679), np.int8(shift))
                assert int(got) == apply_scale(value, 1412345679, shift, double) or abs(value) > 1 << 30


@pytest.mark.parametrize("base", sorted(CORNERS))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_function_leaves_its_range(base: str, data: st.DataObject) -> None:
    row = SCALARS.get(base) or SCALARS["to_i16" if base == "to" else f"{base}_i32"]
    kinds = [next(kind for kind in ("i32", "i16", "i8", "bool") if kind in known) for known in row.operands]
    ranges = []
    for place, kind in enumerate(kinds):
        least, most = TYPES[kind]
        near = st.integers(max(-9, least), min(9, most))
        low = data.draw(near if kind == "bool" else near | st.integers(least, most - 9))
        high = min(low + data.draw(st.integers(0, 8)), most)
        if base in AMOUNTS and place == len(kinds) - 1:
            low = high = data.draw(st.integers(0, 31))
        ranges.append((low, high))
    reads = tuple(Access(f"v{n}", kind, (1,), identity(1)) for n, kind in enumerate(kinds))
    expr = call(row.name, *(read(n, kind) for n, kind in enumerate(kinds)))
    nest = Nest("map", (Axis("i", 1),), reads, (Write(Access("out", expr.type, (1,), identity(1)), expr),))
    low, high = Ranges(nest, {}, {f"v{n}": r for n, r in enumerate(ranges)}).of(expr)
    with np.errstate(all="ignore"):
        for _ in range(8):
            values = [np.int32(data.draw(st.integers(*r))) for r in ranges]
            assert low <= int(scalar(row.name)(*values)) <= high


def rescale(
    builder: GraphBuilder,
    value: str,
    zero: int,
    multiplier: int,
    shift: int,
    out: int,
    dtype: DType,
    double: bool = True,
) -> str:
    mode = RoundingMode.DOUBLE_ROUND if double else RoundingMode.SINGLE_ROUND
    source = builder.value(value).dtype
    numbers = ((multiplier, INT32), (shift, INT8), (zero, source), (out, dtype))
    constants = [builder.const(np.array([number], kind.storage), kind) for number, kind in numbers]
    operator = RESCALE(
        scale32=True, rounding_mode=mode, per_channel=False, input_unsigned=False, output_unsigned=False
    )
    return builder.add(operator, [value, *constants], dtype=dtype)


@pytest.mark.parametrize("multiplier", [1 << 30, 1234567891, 3])
@pytest.mark.parametrize("shift", [33, 38, 49])
def test_chains_of_rescaled_sums_and_tables_are_exact(multiplier: int, shift: int) -> None:
    random = np.random.default_rng(shift)
    builder = GraphBuilder()
    x, y = (builder.input(name, INT8, (256, 256)) for name in "xy")
    wide = [rescale(builder, v, z, 1 << 30, 11, 0, INT32) for v, z in ((x, 5), (y, -128))]
    second = rescale(builder, wide[1], 0, 1987654321, 33, 0, INT32)
    total = builder.add(ADD(), [wide[0], second])
    narrow = rescale(builder, total, 0, multiplier, shift, -3, INT8)
    clipped = builder.add(CLAMP(min_val=-100, max_val=101), [narrow])
    table = builder.const(random.integers(-128, 128, 256).astype(np.int8), INT8)
    looked_up = builder.add(TABLE(), [clipped, table])
    builder.output(rescale(builder, looked_up, 7, 1 << 30, 30, 0, INT32))
    builder.output(narrow)
    graph = builder.build()
    every = np.arange(-128, 128, dtype=np.int8)
    inputs = np.repeat(every, 256).reshape(256, 256), np.tile(every, 256).reshape(256, 256)
    for fast, plain in zip(tj.compile(graph)(*inputs), tj.compile(graph, checked=True)(*inputs), strict=True):
        np.testing.assert_array_equal(fast, plain)


def number(value: int) -> Expr:
    """A number of 32 bits; whatever fits no 32 bits is a mistake of who asks."""
    assert INT32_RANGE[0] <= value <= INT32_RANGE[1]
    return const(value, "i32")


def exactly(scale: Scale, value: int) -> int:
    """What scaling means."""
    return (value * scale.factor + scale.addend - scale.correction * (value < 0)) >> scale.shift


def form(scale: Scale, low: int, high: int, less: int = 0) -> list[str] | None:
    """The operations of the form for a range, which is held against the meaning; None if there is none."""
    found = scaled(Term(read(0, "i32"), less, (low, high)), scale, number)
    if found is None:
        return None
    inner = {min(max(value, low), high) for value in (low + 1, -1, 0, 1, (low + high) // 2, high - 1)}
    with np.errstate(all="ignore"):
        for value in {low, high, *inner}:
            assert value_of(found, value + less) == exactly(scale, value), (scale, low, high, value)
    return [part.op for part in walk(found) if not part.is_leaf]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("factor", [3, 5, 7, 21, 1001])
@pytest.mark.parametrize("addend", [0, 1, 1 << 20, (1 << 31) - 1, -(1 << 31)])
def test_a_product_takes_32_bits_as_long_as_its_sum_fits_them(factor: int, addend: int, sign: int) -> None:
    scale = Scale(factor, addend, 0, 4)
    room = (INT32_RANGE[1] - max(addend, 0)) if sign > 0 else (-INT32_RANGE[0] + min(addend, 0))
    most = room // factor
    short = ["mul_i32", "ashr_i32"] if addend == 0 else ["mul_i32", "add_i32", "ashr_i32"]
    for reach, fits in ((most, True), (most + 1, False)):
        low, high = (0, reach) if sign > 0 else (-reach, 0)
        found = form(scale, low, high)
        if max(reach, 1) > 1 << 16:
            assert (sorted(found or []) == sorted(short)) == fits, (reach, found)


@pytest.mark.parametrize("less", [-100, 77])
def test_a_zero_point_goes_into_the_addend(less: int) -> None:
    assert sorted(form(Scale(3, 5, 0, 4), 0, 1 << 20, less) or []) == ["add_i32", "ashr_i32", "mul_i32"]
    assert form(Scale(1, -less, 0, 0), 0, 1 << 20, less) == ["add_i32"]
    assert form(Scale(1, less, 0, 0), 0, 1 << 20, less) == []


def test_whole_factors_need_no_rounding_and_powers_of_two_no_product() -> None:
    assert form(Scale(16, 7, 0, 4), -(1 << 30), 1 << 30) == []
    assert form(Scale(16, 16, 0, 4), -(1 << 30), 1 << 30) == ["add_i32"]
    assert form(Scale(64, 0, 0, 4), -(1 << 28), 1 << 28) == ["shl_i32"]
    assert form(Scale(48, 0, 0, 4), -(1 << 28), 1 << 28) == ["mul_i32"]
    assert form(Scale(16, 8, 8, 4), -(1 << 30), 1 << 30) == []
    assert form(Scale(16, 7, 8, 4), -(1 << 30), 1 << 30) != []
    assert form(Scale(1, 8, 0, 4), 0, 1 << 30) == ["add_i32", "ashr_i32"]


def test_rounding_apart_for_negative_values_goes_where_there_are_none_or_no_others() -> None:
    scale = Scale(3, 1 << 20, 1 << 19, 4)
    assert scale.within((0, 9)).correction == 0
    assert scale.within((0, 9)).addend << 4 == 1 << 24
    assert scale.within((-9, -1)) == Scale(3, (1 << 20) - (1 << 19), 0, 4)
    assert scale.within((-9, 0)) == scale
    assert Scale(12, 8, 0, 4).within((0, 9)) == Scale(3, 2, 0, 2)
    assert Scale(8, 16, 32, 2).within((-5, 5)) == Scale(2, 4, 8, 0)
    low = -(1 << 31) + (1 << 19) - (1 << 20)
    sign = ["ashr_i32", "and_i32", "add_i32", "add_i32", "ashr_i32"]
    for first, fits in ((low, True), (low - 1, False)):
        if first >= INT32_RANGE[0]:
            found = form(Scale(1, 1 << 20, 1 << 19, 4), first, 1 << 20)
            assert (sorted(found or []) == sorted(sign)) == fits


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, (1 << 32) - 1),
    st.integers(0, 34),
    st.sampled_from([0, 1 << 31]),
    st.integers(8, 31),
    st.booleans(),
    st.integers(-2, 2),
    st.booleans(),
)
def test_the_upper_half_of_a_product_serves_as_long_as_results_fit(
    factor: int, dropped: int, correction: int, bits: int, signed: bool, beyond: int, above: bool
) -> None:
    low, high = (-(1 << bits), (1 << bits) - 1) if signed else (0, (1 << bits) - 1)
    reach = (high if above else low) * (factor | 1)
    limit = (1 << 31) if above else -(1 << 31)
    addend = (limit - (reach >> min(dropped, 31)) + (beyond if above else -beyond)) << dropped
    form(Scale(factor | 1, addend, correction, max(dropped, 1) + 3), low, high)


def test_few_values_take_a_shorter_factor() -> None:
    """As sums of int8 values that become int8: a product, an addend and a shift."""
    scale = scale_of(1234567891, 38, False, 0, 0)
    assert sorted(form(scale, -255, 255) or []) == ["add_i32", "ashr_i32", "mul_i32"]
    assert sorted(form(scale, 0, 1 << 15) or []).count("mul_i32") <= 2
    assert "mul_high_i32" not in (form(scale, -(1 << 14), 1 << 14) or ["mul_high_i32"])
    assert form(scale, -(1 << 30), 1 << 30) is not None


def test_forms_of_scaling_are_the_ones_that_were_chosen(golden: Callable[[str, str], None]) -> None:
    golden("scaling_forms", "\n".join(chosen_forms()))


def chosen_forms() -> Iterator[str]:
    """The form of each of many scalings, for few values and many, and its numbers."""
    ranges = [(-128, 127), (0, 255), (-255, 255), (-(1 << 15), (1 << 15) - 1), (0, 1 << 16), (-9, 1 << 20)]
    ranges += [(-(1 << 24), 1 << 23), (-(1 << 31), (1 << 31) - 1)]
    random = np.random.default_rng(4)
    for low, high in ranges:
        for double in (False, True):
            for shift in (2, 15, 29, 30, 31, 33, 38, 45, 62):
                multiplier = int(
                    random.choice(np.array([1 << 30, 3 << 20, random.integers(1 << 30, 1 << 31)]))
                )
                out, ahead = int(random.integers(-128, 128)), int(random.choice([0, 0, 11, 20]))
                ends = [apply_scale(value << ahead, multiplier, shift, double) + out for value in (low, high)]
                if low << ahead < -(1 << 31) or high << ahead >= 1 << 31 or max(map(abs, ends)) >= 1 << 31:
                    continue
                scale = scale_of(multiplier, shift, double, out, ahead)
                found = scaled(Term(read(0, "i32"), out, (low, high)), scale, number)
                text = "none" if found is None else written(found)
                what = f"{low}..{high} × {multiplier} << {ahead} >> {shift}{' double' * double} {out:+}"
                yield f"{what}: {text}"


def written(expr: Expr) -> str:
    """An expression in a line."""
    if expr.is_leaf:
        return "x" if expr.op == "read" else str(expr.number)
    return f"{expr.op.removesuffix('_i32')}({', '.join(map(written, expr.operands))})"


def test_types_have_the_values_that_numpy_gives_them() -> None:
    expected = {f"i{bits}": np.iinfo(f"int{bits}") for bits in (8, 16, 32, 64)}
    expected |= {f"u{bits}": np.iinfo(f"uint{bits}") for bits in (8, 16)}
    assert TYPES == {"bool": (0, 1)} | {name: (kind.min, kind.max) for name, kind in expected.items()}


@pytest.mark.parametrize("double", [False, True])
def test_what_rescale_gives_lies_between_what_its_corners_give(double: bool) -> None:
    name = "rescale_32_double" if double else "rescale_32"
    kinds = ("i32", "i32", "i32", "i8", "i32")
    reads = tuple(Access(f"v{n}", kind, (1,), identity(1)) for n, kind in enumerate(kinds))
    expr = call(name, *(read(n, kind) for n, kind in enumerate(kinds)))
    nest = Nest("map", (Axis("i", 1),), reads, (Write(Access("out", "i32", (1,), identity(1)), expr),))
    random = np.random.default_rng(5)
    for _ in range(60):
        values = int(random.integers(-300, 300)), int(random.integers(0, 400))
        zero, out = int(random.integers(-9, 9)), int(random.integers(-9, 9))
        factor, shift = int(random.integers(1 << 28, 1 << 31)), int(random.integers(29, 40))
        given = [(values[0], sum(values)), (zero, zero + 3), (factor, factor), (shift, shift), (out, out + 2)]
        low, high = Ranges(nest, {}, {f"v{n}": r for n, r in enumerate(given)}).of(expr)
        ends = [apply_scale(value - less, factor, shift, double) for value in given[0] for less in given[1]]
        assert (low, high) == (min(ends) + out, max(ends) + out + 2)
        for wrong in ((2, (-1, factor)), (3, (1, shift)), (3, (shift, 63))):
            other = dict(enumerate(given)) | {wrong[0]: wrong[1]}
            assert Ranges(nest, {}, {f"v{n}": r for n, r in other.items()}).of(expr) == TYPES["i32"]


@pytest.mark.parametrize(
    ("op", "initial", "values", "expected"),
    [
        ("add", 0, (2, 5), (0, 60)),
        ("add", 7, (-3, 5), (-29, 67)),
        ("add", 0, (-3, -1), (-36, 0)),
        ("max", -4, (-9, 3), (-4, 3)),
        ("min", 2, (-9, 3), (-9, 2)),
        ("mul", 1, (2, 3), TYPES["i32"]),
    ],
)
def test_sums_have_as_many_steps_as_their_axes(
    op: str, initial: int, values: tuple[int, int], expected: tuple[int, int]
) -> None:
    axes = (Axis("i", 5), Axis("j", 4, reduced=True), Axis("k", 3, reduced=True))
    source = Access("x", "i32", (5, 4, 3), identity(3))
    total = Reduction(op, initial, "i32", read(0, "i32"))
    write = Write(Access("y", "i32", (5,), identity(1, 0, 3)), acc("i32"))
    nest = Nest("reduce", axes, (source,), (write,), total)
    assert Ranges(nest, {}, {"x": values}).of(acc("i32")) == expected


def test_ranges_of_reads_are_those_of_constants_of_what_was_written_and_of_fills() -> None:
    axes, index = (Axis("i", 3),), identity(1)
    filled = Access("c", "i8", (3,), index, const(9, "i8"))
    reads = (
        Access("c", "i8", (3,), index),
        filled,
        Access("k", "i8", (3,), index),
        Access("e", "i8", (3,), index),
    )
    nest = Nest("map", axes, reads, (Write(Access("y", "i8", (3,), index), read(0, "i8")),))
    constants = {"c": np.array([-3, 4, 1], np.int8), "e": np.zeros(0, np.int8)}
    ranges = Ranges(nest, constants, {"k": (1, 2)})
    assert [ranges.of(read(n, "i8")) for n in range(4)] == [(-3, 4), (-3, 9), (1, 2), TYPES["i8"]]
    assert ranges.of(axis(0)) == (0, 2)
    assert ranges.of(call("clz_i32", call("to_i32", read(0, "i8")))) == (0, 32)
    assert [ranges.number(const(value, "i32")) for value in (0, 5)] == [0, 5]
    assert ranges.number(read(2, "i8")) is None
    ranges.learn(read(2, "i8"), (2, 7))
    assert ranges.number(read(2, "i8")) == 2


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1 << 30, (1 << 31) - 1),
    st.integers(31, 47),
    st.integers(10, 16),
    st.booleans(),
    st.integers(-40000, 40000),
)
def test_halves_of_a_factor_give_what_the_whole_gives(
    multiplier: int, shift: int, bits: int, double: bool, out: int
) -> None:
    scale = scale_of(multiplier, shift, double, out, 0)
    low, high = -(1 << bits) + 1, (1 << bits) - 1
    if all(abs(exactly(scale, value)) < 1 << 31 for value in (low, high)):
        form(scale, low, high)


@pytest.mark.parametrize("shift", [37, 38])
def test_whether_scaled_values_happen_to_fit_makes_no_other_kernel(shift: int) -> None:
    def scaled_product(x: Any, y: Any) -> Any:
        product = ops.mul(ops.cast(x, tj.INT32), ops.cast(y, tj.INT32))
        return ops.rescale(product, [1518500250], [shift], dtype=tj.INT8)

    values = np.arange(-128, 128).astype(np.int8)
    graph = tj.trace(scaled_product, values, values[::-1].copy())
    made = tj.compile(graph)
    (nest,) = made.stages["simplify"].values["main"].nests
    assert nest.writes[0].value.op == "saturate_i8"
    np.testing.assert_array_equal(
        made(values, values[::-1].copy()), tj.compile(graph, interpret=True)(values, values[::-1].copy())
    )


def of_two_bytes(steps: int) -> Callable[[Any, Any], Any]:
    """A function of two bytes that takes so many steps."""

    def function(x: Any, y: Any) -> Any:
        a = ops.sub(ops.mul(ops.cast(x, INT32), ops.cast(y, INT32)), ops.cast(y, INT32))
        for step in range(steps):
            a = ops.add(
                ops.bitwise_xor(a, np.full((1, 1), 77 + step, np.int32)),
                np.full((1, 1), step * step + 1, np.int32),
            )
        return ops.cast(a, INT8)

    return function


@pytest.mark.parametrize(("steps", "rows", "is_table"), [(20, 256, True), (2, 256, False), (20, 255, False)])
def test_a_long_function_of_two_bytes_is_a_table_that_is_no_larger_than_its_results(
    steps: int, rows: int, is_table: bool
) -> None:
    pairs = np.meshgrid(np.arange(-128, 128, dtype=np.int8), np.arange(-128, rows - 128, dtype=np.int8))
    graph = tj.trace(of_two_bytes(steps), *pairs)
    made = tj.compile(graph)
    (program,) = made.programs
    sizes = [operand.bytes for operand in program.operands.values() if operand.kind == "constant"]
    assert (max(sizes) == 1 << 16) == is_table
    np.testing.assert_array_equal(made(*pairs), tj.compile(graph, interpret=True)(*pairs))
    swapped = tj.compile(tj.trace(lambda x, y: of_two_bytes(steps)(y, x), *pairs))
    np.testing.assert_array_equal(swapped(*pairs[::-1]), made(*pairs))


@pytest.mark.parametrize(
    ("kernel", "pad"), [((2, 2), (0, 0, 0, 0)), ((2, 2), (1, 0, 1, 0)), ((3, 2), (0, 0, 0, 0))]
)
def test_means_of_as_many_as_a_power_of_two_are_products(
    kernel: tuple[int, int], pad: tuple[int, ...]
) -> None:
    image = np.random.default_rng(0).standard_normal((1, 13, 13, 5)).astype(np.float32)
    image.flat[:4] = np.inf, 3e38, 1e-42, -0.0
    zero = np.zeros(1, np.float32)

    def mean(x: Any) -> Any:
        return ops.avg_pool2d(x, zero, zero, kernel=kernel, stride=(1, 1), pad=pad, acc_type="FP32")

    made = tj.compile(tj.trace(mean, image))
    (groups,) = made.stages["simplify"].values.values()
    names = {node.op for nest in groups.nests for write in nest.writes for node in walk(write.value)}
    assert ("div_f32" in names) == (kernel == (3, 2))
    whole = tj.compile(tj.trace(mean, image), interpret=True)(image)
    np.testing.assert_array_equal(made(image).view(np.int32), whole.view(np.int32))


@pytest.mark.parametrize(("exponent", "chosen"), [(2.3, False), (-0.5, False), (np.inf, False), (0.0, True)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_powers_of_constants_other_than_zero_are_functions_without_a_choice(
    exponent: float, chosen: bool
) -> None:
    base = np.exp(np.random.default_rng(0).uniform(-80, 80, (5, 50))).astype(np.float32)
    base[0, :10] = 0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-42, 3e38, -2.5
    constant = np.full((1, 1), exponent, np.float32)

    def power(x: Any) -> Any:
        return ops.pow(x, constant)

    made = tj.compile(tj.trace(power, base))
    (groups,) = made.stages["simplify"].values.values()
    names = {node.op for nest in groups.nests for write in nest.writes for node in walk(write.value)}
    assert ("pow_f32" in names) == chosen
    np.testing.assert_array_equal(made(base), tj.compile(tj.trace(power, base), interpret=True)(base))
