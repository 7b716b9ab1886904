"""Standard operators of NNEF, as TOSA has them, give what NumPy gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.nnef import windows_oracle as oracle
from tests.nnef.operations import Array, Constant, Operand, model, of_one, operation, run
from tosajit.frontends.nnef.lowering import graph_of
from tosajit.frontends.nnef.model import Tensor

NO_ALIGN: dict[str, Any] = {"lhs_align": None, "rhs_align": None}


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


X, POSITIVE, UNIT = drawn(2, 3, 4), np.abs(drawn(2, 3, 4)) + 0.1, np.linspace(-1, 1, 21, dtype=np.float32)
TRUTHS = X > 0
DIVIDENDS, DIVISORS = np.array([-7, 7, -7, 7, -8], np.int32), np.array([2, 2, -2, -2, 4], np.int32)
TIES = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.2, 1e10], np.float32)
AWAY = np.array([-3, -2, -1, 1, 2, 3, 0, 0, 1e10], np.float32)


def check(
    name: str, operands: Mapping[str, Any], results: Mapping[str, Any], near: float = 1e-5, **given: Any
) -> None:
    made, arrays = of_one(name, operands, results, **given)
    wanted = [one for found in results.values() for one in (found if isinstance(found, list) else [found])]
    for one, other in zip(run(made, arrays), wanted, strict=True):
        assert one.shape == other.shape
        if other.dtype.kind == "f":
            np.testing.assert_allclose(one, other.astype(np.float32), rtol=near, atol=near)
        else:
            np.testing.assert_array_equal(one, other)


FUNCTIONS: list[tuple[str, Callable[[Any], Any], Array]] = [
    ("sqrt", np.sqrt, POSITIVE), ("exp", np.exp, X), ("log", np.log, POSITIVE), ("log2", np.log2, POSITIVE),
    ("sin", np.sin, X), ("cos", np.cos, X), ("tan", np.tan, X), ("sinh", np.sinh, 3 * X),
    ("cosh", np.cosh, X), ("tanh", np.tanh, X), ("asinh", np.arcsinh, 9 * X),
    ("acosh", np.arccosh, POSITIVE + 1), ("atanh", np.arctanh, UNIT[1:-1]), ("asin", np.arcsin, UNIT),
    ("acos", np.arccos, UNIT),
    ("atan", np.arctan, 3 * X), ("floor", np.floor, 3 * X), ("ceil", np.ceil, 3 * X), ("abs", np.abs, X),
    ("neg", np.negative, X), ("sign", np.sign, X), ("rcp", np.reciprocal, POSITIVE), ("sqr", np.square, X),
    ("rsqr", lambda value: value**-2.0, POSITIVE), ("rsqrt", lambda value: value**-0.5, POSITIVE),
    ("iden", lambda value: value, X), ("abs", np.abs, DIVIDENDS), ("sign", np.sign, DIVIDENDS),
    ("not", np.logical_not, TRUTHS), ("round", lambda _: AWAY, TIES),
]  # fmt: skip


@pytest.mark.parametrize(("name", "function", "value"), FUNCTIONS, ids=[one[0] for one in FUNCTIONS])
def test_functions(name: str, function: Callable[[Any], Any], value: Array) -> None:
    exact = value.astype(np.float64) if value.dtype.kind == "f" else value
    check(f"math.{name}", {"x": value}, {"y": np.asarray(function(exact))}, 2e-5)


PAIRS: list[tuple[str, Any, Any, Any]] = [
    ("add", X, drawn(4), X + drawn(4)), ("sub", X, drawn(3, 1), X - drawn(3, 1)),
    ("mul", DIVIDENDS, DIVISORS, DIVIDENDS * DIVISORS), ("div", X, POSITIVE, X / POSITIVE),
    ("div", DIVIDENDS, DIVISORS, DIVIDENDS // DIVISORS), ("mod", X * 9, POSITIVE, np.fmod(X * 9, POSITIVE)),
    ("mod", DIVIDENDS, DIVISORS, np.fmod(DIVIDENDS, DIVISORS)), ("pow", X, drawn(1) * 0 + 3, X**3.0),
    ("min", X, drawn(1), np.minimum(X, drawn(1))), ("max", X, drawn(1), np.maximum(X, drawn(1))),
    ("lt", X, drawn(4), drawn(4) > X), ("gt", X, drawn(4), drawn(4) < X),
    ("le", DIVIDENDS, DIVISORS, DIVIDENDS <= DIVISORS), ("ge", DIVIDENDS, DIVISORS, DIVIDENDS >= DIVISORS),
    ("eq", DIVIDENDS, DIVISORS, DIVIDENDS == DIVISORS), ("ne", DIVIDENDS, DIVISORS, DIVIDENDS != DIVISORS),
    ("eq", TRUTHS, TRUTHS[:1], TRUTHS == TRUTHS[:1]), ("and", TRUTHS, TRUTHS[:1], TRUTHS & TRUTHS[:1]),
    ("or", TRUTHS, TRUTHS[:1], TRUTHS | TRUTHS[:1]), ("xor", TRUTHS, TRUTHS[:1], TRUTHS ^ TRUTHS[:1]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "left", "right", "expected"), PAIRS, ids=[one[0] for one in PAIRS])
def test_pairs(name: str, left: Array, right: Array, expected: Array) -> None:
    check(f"math.{name}", {"x": left, "y": right}, {"z": expected}, **NO_ALIGN)


@pytest.mark.parametrize(
    ("align", "shape", "raised"), [(1, (3,), (3, 1)), (0, (2,), (2, 1, 1)), (-1, (3,), (3, 1))]
)
def test_operands_are_aligned(align: int, shape: tuple[int, ...], raised: tuple[int, ...]) -> None:
    other = drawn(*shape)
    operands = {"x": X, "y": other}
    check("math.add", operands, {"z": X + other.reshape(raised)}, lhs_align=None, rhs_align=align)


@pytest.mark.parametrize("exponent", [0.0, 2.0, 3.0, -1.0, 0.5, 1.7, -0.5])
def test_powers_by_constants(exponent: float) -> None:
    operands = {"x": POSITIVE, "y": Constant(np.array(exponent, np.float32))}
    check("math.pow", operands, {"z": POSITIVE.astype(np.float64) ** exponent}, **NO_ALIGN)


def test_powers_of_integers() -> None:
    bases, exponents = (
        np.array([3, -2, 2, -1, 0, 1, -1, 46340, 5], np.int32),
        np.array([19, 31, 30, 64, 64, 99, 33, 2, 0], np.int32),
    )
    expected = np.array([3**19, -(2**31), 2**30, 1, 0, 1, -1, 46340**2, 1], np.int32)
    check("math.pow", {"x": bases, "y": exponents}, {"z": expected}, **NO_ALIGN)


@pytest.mark.parametrize("axes", [(0,), (1, 2), (0, 2), (-1,), (0, 1, 2)])
@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "mean"])
@pytest.mark.parametrize("squeeze", [True, False])
def test_reductions(name: str, axes: tuple[int, ...], squeeze: bool) -> None:
    expected = np.asarray(getattr(np, name)(X, axis=axes, keepdims=not squeeze))
    check(f"math.{name}_reduce", {"input": X}, {"output": expected}, axes=axes, squeeze=squeeze)


def test_places_of_extremes() -> None:
    greatest, least = np.argmax(X, 1).astype(np.int32), np.argmin(X, 1).astype(np.int32)
    check("math.argmax", {"input": X}, {"output": greatest}, axis=1, squeeze=True)
    check("math.argmin", {"input": X}, {"output": least[:, None]}, axis=-2, squeeze=False)
    flat = np.argmax(X.reshape(2, 12), 1)
    places = np.stack(np.unravel_index(flat, (3, 4)), -1).astype(np.int32)
    check("math.argmax_nd", {"input": X}, {"output": places}, axes=(1, 2), squeeze=True)
    turned = places[:, ::-1].reshape(2, 1, 1, 2)
    check("math.argmax_nd", {"input": X}, {"output": turned}, axes=(2, 1), squeeze=False)


def test_tensors_are_combined() -> None:
    many = [drawn(2, 3, seed=seed) for seed in range(3)]
    check("math.sum_n", {"xs": many}, {"y": np.add.reduce(many)})
    check("math.argmin_n", {"xs": many}, {"y": np.argmin(many, 0).astype(np.int32)})
    check("math.argmax_n", {"xs": many}, {"y": np.argmax(many, 0).astype(np.int32)})
    choice = {"c": TRUTHS, "x": X, "y": drawn(4)}
    check("math.select", choice, {"z": np.where(TRUTHS, X, drawn(4))}, cond_align=None, **NO_ALIGN)


def test_running_sums() -> None:
    check("math.cumsum", {"input": X}, {"output": np.cumsum(X, 1)}, axis=1, exclusive=False, reverse=False)
    behind = np.cumsum(X[:, ::-1], 1)[:, ::-1] - X
    check("math.cumsum", {"input": X}, {"output": behind}, axis=1, exclusive=True, reverse=True)


def test_casts() -> None:
    check("layout.cast", {"x": X * 3}, {"y": np.trunc(X * 3).astype(np.int32)})
    check("layout.cast", {"x": TRUTHS}, {"y": TRUTHS.astype(np.float32)})
    check("layout.cast", {"x": DIVIDENDS}, {"y": DIVIDENDS.astype(np.float32)})
    check("layout.cast", {"x": X}, {"y": X != 0})


@pytest.mark.parametrize(
    ("method", "mode"),
    [("REFLECT", "reflect"), ("REPLICATE", "edge"), ("SYMMETRIC", "symmetric"), ("CONSTANT", "constant")],
)
def test_borders(method: str, mode: Any) -> None:
    expected = np.pad(X, ((0, 0), (2, 1), (1, 3)), mode)
    check("layout.pad", {"input": X}, {"output": expected}, axes=(1, 2), padding=(2, 1, 1, 3), method=method)


def test_parts() -> None:
    turned: dict[str, Any] = {"axes": (1, 2), "begin": (2, 1), "end": (-1, 3), "stride": (-2, 1)}
    check("layout.slice", {"input": X}, {"output": X[:, ::-2, 1:3]}, **turned)
    check("layout.split", {"input": X}, {"outputs": [X[:, :1], X[:, 1:]]}, axis=1)
    check("layout.unstack", {"input": X}, {"outputs": [X[:, place] for place in range(3)]}, axis=1)
    check("layout.transpose", {"input": X}, {"output": X.transpose(0, 2, 1)}, axis=1, perm=(2, 1))
    check("layout.tile", {"input": X}, {"output": np.tile(X, (1, 2, 3))}, axes=(1, 2), repeats=(2, 3))
    many = [drawn(2, 3, seed=seed) for seed in range(3)]
    check("layout.stack", {"inputs": many}, {"output": np.stack(many, 1)}, axis=1)
    check("layout.concat", {"inputs": many}, {"output": np.concatenate(many, -1)}, axis=-1)


def test_elements_by_indices() -> None:
    rows = np.array([[2, 0], [1, 1]], np.int32)
    check("layout.gather", {"data": X, "index": rows}, {"output": X[:, rows]}, axis=1)
    places = np.array([[[0, 1], [2, 3]], [[1, 1], [0, 0]]], np.int32)
    found = np.stack([one[at[:, 0], at[:, 1]] for one, at in zip(X, places, strict=True)])
    check("layout.gather_nd", {"data": X, "indices": places}, {"output": found}, batch_dims=1)
    replaced = X.copy()
    replaced[:, [2, 0]] = drawn(2, 2, 4)
    rows = np.broadcast_to(np.array([2, 0])[None, :, None], (2, 2, 4)).copy()
    operands = {"data": X, "indices": Constant(rows), "updates": drawn(2, 2, 4)}
    check("layout.scatter", operands, {"output": replaced}, axis=1)
    values, order = -np.sort(-X, 1)[:, :2], np.argsort(-X, 1)[:, :2].astype(np.int32)
    check("algo.top_k", {"input": X}, {"values": values, "indices": order}, k=2, axis=1, largest=True)


def test_products_of_matrices() -> None:
    left, right = drawn(2, 3, 5), drawn(4, 5)
    weights = {"A": left, "B": Constant(right), "C": None}
    check("linalg.matmul", weights, {"Z": left @ right.T}, transA=False, transB=True)
    other, more = drawn(1, 5, 2), drawn(2)
    computed = {"A": left, "B": other, "C": more}
    check("linalg.matmul", computed, {"Z": left @ other + more}, transA=False, transB=False)
    rows = {"input": left[0].copy(), "filter": Constant(right), "bias": Constant(drawn(4))}
    check("nn.linear", rows, {"output": left[0] @ right.T + drawn(4)})


def test_softmax_along_several_dimensions() -> None:
    powers = np.exp(X)
    check("nn.softmax", {"input": X}, {"output": powers / powers.sum(1, keepdims=True)}, axes=(1,))
    check("nn.softmax", {"input": X}, {"output": powers / powers.sum((1, 2), keepdims=True)}, axes=(1, 2))


def options(count: int, **given: Any) -> dict[str, Any]:
    """Attributes of windows, as many of each as there are dimensions."""
    whole = {
        "stride": 1,
        "dilation": 1,
        "padding": None,
        "padding_align": "UPPER",
        "ceil_mode": False,
        **given,
    }
    for name in ("stride", "dilation"):
        whole[name] = whole[name] if isinstance(whole[name], tuple) else (whole[name],) * count
    return whole


FORMATS: dict[str, Callable[[Array], Array]] = {
    "NCX": lambda value: value,
    "NXC": lambda value: np.moveaxis(value, 1, -1),
    "XCN": lambda value: np.moveaxis(np.moveaxis(value, 1, -1), 0, -1),
    "CXB": lambda value: np.moveaxis(np.moveaxis(value, 0, -1), 0, 0),
}

CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], int, dict[str, Any]]] = [
    ((2, 3, 7, 8), (4, 3, 3, 3), 1, {}),
    ((1, 3, 7, 8), (4, 3, 3, 2), 1, {"stride": (2, 3), "padding_align": "LOWER"}),
    ((1, 3, 9, 9), (4, 3, 1, 1), 1, {"stride": 4}),
    ((1, 3, 9, 9), (4, 3, 1, 1), 1, {"stride": 2, "ceil_mode": True}),
    ((1, 3, 9, 9), (4, 3, 3, 3), 1, {"stride": 2, "dilation": 2, "padding": (1, 0, 2, 1)}),
    ((1, 4, 9, 9), (8, 1, 3, 3), 0, {}),
    ((1, 4, 9, 9), (8, 2, 3, 3), 2, {"padding": (0, 0, 0, 0)}),
    ((2, 3, 9), (4, 3, 3), 1, {}),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), 1, {}),
]


@pytest.mark.parametrize(("image", "kernel", "groups", "given"), CONVOLUTIONS)
def test_convolutions(
    image: tuple[int, ...], kernel: tuple[int, ...], groups: int, given: dict[str, Any]
) -> None:
    convolved(image, kernel, groups, given, "NCX", "NCX")


@pytest.mark.parametrize(("data", "filters"), [("NXC", "XCN"), ("XCN", "CXB"), ("NCX", "NXC")])
def test_layouts_of_convolutions(data: str, filters: str) -> None:
    convolved((2, 3, 7, 8), (4, 3, 3, 3), 1, {"stride": 2}, data, filters)


def convolved(
    image: tuple[int, ...],
    kernel: tuple[int, ...],
    groups: int,
    given: dict[str, Any],
    data: str,
    filters: str,
) -> None:
    value, weights, bias = drawn(*image), drawn(*kernel), drawn(kernel[0])
    whole = options(len(image) - 2, **given)
    expected = oracle.conv(value, weights, bias, groups, whole)
    operands: dict[str, Operand] = {
        "input": FORMATS[data](value), "filter": Constant(FORMATS[filters](weights)), "bias": Constant(bias)
    }  # fmt: skip
    formats: dict[str, Any] = {"data_format": data, "filter_format": filters}
    check("nn.conv", operands, {"output": FORMATS[data](expected)}, 1e-4, groups=groups, **formats, **whole)


TRANSPOSED: list[tuple[tuple[int, ...], tuple[int, ...], int, tuple[int, ...], dict[str, Any]]] = [
    ((1, 3, 4, 5), (3, 2, 3, 3), 1, (7, 9), {"stride": 2, "padding": (1, 1, 1, 1)}),
    ((1, 3, 4, 5), (3, 2, 3, 3), 1, (9, 12), {"stride": 2, "dilation": 2, "padding": (1, 1, 1, 0)}),
    ((1, 4, 4, 5), (4, 2, 3, 3), 2, (9, 11), {"stride": 2, "padding": (0, 0, 0, 0)}),
    ((1, 3, 6, 6), (3, 2, 2, 2), 1, (3, 3), {"padding": (2, 2, 2, 2)}),
    ((1, 4, 5), (4, 2, 3), 1, (11,), {"stride": 2, "padding": (0, 0)}),
    ((1, 2, 3, 3, 3), (2, 2, 2, 2, 2), 1, (6, 6, 6), {"stride": 2, "padding": (0,) * 6}),
]


@pytest.mark.parametrize(("image", "kernel", "groups", "extents", "given"), TRANSPOSED)
def test_transposed_convolutions(
    image: tuple[int, ...],
    kernel: tuple[int, ...],
    groups: int,
    extents: tuple[int, ...],
    given: dict[str, Any],
) -> None:
    count = len(extents)
    value, weights, bias = drawn(*image), drawn(*kernel), drawn(kernel[1] * groups)
    whole = options(count, **given)
    expected = oracle.deconv(value, weights, bias, groups, extents, given["padding"][:count], whole)
    del whole["ceil_mode"]
    formats: dict[str, Any] = {
        "data_format": "NCX",
        "filter_format": "NCX",
        "output_size": None,
        "groups": groups,
    }
    operands: dict[str, Operand] = {"input": value, "filter": Constant(weights), "bias": Constant(bias)}
    check("nn.deconv", operands, {"output": expected}, 1e-4, **formats, **whole)


COMBINED: dict[str, Callable[[list[Any]], float]] = {
    "max": lambda found: max(found, default=-np.inf), "sum": sum, "avg": np.mean,
}  # fmt: skip
POOLS: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 7, 8), (2, 3), (3, 3), {"stride": 2}),
    ((2, 3, 7, 8), (2, 3), (2, 2), {"stride": 2, "padding": (0, 0, 0, 0), "ceil_mode": True}),
    ((2, 3, 8), (2,), (3,), {"stride": 2}),
    ((1, 2, 4, 5, 4), (2, 3, 4), (2, 3, 2), {"stride": 2}),
    ((2, 5, 4, 4), (1,), (3,), {}),
    ((6, 7), (0, 1), (2, 2), {"stride": 2}),
    ((1, 2, 9, 9), (2, 3), (3, 3), {"stride": 2, "dilation": 2}),
    ((2, 3, 7, 8), (3, 1), (2, 3), {"stride": 2}),
    ((1, 2, 10, 10), (2, 3), (1, 1), {"stride": 4}),
]


@pytest.mark.parametrize("name", COMBINED)
@pytest.mark.parametrize(("shape", "axes", "size", "given"), POOLS)
def test_pools(
    name: str, shape: tuple[int, ...], axes: tuple[int, ...], size: tuple[int, ...], given: dict[str, Any]
) -> None:
    whole = options(len(axes), **given)
    expected = oracle.pool(drawn(*shape), axes, size, whole, COMBINED[name])
    more: dict[str, Any] = {"ignore_border": True} if name == "avg" else {}
    check(
        f"nn.{name}_pool",
        {"input": drawn(*shape)},
        {"output": expected},
        axes=axes,
        size=size,
        **more,
        **whole,
    )


def test_windows_that_are_outside() -> None:
    whole = options(2, stride=3, padding=(2, 0, 1, 3))
    expected = oracle.pool(drawn(1, 2, 5, 5), (2, 3), (2, 2), whole, COMBINED["max"])
    check(
        "nn.max_pool", {"input": drawn(1, 2, 5, 5)}, {"output": expected}, axes=(2, 3), size=(2, 2), **whole
    )


@pytest.mark.parametrize("epsilon", [1e-5, 0.5])
@pytest.mark.parametrize("known", [True, False])
def test_batch_normalization(known: bool, epsilon: float) -> None:
    value, mean, bias, scale = drawn(2, 4, 3, 3), drawn(4), drawn(4, seed=1), drawn(4, seed=2)
    variance = np.abs(drawn(4, seed=3)) + 0.5
    column = (1, 4, 1, 1)
    expected = (value - mean.reshape(column)) / np.sqrt(variance.reshape(column) + epsilon)
    expected = expected * scale.reshape(column) + bias.reshape(column)
    given = {"mean": mean, "variance": variance, "bias": bias, "scale": scale}
    operands: dict[str, Operand] = {
        "input": value, **{name: Constant(one) if known else one for name, one in given.items()}
    }  # fmt: skip
    check("nn.batch_norm", operands, {"output": expected}, epsilon=epsilon, channel_axis=1)


@pytest.mark.parametrize("shared", [0, 1, 2])
def test_parts_are_replaced_at_indices_behind_shared_dimensions(shared: int) -> None:
    """Two places of each batch get others, for each way to divide dimensions among batches and indices."""
    data, extents = drawn(2, 3, 4, 5), (2, 3, 4, 5)
    batches, rank = extents[:shared], 2
    generator = np.random.default_rng(shared)
    flat = np.array([generator.permutation(int(np.prod(extents[shared : shared + rank])))[:2]
                     for _ in range(int(np.prod(batches)))])  # fmt: skip
    places = np.stack(np.unravel_index(flat, extents[shared : shared + rank]), -1).reshape(*batches, 2, rank)
    updates = drawn(*batches, 2, *extents[shared + rank :], seed=7)
    expected = data.copy()
    for at in np.ndindex(*batches, 2):
        expected[(*at[:-1], *places[at])] = updates[at]
    operands = {"data": data, "indices": Constant(places.astype(np.int32)), "updates": updates}
    check("layout.scatter_nd", operands, {"output": expected}, batch_dims=shared)


def test_responses_of_neighbours() -> None:
    value = drawn(2, 4, 3, 3)
    squares = np.pad(value**2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    mean = (squares[:, :4] + squares[:, 1:5] + squares[:, 2:]) / 3
    given: dict[str, Any] = {"axes": (1,), "size": 3, "alpha": 2.0, "beta": 0.75, "bias": 1.0}
    check("nn.local_response_norm", {"input": value}, {"output": value / (mean * 2 + 1) ** 0.75}, **given)


MANY = 10**11
RESIZED: dict[str, Any] = {"axes": (2,), "size": (MANY,), "coordinate_transform": "SYMMETRIC"}
WIDE: dict[str, Any] = {"axes": (2,), "size": (MANY,), **options(1, padding=(MANY, 0))}


@pytest.mark.parametrize(
    ("name", "extent", "given", "reason"),
    [
        ("image.linear_resize", MANY, RESIZED, "at most 1048576 are numbered"),
        (
            "image.nearest_resize",
            MANY,
            {**RESIZED, "rounding_method": "FLOOR"},
            "at most 1048576 are numbered",
        ),
        ("nn.sum_pool", 9, WIDE, "are too large"),
    ],
)
def test_few_numbers_do_not_ask_for_much_memory(
    name: str, extent: int, given: dict[str, Any], reason: str
) -> None:
    value, result = (
        Tensor("x", "real", (1, 3, 8, 8), "input"),
        Tensor("y", "real", (1, 3, extent, 8), "output"),
    )
    step = operation(name, {"input": value}, {"output": result}, **given)
    with pytest.raises(tj.ModelError, match=reason):
        graph_of(model([value], [step], [result]))


@pytest.mark.parametrize(("shape", "axes", "size", "given"), POOLS)
def test_means_of_windows_may_count_what_is_outside(
    shape: tuple[int, ...], axes: tuple[int, ...], size: tuple[int, ...], given: dict[str, Any]
) -> None:
    whole = options(len(axes), **given)
    area = float(np.prod(size))
    expected = oracle.pool(drawn(*shape), axes, size, whole, lambda found: sum(found) / area)
    operands = {"input": drawn(*shape)}
    check("nn.avg_pool", operands, {"output": expected}, axes=axes, size=size, ignore_border=False, **whole)


def pooled_by(name: str, size: tuple[int, ...], **given: Any) -> list[str]:
    """The operators that a pool of a picture becomes."""
    whole = options(2, **given)
    more: dict[str, Any] = {"ignore_border": given.pop("ignore_border", True)} if name == "avg" else {}
    whole.pop("ignore_border", None)
    result = oracle.pool(drawn(1, 2, 8, 8), (2, 3), size, whole, sum)
    made, _ = of_one(
        f"nn.{name}_pool",
        {"input": drawn(1, 2, 8, 8)},
        {"output": result},
        axes=(2, 3),
        size=size,
        **more,
        **whole,
    )
    found = {node.operator.opcode for node in graph_of(made).nodes}
    return sorted(found & {"AVG_POOL2D", "MAX_POOL2D", "DEPTHWISE_CONV2D", "PAD", "MAXIMUM"})


@pytest.mark.parametrize(
    ("name", "size", "given", "expected"),
    [
        ("avg", (3, 3), {}, ["AVG_POOL2D"]),
        ("avg", (3, 3), {"ignore_border": False}, ["DEPTHWISE_CONV2D"]),
        ("avg", (3, 3), {"padding": (0,) * 4, "ignore_border": False}, ["AVG_POOL2D"]),
        ("avg", (2, 2), {"dilation": 2}, ["DEPTHWISE_CONV2D"]),
        ("avg", (2, 2), {"padding": (1, 1, 1, 1)}, ["AVG_POOL2D"]),
        ("avg", (2, 2), {"padding": (2, 0, 0, 0)}, ["DEPTHWISE_CONV2D"]),
        ("avg", (2, 2), {"padding": (0, 0, 0, 2)}, ["DEPTHWISE_CONV2D"]),
        ("max", (2, 2), {"padding": (1, 1, 1, 1)}, ["MAX_POOL2D"]),
        ("max", (2, 2), {"padding": (2, 0, 0, 0)}, ["MAX_POOL2D", "PAD"]),
        ("max", (2, 2), {"dilation": 2, "padding": (0,) * 4}, ["MAXIMUM"]),
        ("sum", (2, 2), {}, ["DEPTHWISE_CONV2D"]),
    ],
)
def test_pools_are_the_operators_of_tosa_where_they_can(
    name: str, size: tuple[int, ...], given: dict[str, Any], expected: list[str]
) -> None:
    assert pooled_by(name, size, **given) == expected


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("align", ["UPPER", "LOWER"])
@pytest.mark.parametrize(
    ("image", "kernel", "extents", "given"),
    [
        ((1, 2, 4, 5), (2, 3, 3, 2), (8, 10), {"stride": 2}),
        ((1, 2, 4, 5), (2, 3, 2, 3), (4, 5), {"dilation": 2}),
        ((1, 2, 5), (2, 3, 4), (15,), {"stride": 3}),
        ((1, 2, 3, 3, 3), (2, 1, 2, 3, 2), (6, 6, 6), {"stride": 2}),
        ((1, 2, 6), (2, 3, 2), (4,), {"padding": (1, 2)}),
        ((1, 2, 6, 6), (2, 3, 3, 3), (2, 4), {"padding": (3, 1, 3, 3)}),
        ((1, 2, 4, 5), (2, 3, 3, 3), (9, 13), {"padding": (-2, -1, -1, -5)}),
    ],
)
def test_transposed_convolutions_of_any_padding(
    image: tuple[int, ...],
    kernel: tuple[int, ...],
    extents: tuple[int, ...],
    given: dict[str, Any],
    align: str,
    known: bool,
) -> None:
    count = len(extents)
    value, weights = drawn(*image), drawn(*kernel)
    whole = options(count, padding_align=align, **given)
    if "padding" in given:
        before = list(given["padding"][:count])
    else:
        sides = zip(kernel[2:], whole["dilation"], whole["stride"], strict=True)
        totals = [(size - 1) * gap + 1 - step for size, gap, step in sides]
        before = [one // 2 if align == "UPPER" else -(-one // 2) for one in totals]
    bias = np.zeros(kernel[1], np.float32)
    expected = oracle.deconv(value, weights, bias, 1, extents, before, whole)
    del whole["ceil_mode"]
    formats: dict[str, Any] = {"data_format": "NCX", "filter_format": "NCX", "output_size": None, "groups": 1}
    operands: dict[str, Operand] = {
        "input": value,
        "filter": Constant(weights) if known else weights,
        "bias": None,
    }
    check("nn.deconv", operands, {"output": expected}, 1e-4, **formats, **whole)


@pytest.mark.parametrize(("name", "depth"), [("nn.conv", 2), ("nn.deconv", 2)])
@pytest.mark.parametrize(("groups", "is_refused"), [(64, False), (65, True)])
def test_convolutions_have_so_many_groups(name: str, depth: int, groups: int, is_refused: bool) -> None:
    value = drawn(1, 2 * groups, 2, 2)
    kernel = drawn(groups, depth, 1, 1) if name == "nn.conv" else drawn(2 * groups, 1, 1, 1)
    result = drawn(1, groups, 2, 2)
    whole = options(2, padding=(0,) * 4)
    if name == "nn.deconv":
        del whole["ceil_mode"]
        whole["output_size"] = None
    formats: dict[str, Any] = {"data_format": "NCX", "filter_format": "NCX", "groups": groups}
    operands: dict[str, Operand] = {"input": value, "filter": Constant(kernel), "bias": None}
    made, _ = of_one(name, operands, {"output": result}, **formats, **whole)
    if is_refused:
        with pytest.raises(
            tj.ModelError, match="it has 65 groups, of which TOSA knows nothing; 64 are written out"
        ):
            graph_of(made)
    else:
        opcodes = [node.operator.opcode for node in graph_of(made).nodes]
        assert sum(one in ("CONV2D", "TRANSPOSE_CONV2D") for one in opcodes) == 64


@pytest.mark.parametrize(("extent", "is_refused"), [(1448, False), (1449, True)])
@pytest.mark.parametrize("name", ["upsample", "resize"])
def test_weights_of_larger_images_are_so_many(name: str, extent: int, is_refused: bool) -> None:
    given: dict[str, Any] = {"axes": (2,)}
    if name == "upsample":
        given |= {"factor": (2,), "symmetric": True, "replicate_border": True}
    else:
        given |= {"size": (2 * extent,), "coordinate_transform": "SYMMETRIC"}
    operands, results = {"input": drawn(1, 1, extent)}, {"output": drawn(1, 1, 2 * extent)}
    made, _ = of_one(f"image.linear_{name}", operands, results, **given)
    if is_refused:
        with pytest.raises(tj.ModelError, match="its weights of 2898 by 1449 elements are too many"):
            graph_of(made)
    else:
        assert graph_of(made).outputs[0].shape == (1, 1, 2896)
