"""Operators of linear algebra and of networks (sections 4.3 and 4.4)."""

from __future__ import annotations

from collections.abc import Iterator
from math import erf, pi
from typing import Any

import numpy as np

from tests.nnef.cases.case import SHAPES, Array, Attribute, Case, reals
from tests.nnef.cases.windows import automatic, convolved, deconvolved, pooled


def algebra() -> Iterator[Case]:
    """Section 4.3."""
    for b in (None, reals(seed=2)):
        yield Case(
            "linalg.dot", (reals(5), reals(5, seed=1), b), lambda x, y, b: x @ y + (0 if b is None else b)
        )
    for transposed in (False, True):
        for biased in (False, True):
            A, x = reals(3, 4), reals(3 if transposed else 4)
            b = reals(4 if transposed else 3, seed=2) if biased else None
            yield Case(
                "linalg.matvec",
                (A, x, b),
                lambda A, x, b, t=transposed: (A.T if t else A) @ x + (0 if b is None else b),
                {"transA": transposed},
            )
    for one, other, third in (
        ((), (), None),
        ((), (), ()),
        ((2,), (2,), None),
        ((2,), (), (2,)),
        ((3, 1), (2,), None),
        ((3, 1), (2,), (1, 2)),
    ):
        for ta in (False, True):
            for tb in (False, True):
                A = reals(*one, *((4, 3) if ta else (3, 4)))
                B = reals(*other, *((5, 4) if tb else (4, 5)), seed=1)
                C = None if third is None else reals(*third, 3, 5, seed=2)
                yield Case(
                    "linalg.matmul",
                    (A, B, C),
                    lambda A, B, C, ta=ta, tb=tb: (
                        (A.swapaxes(-1, -2) if ta else A) @ (B.swapaxes(-1, -2) if tb else B)
                        + (0 if C is None else C)
                    ),
                    {"transA": ta, "transB": tb},
                )
    for sx, sy in (((3,), (4,)), ((2, 3), (4,)), ((), (4,))):
        yield Case("linalg.outer", (reals(*sx), reals(*sy, seed=1)), lambda x, y: np.multiply.outer(x, y))


_TO_NCX = {
    "NCX": lambda x: x,
    "NXC": lambda x: np.moveaxis(x, -1, 1),
    "XCN": lambda x: np.moveaxis(x, (-1, -2), (0, 1)),
    "CXB": lambda x: np.moveaxis(x, -1, 0),
}
_FROM_NCX = {
    "NCX": lambda x: x,
    "NXC": lambda x: np.moveaxis(x, 1, -1),
    "XCN": lambda x: np.moveaxis(x, (0, 1), (-1, -2)),
    "CXB": lambda x: np.moveaxis(x, 0, -1),
}

Attributes = dict[str, Attribute]

CONVOLUTIONS: tuple[tuple[tuple[int, ...], tuple[int, ...], Attributes], ...] = (
    ((1, 3, 8), (4, 3, 3), {}),
    ((2, 3, 7), (4, 3, 3), {"padding": (1, 1), "stride": (2,)}),
    ((1, 3, 6, 7), (4, 3, 3, 3), {}),
    ((2, 3, 6, 7), (4, 3, 3, 2), {"padding": (0, 0, 0, 0)}),
    ((1, 3, 6, 7), (4, 3, 3, 3), {"padding": (1, 0, 2, 1), "stride": (2, 1)}),
    ((1, 3, 7, 8), (4, 3, 3, 2), {"dilation": (2, 3)}),
    ((1, 4, 6, 6), (6, 2, 3, 3), {"groups": 2, "padding": (1, 1, 1, 1)}),
    ((1, 4, 6, 6), (8, 1, 3, 3), {"groups": 0, "padding": (1, 1, 1, 1)}),
    ((1, 3, 6, 7), (4, 3, 2, 2), {"padding_align": "LOWER"}),
    ((1, 3, 7, 7), (4, 3, 3, 3), {"stride": (2, 2), "ceil_mode": True}),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"stride": (2, 2), "padding": (0, 0, 0, 0), "ceil_mode": True}),
    ((1, 3, 6, 7), (4, 3, 1, 1), {"stride": (2, 2)}),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 3), {"padding": (1, 1, 1, 0, 1, 1)}),
)
FORMATS = (("NCX", "NCX"), ("NXC", "NXC"), ("XCN", "XCN"), ("NXC", "CXB"), ("NCX", "XCN"))


def _per_axis(attributes: Attributes, name: str, d: int) -> tuple[int, ...]:
    value = attributes.get(name, 1)
    assert isinstance(value, int | tuple)
    return tuple(map(int, value)) if isinstance(value, tuple) else (value,) * d


def _pads(attributes: Attributes, extents: Any, sizes: Any, d: int) -> list[tuple[int, int]]:
    given = attributes.get("padding")
    if isinstance(given, tuple):
        return [(int(a), int(b)) for a, b in zip(given[:d], given[d:], strict=True)]
    stride, dilation = _per_axis(attributes, "stride", d), _per_axis(attributes, "dilation", d)
    upper = attributes.get("padding_align", "UPPER") == "UPPER"
    return [
        automatic(n, (k - 1) * step + 1, s, bool(attributes.get("ceil_mode", False)), upper)
        for n, k, s, step in zip(extents, sizes, stride, dilation, strict=True)
    ]


def _convolution(attributes: Attributes, data: str, weights: str) -> Any:
    def reference(x: Array, f: Array, bias: Array | None = None) -> Array:
        x, f = _TO_NCX[data](x), _TO_NCX[weights](f)
        d = x.ndim - 2
        pads = _pads(attributes, x.shape[2:], f.shape[2:], d)
        groups = attributes.get("groups", 1) or x.shape[1]
        found = convolved(
            x,
            f,
            bias,
            _per_axis(attributes, "stride", d),
            _per_axis(attributes, "dilation", d),
            pads,
            int(str(groups)),
            bool(attributes.get("ceil_mode", False)),
        )
        return np.asarray(_FROM_NCX[data](found))

    return reference


def convolutions() -> Iterator[Case]:
    """`conv` in every format, and `linear`."""
    for shape, filter, attributes in CONVOLUTIONS:
        for data, weights in FORMATS:
            x, f = _FROM_NCX[data](reals(*shape)), _FROM_NCX[weights](reals(*filter, seed=1))
            given = {**attributes, "data_format": data, "filter_format": weights}
            yield Case(
                "nn.conv", (x, f, reals(filter[0], seed=2)), _convolution(attributes, data, weights), given
            )
        yield Case(
            "nn.conv",
            (reals(*shape), reals(*filter, seed=1)),
            _convolution(attributes, "NCX", "NCX"),
            attributes,
        )
    yield Case("nn.linear", (reals(2, 3), reals(4, 3, seed=1)), lambda x, f: x @ f.T)
    yield Case("nn.linear", (reals(2, 3), reals(4, 3, seed=1), reals(4)), lambda x, f, b: x @ f.T + b)


DECONVOLUTIONS: tuple[tuple[tuple[int, ...], tuple[int, ...], Attributes], ...] = (
    ((1, 4, 5), (4, 3, 3), {"padding": (0, 0)}),
    ((1, 4, 4, 5), (4, 3, 3, 3), {"stride": (2, 2)}),
    ((2, 4, 4, 5), (4, 3, 3, 2), {"padding": (0, 0, 0, 0)}),
    ((1, 4, 4, 5), (4, 3, 3, 3), {"padding": (1, 0, 1, 1), "stride": (2, 1)}),
    ((1, 4, 4, 4), (4, 3, 4, 4), {"padding": (1, 1, 1, 1), "stride": (2, 2), "output_size": (9, 9)}),
    ((1, 4, 4, 4), (4, 3, 2, 2), {"padding": (0, 0, 0, 0), "dilation": (2, 3)}),
    ((1, 4, 4, 4), (4, 3, 3, 3), {"padding": (1, 1, 1, 1), "groups": 2}),
    ((1, 4, 4, 4), (4, 1, 3, 3), {"padding": (1, 1, 1, 1), "groups": 0}),
    ((1, 4, 5, 5), (4, 2, 2, 2), {"padding_align": "LOWER"}),
    ((1, 2, 3, 2, 3), (2, 3, 2, 2, 2), {"padding": (0, 0, 0, 0, 0, 0), "stride": (1, 2, 1)}),
)


def _deconvolution(attributes: Attributes, data: str, weights: str) -> Any:
    def reference(x: Array, f: Array, bias: Array | None = None) -> Array:
        x, f = _TO_NCX[data](x), _TO_NCX[weights](f)
        d = x.ndim - 2
        stride, dilation = _per_axis(attributes, "stride", d), _per_axis(attributes, "dilation", d)
        reach = [(n - 1) * step + 1 for n, step in zip(f.shape[2:], dilation, strict=True)]
        given = attributes.get("padding")
        totals = [r - s for r, s in zip(reach, stride, strict=True)]
        upper = attributes.get("padding_align", "UPPER") == "UPPER"
        before = [n // 2 if upper else -(-n // 2) for n in totals]
        if isinstance(given, tuple):
            before, totals = (
                list(map(int, given[:d])),
                [int(a + b) for a, b in zip(given[:d], given[d:], strict=True)],
            )
        size = [(n - 1) * s + r - t for n, s, r, t in zip(x.shape[2:], stride, reach, totals, strict=True)]
        size = list(_per_axis(attributes, "output_size", d)) if "output_size" in attributes else size
        groups = int(str(attributes.get("groups", 1) or x.shape[1]))
        return np.asarray(_FROM_NCX[data](deconvolved(x, f, bias, stride, dilation, before, size, groups)))

    return reference


def deconvolutions() -> Iterator[Case]:
    """`deconv` in every format."""
    for shape, filter, attributes in DECONVOLUTIONS:
        groups = int(str(attributes.get("groups", 1) or shape[1]))
        for data, weights in FORMATS:
            x, f = _FROM_NCX[data](reals(*shape)), _FROM_NCX[weights](reals(*filter, seed=1))
            given = {**attributes, "data_format": data, "filter_format": weights}
            bias = reals(filter[1] * groups, seed=2)
            yield Case("nn.deconv", (x, f, bias), _deconvolution(attributes, data, weights), given)
        yield Case(
            "nn.deconv",
            (reals(*shape), reals(*filter, seed=1)),
            _deconvolution(attributes, "NCX", "NCX"),
            attributes,
        )


POOLS: tuple[tuple[tuple[int, ...], Attributes], ...] = (
    ((1, 2, 8), {"size": (3,)}),
    ((2, 3, 6, 7), {"size": (2, 3), "padding": (0, 0, 0, 0)}),
    ((1, 3, 7, 8), {"size": (3, 3), "stride": (2, 2), "padding": (1, 1, 1, 1)}),
    ((1, 3, 7, 8), {"size": (3, 3), "stride": (2, 2)}),
    ((1, 3, 7, 8), {"size": (3, 2), "padding_align": "LOWER"}),
    ((1, 3, 8, 8), {"size": (3, 3), "stride": (2, 2), "padding": (0, 0, 0, 0), "ceil_mode": True}),
    ((1, 3, 7, 9), {"size": (3, 2), "dilation": (2, 3), "padding": (1, 0, 1, 2)}),
    ((1, 5, 6, 3), {"axes": (1, 2), "size": (2, 3), "padding": (0, 0, 0, 0)}),
    ((2, 5, 4), {"axes": (-1, 1), "size": (2, 3), "padding": (1, 0, 0, 1)}),
    ((1, 2, 4, 5, 6), {"size": (2, 2, 2), "stride": (1, 2, 2), "padding": (0, 0, 0, 0, 0, 0)}),
)


def _pool(attributes: Attributes, join: Any, fill: float) -> Any:
    def reference(x: Array) -> Array:
        axes = attributes.get("axes", tuple(range(2, x.ndim)))
        assert isinstance(axes, tuple)
        places = [int(axis) for axis in axes]
        k = len(places)
        size = _per_axis(attributes, "size", k)
        pads = _pads(attributes, [x.shape[axis] for axis in places], size, k)
        return pooled(
            x,
            places,
            size,
            _per_axis(attributes, "stride", k),
            _per_axis(attributes, "dilation", k),
            pads,
            bool(attributes.get("ceil_mode", False)),
            join,
            fill,
        )

    return reference


def _mean(attributes: Attributes, ignore_border: bool) -> Any:
    total = _pool(attributes, np.sum, 0.0)

    def reference(x: Array) -> Array:
        size = _per_axis(attributes, "size", 1)
        return np.asarray(total(x) / (total(np.ones_like(x)) if ignore_border else np.prod(size)))

    return reference


def pools() -> Iterator[Case]:
    """Section 4.4.2."""
    for shape, attributes in POOLS:
        x = reals(*shape)
        yield Case("nn.max_pool", (x,), _pool(attributes, np.max, -np.inf), attributes)
        yield Case("nn.sum_pool", (x,), _pool(attributes, np.sum, 0.0), attributes)
        for border in (True, False):
            given = {**attributes, "ignore_border": border}
            mean = _mean(attributes, border)
            yield Case("nn.avg_pool", (x,), mean, given)
            yield Case("nn.rms_pool", (x,), lambda x, mean=mean: np.sqrt(mean(x * x)), given)
        for p in (1.0, 2.0, 3.0):
            total = _pool(attributes, np.sum, 0.0)
            yield Case(
                "nn.lp_pool",
                (x,),
                lambda x, p=p, total=total: total(np.abs(x) ** p) ** (1 / p),
                {**attributes, "p": p},
            )


_erf = np.vectorize(erf, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _normal(x: Array) -> Array:
    return np.asarray((1 + np.tanh(x)) / 2)


ACTIVATIONS: tuple[tuple[str, Attributes, Any], ...] = (
    ("relu", {}, lambda x: np.maximum(x, 0)), ("relu", {"max": 1.5}, lambda x: np.clip(x, 0, 1.5)),
    ("relu", {"alpha": 0.25}, lambda x: np.where(x < 0, 0.25 * x, x)),
    ("relu", {"alpha": 0.25, "max": 1.0}, lambda x: np.maximum(np.minimum(x, 1.0), 0.25 * x)),
    ("thresholded_relu", {}, lambda x: np.maximum(x, 0)),
    ("thresholded_relu", {"theta": 1.0}, lambda x: x * (x > 1.0)),
    ("elu", {}, lambda x: np.where(x < 0, np.expm1(x), x)),
    ("elu", {"alpha": 0.5}, lambda x: np.where(x < 0, 0.5 * np.expm1(x), x)),
    ("selu", {}, lambda x: 1.05070102 * np.where(x < 0, 1.67326319 * np.expm1(x), x)),
    ("selu", {"alpha": 1.5, "lambda": 1.25}, lambda x: 1.25 * np.where(x < 0, 1.5 * np.expm1(x), x)),
    ("gelu", {}, lambda x: x * (1 + _erf(x / np.sqrt(2))) / 2), ("silu", {}, lambda x: x * _sigmoid(x)),
    ("gelu", {"approximate": "TANH"}, lambda x: _normal(np.sqrt(2 / pi) * (x + 0.044715 * x**3)) * x),
    ("gelu", {"approximate": "SIGMOID"}, lambda x: x * _sigmoid(1.702 * x)),
    ("sigmoid", {}, _sigmoid), ("softplus", {}, lambda x: np.logaddexp(x, 0)), ("erf", {}, _erf),
)  # fmt: skip


def activations() -> Iterator[Case]:
    """Section 4.4.3."""
    for shape in SHAPES:
        for name, attributes, function in ACTIVATIONS:
            yield Case(f"nn.{name}", (reals(*shape),), function, attributes)
    for shape, axis in (((3, 4), 1), ((2, 3, 4), -2), ((2, 3, 4), 0), ((5,), 0)):

        def prelu(x: Array, alpha: Array, axis: int = axis) -> Array:
            slope = alpha.reshape([-1 if place == axis % x.ndim else 1 for place in range(x.ndim)])
            return np.where(x < 0, slope * x, x)

        yield Case("nn.prelu", (reals(*shape), reals(shape[axis], seed=1)), prelu, {"axis": axis})


def _channels(c: Array, x: Array, axis: int) -> Array:
    return c.reshape([-1 if place == axis % x.ndim else 1 for place in range(x.ndim)])


def _scaled(x: Array, bias: Array | None, scale: Array | None, axis: int) -> Array:
    found = x if scale is None else x * _channels(scale, x, axis)
    return found if bias is None else found + _channels(bias, x, axis)


def norms() -> Iterator[Case]:
    """Section 4.4.4."""
    for shape, axis in (((2, 3), 1), ((2, 3, 4), 1), ((2, 4, 5, 3), -1), ((3, 4), 0)):
        for bias, scale in ((False, False), (True, False), (False, True), (True, True)):
            c = shape[axis]
            inputs = (
                reals(*shape),
                reals(c, seed=1),
                reals(c, low=0.1, seed=2),
                reals(c, seed=3) if bias else None,
                reals(c, seed=4) if scale else None,
            )
            yield Case(
                "nn.batch_norm",
                inputs,
                lambda x, m, v, b, s, axis=axis: _scaled(
                    (x - _channels(m, x, axis)) / np.sqrt(_channels(v, x, axis) + 1e-3), b, s, axis
                ),
                {"channel_axis": axis, "epsilon": 1e-3},
            )
    yield from _mean_variance_norms()
    yield from _local_norms()
    yield from _sums()


def _mean_variance_norms() -> Iterator[Case]:
    moments: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
        ((2, 3, 4), ()),
        ((2, 3, 4, 5), ()),
        ((2, 3, 4, 5), (1, 2, 3)),
        ((2, 3, 4), (0, -1)),
    )
    for shape, axes in moments:
        for bias, scale in ((False, False), (True, True)):
            b, s = reals(3, seed=3) if bias else None, reals(3, seed=4) if scale else None
            taken = axes or tuple(range(2, len(shape)))
            yield Case(
                "nn.mean_variance_norm",
                (reals(*shape), b, s),
                lambda x, b, s, axes=taken: _scaled(
                    (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5), b, s, 1
                ),
                {"axes": axes} if axes else {},
            )


def _local_norms() -> Iterator[Case]:
    sizes: tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...] = (
        ((2, 6, 3), (1,), (3,)),
        ((2, 6, 3), (1,), (4,)),
        ((2, 5, 4, 4), (2, -1), (3, 2)),
    )
    for shape, axes, size in sizes:
        attributes: Attributes = {"axes": axes, "size": size, "alpha": 0.5, "beta": 0.75, "bias": 2.0}
        pads = (*((n - 1) // 2 for n in size), *(-(-(n - 1) // 2) for n in size))
        mean = _mean({"axes": axes, "size": size, "padding": pads}, False)
        yield Case(
            "nn.local_response_norm",
            (reals(*shape),),
            lambda x, mean=mean: x / (2 + 0.5 * mean(x * x)) ** 0.75,
            attributes,
        )


def _sums() -> Iterator[Case]:
    summed: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
        ((3, 4), (1,)),
        ((2, 3, 4), (0, -1)),
        ((5,), (0,)),
    )
    extras: tuple[dict[str, float], ...] = (
        {},
        {"bias": 0.5},
        {"epsilon": 100.0},
        {"bias": 0.5, "epsilon": 0.25},
    )
    for shape, axes in summed:
        x = reals(*shape)
        for extra in extras:

            def normal(x: Array, power: int, axes: Any = axes, extra: Any = extra) -> Array:
                size = np.sum(np.abs(x) ** power, axis=axes, keepdims=True) ** (1 / power) + extra.get(
                    "bias", 0.0
                )
                return np.asarray(x / np.maximum(size, extra.get("epsilon", 0.0)))

            given: Attributes = {"axes": axes, **extra}
            yield Case("nn.l1_norm", (x,), lambda x, normal=normal: normal(x, 1), given)
            yield Case("nn.l2_norm", (x,), lambda x, normal=normal: normal(x, 2), given)
        yield Case(
            "nn.softmax",
            (x,),
            lambda x, a=axes: np.exp(x) / np.sum(np.exp(x), axis=a, keepdims=True),
            {"axes": axes},
        )
    yield Case(
        "nn.softmax",
        (reals(2, 5) * 100,),
        lambda x: (
            np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
        ),
    )


def _step(h: Array, c: Array, x: Array, W: Array, R: Array, B: Array) -> tuple[Array, Array]:
    i, f, g, o = np.split(x @ W.T + h @ R.T + B, 4, axis=1)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


def _loop(
    X: Array, W: Array, R: Array, B: Array, h: Array, c: Array, steps: Array | None = None
) -> tuple[Array, Array, Array]:
    found = []
    for x in X[: len(X) if steps is None else int(steps)]:
        h, c = _step(h, c, x, W, R, B)
        found.append(h)
    return np.stack(found), h, c


def _jagged(X: Array, W: Array, R: Array, B: Array, h: Array, c: Array, steps: Array) -> tuple[Array, ...]:
    every = [_loop(X[:, [n]], W, R, B, h[[n]], c[[n]], count) for n, count in enumerate(steps)]
    return tuple(np.concatenate([one[place] for one in every], 1 if place == 0 else 0) for place in range(3))


def recurrent() -> Iterator[Case]:
    """Section 4.4.5; all items of a batch take as many steps, for they are stacked."""
    s, b, c, n = 3, 2, 4, 3
    X, W, R, B = (
        reals(s, b, c),
        reals(4 * n, c, low=-0.5, high=0.5),
        reals(4 * n, n, low=-0.5, high=0.5, seed=1),
        reals(4 * n),
    )
    h, d = reals(b, n, low=-1.0, high=1.0), reals(b, n, seed=1)
    yield Case("nn.lstm_step", (h, d, X[0], W, R, B), _step)
    yield Case("nn.lstm_loop", (X, W, R, B, h, d), _loop)
    for steps in (1, 2, 3):
        yield Case("nn.lstm_loop", (X, W, R, B, h, d, np.array(steps)), _loop)
        counts = np.full(b, steps)
        yield Case("nn._jagged_lstm_loops", (X, W, R, B, h, d, counts), _jagged)
        yield Case("nn.lstm", (X, W, R, B, h, d, counts), _jagged)
    yield Case("nn.lstm", (X, W, R, B, h, d), _loop)
