"""What Winograd's algorithms do before and after products: transforms of inputs and of sums.

F(4, 3) is for integers. Four outputs along an axis depend on six inputs, and take six products for each
channel in place of twelve (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015,
section 4.3; points 0, 1, -1, 2, -2). Weights are multiplied by 24 ahead, so that they are integers. So are
sums, and in the end they are divided: that is exact as long as eight times a sum has 32 bits. Inputs grow to
at most ten times an int8, and weights to 12 times one: products are of int16.

F(4 × 4, 3 × 3) is the same along y, and then along x. Sixteen outputs in a square take 36 products in place
of 144. Sums are multiplied by 24 twice, and 64 times one has to have 32 bits.

F(2 × 2, 3 × 3) is for float32. Four outputs in a square depend on 16 inputs, and take as many products in
place of 36 (points 0, 1, -1, along both axes).
"""

from __future__ import annotations

from collections.abc import Sequence

from tosajit.kernels.contract.pack import OUTPUTS, POINTS
from tosajit.kernels.contract.record import Record
from tosajit.kernels.contract.slots import SQUARE, SquareJob
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors

THIRD = -0x55555555
"""What a multiple of 3 is multiplied by to divide it, in 32 bits: 3 * THIRD is 1."""
SIZES = {"i8": 1, "i16": 2}
"""Bytes of elements."""


def transform_lines(v: Vectors, source: Value, line: Value, count: Value, target: Value, wide: Value) -> None:
    """Transform so many int8 of six rows, `line` bytes apart, along y: to int16, of rows `wide` bytes apart.

    May read and write a register past the ends.
    """
    lanes = v.isa.register_bytes // 2

    def some(part: Value) -> None:
        rows = [
            v.extended(v.load(source + line * row + part * lanes, "i8", lanes), "i16")
            for row in range(POINTS)
        ]
        for point, register in enumerate(points_of(rows)):
            v.store(register, target + wide * point + part * (2 * lanes))

    v.each((count + (lanes - 1)) // lanes, some)


def transform_inputs(
    kind: str, v: Vectors, source: Value, channels: Value, tiles: Value, target: Value, plane: Value
) -> None:
    """Transform a row of pixels: for each tile its channels as int16, of points `plane` bytes apart.

    May read and write a register past the end.
    """
    count, pixel = v.isa.register_bytes // 2, channels * SIZES[kind]

    def tile(index: Value) -> None:
        first, to = source + index * (pixel * OUTPUTS), target + index * (channels * 2)

        def some(part: Value) -> None:
            places = [first + part * (count * SIZES[kind]) + pixel * number for number in range(POINTS)]
            pixels = [v.extended(v.load(place, kind, count), "i16") for place in places]
            for point, register in enumerate(points_of(pixels)):
                v.store(register, to + part * (2 * count) + plane * point)

        v.each((channels + (count - 1)) // count, some)

    v.each(tiles, tile)


def points_of(pixels: Sequence[Register]) -> list[Register]:
    """The six points of six pixels."""
    d0, d1, d2, d3, d4, d5 = pixels
    even, odd = d4 - (d2 << 2), d3 - (d1 << 2)
    across, twice = d4 - d2, (d3 - d1) << 1
    first, last = ((d0 - d2) << 2) + across, ((d1 - d3) << 2) + (d5 - d3)
    return [first, even + odd, even - odd, across + twice, across - twice, last]


def transform_line_sums(v: Vectors, source: Value, plane: Value, tiles: Value) -> None:
    """Make sums along y of those of the points of tiles: four rows, in the place of the first ones."""
    step = v.isa.register_bytes

    def point(number: Value) -> None:
        def some(part: Value) -> None:
            first = source + number * plane + part * step
            places = [first + plane * (POINTS * line) for line in range(POINTS)]
            sums = sums_of([v.load(place, "i32") for place in places])
            for register, place in zip(sums, places, strict=False):
                v.store(register, place)

        v.each(tiles * 2, some)

    v.each(v.number(POINTS), point)


def transform_sums(
    axes: int,
    v: Vectors,
    source: Value,
    plane: Value,
    tiles: Value,
    panels: Value,
    initial: Value,
    words: Value,
) -> None:
    """Make rows of two panels of sums, for four pixels each, of those of the points of tiles.

    They are multiplied by 24 for each of the axes; `initial` has what is added to those of the columns.
    """
    step, inverse = v.isa.register_bytes, THIRD**axes % (1 << 32)
    inverse -= inverse >> 31 << 32

    def panel(number: Value) -> None:
        start = v.load(initial + number * step, "i32")

        def tile(index: Value) -> None:
            first = source + index * (2 * step) + number * step
            points = [v.load(first + plane * point, "i32") for point in range(POINTS)]
            for pixel, register in enumerate(sums_of(points)):
                place = words + (index * OUTPUTS + pixel) * (2 * step) + number * step
                v.store(((register * inverse) >> (3 * axes)) + start, place)

        v.each(tiles, tile)

    v.each(panels, panel)


def sums_of(points: Sequence[Register]) -> list[Register]:
    """The four sums of six points, times 24."""
    m0, m1, m2, m3, m4, m5 = points
    near, far = m1 + m2, m3 + m4
    across, twice = m1 - m2, (m3 - m4) << 1
    return [m0 + near + far, across + twice, near + (far << 2), across + (twice << 2) + (m5 << 1)]


def transform_squares(v: Vectors, address: Value) -> None:
    """Transform tiles of pixels of float32 (`SquareJob`), whose channels are whole registers."""
    job, count, step = Record(v, address), v.isa.lanes, v.isa.register_bytes
    lines = [job[SquareJob.LINE + line] for line in range(SQUARE)]
    pixel, plane = job[SquareJob.PIXEL], job[SquareJob.PLANE]

    def tile(index: Value) -> None:
        first, to = index * (pixel * 2), job[SquareJob.TARGET] + index * job[SquareJob.ROW_BYTES]

        def some(part: Value) -> None:
            places = [first + pixel * column + part * step for column in range(SQUARE)]
            columns = [square_points([v.load(line + place, "f32") for line in lines]) for place in places]
            points = [point for row in zip(*columns, strict=True) for point in square_points(row)]
            for number, register in enumerate(points):
                v.store(register, to + part * step + plane * number)

        v.each(job[SquareJob.CHANNELS] // count, some)

    v.each(job[SquareJob.TILES], tile)


def square_points(pixels: Sequence[Register]) -> list[Register]:
    """The four points of four pixels in a row."""
    d0, d1, d2, d3 = pixels
    return [d0 - d2, d1 + d2, d2 - d1, d1 - d3]


def transform_square_sums(
    v: Vectors,
    source: Value,
    plane: Value,
    tiles: Value,
    panels: Value,
    words: Value,
    line: Value,
    most: Value,
) -> None:
    """Make two rows of two panels of sums, `line` bytes apart, of those of the points of tiles.

    At `most` is a register of the greatest bits of any magnitude so far, also of sums that nobody needs.
    """
    step = v.isa.register_bytes

    def panel(number: Value) -> None:
        def tile(index: Value, known: Sequence[Value]) -> Sequence[Value]:
            first = source + index * (2 * step) + number * step
            points = [v.load(first + plane * point, "f32") for point in range(SQUARE * SQUARE)]
            columns = [square_sums(points[column::SQUARE]) for column in range(SQUARE)]
            greatest = known[0]
            for row, across in enumerate(zip(*columns, strict=True)):
                for column, total in enumerate(square_sums(across)):
                    v.store(total, words + line * row + (index * 2 + column) * (2 * step) + number * step)
                    size = v.view(total, "i32") & 0x7FFFFFFF
                    greatest = v.choose(size > greatest, size, greatest)
            return [greatest]

        (greatest,) = v.loop(tiles, [v.load(most, "i32")], tile)
        v.store(greatest, most)

    v.each(panels, panel)


def square_sums(points: Sequence[Register]) -> list[Register]:
    """The two sums of four points."""
    m0, m1, m2, m3 = points
    return [m0 + m1 + m2, m1 - m2 - m3]
