"""Drawn graphs with variables have the same outputs and variables, to the bit, in whichever way they run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.oracle.drawing import RandomChooser
from tests.state_runs import check, ways
from tests.states import draw_states, graph_of


@pytest.mark.parametrize("seed", range(14))
def test_drawn_graphs_with_variables_keep_their_bits_in_every_way(seed: int, tmp_path: Path) -> None:
    drawn = draw_states(RandomChooser(np.random.default_rng(seed)))
    for what, run in ways(graph_of(drawn), tmp_path):
        check(drawn, what, run)
