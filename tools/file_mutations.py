"""Ways to damage a file: blind ones, and ones that know where a flatbuffer keeps numbers and offsets."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import Random

Mutation = Callable[[Random, bytes, Sequence[bytes]], bytes]

MOST = 4
_INTEGERS = (
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
)


def damage(
    random: Random, data: bytes, others: Sequence[bytes], mutations: Mapping[str, Mutation]
) -> tuple[bytes, str]:
    """Apply one to four mutations; the result, and the name of the last one."""
    name = ""
    for _ in range(random.choice((1, 1, 1, 2, MOST))):
        name = random.choice(list(mutations))
        data = mutations[name](random, data, others) if data else data
    return data, name


def flip_bits(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Invert up to eight bits."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 8)):
        changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


def truncate(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Leave out the end."""
    return data[: random.randrange(len(data))]


def extend(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Append noise."""
    return data + random.randbytes(random.randint(1, 64))


def delete(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Leave out a range."""
    start, end = _range(random, data)
    return data[:start] + data[end:]


def repeat(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put a range in twice."""
    start, end = _range(random, data)
    return data[:end] + data[start:end] + data[end:]


def splice(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put a range of another file over one of this."""
    other = random.choice(others)
    start, end = _range(random, other)
    place = random.randrange(len(data))
    return data[:place] + other[start:end] + data[place + end - start :]


def overwrite(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put an extreme integer at an aligned place."""
    form, size = random.choice((("<B", 1), ("<H", 2), ("<I", 4), ("<I", 4)))
    value = random.choice((*_INTEGERS, len(data), random.getrandbits(32))) % (1 << 8 * size)
    place = random.randrange(max(1, len(data) // size)) * size
    return _with(data, place, struct.pack(form, value))


def resize(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Change an offset or a count a little, or by a power of two."""
    place = random.choice(numbers(data) or (0,))
    value = _at(data, place) + random.choice((-8, -4, -1, 1, 4, 8, 1 << random.randrange(32)))
    return _with(data, place, struct.pack("<I", value % (1 << 32)))


def redirect(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Let an offset lead where another one does."""
    places = numbers(data) or (0,)
    one, other = random.choice(places), random.choice(places)
    return _with(data, one, struct.pack("<I", (other + _at(data, other) - one) % (1 << 32)))


def exchange(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Exchange two numbers."""
    places = numbers(data) or (0,)
    one, other = random.choice(places), random.choice(places)
    return _with(_with(data, one, data[other : other + 4]), other, data[one : one + 4])


MUTATIONS: dict[str, Mutation] = {
    mutation.__name__: mutation
    for mutation in (
        flip_bits,
        truncate,
        extend,
        delete,
        repeat,
        splice,
        overwrite,
        resize,
        redirect,
        exchange,
    )
}


@lru_cache(maxsize=256)
def numbers(data: bytes) -> tuple[int, ...]:
    """Places of what may be offsets, counts and enumerators: aligned integers that are small for the file."""
    words = struct.unpack_from(f"<{len(data) // 4}I", data)
    return tuple(4 * i for i, word in enumerate(words) if 0 < word < max(64, len(data) - 4 * i))


def _range(random: Random, data: bytes) -> tuple[int, int]:
    start = random.randrange(len(data))
    return start, min(len(data), start + random.choice((1, 2, 4, 8, 16, random.randint(1, len(data)))))


def _with(data: bytes, place: int, new: bytes) -> bytes:
    return (data[:place] + new + data[place + len(new) :])[: max(len(data), place + len(new))]


def _at(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + 4], "little")
