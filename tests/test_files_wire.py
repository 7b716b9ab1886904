"""Protocol buffers, as bytes and as text, are read within their bounds."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from tosajit.errors import FileError
from tosajit.files.prototext import Words, to_wire
from tosajit.files.wire import Message, message_of

FIELDS = {"whole": 1, "real": 2, "wide": 3, "text": 4, "inner": 16, "many": 2000}


def varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; a negative number has all 64."""
    number &= (1 << 64) - 1
    parts = [number >> shift & 0x7F for shift in range(0, 70, 7)]
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return bytes([*(part | 0x80 for part in parts[:-1]), parts[-1]])


def value(name: str, kind: int, data: bytes) -> bytes:
    return varint(FIELDS[name] << 3 | kind) + (varint(len(data)) if kind == 2 else b"") + data


def read(data: bytes) -> Message:
    return message_of(data, FIELDS, "root")


@pytest.mark.parametrize(
    "number", [0, 1, 127, 128, 16383, 16384, (1 << 35) - 1, 1 << 35, (1 << 63) - 1, -(1 << 63), -1, -300]
)
def test_integers_have_64_bits(number: int) -> None:
    assert read(value("whole", 0, varint(number))).integer("whole") == number
    assert read(value("many", 2, varint(number) + varint(5))).integers("many") == (number, 5)
    assert read(value("many", 0, varint(number))).integers("many") == (number,)


def test_a_number_has_ten_bytes_at_most() -> None:
    assert read(value("whole", 0, b"\x80" * 9 + b"\x00")).integer("whole") == 0
    assert read(value("whole", 0, b"\xff" * 9 + b"\x7f")).integer("whole") == -1
    with pytest.raises(
        FileError, match=r"byte 1 \(root\): expected a number of up to 10 bytes before byte 12"
    ):
        read(value("whole", 0, b"\x80" * 10 + b"\x00"))
    with pytest.raises(
        FileError, match=r"byte 1 \(root\): expected a number of up to 10 bytes before byte 3"
    ):
        read(value("whole", 0, b"\x80" * 2))
    with pytest.raises(
        FileError, match=r"byte 4 \(root\): expected a number of up to 10 bytes before byte 5"
    ):
        read(value("many", 2, b"\x05\x80") + b"\x00" * 2).integers("many")


def test_the_last_value_counts() -> None:
    data = (
        value("whole", 0, b"\x05")
        + value("text", 2, b"a")
        + value("whole", 0, b"\x06")
        + value("text", 2, b"b")
    )
    message = read(data)
    assert (message.integer("whole", 7), message.text("text"), bytes(message.blob("text"))) == (6, "b", b"b")
    assert message.texts("text") == ("a", "b")
    assert message.integers("whole") == (5, 6)


def test_what_is_not_there_has_a_default() -> None:
    message = read(b"")
    assert (message.integer("whole"), message.integer("whole", 7), message.real("real")) == (0, 7, 0.0)
    assert (message.text("text"), bytes(message.blob("text")), message.integers("many")) == ("", b"", ())
    assert message.message("inner", FIELDS) is None
    assert message.reals("wide", "<f8").tolist() == []
    assert "whole" not in message
    assert "whole" in read(value("whole", 0, b"\x00"))


@pytest.mark.parametrize(("name", "form", "kind"), [("real", "f", 5), ("wide", "d", 1)])
def test_real_numbers_are_single_or_packed(name: str, form: str, kind: int) -> None:
    one, other = struct.pack(f"<{form}", 0.5), struct.pack(f"<2{form}", -2, 3)
    storage = f"<f{len(one)}"
    assert read(value(name, kind, one)).reals(name, storage).tolist() == [0.5]
    both = read(value(name, kind, one) + value(name, 2, other)).reals(name, storage)
    assert both.tolist() == [0.5, -2, 3]
    assert both.dtype == np.dtype(storage)
    with pytest.raises(
        FileError, match=rf"expected numbers of {len(one)} bytes, found {len(one) + 1} of wire"
    ):
        read(value(name, 2, one + b"\0")).reals(name, storage)
    with pytest.raises(
        FileError, match=f"expected numbers of {len(one)} bytes, found .* of wire type {6 - kind}"
    ):
        read(value(name, 6 - kind, bytes(8 if kind == 5 else 4))).reals(name, storage)


def test_a_single_real_number_is_the_last_one() -> None:
    assert (
        read(value("real", 5, struct.pack("<f", 1)) + value("real", 5, struct.pack("<f", 2))).real("real")
        == 2
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            value("text", 2, b"abc")[:-1],
            r"byte 1 \(root\): expected a value up to byte 4, found 3 bytes at 2",
        ),
        (value("real", 5, b"abc"), r"byte 0 \(root\): expected a value up to byte 4, found 4 bytes at 1"),
        (value("wide", 1, bytes(7)), r"byte 0 \(root\): expected a value up to byte 8, found 8 bytes at 1"),
        (value("whole", 3, b""), r"byte 0 \(root\): expected a field of wire type 0, 1, 2 or 5, found 3"),
        (value("whole", 4, b""), "found 4"),
        (value("whole", 7, b""), "found 7"),
    ],
)
def test_a_message_that_is_cut_off_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read(data)


def test_a_value_may_end_where_its_message_does() -> None:
    assert read(value("text", 2, b"abc")).text("text") == "abc"
    assert read(value("wide", 1, bytes(8))).reals("wide", "<f8").tolist() == [0]


def test_what_is_not_declared_is_skipped() -> None:
    others = varint(9 << 3) + b"\x05" + varint(9 << 3 | 1) + bytes(8) + varint(9 << 3 | 2) + b"\x01a"
    others += varint(9 << 3 | 5) + bytes(4)
    assert read(others + value("whole", 0, b"\x05")).integer("whole") == 5


def test_messages_are_told_by_their_place() -> None:
    inner = value("inner", 2, value("text", 2, b"\xff"))
    first, second = read(value("inner", 2, b"") + value("inner", 2, inner)).messages("inner", FIELDS)
    assert (first.text("text"), first.label, second.label) == ("", "root.inner[0]", "root.inner[1]")
    last = read(value("inner", 2, b"") + inner).message("inner", FIELDS)
    assert last is not None
    with pytest.raises(FileError, match=r"byte 8 \(root\.inner\[1\]\.text\): expected UTF-8"):
        last.text("text")
    with pytest.raises(FileError, match=r"byte 0 \(root\.text\): expected wire type 2, found 0"):
        read(value("text", 0, b"\x05")).text("text")
    with pytest.raises(FileError, match=r"byte 1 \(root\.whole\): expected integers, found wire type 5"):
        read(value("whole", 5, bytes(4))).integers("whole")


def test_labels_have_so_many_letters() -> None:
    message = message_of(value("inner", 2, b""), FIELDS, "r" * 190)
    (inner,) = message.messages("inner", FIELDS)
    assert inner.label == "r" * 190 + ".inner[0]"
    (inner,) = message_of(value("inner", 2, b""), FIELDS, "r" * 192).messages("inner", FIELDS)
    assert inner.label == "r" * 192 + ".inner[0"


WORDS = Words({"inner": FIELDS}, {"real": "<f4", "wide": "<f8"}, {"RED": 3, "NONE": -1})


def parsed(text: bytes) -> Message:
    return read(to_wire(text, FIELDS, WORDS))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"5", 5), (b"+5", 5), (b"-5", -5), (b"0x1F", 31), (b"127", 127), (b"128", 128), (b"true", 1),
        (b"false", 0), (b"RED", 3), (b"NONE", -1), (b"18446744073709551615", -1), (b"1" + b"0" * 18, 10**18),
        (b"0x" + b"0" * 29 + b"7", None), (b"0x" + b"0" * 28 + b"7", 7), (b"1.5", None), (b"BLUE", None),
    ],
)  # fmt: skip
def test_integers_of_a_text(text: bytes, number: int | None) -> None:
    if number is None:
        with pytest.raises(FileError, match=r"byte 7 \(text\): expected an integer, found b'"):
            parsed(b"whole: " + text)
    else:
        assert parsed(b"whole: " + text).integer("whole") == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (b"1.5", 1.5), (b"-2e3f", -2000), (b".5F", 0.5), (b"inf", np.inf), (b"-inf", -np.inf), (b"3", 3),
        (b"1e39", np.inf),
    ],
)  # fmt: skip
def test_real_numbers_of_a_text(text: bytes, number: float) -> None:
    assert parsed(b"real: " + text).real("real") == number
    assert parsed(b"wide: " + text).reals("wide", "<f8").tolist() == [1e39 if text == b"1e39" else number]


def test_a_text_may_be_no_number() -> None:
    assert np.isnan(parsed(b"real: nan").real("real"))
    with pytest.raises(FileError, match=r"byte 6 \(text\): expected a number, found b'many'"):
        parsed(b"real: many")


def test_strings_of_a_text() -> None:
    text = rb"""text: "a\n\r\t\a\b\f\v\\\"\'\101\7\x41\X4a\q" 'b"' # no "more"
        "c" ; whole: 5"""
    message = parsed(text)
    assert message.text("text") == "a\n\r\t\a\b\f\v\\\"'A\x07AJq" + 'b"' + "c"
    assert message.integer("whole") == 5
    assert parsed(rb'text: "\400"').text("text") == "\0"
    assert parsed(rb'text: "\8\x"').text("text") == "8x"
    assert parsed(b'text: "a" "b"').texts("text") == ("ab",)
    assert parsed(b'text: ["a", "b"]').texts("text") == ("a", "b")


def test_messages_of_a_text() -> None:
    message = parsed(
        b"many: [1, 2,3] many: 4 inner { whole: 5 inner: < whole: 6 > }, inner {} unknown { a: [1] b { } }"
    )
    assert message.integers("many") == (1, 2, 3, 4)
    first, second = message.messages("inner", FIELDS)
    assert (first.integer("whole"), second.integer("whole")) == (5, 0)
    inner = first.message("inner", FIELDS)
    assert inner is not None
    assert inner.integer("whole") == 6
    assert parsed(b"text: '" + b"a" * 200 + b"'").text("text") == "a" * 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"5", r"byte 0 \(text\): expected the name of a field, found b'5'"),
        (b"inner { whole: 5", r"byte 16 \(text\): expected the end of inner"),
        (b"inner { >", r"byte 8 \(text\): expected the name of a field, found b'>'"),
        (b"}", r"byte 0 \(text\): expected the name of a field, found b'}'"),
        (b"whole: ;", r"byte 7 \(text\): expected the value of whole, found b';'"),
        (b"whole", r"byte 0 \(text\): expected a value, found the end"),
        (b"many: [1, 2", r"byte 10 \(text\): expected a value, found the end"),
        (b"whole: 5 &", r"byte 9 \(text\): expected a word of a text, found b'&'"),
    ],
)
def test_texts_that_are_no_messages_are_refused(text: bytes, message: str) -> None:
    with pytest.raises(FileError, match=message):
        parsed(text)


def test_messages_are_inside_of_each_other_to_a_depth() -> None:
    assert "inner" in parsed(b"inner {" * 63 + b"}" * 63)
    with pytest.raises(FileError, match="expected messages inside of each other to a depth of 64"):
        parsed(b"inner {" * 64 + b"}" * 64)
