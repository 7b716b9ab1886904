"""Operators in floating point: contractions, pooling, ARGMAX and RESIZE against NumPy in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.building import cond_if, while_loop
from tests.strategies import TARGETS
from tiling.nest import Nest
from tosajit.dtypes import BOOL, DTYPES, DType
from tosajit.graph.binding import use_of
from tosajit.graph.operator import Operator
from tosajit.operators import (
    ADD,
    ARGMAX,
    AVG_POOL2D,
    CAST,
    CLAMP,
    CONV2D,
    CONV3D,
    DEPTHWISE_CONV2D,
    FFT2D,
    GATHER,
    GREATER_EQUAL,
    MATMUL,
    MAX_POOL2D,
    MUL,
    NEGATE,
    PAD,
    POW,
    REDUCE_MAX,
    RESIZE,
    RFFT2D,
    SCATTER,
    SELECT,
    SUB,
    TRANSPOSE_CONV2D,
    AccType,
    NanMode,
    ResizeMode,
)
from tosajit.operators.lowering import Lowering
from tosajit.tracing.builder import GraphBuilder

FLOATS = ("FP32", "FP16", "BF16", "FP8E4M3", "FP8E5M2")
SUMS = [
    ("FP32", "FP32", "FP32"),
    ("FP16", "FP16", "FP16"),
    ("FP16", "FP32", "FP16"),
    ("BF16", "FP32", "BF16"),
]
SUMS += [("FP8E4M3", "FP16", "FP16"), ("FP8E5M2", "FP16", "FP16")]
HALF_UNIT = {"FP32": 2.0**-24, "FP16": 2.0**-11, "BF16": 2.0**-8, "FP8E4M3": 2.0**-4, "FP8E5M2": 2.0**-3}
LEAST = {"FP8E4M3": 2.0**-10, "FP8E5M2": 2.0**-17}
"""Half of the smallest number."""
DIRECT: dict[str, Any] = {"stride": (1, 2), "dilation": (2, 1), "pad": (1, 1, 0, 1)}


def drawn(dtype: DType, shape: Sequence[int], seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype.storage)


def run(
    operator: Operator,
    inputs: Sequence[np.ndarray | list[int]],
    dtype: DType,
    output: DType,
    **options: Any,
) -> np.ndarray:
    """Lists are shapes; two zero points follow what is a contraction or a mean."""
    builder = GraphBuilder()
    names = [
        builder.shape(array)
        if isinstance(array, list)
        else builder.input(f"x{k}", DTYPES_OF[array.dtype], array.shape)
        for k, array in enumerate(inputs)
    ]
    points = {"MATMUL": 2, "AVG_POOL2D": 2}.get(operator.opcode, 2 if "CONV" in operator.opcode else 0)
    names += [builder.const(np.zeros(1, dtype.storage)) for _ in range(points)]
    builder.output(builder.add(operator, names, dtype=output))
    arrays = [array for array in inputs if not isinstance(array, list)]
    results: np.ndarray = tj.compile(builder.build(), **options)(*arrays)
    return results


DTYPES_OF = {DTYPES[name].storage: DTYPES[name] for name in FLOATS}


def assert_near(
    found: np.ndarray, exact: np.ndarray, size: np.ndarray | float, terms: int, output: str
) -> None:
    """One rounding of the result, and those of a sum of `terms` in float32."""
    error = np.abs(found.astype(np.float64) - exact)
    assert (
        error <= np.abs(exact) * HALF_UNIT[output] + size * terms * 2.0**-24 + LEAST.get(output, 2.0**-24)
    ).all()


def windows(
    x: np.ndarray, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> np.ndarray:
    """All windows of the two dimensions in the middle: N, OH, OW, KH, KW, C."""
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, (1, 2))[:, :: stride[0], :: stride[1]]
    return seen[..., :: dilation[0], :: dilation[1]].transpose(0, 1, 2, 4, 5, 3)


@pytest.mark.parametrize(("kind", "acc", "out"), SUMS)
@pytest.mark.parametrize("target", TARGETS)
def test_convolutions_are_sums_that_are_rounded_once(kind: str, acc: str, out: str, target: str) -> None:
    dtype, output = DTYPES[kind], DTYPES[out]
    x, bias = drawn(dtype, (1, 6, 9, 5)), drawn(output, (3,))
    weight = drawn(dtype, (3, 3, 2, 5))
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (0, 1), (0, 0)))
    seen = windows(padded, (3, 2), (1, 2), (2, 1))
    exact = np.einsum("nyxijc,oijc->nyxo", seen, weight.astype(np.float64)) + bias.astype(np.float64)
    size = np.einsum("nyxijc,oijc->nyxo", abs(seen), abs(weight.astype(np.float64)))
    found = run(
        CONV2D(**DIRECT, acc_type=AccType[acc]), [x, weight, bias], dtype, output, target=TARGETS[target]
    )
    assert_near(found, exact, size, 31, out)
    planes = CONV3D(
        pad=(0, 0, *DIRECT["pad"]),
        stride=(1, *DIRECT["stride"]),
        dilation=(1, *DIRECT["dilation"]),
        acc_type=AccType[acc],
    )
    found = run(planes, [x[:, None], weight[:, None], bias], dtype, output, target=TARGETS[target])
    assert_near(found[:, 0], exact, size, 31, out)
    each, bias = drawn(dtype, (3, 2, 5, 2), 1), drawn(output, (10,))
    exact = np.einsum("nyxijc,ijcm->nyxcm", seen, each.astype(np.float64)).reshape(
        *found.shape[:1], *exact.shape[1:3], 10
    )
    found = run(
        DEPTHWISE_CONV2D(**DIRECT, acc_type=AccType[acc]),
        [x, each, bias],
        dtype,
        output,
        target=TARGETS[target],
    )
    assert_near(found, exact + bias.astype(np.float64), 20.0, 7, out)


@pytest.mark.parametrize(("kind", "acc", "out"), SUMS)
def test_transposed_convolutions_spread_the_kernel(kind: str, acc: str, out: str) -> None:
    dtype, output = DTYPES[kind], DTYPES[out]
    x, weight, bias = drawn(dtype, (1, 4, 3, 5)), drawn(dtype, (3, 3, 2, 5)), drawn(output, (1,))
    exact = np.zeros((1, 9, 9, 3)) + bias.astype(np.float64)
    products = np.einsum("nyxc,oijc->nyxijo", x.astype(np.float64), weight.astype(np.float64))
    for y, across in np.ndindex(4, 3):
        exact[:, 2 * y : 2 * y + 3, 3 * across : 3 * across + 2] += products[:, y, across]
    operator = TRANSPOSE_CONV2D(out_pad=(-1, 1, 0, 1), stride=(2, 3), acc_type=AccType[acc])
    found = run(operator, [x, weight, bias], dtype, output)
    wanted = np.pad(exact[:, 1:, :8], ((0, 0), (0, 1), (0, 1), (0, 0)), constant_values=float(bias[0]))
    assert_near(found, wanted, 40.0, 21, out)


@pytest.mark.parametrize(
    ("kind", "out"), [("FP16", "FP32"), *sorted({(kind, out) for kind, _, out in SUMS if kind != "BF16"})]
)
def test_products_of_matrices_are_rounded_once(kind: str, out: str) -> None:
    a, b = drawn(DTYPES[kind], (2, 5, 37)), drawn(DTYPES[kind], (2, 37, 9))
    found = run(MATMUL(), [a, b], DTYPES[kind], DTYPES[out])
    a, b = a.astype(np.float64), b.astype(np.float64)
    assert_near(found, a @ b, abs(a) @ abs(b), 37, out)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("nan_mode", [NanMode.PROPAGATE, NanMode.IGNORE])
def test_pools_and_argmax_know_nan(kind: str, nan_mode: NanMode) -> None:
    dtype = DTYPES[kind]
    x = drawn(dtype, (1, 7, 8, 3))
    x[0, 1, 1, 0] = x[0, 2:5, 2:6] = np.nan
    x[0, 0, :, 2], x[0, 6, :, 2] = 0, -0.0
    reduced = np.max if nan_mode is NanMode.PROPAGATE else np.fmax.reduce
    pool: dict[str, Any] = {"kernel": (2, 3), "stride": (1, 1), "pad": (0, 0, 0, 0)}
    found = run(MAX_POOL2D(**pool, nan_mode=nan_mode), [x], dtype, dtype)
    seen = windows(x.astype(np.float64), (2, 3), (1, 1), (1, 1)).reshape(1, 6, 6, 6, 3)
    np.testing.assert_array_equal(found.astype(np.float64), reduced(seen, axis=3))
    acc = {"FP32": "FP32", "BF16": "FP32"}.get(kind, "FP16")
    found = run(AVG_POOL2D(**pool, acc_type=AccType[acc]), [x], dtype, dtype)
    assert (np.isnan(found.astype(np.float64)) == np.isnan(seen.mean(axis=3))).all()
    assert_near(np.nan_to_num(found.astype(np.float64)), np.nan_to_num(seen.mean(axis=3)), 3.0, 7, kind)
    found = run(ARGMAX(axis=1, nan_mode=nan_mode), [x], dtype, DTYPES["INT32"])
    keys = np.where(
        np.isnan(x.astype(np.float64)),
        np.inf if nan_mode is NanMode.PROPAGATE else -np.inf,
        x.astype(np.float64),
    )
    np.testing.assert_array_equal(found, keys.argmax(axis=1))


def test_argmax_of_what_is_never_greater_is_the_first() -> None:
    for value in (-np.inf, np.inf, np.nan):
        for nan_mode in (NanMode.PROPAGATE, NanMode.IGNORE):
            x = np.full((4, 3), value, np.float32)
            assert not run(ARGMAX(axis=0, nan_mode=nan_mode), [x], DTYPES["FP32"], DTYPES["INT32"]).any()


@pytest.mark.parametrize("kind", ["FP32", "FP16", "BF16"])
def test_resize_takes_the_nearest_or_interpolates(kind: str) -> None:
    x = drawn(DTYPES[kind], (1, 4, 5, 2))
    scale = [4, 2, 3, 1], [-1, 0], [1, 0]
    found = run(RESIZE(mode=ResizeMode.BILINEAR), [x, *scale], DTYPES[kind], DTYPES[kind])
    rows, columns = ((np.arange(8) * 2 - 1) / 4).clip(0, 3), np.arange(13) / 3
    (y, fy), (c, fx) = ((np.floor(p).astype(int), p - np.floor(p)) for p in (rows, columns))
    wide = x.astype(np.float64)
    at = {(i, j): wide[:, np.minimum(y + i, 3)][:, :, np.minimum(c + j, 4)] for i in (0, 1) for j in (0, 1)}
    fy, fx = fy[:, None, None], fx[:, None]
    exact = (1 - fy) * ((1 - fx) * at[0, 0] + fx * at[0, 1]) + fy * ((1 - fx) * at[1, 0] + fx * at[1, 1])
    assert_near(found, exact, 4.0, 4, kind)
    found = run(RESIZE(mode=ResizeMode.NEAREST), [x, *scale], DTYPES[kind], DTYPES[kind])
    near = x[:, np.floor(rows + 0.5).astype(int)][:, :, np.floor(columns + 0.5).astype(int)]
    assert found.tobytes() == near.tobytes()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 2), (2, 1), (4, 2), (1, 32), (64, 1), (8, 16)])
def test_fourier_transforms(height: int, width: int, target: str) -> None:
    shape = 2, height, width
    real, imag = drawn(DTYPES["FP32"], shape, 0), drawn(DTYPES["FP32"], shape, 1)
    wide = real.astype(np.float64) + 1j * imag
    points = height * width
    for operator, inputs, exact in (
        (FFT2D(), [real, imag], np.fft.fft2(wide)),
        (FFT2D(inverse=True, local_bound=True), [real, imag], np.fft.ifft2(wide) * points),
        (RFFT2D(), [real], np.fft.rfft2(real.astype(np.float64))),
    ):
        builder = GraphBuilder()
        for name in builder.add_all(
            operator, [builder.input(f"x{k}", DTYPES["FP32"], shape) for k in range(len(inputs))]
        ):
            builder.output(name)
        found = tj.compile(builder.build(), target=TARGETS[target])(*inputs)
        for part, wanted in zip(found, (exact.real, exact.imag), strict=True):
            assert np.abs(part - wanted).max() <= 2.0**-24 * (np.abs(real) + np.abs(imag)).sum() * 2


def test_real_transforms_have_zeros_where_symmetry_says_so() -> None:
    builder = GraphBuilder()
    for name in builder.add_all(RFFT2D(), [builder.input("x", DTYPES["FP32"], (1, 16, 32))]):
        builder.output(name)
    _, imag = tj.compile(builder.build())(drawn(DTYPES["FP32"], (1, 16, 32)))
    assert not imag[0, ::8, ::16].any()


def lowered(use: Any) -> list[Nest]:
    return list(use.operator.lower(Lowering(use)))


def test_fourier_transforms_take_few_products() -> None:
    """Each step of radix r takes r products for each real number, twice."""
    for length in (8, 64, 4096):
        builder = GraphBuilder()
        x = [builder.input(name, DTYPES["FP32"], (1, 1, length)) for name in ("x", "y")]
        for name in builder.add_all(FFT2D(), x):
            builder.output(name)
        block = builder.build().main
        use = use_of(block.nodes[-1], block)
        points = sum(nest.points for nest in lowered(use))
        assert points == 2 * 8 * length * round(np.log2(length) / 3)


def test_steps_of_fourier_transforms_work_on_whole_rows() -> None:
    builder = GraphBuilder()
    for name in builder.add_all(RFFT2D(), [builder.input("x", DTYPES["FP32"], (2, 16, 64))]):
        builder.output(name)
    block = builder.build().main
    use = use_of(block.nodes[-1], block)
    nests = lowered(use)
    rows = [nest.extents[nest.outer - 1] for nest in nests if nest.verb == "contract"]
    assert rows == [16] * 4 + [33] * 4
    assert [nest.extents for nest in nests if nest.verb == "move"] == [(2, 64, 16), *[(2, 16, 33)] * 2]


@pytest.mark.parametrize("kind", ["FP32", "FP16", "BF16"])
@pytest.mark.parametrize("target", TARGETS)
def test_chains_round_after_each_operator(kind: str, target: str) -> None:
    """Fused as they are, and with SELECT, which does not compute, between operators that do."""
    dtype = DTYPES[kind]
    builder = GraphBuilder()
    x, y, which = (
        builder.input("x", dtype, (4, 6)),
        builder.input("y", dtype, (4, 6)),
        builder.input("c", BOOL, (4, 6)),
    )
    zero = builder.const(np.zeros(1, dtype.storage))
    chosen = builder.add(SELECT(), [which, builder.add(ADD(), [x, y]), y])
    changed = builder.add(NEGATE(), [chosen, zero, zero])
    padded = builder.add(
        PAD(), [changed, builder.shape([1, 1, 0, 2]), builder.const(np.array([2.5], dtype.storage))]
    )
    greatest = builder.add(REDUCE_MAX(axis=1), [padded])
    builder.output(builder.add(SUB(), [greatest, padded]))
    inputs = [drawn(dtype, (4, 6), seed) for seed in (0, 1)]
    inputs[1][0, 0], inputs[1][1, 1] = -0.0, np.inf
    chooses = np.random.default_rng(5).random((4, 6)) > 0.5
    found = tj.compile(builder.build(), target=TARGETS[target])(*inputs, chooses)
    with np.errstate(invalid="ignore"):
        kept = -np.where(chooses, inputs[0] + inputs[1], inputs[1])
        expected = np.pad(kept, ((1, 1), (0, 2)), constant_values=2.5)
        expected = expected.max(axis=1, keepdims=True) - expected
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


def test_adding_a_zero_is_not_left_out() -> None:
    builder = GraphBuilder()
    x, zero = builder.input("x", DTYPES["FP32"], (3,)), builder.const(np.zeros(1, np.float32))
    builder.output(builder.add(ADD(), [x, zero]))
    found = tj.compile(builder.build())(np.array([-0.0, 0.0, 1.0], np.float32))
    assert not np.signbit(found).any()


@pytest.mark.parametrize("kind", ["FP32", "FP16", "BF16"])
@pytest.mark.parametrize("base", [-1.0, 0.0, np.nan, np.inf])
def test_a_checked_power_says_what_it_needs(kind: str, base: float) -> None:
    dtype = DTYPES[kind]
    builder = GraphBuilder()
    names = [builder.input(name, dtype, (2, 3)) for name in ("base", "exponent")]
    builder.output(builder.add(POW(), names, name="power"))
    checked = tj.compile(builder.build(), checked=True)
    bases, exponents = np.full((2, 3), 2, dtype.storage), np.zeros((2, 3), dtype.storage)
    assert (checked(bases, exponents) == 1).all()
    bases[1, 2] = base
    with pytest.raises(tj.RequireError, match=r"POW\).*the base is not negative.*i0=1, i1=2"):
        checked(bases, exponents)


@pytest.mark.parametrize("kind", ["FP32", "FP16", "BF16"])
def test_a_checked_power_asks_for_finite_exponents_and_positive_ones_of_zero(kind: str) -> None:
    dtype = DTYPES[kind]
    builder = GraphBuilder()
    names = [builder.input(name, dtype, (3,)) for name in ("base", "exponent")]
    builder.output(builder.add(POW(), names, name="power"))
    checked = tj.compile(builder.build(), checked=True)
    bases = np.array([0, 1, 4]).astype(dtype.storage)
    assert checked(bases, np.array([0.5, 0, -1]).astype(dtype.storage)).tolist() == [0, 1, 0.25]
    for place, wrong in ((1, np.nan), (1, np.inf), (2, -np.inf), (0, 0), (0, -2)):
        exponents = np.ones(3, dtype.storage)
        exponents[place] = wrong
        with pytest.raises(tj.RequireError, match=rf"POW\).*i0={place}"):
            checked(bases, exponents)


@pytest.mark.parametrize("result", ["INT8", "INT16", "INT32"])
@pytest.mark.parametrize("kind", ["FP32", "FP16", "BF16"])
def test_a_checked_cast_to_integers_refuses_nan(kind: str, result: str) -> None:
    dtype = DTYPES[kind]
    builder = GraphBuilder()
    x = builder.input("x", dtype, (2, 3))
    builder.output(builder.add(CAST(), [x], dtype=DTYPES[result]))
    checked = tj.compile(builder.build(), checked=True)
    values = np.array([[1.5, -0.25, np.inf], [-np.inf, 3, 0]]).astype(dtype.storage)
    info = np.iinfo(result.lower())
    assert checked(values).tolist() == [[2, 0, info.max], [info.min, 3, 0]]
    values[1, 0] = np.nan
    with pytest.raises(tj.RequireError, match=r"CAST\).*NaN.*i0=1, i1=0"):
        checked(values)


@pytest.mark.parametrize("kind", FLOATS)
def test_checked_rows_of_floats_are_those_that_there_are(kind: str) -> None:
    dtype = DTYPES[kind]
    builder = GraphBuilder()
    values, indices = (
        builder.input("values", dtype, (1, 4, 2)),
        builder.input("indices", DTYPES["INT32"], (1, 3)),
    )
    new = builder.input("new", dtype, (1, 3, 2))
    builder.output(builder.add(GATHER(), [values, indices]), builder.add(SCATTER(), [values, indices, new]))
    checked = tj.compile(builder.build(), checked=True)
    arrays = [np.ones((1, 4, 2), dtype.storage), np.zeros((1, 3, 2), dtype.storage)]
    checked(arrays[0], np.array([[0, 3, 1]], np.int32), arrays[1])
    for row, what in ((4, "GATHER"), (-1, "GATHER"), (3, "SCATTER")):
        with pytest.raises(tj.RequireError, match=rf"{what}\)"):
            checked(arrays[0], np.array([[0, 3, row]], np.int32), arrays[1])


@pytest.mark.parametrize(
    ("rows", "again"),
    [
        ([[0, 3, 1], [3, 1, 0]], None),
        ([[0, 3, 0], [0, 1, 2]], "n=0, w=2"),
        ([[0, 3, 1], [2, 1, 2]], "n=1, w=2"),
        ([[0, 3, 1], [1, 1, 2]], "n=1, w=1"),
        ([[0, 3, 1], [2, 0, 0]], "n=1, w=2"),
    ],
)
def test_a_checked_scatter_writes_each_row_of_each_batch_once(
    rows: list[list[int]], again: str | None
) -> None:
    builder = GraphBuilder()
    values, indices = (
        builder.input("values", DTYPES["INT8"], (2, 4, 2)),
        builder.input("indices", DTYPES["INT32"], (2, 3)),
    )
    new = builder.input("new", DTYPES["INT8"], (2, 3, 2))
    builder.output(builder.add(SCATTER(), [values, indices, new]))
    checked = tj.compile(builder.build(), checked=True)
    arrays = np.zeros((2, 4, 2), np.int8), np.array(rows, np.int32), np.ones((2, 3, 2), np.int8)
    if again is None:
        assert checked(*arrays).sum() == 12
        return
    with pytest.raises(tj.RequireError, match=rf"SCATTER\).*{again}"):
        checked(*arrays)


@pytest.mark.parametrize("kind", ["FP32", "FP16", "BF16"])
def test_bounds_of_clamp_are_numbers_in_order(kind: str) -> None:
    dtype = DTYPES[kind]
    for low, high, what in ((2.0, 1.0, "max_val"), (np.nan, 1.0, "min_val"), (0.0, np.nan, "min_val")):
        builder = GraphBuilder()
        x = builder.input("x", dtype, (3,))
        with pytest.raises(tj.GraphError, match=rf"CLAMP\) {what}"):
            builder.add(CLAMP(min_val=low, max_val=high), [x])


@pytest.mark.parametrize("kind", ["FP32", "FP16"])
def test_control_flow_and_variables_hold_floats(kind: str) -> None:
    """Halve a variable until it is less than one; then add it, or take it away."""
    dtype = DTYPES[kind]
    builder = GraphBuilder()
    x = builder.input("x", dtype, (1,))
    builder.variable("state", dtype, (1,), [10.5])

    def number(block: GraphBuilder, value: float) -> str:
        return block.const(np.array([value], dtype.storage))

    def more(block: GraphBuilder, value: str) -> str:
        return block.add(GREATER_EQUAL(), [value, number(block, 1)])

    def half(block: GraphBuilder, value: str) -> list[str]:
        shift = block.const(np.zeros(1, np.int8))
        return [block.add(MUL(), [value, number(block, 0.5), shift])]

    (rest,) = while_loop(builder, [builder.read("state", dtype, (1,))], more, half)
    builder.write("state", rest)
    (result,) = cond_if(
        builder,
        builder.add(GREATER_EQUAL(), [x, number(builder, 0)]),
        [x, rest],
        lambda block, x, rest: block.add(ADD(), [x, rest]),
        lambda block, x, rest: block.add(SUB(), [x, rest]),
    )
    builder.output(result)
    executable = tj.compile(builder.build())
    context = tj.Context()
    for value, expected in ((2.0, 2.65625), (-2.0, -2.65625)):
        (found,) = executable(np.array([value], dtype.storage), context=context)
        assert (found.dtype, float(found)) == (dtype.storage, expected)


@pytest.mark.parametrize("kind", FLOATS)
def test_zero_points_that_come_with_the_data_must_be_zero(kind: str) -> None:
    dtype = DTYPES[kind]
    builder = GraphBuilder()
    shapes = {"A": (1, 2, 3), "B": (1, 3, 2), "A_zp": (1,), "B_zp": (1,)}
    names = [builder.input(name, dtype, shape) for name, shape in shapes.items()]
    sums = DTYPES["FP32" if kind in ("FP32", "BF16") else "FP16"]
    builder.output(builder.add(MATMUL(), names, dtype=sums))
    executable = tj.compile(builder.build())
    a, b = (np.ones(shapes[name], dtype.storage) for name in "AB")
    zero, one = np.zeros(1, dtype.storage), np.ones(1, dtype.storage)
    assert (executable(a, b, -zero, zero) == 3).all()
    with pytest.raises(tj.TosaError, match=r"MATMUL\) B_zp: it is 1"):
        executable(a, b, zero, one)
