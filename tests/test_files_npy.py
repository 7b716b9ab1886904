""".npy files: the conventions for types that NumPy lacks, and files that are not what they say."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tosajit.dtypes import BF16, BOOL, DTYPES, FP8E4M3, FP8E5M2, INT4, INT8, INT16, INT48, DType
from tosajit.errors import FileError
from tosajit.files.npy import load_npy, save_npy


def stored(array: np.ndarray, version: tuple[int, int] = (1, 0), **options: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version, **options)
    return file.getvalue()


def with_header(text: str, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode("latin1") + data


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
def test_every_type_is_read_as_it_was_written(name: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    dtype = DTYPES[name]
    array = np.random.default_rng(1).integers(0, 2, shape).astype(dtype.storage)
    save_npy(tmp_path / "x.npy", array)
    found = load_npy(tmp_path / "x.npy", dtype)
    assert (found.dtype, found.shape, found.tobytes()) == (dtype.storage, shape, array.tobytes())


@pytest.mark.parametrize(
    ("dtype", "descr"), [(BF16, "<V2"), (FP8E4M3, "<V1"), (FP8E5M2, "|u1"), (INT4, "|i1"), (INT48, "<i8")]
)
def test_types_that_numpy_lacks_are_written_as_arms_tools_do(
    dtype: DType, descr: str, tmp_path: Path
) -> None:
    save_npy(tmp_path / "x.npy", np.ones(4, dtype.storage))
    assert f"'descr': '{descr}'".encode() in (tmp_path / "x.npy").read_bytes()


@pytest.mark.parametrize("type", ["?", "i1", "<i2", ">i2", ">i4", "<i8", "u1", ">u2", "<f2", ">f4", "f8"])
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.filterwarnings("ignore:Stored array in format")
def test_byte_order_layout_and_version_do_not_matter(type: str, version: tuple[int, int], order: Any) -> None:
    array = np.asarray(np.arange(24).reshape(2, 3, 4) % 2, order=order).astype(type, order=order)
    found = load_npy(stored(array, version))
    assert found.dtype.isnative
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("dtype", [FP8E4M3, FP8E5M2])
@pytest.mark.parametrize("raw", ["V1", "u1"])
def test_raw_bits_are_what_is_expected(dtype: DType, raw: str) -> None:
    bits = np.array([0x3C, 0xBC], np.uint8)
    found = load_npy(stored(bits.view(raw)), dtype)
    assert found.dtype == dtype.storage
    assert found.view(np.uint8).tolist() == bits.tolist()


def test_a_header_in_another_order_and_style_is_read() -> None:
    text = '{ "shape":(2,),"fortran_order" : False, \'descr\':"<i2" }\n'
    assert load_npy(with_header(text, b"\1\0\2\0")).tolist() == [1, 2]


def test_trailing_elements_and_missing_ones_are_refused() -> None:
    data = stored(np.zeros(4, np.int32))
    for wrong in (data[:-1], data + b"\0", data[:-16]):
        with pytest.raises(FileError, match=r"expected 16 bytes for shape \(4,\), found"):
            load_npy(wrong)


HEADER = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"
UNREADABLE = {
    "nothing": (b"", "expected a .npy file"),
    "another file": (b"PK\3\4" + bytes(40), "expected a .npy file"),
    "version 9": (b"\x93NUMPY\x09\0" + bytes(40), "expected version 1.0, 2.0 or 3.0, found 9.0"),
    "a long header": (b"\x93NUMPY\2\0\xff\xff\xff\xff" + bytes(40), "expected a header of at most 40 bytes"),
    "no dictionary": (with_header("[1, 2, 3]"), "expected a dictionary"),
    "nesting": (with_header("{" * 5000 + "}" * 5000), "expected descr"),
    "a call": (with_header("{'descr': __import__('os').system('true')}"), "expected descr"),
    "twice the same": (with_header("{'shape': (), 'shape': (), 'shape': ()}"), "each once"),
    "too little": (with_header("{'shape': ()}"), "found shape"),
    "a flag as type": (with_header("{'descr': True, 'fortran_order': True, 'shape': ()}"), "to be a type"),
    "no tuple": (with_header(HEADER % ("<i2", "False", "(2)"), bytes(4)), "expected shape to be a tuple"),
    "a negative extent": (with_header(HEADER % ("<i2", "False", "(-2,)"), bytes(4)), "each once"),
    "a huge extent": (with_header(HEADER % ("<i2", "False", "(99999999999999999999,)")), "below 10^18"),
    "many extents": (with_header(HEADER % ("<i2", "False", "(1," * 40 + ")")), "each once"),
    "many dimensions": (with_header(HEADER % ("<i2", "False", f"({'1,' * 40})")), "at most 32 extents"),
    "a promise": (with_header(HEADER % ("<i8", "False", "(1000000, 1000000,)"), bytes(8)), "found 8"),
    "a product": (
        with_header(HEADER % ("<i8", "False", "(0, 99999999999999999, 9999999999999)")),
        "too large",
    ),
    "objects": (stored(np.array([None]), allow_pickle=True), "elements of type '|O' are not read"),
    "records": (stored(np.zeros(2, [("a", "i4")])), "expected descr (one plain type)"),
    "texts": (stored(np.array(["a"])), "elements of type '<U1' are not read"),
    "complex numbers": (stored(np.zeros(2, np.complex64)), "elements of type '<c8' are not read"),
    "dates": (stored(np.zeros(2, "M8[s]")), "expected descr (one plain type)"),
    "raw bits of another machine": (
        with_header(HEADER % (">V2", "False", "(1,)"), bytes(2)),
        "little-endian",
    ),
    "a boolean of 2": (stored(np.array([1, 2], np.uint8).view(np.bool_)), "element 1 is not 0 or 1"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_told(name: str) -> None:
    data, message = UNREADABLE[name]
    with pytest.raises(FileError) as caught:
        load_npy(data)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("array", "dtype", "message"),
    [
        (np.zeros(2, np.int8), INT16, "expected elements of type i2 for INT16, found i1"),
        (np.zeros(2, np.float32), BF16, "expected elements of type V2 for BF16, found f4"),
        (np.zeros(2, np.int8), BOOL, "expected elements of type b1 for BOOL, found i1"),
        (np.array([1, -8], np.int8), INT4, "element 1 is not INT4 from -7 to 7"),
        (np.array([0, 1 << 47]), INT48, "element 1 is not INT48"),
    ],
)
def test_elements_that_are_not_as_expected_are_told(array: np.ndarray, dtype: DType, message: str) -> None:
    with pytest.raises(FileError, match=message):
        load_npy(stored(array), dtype)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.npy: No such file"):
        load_npy(tmp_path / "none.npy")


def test_objects_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="expected numbers, found elements of type object"):
        save_npy(tmp_path / "x.npy", np.array([None]))


def test_the_array_may_be_changed() -> None:
    array = load_npy(stored(np.zeros(2, np.int8)), INT8)
    array[0] = 1
    assert array.tolist() == [1, 0]
