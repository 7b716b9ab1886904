"""`.dat` files: every type and width, and files that are damaged."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosajit.arrays import Array
from tosajit.errors import FileError
from tosajit.frontends.nnef.weights import load_dat, read_dat, save_dat, written_dat


def header(
    length: int, shape: tuple[int, ...], bits: int, kind: int, first: int = 0, magic: bytes = b"N\xef\x01\0"
) -> bytes:
    """The 128 bytes as the format has them."""
    extents = [*shape, *[0] * (8 - len(shape))]
    words = [length, len(shape), *extents, bits, kind, first, *[0] * 18]
    return magic + struct.pack("<31I", *words)


def packed(numbers: list[int], bits: int) -> bytes:
    """Numbers one behind the other, the most significant bit first."""
    text = "".join(format(number & ((1 << bits) - 1), f"0{bits}b") for number in numbers)
    text += "0" * (-len(text) % 8)
    return int(text or "0", 2).to_bytes(len(text) // 8, "big")


def in_file(numbers: list[int], bits: int) -> bytes:
    """Numbers as a file has them."""
    if bits % 8:
        return packed(numbers, bits)
    return b"".join((n & ((1 << bits) - 1)).to_bytes(bits // 8, "little") for n in numbers)


@pytest.mark.parametrize("dtype", "f2 f4 f8 u1 u2 u4 u8 i1 i2 i4 i8 ?".split())
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 1, 1, 2)])
def test_what_is_written_is_read(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    array = np.random.default_rng(1).integers(0, 2, shape).astype(dtype)
    save_dat(tmp_path / "a.dat", array)
    found = load_dat(tmp_path / "a.dat")
    assert (found.array.dtype, found.array.shape) == (array.dtype, shape)
    np.testing.assert_array_equal(found.array, array)
    assert not found.quantized


@given(st.data(), st.integers(1, 64), st.sampled_from([1, 2, 3, 4]))
def test_integers_have_any_width(data: st.DataObject, bits: int, kind: int) -> None:
    signed = kind in (3, 4)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    numbers = data.draw(st.lists(st.integers(low, high), max_size=20))
    body = in_file(numbers, bits)
    found = read_dat(header(len(body), (len(numbers),), bits, kind) + body)
    assert found.array.tolist() == numbers
    assert found.quantized == (kind in (2, 3))


@pytest.mark.parametrize("bits", range(1, 65))
def test_the_ends_of_every_width_are_read(bits: int) -> None:
    for kind, numbers in ((1, [0, (1 << bits) - 1]), (4, [-(1 << (bits - 1)), (1 << (bits - 1)) - 1])):
        body = in_file(numbers, bits)
        assert read_dat(header(len(body), (2,), bits, kind) + body).array.tolist() == numbers


def test_items_that_are_packed_are_read_part_by_part() -> None:
    numbers = np.random.default_rng(2).integers(0, 8, 70_001).tolist()
    body = packed(numbers, 3)
    assert read_dat(header(len(body), (70_001,), 3, 1) + body).array.tolist() == numbers


def test_an_unsigned_item_may_be_marked_as_signed() -> None:
    assert read_dat(header(1, (1,), 8, 1, first=1) + b"\xff").array.tolist() == [-1]
    assert read_dat(header(1, (1,), 8, 1) + b"\xff").array.tolist() == [255]


def test_truths_have_one_bit_or_eight() -> None:
    assert read_dat(header(1, (3,), 1, 5) + b"\xa0").array.tolist() == [True, False, True]
    assert read_dat(header(2, (2,), 8, 5) + b"\x01\x00").array.tolist() == [True, False]
    with pytest.raises(FileError, match="element 1 is neither 0 nor 1"):
        read_dat(header(2, (2,), 8, 5) + b"\x01\x02")


def test_items_of_whole_bytes_stay_in_the_file(tmp_path: Path) -> None:
    save_dat(tmp_path / "a.dat", np.arange(6, dtype=np.float32).reshape(2, 3))
    base: object = load_dat(tmp_path / "a.dat").array
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, memoryview)
    assert isinstance(base.obj, mmap.mmap)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected a header of 128 bytes"),
        (header(0, (), 8, 1, magic=b"TFL3"), "begins with 4e ef 01 00, found 54 46 4c 33"),
        (header(4, (1,), 32, 6), "item type 6 is not known; types are 0 to 5"),
        (header(4, (1,), 24, 0), "there are no float items of 24 bits"),
        (header(4, (1,), 0, 1), "there are no unsigned items of 0 bits"),
        (header(4, (1,), 65, 4), "there are no signed items of 65 bits"),
        (header(4, (2,), 32, 0) + bytes(4), r"shape \[2\] of 32 bits takes 8 bytes, not 4"),
        (header(8, (2,), 32, 0) + bytes(4), "the header says 8 bytes of data, but 4 follow it"),
        (header(4, (1,), 32, 0) + bytes(8), "the header says 4 bytes of data, but 8 follow it"),
        (header(0, (2**32 - 1,) * 8, 64, 0), "is too large"),
        (header(0, (0, *[2**32 - 1] * 7), 64, 0), "is too large"),
    ],
)
def test_damaged_files_are_refused(data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=message):
        read_dat(data)
    (tmp_path / "a.dat").write_bytes(data)
    with pytest.raises(FileError, match=r"a\.dat"):
        load_dat(tmp_path / "a.dat")


def test_a_rank_above_eight_is_refused() -> None:
    data = bytearray(header(4, (1,), 32, 0) + bytes(4))
    data[8:12] = struct.pack("<I", 9)
    with pytest.raises(FileError, match="rank 9 is above 8"):
        read_dat(bytes(data))


@pytest.mark.parametrize("array", [np.array(["a"]), np.zeros((1,) * 9), np.array([1j])])
def test_what_the_format_lacks_is_not_written(array: Array) -> None:
    with pytest.raises(FileError):
        written_dat(array)


@given(st.binary(max_size=300), st.integers(0, 131), st.integers(0, 255))
def test_bytes_of_any_kind_are_read_or_refused(tail: bytes, place: int, byte: int) -> None:
    data = bytearray(header(4, (1,), 32, 0) + bytes(4) + tail)
    data[place] = byte
    try:
        read_dat(bytes(data))
    except FileError:
        return
