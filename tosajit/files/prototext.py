"""Protocol buffers as text: turned into bytes, so that there is one reader for both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from tosajit.errors import FileError
from tosajit.files.wire import Fields

_TOKEN = re.compile(
    rb"""\s+|\#[^\n]*|(?P<name>[A-Za-z_][\w.]*)|(?P<number>[-+]?(?:0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)"""
    rb"""(?:[eE][-+]?\d+)?[fF]?|inf\b|nan\b))|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(?P<mark>[{}<>:;,\[\]])""",
    re.ASCII,
)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|[xX][\da-fA-F]{1,2}|.)", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_DEEPEST = 64
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Words:
    """What names of the text mean."""

    messages: Mapping[str, Fields]
    """The fields of a message, by the field that holds it."""
    reals: Mapping[str, str]
    """How NumPy stores fields of real numbers; those of integers are varints."""
    numbers: Mapping[str, int]
    """Enumerators."""


@dataclass(slots=True)
class _Open:
    """A message that is being written; one that is not declared has no fields."""

    fields: Fields
    name: str
    number: int | None
    end: bytes
    data: bytearray = field(default_factory=bytearray)


Token = tuple[str, bytes, int]
"""Kind, text and place."""


def to_wire(text: bytes, root: Fields, words: Words) -> bytes:
    """A message as bytes, of which nothing is left that is not declared."""
    stack = [_Open(root, "", None, b"")]
    tokens = _tokens(text)
    for kind, word, place in tokens:
        top = stack[-1]
        if kind == "mark" and word in (b";", b","):
            continue
        if kind == "mark" and word == top.end and len(stack) > 1:
            done = stack.pop()
            if done.number is not None:
                _write_bytes(stack[-1].data, done.number, done.data)
            continue
        if kind != "name":
            _fail(place, f"expected the name of a field, found {word[:40]!r}")
        name = word.decode()
        opened = _value(tokens, top, name, words, place)
        if opened is not None:
            stack.append(opened)
            if len(stack) > _DEEPEST:
                _fail(place, f"expected messages inside of each other to a depth of {_DEEPEST}")
    if len(stack) > 1:
        _fail(len(text), f"expected the end of {stack[-1].name}")
    return bytes(stack[0].data)


def _value(tokens: Iterator[Token], top: _Open, name: str, words: Words, place: int) -> _Open | None:
    """Write the value of a field; a message is what is opened."""
    kind, word, place = _next(tokens, place)
    if word == b":" and kind == "mark":
        kind, word, place = _next(tokens, place)
    number = top.fields.get(name)
    if kind == "mark" and word in (b"{", b"<"):
        inner = words.messages.get(name, {}) if number is not None else {}
        return _Open(inner, name, number, b"}" if word == b"{" else b">")
    if kind == "mark" and word == b"[":
        while (kind, word) != ("mark", b"]"):
            kind, word, place = _next(tokens, place)
            if kind != "mark":
                _write(top.data, number, name, kind, word, words, place)
        return None
    if kind == "mark":
        _fail(place, f"expected the value of {name}, found {word!r}")
    _write(top.data, number, name, kind, word, words, place)
    return None


def _write(
    data: bytearray, number: int | None, name: str, kind: str, word: bytes, words: Words, place: int
) -> None:
    """Write a single value."""
    if number is None:
        return
    if kind == "text":
        _write_bytes(data, number, _ESCAPE.sub(_plain, word))
    elif name in words.reals:
        code = words.reals[name]
        data += _varint(number << 3 | (5 if code == "<f4" else 1))
        with np.errstate(over="ignore"):
            data += np.array(_real(word, place), code).tobytes()
    else:
        data += _varint(number << 3) + _varint(_integer(word, words, place) & _MASK)


def _real(word: bytes, place: int) -> float:
    try:
        return float(word.rstrip(b"fF") if word[-3:].lower() != b"inf" else word)
    except ValueError:
        _fail(place, f"expected a number, found {word[:40]!r}")


def _integer(word: bytes, words: Words, place: int) -> int:
    name = word.decode()
    if name in words.numbers:
        return words.numbers[name]
    if name in ("true", "false"):
        return int(name == "true")
    try:
        return int(name, 0) if len(name) < 32 else int("none")
    except ValueError:
        _fail(place, f"expected an integer, found {word[:40]!r}")


def _plain(found: re.Match[bytes]) -> bytes:
    """What an escape stands for."""
    code = found[1]
    if code[:1] in b"xX" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code[:1].isdigit() and code[:1] < b"8":
        return bytes([int(code, 8) & 0xFF])
    return _ESCAPES.get(code, code)


def _write_bytes(data: bytearray, number: int, value: bytes | bytearray) -> None:
    data += _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def _tokens(text: bytes) -> Iterator[Token]:
    """Names, numbers, texts and marks; texts behind each other are one."""
    place, held = 0, None
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            _fail(place, f"expected a word of a text, found {text[place : place + 1]!r}")
        if found.lastgroup == "text":
            held = bytearray() if held is None else held
            held += found[0][1:-1]
        elif found.lastgroup is not None:
            if held is not None:
                yield "text", bytes(held), place
            held = None
            yield found.lastgroup, found[0], place
        place = found.end()
    if held is not None:
        yield "text", bytes(held), place


def _next(tokens: Iterator[Token], place: int) -> Token:
    found = next(tokens, None)
    if found is None:
        _fail(place, "expected a value, found the end")
    return found


def _fail(place: int, message: str) -> NoReturn:
    raise FileError(f"byte {place} (text): {message}")
