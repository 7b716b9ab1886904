"""Steps of fast Fourier transforms: what works in registers.

A step of radix 4 takes numbers that are a quarter of all apart, and leaves its results where the next step
wants them (Stockham 1966). `stride` neighbours go together and have factors in common. Where these are fewer
than the lanes of a register, a register has several groups, and results lie in turn. Real and imaginary parts
are apart. All sizes are powers of two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tosajit.kernels.contract.agreed import FACTORS, RADIX, STEPS
from tosajit.kernels.sets.values import Register, Value
from tosajit.kernels.sets.vectors import Vectors

Complex = tuple[Register, Register]


def steps(lanes: int) -> Mapping[str, Callable[..., None]]:
    """What there is for registers of so many lanes, by name."""
    bodies = (
        partial(quarters_in_turn, 1, False, lanes),
        partial(quarters_in_turn, 1, True, lanes),
        partial(quarters_in_turn, min(RADIX, lanes), False, lanes),
        *(partial(body, lanes) for body in (quarters_apart, halves, spectrum)),
    )
    return dict(zip(STEPS, bodies, strict=True))


def quarters_apart(
    lanes: int,
    v: Vectors,
    real: Value,
    imag: Value,
    to_real: Value,
    to_imag: Value,
    factors: Value,
    quarter: Value,
    stride: Value,
) -> None:
    """Do a step whose results stay together: so many numbers that are whole registers."""
    size, gap, pitch = 4 * lanes, quarter * 4, stride * 4

    def group(number: Value) -> None:
        first, to = number * pitch, number * pitch * RADIX
        by = [_everywhere(v, factors + (number * FACTORS + place) * 4, lanes) for place in range(FACTORS)]

        def some(index: Value) -> None:
            at = index * size
            numbers = [_loaded(v, real, imag, first + at + gap * place, lanes) for place in range(RADIX)]
            for place, (a, b) in enumerate(_step(v, numbers, by)):
                v.store(a, to_real + to + at + pitch * place)
                v.store(b, to_imag + to + at + pitch * place)

        v.each(stride // lanes, some)

    v.each(quarter // stride, group)


def quarters_in_turn(
    granule: int,
    pairs: bool,
    lanes: int,
    v: Vectors,
    real: Value,
    imag: Value,
    to_real: Value,
    to_imag: Value,
    factors: Value,
    quarter: Value,
) -> None:
    """Do a step whose results lie in turn, so many together.

    The factors of the numbers of a register follow each other. `pairs`: real and imaginary parts do, too.
    """
    size, gap = 4 * lanes, quarter * 4

    def some(index: Value) -> None:
        at, by = index * size, factors + index * (size * FACTORS)
        places = [at + gap * place for place in range(RADIX)]
        if pairs:
            numbers = [_parted(v, real + place * 2, lanes) for place in places]
        else:
            numbers = [_loaded(v, real, imag, place, lanes) for place in places]
        every = [v.load(by + size * place, "f32", lanes) for place in range(FACTORS)]
        parts = zip(*_step(v, numbers, every), strict=True)
        for to, part in zip((to_real, to_imag), parts, strict=True):
            for place, register in enumerate(_in_turn(v, part, granule, lanes)):
                v.store(register, to + at * RADIX + size * place)

    v.each(quarter // lanes, some)


def halves(
    lanes: int, v: Vectors, real: Value, imag: Value, to_real: Value, to_imag: Value, half: Value
) -> None:
    """Do a last step of radix 2."""

    def some(index: Value) -> None:
        at = index * (4 * lanes)
        for start, to in ((real, to_real), (imag, to_imag)):
            first, second = (v.load(start + at + half * number, "f32", lanes) for number in (0, 4))
            v.store(first + second, to + at)
            v.store(first - second, to + at + half * 4)

    v.each(half // lanes, some)


def spectrum(
    lanes: int,
    v: Vectors,
    real: Value,
    imag: Value,
    to_real: Value,
    to_imag: Value,
    factors: Value,
    length: Value,
) -> None:
    """Make the spectrum of real numbers of that of their pairs, each taken for a complex one.

    There are `length` pairs. The factors are those of O[k] in `host.fourier`, which says what is computed.
    """
    middle = length // 2
    for start in (real, imag):
        v.store(v.load(start, "f32", 1), start + length * 4)

    def some(place: Value, count: int) -> None:
        low, high = place * 4, (length - place) * 4 - 4 * (count - 1)
        a, b = (v.load(start + low, "f32", count) for start in (real, imag))
        c, d = (_reversed(v, v.load(start + high, "f32", count), count) for start in (real, imag))
        half = v.view(v.constant(0x3F000000, "i32", count), "f32")
        factor = _loaded(v, factors, factors + middle * 4 + 4, low, count)
        even, odd = ((a + c) * half, (b - d) * half), _product(v, (a - c, b + d), factor)
        v.store(even[0] + odd[0], to_real + low)
        v.store(even[1] + odd[1], to_imag + low)
        v.store(_reversed(v, even[0] - odd[0], count), to_real + high)
        v.store(_reversed(v, odd[1] - even[1], count), to_imag + high)

    v.each(middle // lanes, lambda index: some(index * lanes, lanes))
    some(middle, 1)


def _step(v: Vectors, numbers: Sequence[Complex], factors: Sequence[Register]) -> list[Complex]:
    """The transform of four numbers; all but the first times a factor."""
    (a, b), (c, d), (e, f), (g, h) = numbers
    sums, gaps, others, turned = (a + e, b + f), (a - e, b - f), (c + g, d + h), (d - h, g - c)
    first = (sums[0] + others[0], sums[1] + others[1])
    rest = [
        (gaps[0] + turned[0], gaps[1] + turned[1]),
        (sums[0] - others[0], sums[1] - others[1]),
        (gaps[0] - turned[0], gaps[1] - turned[1]),
    ]
    pairs = zip(factors[::2], factors[1::2], strict=True)
    return [first, *(_product(v, number, factor) for number, factor in zip(rest, pairs, strict=True))]


def _product(v: Vectors, number: Complex, factor: Complex) -> Complex:
    (a, b), (c, d) = number, factor
    return v.fused(-(b * d), a, c), v.fused(b * c, a, d)


def _in_turn(v: Vectors, registers: Sequence[Register], granule: int, lanes: int) -> list[Register]:
    """Lanes of four registers in turn, so many of each."""
    turns = [
        start + lane
        for low in range(0, lanes, granule)
        for start in (low, low + lanes)
        for lane in range(granule)
    ]

    def zipped(first: Register, second: Register) -> list[Register]:
        return [v.shuffled(first, second, part) for part in (turns[:lanes], turns[lanes:])]

    first, second, third, fourth = registers
    pairs = zip(zipped(first, third), zipped(second, fourth), strict=True)
    return [register for pair in pairs for register in zipped(*pair)]


def _parted(v: Vectors, where: Value, lanes: int) -> Complex:
    """Numbers whose real and imaginary parts follow each other."""
    first, second = (v.load(where + 4 * lanes * half, "f32", lanes) for half in (0, 1))
    real, imag = (v.shuffled(first, second, range(part, 2 * lanes, 2)) for part in (0, 1))
    return real, imag


def _loaded(v: Vectors, real: Value, imag: Value, at: Value, lanes: int) -> Complex:
    return v.load(real + at, "f32", lanes), v.load(imag + at, "f32", lanes)


def _everywhere(v: Vectors, where: Value, lanes: int) -> Register:
    """A number in all lanes."""
    return v.view(v.splat(v.loaded_word(where), "i32", lanes), "f32")


def _reversed(v: Vectors, register: Register, lanes: int) -> Register:
    return v.shuffled(register, register, range(lanes - 1, -1, -1))
