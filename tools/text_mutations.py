"""Ways to damage a text in SkriptND: tokens are left out, doubled, swapped, and replaced by others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random

Mutation = Callable[[Random, bytes, Sequence[bytes]], bytes]

_TOKEN = re.compile(rb'"[^"\n]*"|[@\w]+(?:\.\d+)?|\s+|[-+*/<>=!&|?:.]{2,3}|.', re.DOTALL)
_NUMBERS = (b"0", b"-1", b"1", b"2", b"1000000", b"9223372036854775807", b"1e308", b"0.0", b"[]", b"~")
_DEEP = 2000


def leave_out(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Leave out some tokens in a row."""
    start, stop = _range(random, _tokens(data))
    return b"".join([*_tokens(data)[:start], *_tokens(data)[stop:]])


def say_twice(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put some tokens in twice."""
    start, stop = _range(random, _tokens(data))
    return b"".join([*_tokens(data)[:stop], *_tokens(data)[start:]])


def borrow(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put tokens of another text over some of this."""
    other = _tokens(random.choice(others))
    start, stop = _range(random, _tokens(data))
    first, last = _range(random, other)
    return b"".join([*_tokens(data)[:start], *other[first:last], *_tokens(data)[stop:]])


def swap(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Exchange two tokens."""
    tokens = list(_tokens(data))
    one, other = random.randrange(len(tokens)), random.randrange(len(tokens))
    tokens[one], tokens[other] = tokens[other], tokens[one]
    return b"".join(tokens)


def renumber(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Put another number in the place of one."""
    tokens = list(_tokens(data))
    places = [place for place, token in enumerate(tokens) if token[:1].isdigit()]
    if places:
        tokens[random.choice(places)] = random.choice(_NUMBERS)
    return b"".join(tokens)


def rename(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Let a name be another one of the text."""
    tokens = list(_tokens(data))
    places = [place for place, token in enumerate(tokens) if token[:1].isalpha()]
    if places:
        tokens[random.choice(places)] = tokens[random.choice(places)]
    return b"".join(tokens)


def nest(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Open brackets without end."""
    place = random.randrange(len(data) + 1)
    return (
        data[:place] + random.choice((b"(", b"[", b"{", b"-", b"!", b"if ", b"a ? ")) * _DEEP + data[place:]
    )


MUTATIONS: dict[str, Mutation] = {
    mutation.__name__: mutation for mutation in (leave_out, say_twice, borrow, swap, renumber, rename, nest)
}


@lru_cache(maxsize=1024)
def _tokens(data: bytes) -> tuple[bytes, ...]:
    return tuple(_TOKEN.findall(data))


def _range(random: Random, tokens: Sequence[bytes]) -> tuple[int, int]:
    start = random.randrange(len(tokens))
    return start, min(len(tokens), start + random.choice((1, 1, 2, 4, 16)))
