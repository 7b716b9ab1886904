"""Tables of the array kernels that are made when a graph is compiled: where they end, and what is in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tosajit.kernels.contract import pack

LIMIT = 1 << 31


def table(**changes: Any) -> pack.RescaleTable | None:
    """A table for two channels."""
    given = {"multiplier": 1 << 30, "shift": 40, "double_round": True, "output_zp": -3, "channels": 2,
             "bound": 1000, "low": -128}  # fmt: skip
    return pack.rescale_table(**{**given, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"channels": 0},
        {"shift": 31},
        {"shift": np.array([40, 31])},
        {"shift": 63},
        {"shift": np.array([40, 63])},
        {"multiplier": -1},
        {"multiplier": np.array([1, -1])},
        {"bound": LIMIT, "multiplier": 0},
        {"bound": np.array([5, LIMIT]), "multiplier": 0},
    ],
)
def test_what_the_kernel_cannot_do_exactly_has_no_table(changes: dict[str, Any]) -> None:
    assert table(**changes) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"channels": 1},
        {"shift": 32},
        {"shift": 50},
        {"shift": 62, "output_zp": 0},
        {"multiplier": 0},
        {"multiplier": LIMIT - 1},
        {"bound": LIMIT - 1, "multiplier": 0},
    ],
)
def test_what_is_just_within_its_bounds_has_a_table(changes: dict[str, Any]) -> None:
    assert table(**changes) is not None


@pytest.mark.parametrize("shift", [32, 36, 44])
@pytest.mark.parametrize("zero", [0, -128, 100])
def test_a_table_serves_as_long_as_sums_and_their_rounding_fit(shift: int, zero: int) -> None:
    multiplier = LIMIT - 1
    room = LIMIT - 1 - 2 - (1 << (shift - 32)) - (abs(zero) << (shift - 31))
    most = (room + 1) * LIMIT // multiplier  # the last bound whose product, shifted, is within the room
    while most * multiplier >> 31 > room:
        most -= 1
    most = min(most, LIMIT - 1)
    assert table(multiplier=multiplier, shift=shift, output_zp=zero, bound=most) is not None
    if most + 1 < LIMIT:
        assert table(multiplier=multiplier, shift=shift, output_zp=zero, bound=most + 2) is None


@pytest.mark.parametrize(
    ("double", "zero", "low", "sign"),
    [
        (False, -3, -128, 32),
        (True, -3, -128, 31),
        (True, -3, -3, 32),
        (True, -3, -4, 31),
        (True, -128, -128, 32),
    ],
)
def test_negative_sums_round_by_themselves_where_one_can_see_it(
    double: bool, zero: int, low: int, sign: int
) -> None:
    made = table(double_round=double, output_zp=zero, low=low)
    assert made is not None
    assert made.sign == sign


def test_tables_and_packed_weights_are_what_they_were(golden: Callable[[str, str], None]) -> None:
    random, lines = np.random.default_rng(3), []
    for double in (False, True):
        shifts, factors = random.integers(32, 47, 5), random.integers(0, 1 << 31, 5)
        made = table(multiplier=factors, shift=shifts, double_round=double, output_zp=7, channels=5)
        assert made is not None
        lines += [str(made.factors.tolist()), str(made.quads.tolist()), str(made.exponents.tolist())]
        lines += [str(made.packed(lanes).tolist()) for lanes in (4, 8)]
    matrix = random.integers(-128, 128, (6, 10)).astype(np.int8)
    bias = random.integers(-99, 99, 6).astype(np.int32)
    for zeros in ((0, 0), (-128, 3), (127, -128)):
        lines.append(str(pack.sum_bound(matrix, bias, *zeros).tolist()))
    for lanes in (4, 8):
        lines.append(str(pack.pack_weights(lanes, matrix).tolist()))
        lines.append(str(pack.pack_halves(lanes, matrix.astype(np.int16) * 211).tolist()))
        for rows, zero, size in ((1, 0, 1), (3, 5, 1), (4, -128, 1), (3, 0, 2), (2, 0, 4)):
            weights = random.integers(-128, 128, (rows, 2, 3, 2)).astype(
                {1: np.int8, 2: np.int16, 4: np.float32}[size]
            )
            packed, parts = pack.pack_depthwise(lanes, weights, zero, size)
            lines.append(f"{packed.shape} in {parts}: {packed.reshape(-1).tolist()}")
    golden("packed", "\n".join(lines))
