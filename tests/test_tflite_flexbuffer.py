"""Attributes of custom operators are read from flexbuffers of any width, within their bytes and limits."""

from __future__ import annotations

import struct

import pytest

from tests.tflite_cases.flexbuffer import flexbuffer
from tosajit.errors import FileError
from tosajit.frontends.tflite.flexbuffer import read_map

_MAP, _NO_MAP = "a flexbuffer with a map", "options that are a map, found type"
KINDS = {"int": (1, "bhiq"), "uint": (2, "BHIQ"), "float": (3, " efd"), "bool": (26, "BHIQ")}


def packed(kind: str, power: int, number: float) -> bytes:
    """A map of one number `n`, all of whose parts have a width of `1 << power` bytes."""
    width = 1 << power
    code, forms = KINDS[kind]

    def word(value: int) -> bytes:
        return value.to_bytes(width, "little")

    data = b"n\0" + bytes(-2 % width)
    data += word(1)
    keys = len(data)
    data += word(keys)
    data += word(len(data) - keys) + word(width) + word(1)
    vector = len(data)
    data += struct.pack(f"<{forms[power]}", number) + bytes([code << 2 | power])
    return data + bytes([len(data) - vector, 9 << 2 | power, 1])


@pytest.mark.parametrize("power", range(4))
@pytest.mark.parametrize(
    ("kind", "number"), [("int", -5), ("uint", 200), ("float", -1.5), ("bool", True), ("bool", False)]
)
def test_numbers_have_any_width(kind: str, power: int, number: float) -> None:
    if (kind, power) == ("float", 0):
        return
    found = read_map(packed(kind, power, number))["n"]
    assert found == number
    assert type(found) is type(number)


def test_there_is_no_real_number_of_one_byte() -> None:
    data = bytearray(packed("int", 0, 5))
    data[-4] = 3 << 2
    with pytest.raises(FileError, match=_MAP):
        read_map(bytes(data))


def test_what_is_no_number_is_left_out() -> None:
    data = bytearray(flexbuffer({"a": 1, "b": 2}))
    data[-12] = 4 << 2 | 3
    assert read_map(bytes(data)) == {"b": 2}


def test_many_numbers_are_told_apart() -> None:
    values = {f"option {number}": number * 0.5 if number % 2 else number for number in range(256)}
    assert read_map(flexbuffer(values)) == values


def test_there_are_so_many_options_at_most() -> None:
    with pytest.raises(FileError, match="expected at most 256 custom options, found 257"):
        read_map(flexbuffer({str(number): number for number in range(257)}))


def test_names_have_so_many_bytes_at_most() -> None:
    assert read_map(flexbuffer({"a" * 64: 7})) == {"a" * 64: 7}
    with pytest.raises(FileError, match=_MAP):
        read_map(flexbuffer({"a" * 65: 7}))


@pytest.mark.parametrize(
    ("place", "byte", "message"),
    [
        (-2, 10 << 2, _NO_MAP),
        (-1, 3, _MAP),
        (-1, 0, _MAP),
        (-3, 255, _MAP),
        (0, 0xFF, _MAP),
    ],
)
def test_damage_is_refused(place: int, byte: int, message: str) -> None:
    data = bytearray(packed("int", 0, 5))
    data[place] = byte
    with pytest.raises(FileError, match=message):
        read_map(bytes(data))


@pytest.mark.parametrize("offset", range(4))
def test_no_offset_leads_before_the_bytes(offset: int) -> None:
    data = bytearray(packed("int", 0, 5))
    for place in (3, 4):
        before = data[place]
        data[place] = place + 1 + offset
        with pytest.raises(FileError, match=_MAP):
            read_map(bytes(data))
        data[place] = before
