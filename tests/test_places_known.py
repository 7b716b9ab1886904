"""Tables of places that grow by steps are indices of axes on the host, and other tables stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops

TABLES: dict[str, tuple[Any, bool]] = {
    "every other": (np.arange(1, 20, 2), True),
    "backwards": (np.arange(19, -1, -1), True),
    "the same": (np.full(6, 4), True),
    "one": (np.array([3]), True),
    "others": (np.array([0, 1, 2, 3, 5]), False),
    "outside": (np.arange(15, 22), False),
    "below": (np.arange(-1, 5), False),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("then", [lambda x: x, lambda x: ops.exp(x), lambda x: ops.reduce_max(x, axis=1)])
def test_places_are_what_the_table_says(name: str, then: Any) -> None:
    table, plain = TABLES[name]
    x = np.random.default_rng(4).standard_normal((1, 20, 3)).astype(np.float32)
    places = table.reshape(1, -1).astype(np.int32)
    graph = tj.trace(lambda x: then(ops.gather(x, places)), x)
    made = tj.compile(graph, generic="never")
    wanted = then(x[:, places[0].clip(0, 19)])
    np.testing.assert_allclose(made(x), wanted, rtol=1e-6)
    nests = made.stages["simplify"].values["main"].nests
    assert any(access.indirect for nest in nests for access in nest.reads) != plain


@pytest.mark.parametrize(("hop", "plain"), [(3, True), (0, True), (4, False)])
def test_frames_of_a_signal_are_rows(hop: int, plain: bool) -> None:
    """As tf.signal.frame makes them: of subframes, whose numbers are a table of all frames; and windowed."""
    x, window = np.random.default_rng(4).standard_normal((1, 20, 2)).astype(np.float32), np.hanning(14)
    table = hop * np.arange(5)[:, None] + np.arange(7)
    weights = window.astype(np.float32).reshape(1, 1, 14)

    def frames(x: Any) -> Any:
        found = ops.gather(x, table.reshape(1, -1).astype(np.int32))
        return ops.mul(ops.reshape(found, [1, 5, 14]), weights)

    made = tj.compile(tj.trace(frames, x), generic="never")
    np.testing.assert_array_equal(made(x), x[0, table.clip(0, 19)].reshape(1, 5, 14) * weights)
    (nest,) = made.stages["simplify"].values["main"].nests
    assert any(access.indirect for access in nest.reads) != plain
    assert not plain or nest.extents == (5, 14)


def test_a_table_that_is_an_input_stays() -> None:
    x, places = np.ones((1, 20, 3), np.float32), np.arange(5, dtype=np.int32)[None]
    made = tj.compile(tj.trace(ops.gather, x, places), generic="never")
    assert any(
        access.indirect for nest in made.stages["simplify"].values["main"].nests for access in nest.reads
    )
