"""Flatbuffers that are written have their tables, vectors and texts where the format wants them."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from tosajit.errors import FileError
from tosajit.files import builder as module
from tosajit.files import cursor
from tosajit.files.builder import Builder
from tosajit.files.cursor import Source

FORMS = {
    "bool": "?", "int8": "b", "uint8": "B", "int32": "i", "uint32": "I", "int64": "q", "uint64": "Q",
    "float32": "f",
}  # fmt: skip


def number(data: bytes, form: str, place: int) -> Any:
    assert place % struct.calcsize(form) == 0
    return struct.unpack_from(f"<{form}", data, place)[0]


def root(data: bytes) -> int:
    return int(number(data, "I", 0))


def field(data: bytes, table: int, place: int) -> int:
    """Where a field is; 0 if it has its default."""
    layout = table - number(data, "i", table)
    size = number(data, "H", layout)
    offset = number(data, "H", layout + 4 + 2 * place) if 4 + 2 * place < size else 0
    assert offset < number(data, "H", layout + 2)
    return table + offset if offset else 0


def target(data: bytes, place: int) -> int:
    return place + int(number(data, "I", place))


@pytest.mark.parametrize(
    ("form", "value"), list(zip(FORMS, [True, -5, 200, -7, 7, -(1 << 40), 1 << 63, 0.5], strict=True))
)
@pytest.mark.parametrize("before", range(9))
def test_numbers_are_aligned(form: str, value: float, before: int) -> None:
    builder = Builder()
    builder.blob(bytes(before), 1)
    data = builder.finished(builder.table([("uint8", 3), (form, value), ("uint8", 4)]), b"TEST")
    table = root(data)
    assert data[4:8] == b"TEST"
    assert number(data, FORMS[form], field(data, table, 1)) == value
    assert (data[field(data, table, 0)], data[field(data, table, 2)]) == (3, 4)


def test_defaults_take_no_room() -> None:
    builder = Builder()
    fields: list[Any] = [
        ("int32", 0),
        ("int32", 5, 5),
        ("int32", 0, 5),
        ("int32", 1),
        ("int32", 0),
        ("int32", 7, 7),
    ]
    data = builder.finished(builder.table(fields), b"TEST")
    table = root(data)
    layout = table - number(data, "i", table)
    assert number(data, "H", layout) == 4 + 2 * 4
    assert [bool(field(data, table, place)) for place in range(6)] == [False, False, True, True, False, False]
    assert number(data, "i", field(data, table, 2)) == 0


def test_tables_of_one_layout_share_it() -> None:
    builder = Builder()
    tables = [builder.table([("int32", value), ("int32", 9)]) for value in (1, 2)]
    other = builder.table([("int32", 0), ("int32", 3)])
    data = builder.finished(builder.table([("offset", one) for one in (*tables, other)]), b"TEST")
    found = [target(data, field(data, root(data), place)) for place in range(3)]
    assert [
        number(data, "i", field(data, one, place)) for one, place in zip(found, (0, 0, 1), strict=True)
    ] == [1, 2, 3]
    layouts = [one - number(data, "i", one) for one in found]
    assert layouts[0] == layouts[1] != layouts[2]


def test_an_empty_table_has_no_fields() -> None:
    builder = Builder()
    data = builder.finished(builder.table([("int32", 0)]), b"TEST")
    layout = root(data) - number(data, "i", root(data))
    assert (number(data, "H", layout), number(data, "H", layout + 2)) == (4, 4)


@pytest.mark.parametrize("alignment", [1, 4, 8, 16, 64])
@pytest.mark.parametrize("size", [0, 1, 7, 16])
def test_vectors_are_aligned(alignment: int, size: int) -> None:
    builder = Builder()
    blob = builder.blob(bytes(range(size)), alignment)
    wide, text = builder.numbers("q", [-1, 2]), builder.text("né")
    parts = builder.offsets([builder.table([("int8", one)]) for one in (1, 2, 3)])
    places: list[Any] = [("offset", one) for one in (blob, wide, text, parts)]
    data = builder.finished(builder.table(places), b"TEST")
    blob, wide, text, parts = (target(data, field(data, root(data), place)) for place in range(4))
    assert (blob + 4) % alignment == 0
    assert data[blob + 4 : blob + 4 + number(data, "I", blob)] == bytes(range(size))
    assert [number(data, "I", wide), number(data, "q", wide + 4), number(data, "q", wide + 12)] == [2, -1, 2]
    assert (number(data, "I", text), data[text + 4 : text + 8]) == (3, "né".encode() + b"\0")
    assert number(data, "I", parts) == 3
    tables = [target(data, parts + 4 + 4 * place) for place in range(3)]
    assert [data[field(data, one, 0)] for one in tables] == [1, 2, 3]


def test_a_flatbuffer_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module._LIMIT == 2**31 - 1
    monkeypatch.setattr(module, "_LIMIT", 100)
    Builder().blob(bytes(96), 4)
    with pytest.raises(ValueError, match="a flatbuffer has less than 2 GiB"):
        Builder().blob(bytes(97), 1)


@pytest.mark.parametrize(("form", "value"), [("uint8", 256), ("int8", -129), ("int32", 1 << 31)])
def test_numbers_that_do_not_fit_are_refused(form: str, value: int) -> None:
    with pytest.raises(ValueError, match=r"format requires|out of range"):
        Builder().table([(form, value)])


@pytest.mark.parametrize(("field", "cost"), [([], 64), ([("uint8", 3)], 64)])
def test_a_table_is_read_as_long_as_the_budget_lasts(field: list[Any], cost: int) -> None:
    builder = Builder()
    data = memoryview(builder.finished(builder.table(field), b"TEST"))
    for spare in (0, 1):
        source = Source(data, cost + spare, "a test")
        cursor.root(source, b"TEST", ("one",))
        assert source.budget == spare
    with pytest.raises(FileError, match="its offsets repeat too much"):
        cursor.root(Source(data, cost - 1, "a test"), b"TEST", ("one",))
    assert Source.of(data).budget == (1 << 20) + 4 * len(data)
    assert Source.of(bytes(32 << 20)).budget == (1 << 20) + (64 << 20)
