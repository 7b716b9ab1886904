"""Fourier transforms have kernels of their own, wherever numbers come from, and give what their sums give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tests.plain_kernels import Kernels
from tests.test_contract_kernels import Guarded, guarded
from tests.test_host import CPUS, LIBRARIES
from tests.test_plain_kernels import sets
from tosajit import ops
from tosajit.arrays import Array
from tosajit.compiler.segment import Groups
from tosajit.host.fourier import fourier
from tosajit.host.unit import Prepared
from tosajit.kernels.layout import SCRATCH, Layout
from tosajit.kernels.lines import address_of, aligned
from tosajit.kernels.sets.description import InstructionSet

SHAPES = [
    *((1, 1, 4 << power) for power in range(12)),
    *((5, 1, width) for width in (16, 64, 128, 512)),
    *((2, 1 << power, 16) for power in range(1, 8)),
    *[(1, 8, 4), (2, 64, 2), (1, 32, 64), (3, 2, 8), (1, 128, 32), (2, 32, 1), (1, 2, 2), (1, 1, 2)],
]
BOUND = 3e-7
"""Of the largest result: a transform of 8192 numbers takes 13 roundings of 6e-8 that differ in sign."""


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def assert_near(found: Any, wanted: np.ndarray) -> None:
    parts = (wanted.real, wanted.imag)
    for part, exact in zip(found, parts, strict=True):
        assert np.abs(np.asarray(part) - exact).max() <= BOUND * np.abs(wanted).max()


def groups(made: tj.Executable, stage: str) -> Groups:
    found: Groups = made.stages[stage].values["main"]
    return found


def units(made: tj.Executable) -> list[str]:
    names = [unit.name for unit in groups(made, "prepare").units.values()]
    return sorted(name for name in names if name.startswith("fourier"))


@pytest.mark.parametrize("library", [*LIBRARIES, *CPUS])
@pytest.mark.parametrize("shape", SHAPES)
def test_transforms_are_those_of_numpy(
    shape: tuple[int, int, int], library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", library)
    x, y = drawn(*shape), drawn(*shape, seed=1)
    wide = x + 1j * y.astype(np.float64)
    assert_near(tj.compile(tj.trace(ops.rfft2d, x))(x), np.fft.rfft2(x.astype(np.float64)))
    assert_near(tj.compile(tj.trace(ops.fft2d, x, y))(x, y), np.fft.fft2(wide))
    inverse = tj.trace(lambda x, y: ops.fft2d(x, y, inverse=True), x, y)
    assert_near(tj.compile(inverse)(x, y), np.fft.ifft2(wide) * x[0].size)


Case = tuple[Callable[..., Any], tuple[int, ...], list[str]]
ROWS, BOTH = ["fourier rows"], ["fourier columns", "fourier rows"]
ZERO = np.zeros(1, np.float32)


def power(x: Any) -> Any:
    real, imag = ops.rfft2d(x)
    return ops.transpose(real * real + imag * imag, perms=[2, 1, 0])


CASES: dict[str, Case] = {
    "a frame": (ops.rfft2d, (1, 1, 512), ROWS),
    "an image": (ops.rfft2d, (1, 64, 64), BOTH),
    "a longer transform": (lambda x: ops.rfft2d(ops.pad(x, [0, 0, 0, 0, 0, 112], ZERO)), (9, 1, 400), ROWS),
    "padding in front": (lambda x: ops.rfft2d(ops.pad(x, [0, 0, 0, 0, 3, 5], ZERO + 2)), (9, 1, 24), ROWS),
    "a part": (lambda x: ops.rfft2d(ops.slice(x, [1, 0, 5], [3, 1, 256])), (9, 1, 400), ROWS),
    "real parts": (lambda x: ops.rfft2d(x)[0], (9, 1, 64), ROWS),
    "imaginary parts": (lambda x: ops.rfft2d(x)[1], (9, 1, 64), ROWS),
    "power": (power, (8, 1, 256), ROWS),
    "turned results": (
        lambda x: ops.transpose(ops.rfft2d(x)[0], perms=[2, 1, 0]),
        (32, 1, 256),
        ROWS,
    ),
    "turned": (
        lambda x: ops.rfft2d(ops.transpose(x, perms=[0, 2, 1])),
        (2, 64, 32),
        BOTH,
    ),
    "reversed": (lambda x: ops.rfft2d(ops.reverse(x, axis=2)), (2, 16, 32), BOTH),
    "one for both parts": (lambda x: ops.fft2d(x, x), (2, 16, 32), BOTH),
    "there and back": (lambda x: ops.fft2d(*ops.fft2d(x, x * x), inverse=True), (2, 16, 32), 2 * BOTH),
    "twice": (lambda x: (*ops.rfft2d(x), *ops.rfft2d(x)), (2, 16, 32), 2 * BOTH),
}


@pytest.mark.parametrize("name", CASES)
def test_transforms_have_kernels_wherever_numbers_come_from(name: str) -> None:
    function, shape, wanted = CASES[name]
    graph = tj.trace(function, x := drawn(*shape))
    made = tj.compile(graph, generic="never")
    found, exact = made(x), tj.compile(graph, interpret=True)(x)
    pairs = zip(found, exact, strict=True) if isinstance(found, tuple) else [(found, exact)]
    for some, others in pairs:
        assert np.abs(some - others).max() <= 1e-6 * np.abs(others).max()
    assert units(made) == sorted(wanted)


def test_what_is_done_with_results_is_not_lost() -> None:
    x = drawn(3, 1, 64)
    made = tj.compile(tj.trace(lambda x: [part * part for part in ops.rfft2d(x)], x))
    exact = np.fft.rfft2(x.astype(np.float64))
    assert_near(made(x), exact.real**2 + 1j * exact.imag**2)


def test_threads_give_the_same_bits() -> None:
    x = drawn(64, 64, 128)
    graph = tj.trace(lambda x: ops.fft2d(x, x), x)
    one, two = (tj.compile(graph, threads=threads)(x) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_machines_do_transforms_step_by_step() -> None:
    """They have no kernels that know what a sum of products is for."""
    x = drawn(1, 1, 512)
    made = tj.compile(tj.trace(ops.rfft2d, x), target=tj.TINY)
    assert all(nest.axes[-1].extent <= 8 for nest in groups(made, "fuse").nests if nest.verb == "contract")
    assert_near(made(x), np.fft.rfft2(x.astype(np.float64)))


@sets
@pytest.mark.parametrize("shape", [(3, 1, 16), (2, 1, 32), (1, 1, 128), (1, 1, 512)])
@pytest.mark.parametrize("parts", [1, 2])
def test_rows_in_plain_python(isa: InstructionSet, shape: tuple[int, int, int], parts: int) -> None:
    numbers = [drawn(*shape, seed=seed) for seed in range(parts)]
    plain(isa, ops.rfft2d if parts == 1 else ops.fft2d, numbers, "fourier rows")


@sets
@pytest.mark.parametrize("shape", [(1, 2, 4), (2, 16, 2), (1, 32, 16), (1, 8, 64)])
def test_columns_in_plain_python(isa: InstructionSet, shape: tuple[int, int, int]) -> None:
    plain(isa, ops.fft2d, [drawn(*shape, seed=seed) for seed in range(2)], "fourier columns")


def plain(isa: InstructionSet, function: Any, numbers: list[Array], name: str) -> None:
    """Run the kernel of this name on numbers, and compare it with NumPy."""
    whole = groups(tj.compile(tj.trace(function, *numbers), generic="never"), "simplify")
    made = Prepared()
    nests = fourier(whole.nests, made, {**whole.segment.constants, **whole.added}, isa)
    (nest,) = [nest for nest in nests if nest in made.units and made.units[nest].name == name]
    unit, layout = made.units[nest], Layout(len(nest.axes), len(nest.accesses))
    results = [Guarded(write.access.shape, np.float32) for write in nest.writes]
    inputs = [
        guarded(number.reshape(access.shape)) for number, access in zip(numbers, nest.reads, strict=True)
    ]
    factors = [made.constants[access.operand] for access in nest.prepared]
    places = [
        address_of(array) for array in (*(i.array for i in inputs), *(r.array for r in results), *factors)
    ]
    scratch = aligned(unit.scratch_bytes)
    header = [0] * layout.payload
    header[SCRATCH] = address_of(scratch)
    header[layout.end : layout.base] = nest.extents
    header[layout.base :] = places
    words = list(unit.words)
    for word in unit.derived:
        words[word.slot] = word.constant + sum(header[place] * factor for place, factor in word.terms)
    Kernels(isa).run(unit.source, np.array(words, np.int64))
    axis = -1 if name == "fourier rows" else 1
    wide = sum(np.array(number, np.complex128) * 1j**place for place, number in enumerate(numbers))
    exact = np.fft.rfft(wide.real) if len(numbers) == 1 else np.fft.fft(wide, axis=axis)
    assert_near([result.array.reshape(exact.shape) for result in results], exact)
    for one in (*inputs, *results):
        assert one.intact()


@pytest.mark.parametrize(("frames", "shared"), [(2, False), (100, True)])
def test_threads_share_what_is_worth_it(frames: int, shared: bool) -> None:
    """Not the products of the sums count, which nobody makes."""
    x = drawn(frames, 1, 2048)
    made = tj.compile(tj.trace(ops.rfft2d, x), threads=2, generic="never")
    (section,) = made.stages["plan"].values["main"].program.sections
    assert section.shared == shared
    (group,) = made.profile(x)
    assert group.macs == 0
    assert group.bytes < 2 * sum(part.nbytes for part in (x, *made(x)))
