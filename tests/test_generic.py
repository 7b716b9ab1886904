"""The generic kernel gives the bits of the kernels that are written for each group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import tosajit as tj
from tests import models, oracle
from tests.floating_steps import draw
from tests.fuzzing import check_calls
from tests.strategies import Drawn, graphs, operator_graph
from tests.test_emit import NESTS, section
from tests.test_fuzz_graphs import passes
from tiling.expr import read
from tiling.nest import Access, Axis, Nest, Write, identity
from tiling.program import Loop
from tiling.target import Target
from tosajit.kernels.generic import words as at
from tosajit.kernels.generic.code import NAME, generic
from tosajit.kernels.generic.program import UnsuitedError
from tosajit.kernels.link import Unit

SETTINGS: dict[str, Any] = {
    "max_examples": 150,
    "derandomize": True,
    "deadline": None,
    "database": None,
    "phases": (Phase.generate,),
    "suppress_health_check": list(HealthCheck),
}


def generic_groups(executable: tj.Executable) -> int:
    """How many groups the generic kernel runs."""
    return sum(group.kernel == NAME for group in executable.explain())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", models.NAMES)
def test_a_model_gives_its_golden_bits(name: str, threads: int) -> None:
    executable = tj.compile(models.graph(name), threads=threads, generic="always")
    assert generic_groups(executable) >= (1 if name != "autoencoder" else 0)
    assert all(group.kernel != "generated" for group in executable.explain())
    for case in models.cases(name):
        results = executable.run(dict(zip(executable.graph.main.inputs, case.inputs, strict=True))).values()
        for result, expected in zip(results, case.outputs, strict=True):
            np.testing.assert_array_equal(result, expected)


def test_a_model_of_floats_has_the_bits_of_its_own_kernels() -> None:
    graph = models.graph("transformer_tiny_f32")
    own, other = tj.compile(graph, generic="never"), tj.compile(graph, generic="always")
    assert generic_groups(own) == 0 < generic_groups(other)
    for inputs, _ in models.cases("transformer_tiny_f32"):
        for found, expected in zip(other(*inputs), own(*inputs), strict=True):
            np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize("operator", oracle.MODES)
def test_every_operator_and_mode_gives_what_the_oracle_gives(operator: str) -> None:
    for mode in oracle.MODES[operator]:
        drawn = operator_graph(operator, mode, seed=11)
        check_calls(drawn, tj.compile(drawn.graph, generic="always"), f"{mode}")


@settings(**SETTINGS)
@given(graphs(maximum_elements=2000))
def test_graphs_give_the_bits_of_the_oracle(drawn: Drawn) -> None:
    def check(drawn: Drawn) -> None:
        for threads in (1, 2):
            executable = tj.compile(drawn.graph, threads=threads, generic="always")
            check_calls(drawn, executable, f"{threads} threads")

    passes(check, drawn)


@pytest.mark.parametrize("seeds", [range(start, start + 10) for start in range(0, 60, 10)], ids=str)
def test_graphs_of_floats_have_the_bits_of_their_own_kernels(seeds: range) -> None:
    for seed in seeds:
        drawn = draw(seed)
        graph = drawn.graph()
        own, other = (tj.compile(graph, generic=when).run(drawn.inputs) for when in ("never", "always"))
        for name, expected in own.items():
            same(other[name], expected, f"seed {seed}, {name}")


def same(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Compare bits, but those of NaN."""
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    nan = expected != expected
    np.testing.assert_array_equal(found != found, nan, err_msg=what)
    np.testing.assert_array_equal(found[~nan].view(np.uint8), expected[~nan].view(np.uint8), err_msg=what)


@pytest.mark.parametrize("name", NESTS)
def test_a_nest_is_a_list_of_steps(name: str) -> None:
    made = generic(section(NESTS[name]))
    assert (made.name, made.scratch_bytes % 64) == (NAME, 0)
    assert made.helpers


def copy(extents: tuple[int, ...], shape: tuple[int, ...]) -> Nest:
    """A part of an operand, doubled."""
    places = identity(len(extents))
    source, target = Access("a", "i32", shape, places), Access("b", "i32", extents, places)
    axes = tuple(Axis(f"x{number}", extent) for number, extent in enumerate(extents))
    return Nest("map", axes, (source,), (Write(target, read(0, "i32") + read(0, "i32")),), None, ("copy",))


def test_neighbouring_axes_are_walked_as_one() -> None:
    whole, part = copy((6, 5, 4), (6, 5, 4)), copy((6, 5, 4), (6, 5, 9))
    assert walks(generic(section(whole))) == [(-1, 1), (0, 20)]
    assert walks(generic(section(part))) == [(0, 5), (2, 1)]


def test_an_axis_that_tiles_cut_stays_one_of_its_own() -> None:
    one = section(copy((6, 5, 4), (6, 5, 4)))
    assert walks(generic(replace(one, loops=(Loop(1, 2, 3),)))) == [(0, 1), (1, 4)]


def walks(made: Unit) -> list[tuple[int, int]]:
    """First axis and factor of each walk."""
    rows = made.words[made.words[at.TABLE] :]
    return [(rows[n * at.WALK], rows[n * at.WALK + 1]) for n in range(made.words[at.WALKS])]


def test_a_nest_in_a_scratchpad_keeps_its_own_kernel() -> None:
    tiles = section(NESTS["chain"], Target("small", 256, 4))
    with pytest.raises(UnsuitedError, match="scratchpad"):
        generic(tiles)
