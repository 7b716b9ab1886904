"""Fourier transforms (TOSA 1.0.1 sections 2.3.6 and 2.3.9).

The transform of a length of 2**n is a few contractions, each with a radix of at most 8. Before a step of
radix r there are transforms of length l, of elements that lie far apart. The step makes one of length r * l
of each r of them (Cooley and Tukey 1965), and leaves them where the next step wants them (Stockham 1966):

    next[j, s * l + k] = sum over q < r of last[q, j, k] * exp(-2i * pi * q * (s * l + k) / (r * l))

On the host there are kernels for whole transforms, which know these by the sums that they are.

Numbers along the other dimension lie between, so that all of them are done alike: for the transforms of its
rows an image is transposed, and transposed back for those of its columns.

The factors are constants. Each output takes r products a step, so that a transform takes n * log(n); other
lengths are errors. Rounding errors are far below the bounds of a sum of as many products as the image has
elements, with `local_bound` or without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from tiling.expr import acc, const
from tiling.nest import Access, Axis, Indirect, Nest, Reduction, Write
from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.graph.operator import Dims, Operator, error_if, level_check, read, table, write
from tosajit.operators.lowering import Index, Lowering, Space, constant, element, number, shape_of, space
from tosajit.operators.types import beyond
from tosajit.profiles import Level

FFT = table("in_out_t", "EXT-FFT | fp32 | fp32")
MOST = 3
"""The logarithm of the largest radix: more are fewer passes over memory, but more products."""
SHORT = 8
"""Rows of so small real images are products with a matrix: `local_bound` has no room for errors of pairs."""


class Transform(Operator):
    """What the Fourier transforms share."""

    batched = "N"

    @error_if("input_real")
    def no_power_of_two(self, H: int, W: int) -> bool:
        """H and W are {H} and {W}, but must be powers of two."""
        return H & (H - 1) != 0 or W & (W - 1) != 0

    @level_check()
    def size_limits(self, H: int, W: int, level: Level) -> Iterator[str]:
        """The images within the level."""
        yield from beyond("MAX_KERNEL", level.MAX_KERNEL, H=H, W=W)


class FFT2D(Transform):
    """The discrete Fourier transform of complex images, forward or inverse."""

    section, modes = "2.3.6", FFT

    input_real = read("in_out_t", "N,H,W")
    input_imag = read("in_out_t", "N,H,W")
    output_real = write("in_out_t", "N,H,W")
    output_imag = write("in_out_t", "N,H,W")

    inverse: bool = False
    local_bound: bool = False

    def lower(self, use: Lowering) -> list[Nest]:
        """The transforms of the rows, then of the columns."""
        real, imag = use.inputs
        return transforms(use, Plane(real.name, imag.name), self.inverse)


class RFFT2D(Transform):
    """The discrete Fourier transform of real images; the half that symmetry does not give."""

    section, modes = "2.3.9", FFT
    because = "half of W and one more give"

    input_real = read("in_out_t", "N,H,W")
    output_real = write("in_out_t", "N,H,OW")
    output_imag = write("in_out_t", "N,H,OW")

    local_bound: bool = False

    def infer(self, W: int) -> Dims:
        """The columns that are not mirrored."""
        return {"OW": W // 2 + 1}

    def lower(self, use: Lowering) -> list[Nest]:
        """The transforms of the rows, then of the columns that are not mirrored."""
        return transforms(use, Plane(use.inputs[0].name, None), False)


@dataclass(frozen=True, slots=True)
class Plane:
    """The names of real and imaginary parts; where there are no imaginary ones, they are zero."""

    real: str
    imag: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of all transforms along one dimension, of numbers that lie `inner` apart."""

    name: str
    batch: int
    radix: int
    sequences: int
    """Those that are left."""
    length: int
    """Of the transforms so far."""
    parts: int
    """How many times that many frequencies are wanted: less than the radix where the others are mirrored."""
    inner: int

    def factors(self, sign: int) -> Array:
        """What elements are multiplied with: by part, frequency, element."""
        parts, length, radix = np.ogrid[: self.parts, : self.length, : self.radix]
        whole = self.length * self.radix
        turns = (length + self.length * parts) * radix % whole / whole
        return roots(sign * turns)


@dataclass(frozen=True, slots=True)
class Transposition:
    """Turning images, [batch][rows][columns], of which the first rows are kept."""

    name: str
    batch: int
    rows: int
    columns: int
    kept: int


def steps(name: str, batch: int, length: int, inner: int, wanted: int) -> Iterator[Step]:
    """The steps along one dimension; the last ones have the largest radix."""
    done = 1
    while done < length:
        left = (length // done).bit_length() - 1
        radix = 1 << ((left - 1) % MOST + 1)
        sequences = length // (done * radix)
        parts = radix if sequences > 1 else -(-wanted // done)
        yield Step(f"{name}{done}", batch, radix, sequences, done, parts, inner)
        done *= radix


def stages(N: int, H: int, W: int, OW: int) -> list[Step | Transposition]:
    """What is done one after the other; a last turn only cuts off what is not asked for."""
    rows, columns = [*steps("row", N, W, H, OW)], [*steps("column", N, H, OW, H)]
    width = rows[-1].parts * rows[-1].length if rows else OW
    if rows and columns:
        return [
            Transposition("lying", N, H, W, H),
            *rows,
            Transposition("standing", N, width, H, OW),
            *columns,
        ]
    done: list[Step | Transposition] = [*rows, *columns]
    return done if done and width == OW else [*done, Transposition("cut", N, width, H, OW)]


def transforms(use: Lowering, source: Plane, inverse: bool) -> list[Nest]:
    """The nests of all stages."""
    N, H, W = shape_of(use.inputs[0])
    if use.sums and H * W > 1 and (W > 1 or source.imag):
        return directly(use, source, 1 if inverse else -1)
    todo = stages(N, H, W, shape_of(use.outputs[0])[2])
    nests: list[Nest] = []
    outputs = Plane(*(output.name for output in use.outputs))
    for stage in todo:
        name = f"{use.name}.{stage.name}"
        both = isinstance(stage, Step) or source.imag is not None
        target = outputs if stage is todo[-1] else Plane(f"{name}.real", f"{name}.imag" if both else None)
        if isinstance(stage, Step):
            nests += combined(use, stage, source, target, 1 if inverse else -1)
        else:
            nests += transposed(use, stage, source, target)
        source = target
    return nests


def directly(use: Lowering, source: Plane, sign: int) -> list[Nest]:
    """The transforms of the rows, and of the columns if there are any, as the sums that they are."""
    N, H, W = shape_of(use.inputs[0])
    OW = shape_of(use.outputs[0])[2]
    target = Plane(*(output.name for output in use.outputs))
    if 1 in (H, W):  # what lies apart does so by one number
        at = space({"r": N * H * W // max(H, W), "f": max(H, OW)}, {"k": max(H, W)})
        return sums(use, "row", at, source, target, sign)
    between = Plane(f"{use.name}.rows.real", f"{use.name}.rows.imag")
    rows = sums(use, "row", space({"r": N * H, "f": OW}, {"k": W}), source, between, sign)
    at = space({"n": N, "f": H, "t": OW}, {"k": H})
    return [*rows, *sums(use, "column", at, between, target, sign)]


def sums(use: Lowering, name: str, at: Space, source: Plane, target: Plane, sign: int) -> list[Nest]:
    """The real and the imaginary results of transforms along `k`, where f * k turns are those of a circle."""
    *kept, last = at.axes
    length, parts = last.extent, tables(last.extent)
    index: list[Index] = [Indirect(at.coordinate("f") * at.coordinate("k") & const(length - 1, "i64"))]
    if source.imag is None and prod(shape_of(use.inputs[0])[1:]) <= SHORT:
        frequencies = next(axis.extent for axis in kept if axis.name == "f")
        places = np.outer(np.arange(frequencies), np.arange(length)) % length
        parts, index = {part: array[places] for part, array in parts.items()}, [at(f=1), at(k=1)]
    of = {part: constant(use, f"{name}.{part}", array, index) for part, array in parts.items()}
    taken = [last if axis.name == "f" else axis for axis in kept]
    numbers = [along_axes(at, part, taken) for part in (source.real, source.imag) if part]
    nests = []
    for part, used in (
        (target.real, ("cosine", "back" if sign > 0 else "sine")),
        (target.imag, ("sine" if sign > 0 else "back", "cosine")),
    ):
        reads = [*(of[one] for one in used[: len(numbers)]), *numbers]
        found = [element(number, access) for number, access in enumerate(reads)]
        products = [a * b for a, b in zip(found[: len(numbers)], found[len(numbers) :], strict=True)]
        value = products[0] if len(products) == 1 else products[0] + products[1]
        write = Write(along_axes(at, part or "", kept), acc("f32"))
        total = Reduction("add", 0.0, "f32", value)
        nests.append(Nest("contract", at.axes, tuple(reads), (write,), total, (use.name,)))
    return nests


def along_axes(at: Space, name: str, axes: Sequence[Axis]) -> Access:
    """An access of float32 with a dimension for each of some axes."""
    return Access(name, "f32", tuple(a.extent for a in axes), tuple(at(**{a.name: 1}) for a in axes))


def roots(turns: Array) -> Array:
    """Numbers on the unit circle, by turns from 1; parts that are nearly zero are zero."""
    found: Array = np.exp(2j * np.pi * turns)
    found.real[np.abs(found.real) < 1e-9] = 0
    found.imag[np.abs(found.imag) < 1e-9] = 0
    return found


def tables(length: int) -> dict[str, Array]:
    """Cosines and sines of the parts of a turn, and the sines backwards."""
    found = roots(np.arange(length) / length)
    parts = {"cosine": found.real, "sine": found.imag, "back": -found.imag}
    return {name: part.astype(np.float32) for name, part in parts.items()}


def combined(use: Lowering, step: Step, source: Plane, target: Plane, sign: int) -> list[Nest]:
    """The real and the imaginary results of a step."""
    at = space(
        {"b": step.batch, "j": step.sequences, "s": step.parts, "k": step.length, "t": step.inner},
        {"q": step.radix},
    )
    shape = (step.batch, step.radix, step.sequences, step.length, step.inner)
    index = (at(b=1), at(q=1), at(j=1), at(k=1), at(t=1))
    factors = step.factors(sign)
    parts = {"cosine": factors.real, "sine": factors.imag, "back": -factors.imag}
    of = {
        part: constant(use, f"{step.name}.{part}", array.astype(np.float32), [at(s=1), at(k=1), at(q=1)])
        for part, array in parts.items()
    }
    sources = [Access(name, "f32", shape, index) for name in (source.real, source.imag) if name]
    kept = (step.batch, step.sequences, step.parts, step.length, step.inner)
    place = (at(b=1), at(j=1), at(s=1), at(k=1), at(t=1))
    nests = []
    # Both results are sums of the same form, so that one kernel computes them.
    for name, used in ((target.real, ("cosine", "back")), (target.imag, ("sine", "cosine"))):
        reads = [*(of[part] for part in used[: len(sources)]), *sources]
        numbers = [element(number, access) for number, access in enumerate(reads)]
        products = [a * b for a, b in zip(numbers[: len(sources)], numbers[len(sources) :], strict=True)]
        value = products[0] if len(products) == 1 else products[0] + products[1]
        write = Write(Access(name or "", "f32", kept, place), acc("f32"))
        total = Reduction("add", 0.0, "f32", value)
        nests.append(Nest("contract", at.axes, tuple(reads), (write,), total, (use.name,)))
    return nests


def transposed(use: Lowering, step: Transposition, source: Plane, target: Plane) -> list[Nest]:
    """Copies of both parts; an imaginary part that there is none of is zero."""
    nests = []
    for name, output in ((source.real, target.real), (source.imag, target.imag)):
        if output is None:
            continue
        at = space({"n": step.batch, "i": step.columns, "j": step.kept})
        whole = Access(name or "", "f32", (step.batch, step.rows, step.columns), (at(n=1), at(j=1), at(i=1)))
        taken = whole if name else number(use, "zero", 0.0, "float32", 3)
        place = Access(output, "f32", (step.batch, step.columns, step.kept), (at(n=1), at(i=1), at(j=1)))
        nests.append(Nest("move", at.axes, (taken,), (Write(place, element(0, taken)),), None, (use.name,)))
    return nests
