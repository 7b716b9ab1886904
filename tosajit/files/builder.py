"""A flatbuffer is written from its end to its beginning, so that what is referred to is already there."""

from collections.abc import Sequence
from struct import Struct, error, pack

Field = tuple[str, float] | tuple[str, float, float]
"""How a field is stored, its value, and the schema's default, which is not stored."""

_NUMBERS = {
    "bool": Struct("<?"),
    "int8": Struct("<b"),
    "uint8": Struct("<B"),
    "int32": Struct("<i"),
    "uint32": Struct("<I"),
    "int64": Struct("<q"),
    "uint64": Struct("<Q"),
    "float32": Struct("<f"),
}
_OFFSET = 4
_LIMIT = (1 << 31) - 1


class Builder:
    """The end of a flatbuffer, to which more is put in front; offsets count from its last byte.

    Raises `ValueError` for what the format cannot hold.
    """

    def __init__(self) -> None:
        self._parts: list[bytes | memoryview] = []
        self._size = 0
        self._alignment = _OFFSET
        self._layouts: dict[tuple[int, ...], int] = {}

    def table(self, fields: Sequence[Field]) -> int:
        """Put a table in front, and its layout if there is none like it; a default takes no room."""
        end, places = self._size, []
        for form, value, *default in fields:
            absent = value == (default[0] if default else 0)
            places.append(0 if absent else self._field(form, value))
        while places and not places[-1]:
            places.pop()
        self._align(_OFFSET, _OFFSET)
        start = self._size + _OFFSET
        words = [start - place if place else 0 for place in places]
        layout = 4 + 2 * len(words), start - end, *words
        known = self._layouts.setdefault(layout, start + layout[0])
        self._put(pack("<i", known - start))
        if known > start:
            self._put(pack(f"<{len(layout)}H", *layout))
        return start

    def blob(self, data: bytes | memoryview, alignment: int = 8) -> int:
        """Put a vector of bytes in front, aligned as the schema asks for."""
        return self._vector(data, len(data), alignment)

    def ints(self, values: Sequence[int]) -> int:
        """Put a vector of signed 32-bit integers in front."""
        return self.numbers("i", values)

    def numbers(self, code: str, values: Sequence[float]) -> int:
        """Put a vector of numbers in front that are stored as `struct` codes them."""
        size = Struct(f"<{code}").size
        return self._vector(self._packed(Struct(f"<{len(values)}{code}"), *values), len(values), size)

    def offsets(self, offsets: Sequence[int]) -> int:
        """Put a vector of references in front."""
        self._align(_OFFSET, _OFFSET * len(offsets))
        first = self._size + _OFFSET * len(offsets)
        distances = (first - _OFFSET * number - offset for number, offset in enumerate(offsets))
        return self._vector(pack(f"<{len(offsets)}I", *distances), len(offsets), _OFFSET)

    def text(self, text: str) -> int:
        """Put a text in front, closed by a zero that its length does not count."""
        data = text.encode()
        return self._vector(data + b"\0", len(data), 1)

    def finished(self, root: int, identifier: bytes) -> bytes:
        """The whole flatbuffer."""
        return b"".join(self.parts(root, identifier))

    def parts(self, root: int, identifier: bytes) -> list[bytes | memoryview]:
        """The whole flatbuffer in parts, so that large ones need not be copied."""
        self._align(self._alignment, _OFFSET + len(identifier))
        self._put(identifier)
        self._put(pack("<I", self._size + _OFFSET - root))
        return self._parts[::-1]

    def _field(self, form: str, value: float) -> int:
        if form == "offset":
            self._align(_OFFSET, _OFFSET)
            self._put(pack("<I", self._size + _OFFSET - value))
        else:
            number = _NUMBERS[form]
            self._align(number.size, number.size)
            self._put(self._packed(number, value))
        return self._size

    def _vector(self, data: bytes | memoryview, count: int, alignment: int) -> int:
        for size in (_OFFSET, alignment):
            self._align(size, len(data))
        self._put(data)
        self._put(pack("<I", count))
        return self._size

    def _packed(self, form: Struct, *values: float) -> bytes:
        try:
            return form.pack(*values)
        except error as problem:
            raise ValueError(str(problem)) from None

    def _align(self, alignment: int, length: int) -> None:
        """Fill up so that what begins after `length` more bytes is aligned."""
        self._alignment = max(self._alignment, alignment)
        self._put(bytes(-(self._size + length) % alignment))

    def _put(self, data: bytes | memoryview) -> None:
        if self._size + len(data) > _LIMIT:
            raise ValueError("a flatbuffer has less than 2 GiB")
        self._parts.append(data)
        self._size += len(data)
