"""Elements of constants: numbers one by one, in nested lists, or as the bytes of memory.

They are decoded by NumPy in pieces of the text, so that large constants take little more than their arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

import numpy as np

from tosajit.arrays import Array
from tosajit.dtypes import BOOL, INT4, INT48, DType
from tosajit.frontends.mlir.syntax.records import Span

_PIECE = 1 << 20
"""Letters that are decoded at a time."""
_HEX = re.compile(r"-?0x[0-9A-Fa-f]+")
_KEPT = {ord(letter): None for letter in " \t\r\n[]"}
_BRACKETS = {code: None for code in range(128) if chr(code) not in "[,]"}
_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?)|true|false")
_WORDS = (("true", "1"), ("false", "0"))


def elements(
    text: str, span: Span, dtype: DType, shape: tuple[int, ...], stored: np.dtype[np.generic]
) -> Array:
    """The elements that a part of a text has, kept as `stored`; ValueError says what is wrong with them.

    What is filled with one number takes no memory: its strides are 0.
    """
    start, stop = span.start, span.stop
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    count = prod(shape)
    if start == stop:
        if count:
            raise ValueError(f"there are no elements, but the shape has {count}")
        return np.empty(shape, stored)
    if text[start] == '"':
        return _of_bytes(text, start + 1, stop - 1, dtype, shape, stored)
    if text[start] == "[":
        if max(count, *shape, 0) > stop - start:
            raise ValueError(f"the shape has {count} elements, but there are fewer")
        return _of_list(text, start, stop, dtype, shape, stored)
    return _filled(scalar(text[start:stop], dtype, stored), shape)


def resource(
    text: str, span: Span, dtype: DType, shape: tuple[int, ...], stored: np.dtype[np.generic]
) -> Array:
    """The same of elements at the end of a text, behind the four bytes of their alignment."""
    start, stop = span.start + 1, span.stop - 1
    if not text.startswith(("0x", "0X"), start) or stop - start < 10:
        raise ValueError("expected the bytes of a resource, four of them for its alignment")
    return _of_bytes(text, start + 10, stop, dtype, shape, stored, splat=False, prefixed=False)


def scalar(text: str, dtype: DType, stored: np.dtype[np.generic]) -> Array:
    """One element, as its type is stored; ValueError if the type does not hold it."""
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"expected a number, but found `{text[:40]}`")
    if stored.kind in "fV" or dtype.is_float:
        return _real(text, stored)
    number = {"true": 1, "false": 0}.get(text)
    if number is None:
        if "." in text:
            raise ValueError(f"expected an integer, but found `{text[:40]}`")
        if len(text) > 40:
            raise ValueError("expected an integer of fewer digits")
        number = int(text, 0) if "0x" in text else int(text)
    return _integers(np.array([number], object), dtype, stored).reshape(())


def _real(text: str, stored: np.dtype[np.generic]) -> Array:
    """A real number, of which hexadecimal digits are the bits."""
    if text in ("true", "false"):
        raise ValueError(f"expected a number, but found `{text}`")
    if "0x" not in text:
        with np.errstate(over="ignore"):
            return np.asarray(float(text), np.float64).astype(stored)
    bits = int(text, 16)
    if bits < 0 or bits >> 8 * stored.itemsize:
        raise ValueError(f"`{text[:40]}` has more bits than an element")
    return np.frombuffer(bits.to_bytes(stored.itemsize, "little"), stored).reshape(())


def _integers(numbers: Array, dtype: DType, stored: np.dtype[np.generic]) -> Array:
    """Integers as they are stored: the upper half of those without a sign is negative ones."""
    bits = 8 * stored.itemsize if dtype.storage != stored else 1 if dtype is BOOL else dtype.bits
    low, high = -(1 << bits - 1), (1 << bits) - 1
    if numbers.size and (numbers.min() < low or numbers.max() > high):
        raise ValueError(f"{numbers.min()} to {numbers.max()} is more than {bits} bits hold")
    if dtype is BOOL:
        return (
            (numbers & 1).astype(np.bool_)
            if numbers.dtype != object
            else numbers.astype(np.int64).astype(np.bool_)
        )
    upper = numbers > high >> 1
    return (np.where(upper, numbers - (high + 1), numbers) if upper.any() else numbers).astype(stored)


def _filled(value: Array, shape: tuple[int, ...]) -> Array:
    """A tensor with the same number everywhere."""
    return np.broadcast_to(value, shape)


def _of_list(
    text: str, start: int, stop: int, dtype: DType, shape: tuple[int, ...], stored: np.dtype[np.generic]
) -> Array:
    if not shape:
        raise ValueError("there is a list, but the shape is that of one element")
    array, filled = np.empty(prod(shape), stored), 0
    nested, seen, is_nested = _nested(shape), 0, True
    for piece in _pieces(text, start, stop):
        brackets = piece.translate(_BRACKETS)
        is_nested &= nested.startswith(brackets, seen)
        seen += len(brackets)
        numbers = _numbers(piece.translate(_KEPT), dtype, stored)
        if filled + numbers.size > array.size:
            raise ValueError(f"there are more elements than {array.size}, which the shape {list(shape)} has")
        array[filled : filled + numbers.size] = numbers
        filled += numbers.size
    if filled != array.size:
        raise ValueError(f"there are {filled} elements, but the shape {list(shape)} has {array.size}")
    if not is_nested or seen != len(nested):
        raise ValueError(f"the lists are not nested as the shape {list(shape)} has it")
    return array.reshape(shape)


def _pieces(text: str, start: int, stop: int) -> Iterator[str]:
    """Parts of a list that end behind a comma."""
    while start < stop:
        end = text.find(",", min(start + _PIECE, stop), stop)
        end = stop if end < 0 else end + 1
        yield text[start:end]
        start = end


def _nested(shape: tuple[int, ...]) -> str:
    """The brackets and commas of nested lists."""
    inner = ""
    for extent in reversed(shape):
        inner = "[" + (inner + ",") * (extent - 1) + (inner if extent else "") + "]"
    return inner


def _numbers(text: str, dtype: DType, stored: np.dtype[np.generic]) -> Array:
    """Numbers between commas; a comma may be the last letter."""
    text = text.removesuffix(",")
    if not text:
        return np.empty(0, stored)
    expected = text.count(",") + 1
    if dtype is BOOL:
        for word, digit in _WORDS:
            text = text.replace(word, digit)
    if stored.kind in "fV" or dtype.is_float:
        return _reals(text, expected, stored)
    if "0x" in text:
        found = [int(one, 0) for one in text.split(",") if _NUMBER.fullmatch(one) and len(one) < 40]
        numbers = np.array(found, object)
    else:
        numbers = _parsed(text, np.dtype(np.int64))
    if numbers.size != expected:
        raise ValueError("expected integers between the commas")
    return _integers(numbers, dtype, stored)


def _reals(text: str, expected: int, stored: np.dtype[np.generic]) -> Array:
    special = _HEX.findall(text) if "0x" in text else []
    numbers = _parsed(_HEX.sub("nan", text) if special else text, np.dtype(np.float64))
    if numbers.size != expected:
        raise ValueError("expected numbers between the commas")
    with np.errstate(over="ignore"):
        array: Array = numbers.astype(stored)
    places = np.flatnonzero(np.isnan(numbers))
    if places.size != len(special):
        raise ValueError("expected numbers between the commas")
    for place, one in zip(places.tolist(), special, strict=True):
        array[place] = _real(one, stored)
    return array


_LETTERS = re.compile(r"[-+0-9.,eEna]*")


def _parsed(text: str, dtype: np.dtype[np.generic]) -> Array:
    """Numbers between commas, as many as can be read."""
    if _LETTERS.fullmatch(text) is None:
        return np.empty(0, dtype)
    try:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return np.fromstring(text, dtype, sep=",")
    except (ValueError, DeprecationWarning):
        return np.empty(0, dtype)


def _of_bytes(
    text: str,
    start: int,
    stop: int,
    dtype: DType,
    shape: tuple[int, ...],
    stored: np.dtype[np.generic],
    *,
    splat: bool = True,
    prefixed: bool = True,
) -> Array:
    if prefixed:
        if not text.startswith("0x", start):
            raise ValueError("expected hexadecimal digits behind `0x`")
        start += 2
    size, count = (stop - start) // 2, prod(shape)
    width = 6 if dtype is INT48 else stored.itemsize
    if dtype is BOOL and size == (count + 7) // 8 and size != count:
        bits = np.unpackbits(_bytes(text, start, stop), bitorder="little")[:count]
        return bits.astype(np.bool_).reshape(shape)
    if splat and size == width and count != 1:
        return _filled(_stored(_bytes(text, start, stop), dtype, stored)[0], shape)
    if size != width * count or (stop - start) % 2:
        raise ValueError(
            f"there are {size} bytes, but {count} elements of {width} bytes have {width * count}"
        )
    return _stored(_bytes(text, start, stop), dtype, stored).reshape(shape)


def _bytes(text: str, start: int, stop: int) -> Array:
    """The bytes of hexadecimal digits."""
    found = np.empty((stop - start) // 2, np.uint8)
    for place in range(start, stop, _PIECE):
        end = min(place + _PIECE, stop)
        digits = text[place:end]
        try:
            data = bytes.fromhex(digits)
        except ValueError:
            data = b""
        if 2 * len(data) != end - place:  # spaces between the digits are not counted
            raise ValueError("expected hexadecimal digits, two for each byte")
        found[(place - start) // 2 : (end - start) // 2] = np.frombuffer(data, np.uint8)
    return found


def _stored(data: Array, dtype: DType, stored: np.dtype[np.generic]) -> Array:
    """Bytes as elements."""
    if dtype is BOOL:
        if (data > 1).any():
            raise ValueError("expected Boolean elements to be 0 or 1")
        return data.view(np.bool_)
    if dtype is INT48 and stored == dtype.storage:
        wide = np.zeros((data.size // 6, 8), np.uint8)
        wide[:, :6] = data.reshape(-1, 6)
        return (wide.view("<i8").reshape(-1) << 16) >> 16
    if dtype is INT4:
        return ((data << 4).view(np.int8) >> 4).astype(stored)
    return data.view(stored)
