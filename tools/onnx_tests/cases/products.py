"""Products of matrices, and what surrounds them in networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawing import Array, Random, array, shape_of

from onnx_tests.cases import REAL, Drawn, case, chance, integers, one_of

EINSUMS = (
    "ij,jk->ik", "bij,bjk->bik", "bhid,bhjd->bhij", "ij->ji", "ii->i", "ij->", "ij,j->i", "abc,cd->abd",
    "i,j->ij", "bij,kj->bik", "abcd,cd->ab", "ij,ij->ij", "b...d,de->b...e", "ij,jk,kl->il", "bii->bi",
)  # fmt: skip

SMALL = 64
"""The largest weights of int8: without VNNI, ONNX Runtime saturates pairs of products of larger ones."""


@case("MatMul")
def products(rng: Random, name: str) -> Drawn:
    """Of vectors, matrices, and many of them."""
    m, k, n = (int(one) for one in rng.integers(1, 7, 3))
    lead = shape_of(rng, 0, 2, 3)
    left, right = (*lead, m, k), (*(one if chance(rng, 0.7) else 1 for one in lead), k, n)
    right = right[int(rng.integers(0, len(right) - 1)) :] if chance(rng, 0.4) else right
    if len(right) == 1:
        right = (k,)
    left = left if chance(rng, 0.8) else (k,)
    kind = one_of(rng, *REAL, "int32")
    return Drawn((array(rng, kind, left), array(rng, kind, right)), constant=one_of(rng, (), (1,), (0,)))


@case("Gemm")
def gemm(rng: Random, name: str) -> Drawn:
    """With both matrices either way, scaled, and something added."""
    m, k, n = (int(one) for one in rng.integers(1, 7, 3))
    turned = int(chance(rng)), int(chance(rng))
    left, right = (k, m) if turned[0] else (m, k), (n, k) if turned[1] else (k, n)
    added = (
        (array(rng, "float32", one_of(rng, (n,), (m, n), (1, n), (m, 1), ())),) if chance(rng, 0.7) else ()
    )
    attributes: dict[str, Any] = {"transA": turned[0], "transB": turned[1]}
    attributes |= {key: float(rng.uniform(-2, 2)) for key in ("alpha", "beta") if chance(rng, 0.3)}
    given = array(rng, "float32", left), array(rng, "float32", right), *added
    return Drawn(given, attributes, one_of(rng, (1, 2), ()))


@case("Einsum")
def sums(rng: Random, name: str) -> Drawn:
    """Sums of products, as they are written."""
    equation = one_of(rng, *EINSUMS)
    letters = {one: int(rng.integers(1, 5)) for one in "abcdehijkl"}
    more = shape_of(rng, 1, 2, 3)
    terms = equation.partition("->")[0].split(",")
    shapes = (
        tuple(extent for part in _parts(one) for extent in (more if part == "..." else (letters[part],)))
        for one in terms
    )
    return Drawn(tuple(array(rng, "float32", shape) for shape in shapes), {"equation": equation})


def _parts(term: str) -> list[str]:
    head, dots, tail = term.partition("...")
    return [*head, *([dots] if dots else []), *tail]


@case("MatMulInteger")
def integer_products(rng: Random, name: str) -> Drawn:
    """Products of bytes with zero points."""
    m, k, n = (int(one) for one in rng.integers(1, 9, 3))
    left, right = _bytes(rng, (m, k)), _bytes(rng, (k, n))
    if right.dtype == np.int8:
        right = array(rng, "int8", (k, n), -SMALL, SMALL)
    points = (
        array(rng, left.dtype.name, (), 0, 100),
        array(rng, right.dtype.name, one_of(rng, (), (n,)), 0, 100),
    )
    return Drawn((left, right, *points[: int(rng.integers(0, 3))]), constant=one_of(rng, (1, 2, 3), (2, 3)))


@case("ConvInteger")
def integer_convolutions(rng: Random, name: str) -> Drawn:
    """Convolutions of bytes without sign."""
    c, f, k = (int(one) for one in rng.integers(1, 4, 3))
    given = array(rng, "uint8", (1, c, k + 3, k + 2), 0, 255)
    weights = array(rng, "uint8", (f, c, k, k), 0, 255)
    points = array(rng, "uint8", (), 0, 255), array(rng, "uint8", (), 0, 255)
    attributes = {"strides": [int(one) for one in rng.integers(1, 3, 2)]} if chance(rng) else {}
    return Drawn((given, weights, *points[: int(rng.integers(0, 3))]), attributes, (1, 2, 3))


@case("RNN GRU LSTM")
def recurrent(rng: Random, name: str) -> Drawn:
    """Some steps, or so many that they become a loop, one way or both."""
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    steps, batch, width, hidden = (int(one) for one in rng.integers(1, 5, 4))
    if chance(rng, 0.3):
        steps = int(rng.integers(30, 80))
    way = one_of(rng, "forward", "reverse", "bidirectional")
    ways = 2 if way == "bidirectional" else 1
    weights = array(rng, "float32", (ways, gates * hidden, width), -1, 1)
    again = array(rng, "float32", (ways, gates * hidden, hidden), -1, 1)
    bias = array(rng, "float32", (ways, 2 * gates * hidden), -1, 1) if chance(rng, 0.7) else None
    lengths = array(rng, "int32", (batch,), 1, steps) if chance(rng, 0.2) else None
    start = array(rng, "float32", (ways, batch, hidden), -1, 1) if chance(rng) else None
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": way}
    if name == "GRU" and chance(rng):
        attributes["linear_before_reset"] = 1
    given = [array(rng, "float32", (steps, batch, width)), weights, again, bias, lengths, start]
    if name == "LSTM" and chance(rng):
        memory = array(rng, "float32", (ways, batch, hidden), -1, 1) if start is not None else None
        given += [memory, array(rng, "float32", (ways, 3 * hidden), -1, 1)]
    return Drawn(tuple(given), attributes, (1, 2, 3, 7), outputs=3 if name == "LSTM" else 2)


@case("Attention")
def attention(rng: Random, name: str) -> Drawn:
    """Heads that look at others, some of which share what is looked at."""
    batch, tokens, others, size, shared = (int(one) for one in rng.integers(1, 5, 5))
    heads = shared * int(rng.integers(1, 3))
    query = array(rng, "float32", (batch, heads, tokens, size))
    key, value = (array(rng, "float32", (batch, shared, others, size)) for _ in range(2))
    mask = (array(rng, "float32", (tokens, others)),) if chance(rng, 0.4) else ()
    attributes: dict[str, Any] = (
        {"is_causal": 1} if chance(rng, 0.3) and not mask and tokens == others else {}
    )
    attributes |= {"scale": 0.5} if chance(rng, 0.3) else {}
    return Drawn((query, key, value, *mask), attributes, opsets=(23, 24))


def _bytes(rng: Random, shape: tuple[int, ...]) -> Array:
    return array(rng, one_of(rng, "uint8", "int8"), shape, -128, 255)


@case("BatchNormalization")
def batches(rng: Random, name: str) -> Drawn:
    """By statistics that are given."""
    shape = shape_of(rng, 2)
    numbers = (array(rng, "float32", shape[1:2], 0.1, 2) for _ in range(4))
    more = {"epsilon": 1e-3} if chance(rng) else {}
    return Drawn((array(rng, "float32", shape), *numbers), more, one_of(rng, (1, 2, 3, 4), ()))


@case("InstanceNormalization")
def instances(rng: Random, name: str) -> Drawn:
    """By the statistics of each channel."""
    shape = shape_of(rng, 3, 4)
    numbers = (array(rng, "float32", shape[1:2]) for _ in range(2))
    return Drawn((array(rng, "float32", shape), *numbers), {"epsilon": 1e-2}, (1, 2))


@case("LayerNormalization RMSNormalization")
def layers(rng: Random, name: str) -> Drawn:
    """By the statistics of the last dimensions."""
    shape = shape_of(rng, 1)
    axis = int(rng.integers(-len(shape), len(shape)))
    numbers = [array(rng, "float32", shape[axis:]) for _ in range(1 if name[0] == "R" or chance(rng) else 2)]
    given = array(rng, "float32", shape), *numbers
    return Drawn(given, {"axis": axis, "epsilon": 1e-2}, (1, 2), opsets=(23,) if name[0] == "R" else (18, 22))


@case("GroupNormalization")
def groups(rng: Random, name: str) -> Drawn:
    """By the statistics of some channels."""
    count, each = (int(one) for one in rng.integers(1, 4, 2))
    given = array(rng, "float32", (int(rng.integers(1, 3)), count * each, *shape_of(rng, 1, 2)))
    numbers = (array(rng, "float32", (count * each,)) for _ in range(2))
    return Drawn((given, *numbers), {"num_groups": count, "epsilon": 1e-2}, (1, 2), opsets=(21, 22))


@case("MeanVarianceNormalization LpNormalization")
def normalized(rng: Random, name: str) -> Drawn:
    """By statistics along axes."""
    if name == "LpNormalization":
        given = array(rng, "float32", shape_of(rng, 1), 0.2, 4)
        return Drawn(
            (given,), {"axis": int(rng.integers(-given.ndim, given.ndim)), "p": int(one_of(rng, 1, 2))}
        )
    given = array(rng, "float32", tuple(int(one) for one in rng.integers(2, 6, 4)))
    return Drawn((given,), {"axes": one_of(rng, [0, 2, 3], [2, 3], [-1])} if chance(rng) else {})


@case("QuantizeLinear")
def quantized(rng: Random, name: str) -> Drawn:
    """Bytes of real numbers, by tensor or by channel."""
    given = array(rng, "float32", shape_of(rng, 1), -20, 20)
    scale, point, more = _scale(rng, given)
    return Drawn((given, scale, point), more, (1, 2), opsets=(19, 21, 23))


@case("DequantizeLinear")
def real(rng: Random, name: str) -> Drawn:
    """Real numbers of bytes."""
    given = array(rng, "float32", shape_of(rng, 1))
    scale, point, more = _scale(rng, given)
    return Drawn(
        (array(rng, point.dtype.name, given.shape, -128, 255), scale, point),
        more,
        (1, 2),
        opsets=(19, 21, 23),
    )


def _scale(rng: Random, given: Array) -> tuple[Array, Array, dict[str, int]]:
    axis = int(rng.integers(-given.ndim, given.ndim))
    shape = (given.shape[axis],) if chance(rng) else ()
    kind = one_of(rng, "int8", "uint8")
    return array(rng, "float32", shape, 0.05, 0.3), array(rng, kind, shape, -20, 20), {"axis": axis}


@case("QLinearMatMul")
def quantized_products(rng: Random, name: str) -> Drawn:
    """Products of bytes that are bytes again."""
    m, k, n = (int(one) for one in rng.integers(1, 9, 3))
    kind = one_of(rng, "int8", "uint8")
    scales = [np.full((), 2.0 ** -int(rng.integers(3, 8)), np.float32) for _ in range(2)]
    points = [array(rng, kind, (), 0, 9) for _ in range(3)]
    left, right = (array(rng, kind, shape, -128, 255) for shape in ((m, k), (k, n)))
    given = left, scales[0], points[0], right, scales[1], points[1], np.full((), 0.25, np.float32), points[2]
    return Drawn(given, {}, (1, 2, 3, 4, 5, 6, 7))


@case("QLinearConv")
def quantized_convolutions(rng: Random, name: str) -> Drawn:
    """Convolutions of bytes that are bytes again, by tensor or by channel."""
    c, f, k = (int(one) for one in rng.integers(1, 5, 3))
    kind = one_of(rng, "int8", "uint8")
    given = array(rng, kind, (1, c, k + 3, k + 2), -128, 255)
    weights = array(rng, "int8", (f, c, k, k), -SMALL, SMALL)
    shape = (f,) if chance(rng) else ()
    scales = (
        (2.0 ** -rng.integers(5, 9, shape)).astype(np.float32) if shape else np.asarray(2.0**-6, np.float32)
    )
    point = array(rng, kind, (), 0, 9), array(rng, kind, (), 0, 9)
    bias = (array(rng, "int32", (f,), -999, 999),) if chance(rng) else ()
    quarter = np.asarray(0.25, np.float32)
    operands = (
        given,
        quarter,
        point[0],
        weights,
        scales,
        np.zeros(shape, np.int8),
        np.asarray(1.0, np.float32),
        point[1],
    )
    return Drawn((*operands, *bias), {}, tuple(range(1, 9)))


@case("Det")
def determinants(rng: Random, name: str) -> Drawn:
    """Of matrices that may have none but small numbers where elimination begins."""
    rows = int(rng.integers(1, 6))
    given = array(rng, "float32", (*shape_of(rng, 0, 2, 3), rows, rows))
    given[..., 0, 0] *= one_of(rng, 0, 1, 1e-6)
    return Drawn((given,), opsets=(22, 23))


@case("MelWeightMatrix")
def bands(rng: Random, name: str) -> Drawn:
    """Bands of frequencies."""
    count, length = integers(int(rng.integers(1, 12)), int(rng.integers(8, 200)))
    rate, low = int(one_of(rng, 8000, 16000, 44100)), float(rng.uniform(0, 500))
    edges = np.float32(low), np.float32(rng.uniform(low, rate / 2))
    return Drawn((count, length, np.asarray(rate), *map(np.asarray, edges)), {}, (0, 1, 2, 3, 4))
