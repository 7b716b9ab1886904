"""How often a layer's operands come, and how it is cut: golden for layers of every shape."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np

from sim.analytic.traffic import SPARE, _again, _early, _held, _tiles
from tosajit.arrays import Array

Golden = Callable[[str, str], None]
SIZES = (0, 1, 24, 64, 100, 900, 4096, 30_000)


def column(random: Random, count: int) -> Array:
    """Sizes of operands, many of them alike."""
    sizes = [random.choice(SIZES) * random.choice((1, 1, 3)) for _ in range(count)]
    return np.array([sizes], np.float64)


def test_one_side_is_kept_while_the_other_passes_as_it_was(golden: Golden) -> None:
    random, count = Random(1), 150
    values, weights = column(random, count), column(random, count)
    half = np.array([[random.choice((12, 32, 50, 450, 2048)) for _ in range(count)]], np.float64)
    ratio = np.array([[random.choice((0.5, 1, 1, 1.5)) for _ in range(count)]])
    again = _again(values, weights, ratio, half)
    rows = zip(values[0], weights[0], ratio[0], half[0], again[0][0], again[1][0], strict=True)
    golden("traffic_again", "\n".join(" ".join(f"{one:g}" for one in row) for row in rows))


def test_layers_are_cut_as_they_were(golden: Golden) -> None:
    random, count, lines = Random(2), 120, []
    for streams in (False, True):
        for direct in (False, True):
            product = np.array(
                [[random.choice((0, 1, 4, 16, 64, 300)) for _ in range(4)] for _ in range(count)]
            )
            stripes = np.array([random.choice((1, 1, 2, 5)) for _ in range(count)], np.float64)
            view: Any = SimpleNamespace(workload=SimpleNamespace(product=product), stripes=stripes)
            sizes = one, other, third = [column(random, count) for _ in range(3)]
            room = np.array([[random.choice((64, 100, 200, 1000, 5000)) for _ in range(count)]], np.float64)
            copies = np.array([[random.choice((1, 2)) for _ in range(count)]], np.float64)
            flag = np.array([[streams]]), np.array([[direct]])
            found = _tiles(view, one, other, third, room, copies, flag[0], flag[1])
            lines.append(f"streams filters {streams}, direct {direct}")
            for number, cut in enumerate(zip(*(part[0] for part in found), strict=True)):
                given = " ".join(f"{part[0, number]:g}" for part in (*sizes, room, copies))
                shape = "×".join(map(str, product[number]))
                lines.append(
                    f"  {shape} {given} in {stripes[number]:g}: {' '.join(f'{part:g}' for part in cut)}"
                )
    golden("traffic_tiles", "\n".join(lines))


def test_constants_live_in_the_scratchpad_as_far_as_they_fit_one_after_the_other() -> None:
    wanted = np.array([[30.0, 50, 20, 1, 0, 9], [30, 50, 20, 1, 0, 9]])
    room = np.array([[100.0, 90, 60, 200, 100, 100], [100, 100, 100, 100, 100, 100]])
    assert _held(wanted, room).astype(int).tolist() == [[1, 0, 1, 1, 1, 1], [1, 1, 1, 0, 1, 0]]
    assert _held(wanted[:, :0], room[:, :0]).shape == (2, 0)


def test_a_layer_comes_early_where_it_fits_beside_the_one_in_front() -> None:
    alive, need = np.array([[10.0, 20, 30, 0]]), np.array([[5.0, 60, 10, 70]])
    for room, expected in ((1e9, [1, 1, 1, 1]), (110, [1, 1, 1, 1]), (109, [1, 1, 1, 0]), (89, [1, 1, 0, 0])):
        got = _early(alive, need, np.array([[room]]), np.array([[False]]))
        assert got.astype(int).tolist() == [expected]
    most = 80 * (1 + SPARE)  # of what layers take by themselves
    inside = _early(alive, need, np.array([[1e9]]), np.array([[True]]))
    assert inside[0].tolist() == [True, 75 <= most, 90 <= most, 110 <= most]
    assert not inside.all()
