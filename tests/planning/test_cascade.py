"""Cascades are chosen where tensors do not fit the scratchpad, and only there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planning.drawing import Chain
from tests.planning.interpreter import interpret
from tests.planning.running import check_program
from tests.planning.test_cascade_stripes import described, networks
from tests.planning.test_fuse import arrays
from tiling.cascade import MOST_STRIPES, choose, weighed
from tiling.expr import acc, call, read
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Write, identity
from tiling.plan import plan
from tiling.program import Operand, Program
from tiling.target import Place, Target


@given(networks(), st.integers(0, 99), st.integers(64, 4000), st.sampled_from(["scratchpad", "offchip"]))
def test_what_is_chosen_computes_the_same(chain: Chain, seed: int, capacity: int, values: Place) -> None:
    operands = described(chain)
    nests, changed = choose(chain.nests, operands, Target("small", capacity, 4, values=values))
    given_arrays = arrays(chain, seed)
    plain = interpret(chain.nests, given_arrays, {name: o.elements for name, o in operands.items()})
    after = interpret(nests, given_arrays, {name: o.elements for name, o in changed.items()})
    for name in plain.keys() & changed.keys():
        np.testing.assert_array_equal(plain[name], after[name])


@settings(max_examples=10, deadline=None)
@given(networks(), st.integers(0, 99), st.sampled_from([200, 400, 800]))
def test_programs_with_cascades_compute_what_nests_mean(chain: Chain, seed: int, capacity: int) -> None:
    check_program(chain, seed, Target("small", capacity, 4))


def layers(count: int, rows: int, taps: int = 3, lanes: int = 32) -> tuple[list[Nest], dict[str, Operand]]:
    """Sums over windows of rows, one after the other."""
    operands = {"v0": Operand("v0", "i32", rows * lanes, "input")}
    nests = []
    for number in range(count):
        name = f"v{number + 1}"
        kind = "output" if number == count - 1 else "temporary"
        operands[name] = Operand(name, "i32", rows * lanes, kind)  # type: ignore[arg-type]
        index = (Affine((1, 0, 1), -(taps // 2)), Affine((0, 1, 0)))
        source = Access(f"v{number}", "i32", (rows, lanes), index, acc("i32"))
        source = replace(source, fill=None) if taps == 1 else replace(source, fill=read(1, "i32"))
        zero = Access("zero", "i32", (), ())
        axes = (Axis("y", rows), Axis("x", lanes), Axis("k", taps, True))
        write = Write(Access(name, "i32", (rows, lanes), identity(2, 0, 3)), acc("i32"))
        reduction = Reduction("add", 0, "i32", read(0, "i32"))
        nests.append(Nest("reduce", axes, (source, zero), (write,), reduction, (name,)))
    return nests, operands | {"zero": Operand("zero", "i32", 1, "constant")}


def moved(program: object, values: Place) -> int:
    """Bytes of loads and stores of a program, at most."""
    assert isinstance(program, Program)
    total = 0
    for section in program.sections:
        for image in section.images:
            if image is not None:
                total += image.bytes * prod(loop.count for loop in section.loops[: image.level])
    return total


@pytest.mark.parametrize("values", ["scratchpad", "offchip"])
def test_nothing_is_cut_where_everything_fits(values: Place) -> None:
    nests, operands = layers(6, 16)
    assert choose(nests, operands, Target("npu", 1 << 16, values=values)) == (tuple(nests), operands)


def test_values_that_do_not_fit_never_leave_the_scratchpad() -> None:
    nests, operands = layers(6, 256)
    target = Target("npu", 24 << 10)
    assert operands["v1"].bytes > 24 << 10
    program = plan(nests, operands, target)
    assert moved(program, "offchip") < 2.5 * operands["v1"].bytes


def test_stripes_are_few() -> None:
    nests, operands = layers(6, 256)
    found, _, surely = weighed(nests, operands, Target("npu", 24 << 10))
    assert surely
    assert len(nests) < sum(nest.verb == "reduce" for nest in found) <= MOST_STRIPES * len(nests)


def test_a_target_without_a_scratchpad_is_left_alone() -> None:
    nests, operands = layers(6, 256)
    assert choose(nests, operands, Target("host"))[0] == tuple(nests)


def test_chains_and_stripes_are_those_that_were_chosen(golden: Callable[[str, str], None]) -> None:
    golden("stripes", "\n".join(chosen()))


def chosen() -> Iterator[str]:
    """For stacks of layers and scratchpads of many sizes: how often each layer runs, and what is sure."""
    stacks = (2, 40, 3, 32), (5, 64, 3, 32), (6, 250, 5, 8), (16, 96, 1, 16), (9, 33, 7, 64)
    for count, rows, taps, lanes in stacks:
        nests, operands = layers(count, rows, taps, lanes)
        for eighths in (1, 2, 3, 4, 5, 6, 7, 9, 12, 15, 17, 24):
            values: tuple[Place, Place] = ("scratchpad", "offchip")
            for place in values:
                target = Target("npu", operands["v0"].bytes * eighths // 8, values=place)
                found, known, surely = weighed(nests, operands, target)
                times = [sum(one.members == nest.members for one in found) for nest in nests]
                buffers = sum(known[name].bytes for name in known.keys() - operands.keys())
                runs = " ".join(map(str, times)) + " surely" * surely
                yield f"{count} of {rows} {place} {eighths}/8: {runs}; {buffers} bytes"


def skipping(count: int, rows: int, lanes: int) -> tuple[list[Nest], dict[str, Operand]]:
    """Layers over rows, each third one the sum of what came before and of what is behind two layers."""
    nests, operands = layers(count, rows, lanes=lanes)
    for number in range(2, count, 3):
        nest = nests[number]
        reads = tuple(
            Access(f"v{source}", "i32", (rows, lanes), identity(2)) for source in (number, number - 2)
        )
        value = call("add_i32", read(0, "i32"), read(1, "i32"))
        write = Write(Access(f"v{number + 1}", "i32", (rows, lanes), identity(2)), value)
        nests[number] = replace(
            nest, verb="map", axes=nest.axes[:2], reads=reads, writes=(write,), reduction=None
        )
    return nests, operands


def test_chains_with_sums_of_earlier_values_are_cut_as_they_were(golden: Callable[[str, str], None]) -> None:
    lines = []
    for count, rows, lanes in ((4, 40, 32), (9, 120, 8), (12, 60, 64)):
        nests, operands = skipping(count, rows, lanes)
        for eighths in range(1, 40, 2):
            target = Target("npu", operands["v0"].bytes * eighths // 8, values="scratchpad")
            found, known, surely = weighed(nests, operands, target)
            times = [sum(one.members == nest.members for one in found) for nest in nests]
            buffers = sum(known[name].bytes for name in known.keys() - operands.keys())
            runs = " ".join(map(str, times)) + " surely" * surely
            lines.append(f"{count} of {rows} {eighths}/8: {runs}; {buffers} bytes")
    golden("stripes_skipping", "\n".join(lines))


def test_nests_that_are_to_stay_whole_are_in_no_chain() -> None:
    nests, operands = layers(4, 64)
    target = Target("small", 6000, 4, values="offchip")
    assert len(choose(nests, operands, target)[0]) > len(nests)
    assert choose(nests, operands, target, whole=range(4))[0] == tuple(nests)
    found, _ = choose(nests, operands, target, whole={1})
    assert nests[1] in found


def test_chains_that_take_more_groups_than_they_spare_are_not_cut() -> None:
    nests, operands = layers(4, 64)
    target = Target("small", 6000, 4, values="offchip")
    assert choose(nests, operands, target, section_bytes=1 << 20)[0] == tuple(nests)
