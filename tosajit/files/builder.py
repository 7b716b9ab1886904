"""Appending to a flatbuffer: tables, vectors and aligned bytes."""

from collections.abc import Sequence

import flatbuffers

Field = tuple[str, int | bool] | tuple[str, int | bool, int | bool]
"""How a field is stored, its value, and the schema's default, which is not stored."""


def append_table(builder: flatbuffers.Builder, fields: Sequence[Field]) -> int:
    """Append a table; a field that equals its default takes no room. Its offset."""
    write = {
        "bool": builder.PrependBoolSlot,
        "uint8": builder.PrependUint8Slot,
        "int32": builder.PrependInt32Slot,
        "uint32": builder.PrependUint32Slot,
        "uint64": builder.PrependUint64Slot,
        "offset": builder.PrependUOffsetTRelativeSlot,
    }
    builder.StartObject(len(fields))
    for slot, (form, value, *default) in enumerate(fields):
        write[form](slot, value, default[0] if default else 0)
    end: int = builder.EndObject()
    return end


def append_bytes(builder: flatbuffers.Builder, data: bytes, alignment: int = 8) -> int:
    """Append a vector of bytes, aligned as the schema asks for; its offset."""
    builder.StartVector(1, len(data), alignment)
    builder.head -= len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data
    end: int = builder.EndVector()
    return end


def append_ints(builder: flatbuffers.Builder, values: Sequence[int]) -> int:
    """Append a vector of signed 32-bit integers; its offset."""
    builder.StartVector(4, len(values), 4)
    for value in reversed(values):
        builder.PrependInt32(value)
    end: int = builder.EndVector()
    return end


def append_offsets(builder: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    """Append a vector of offsets; its own."""
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    end: int = builder.EndVector()
    return end
