"""Cheaper forms of scaling and tables of functions agree with the specification's arithmetic in every bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tosajit as tj
from tiling.expr import Expr, call, const, read
from tiling.nest import Access, Axis, Nest, Write, identity
from tiling.scalars import SCALARS
from tosajit.dtypes import INT8, INT32
from tosajit.host.ranges import AMOUNTS, CORNERS, TYPES, Ranges, apply_scale
from tosajit.host.scale import Term, scale_of, scaled
from tosajit.kernels.scalars import scalar
from tosajit.operators import ADD, CLAMP, RESCALE, TABLE
from tosajit.operators.types import RoundingMode
from tosajit.tracing.builder import GraphBuilder

INT32_RANGE = TYPES["i32"]


def value_of(expr: Expr, leaf: int) -> int:
    if expr.op == "read":
        return leaf
    if expr.op == "const":
        return expr.args[0]
    arguments = [np.dtype(f"int{a.type[1:]}").type(value_of(a, leaf)) for a in expr.operands]
    return int(scalar(expr.op)(*arguments))


@st.composite
def scalings(draw):
    bits = draw(st.integers(1, 31))
    low = draw(st.integers(-(1 << bits), (1 << bits) - 1))
    high = min(low + draw(st.integers(0, draw(st.sampled_from([4, 511, 1 << bits])))), (1 << bits) - 1)
    multiplier = draw(st.integers(1, (1 << 31) - 1) | st.integers(0, 30).map(lambda bit: 1 << bit))
    return (low, high), multiplier, draw(st.integers(2, 62)), draw(st.booleans())


@settings(max_examples=400, deadline=None)
@given(scalings(), st.integers(-128, 127), st.integers(0, 20), st.integers(-128, 127), st.data())
def test_every_form_of_scaling_is_exact(scaling, zero, ahead, out, data):
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


def test_apply_scale_agrees_with_the_scalars():
    for value in (-(1 << 31), -77777, -1, 0, 1, 12345, (1 << 31) - 1):
        for shift in (31, 32, 40, 62):
            for double, name in ((False, "apply_scale_32"), (True, "apply_scale_32_double")):
                with np.errstate(all="ignore"):
                    got = scalar(name)(np.int32(value), np.int32(1412345679), np.int8(shift))
                assert int(got) == apply_scale(value, 1412345679, shift, double) or abs(value) > 1 << 30


@pytest.mark.parametrize("base", sorted(CORNERS))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_function_leaves_its_range(base, data):
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


def rescale(builder, value, zero, multiplier, shift, out, dtype, double=True):
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
def test_chains_of_rescaled_sums_and_tables_are_exact(multiplier, shift):
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
