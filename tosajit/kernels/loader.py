"""Objects in memory without LLVM, which takes as long to be imported as NumPy: ELF on Linux, x86-64 and Arm.

The object of a kernel has code and constants, and calls a few functions of C. One that has anything else, or
is for another system, is left to LLVM.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tosajit.kernels.relocations import FORMS, Form

FORM = FORMS.get(platform.machine()) if sys.platform == "linux" and sys.maxsize > 1 << 32 else None
"""This system's objects, if they are those that can be put into memory here."""


def load(code: bytes, symbol: str) -> int | None:
    """Put an object into memory; return the address of a symbol, or None if LLVM has to do it."""
    if FORM is None:
        return None
    try:
        image, entry = linked(code, symbol, FORM)
        return executable(image) + entry
    except (_Unknown, LookupError, ValueError, struct.error, OSError):
        return None


def executable(code: bytes | bytearray) -> int:
    """Copy code to where it is run and not written, as long as the process lives; return its address."""
    import mmap

    library = _library()
    size, none = ctypes.c_size_t(len(code)), ctypes.c_void_p()
    kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    library.mmap.restype = ctypes.c_void_p
    address = library.mmap(none, size, mmap.PROT_READ | mmap.PROT_WRITE, kind, -1, ctypes.c_long(0))
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "there is no memory for code")
    ctypes.memmove(address, bytes(code), len(code))
    if FORM is FORMS["aarch64"]:
        _see_instructions(address, len(code))
    if library.mprotect(ctypes.c_void_p(address), size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "memory that was written cannot be run")
    return int(address)


def _see_instructions(address: int, size: int) -> None:
    """Have cores see what was written as instructions too, which x86-64 does by itself."""
    clear = ctypes.CDLL("libgcc_s.so.1").__clear_cache
    clear.argtypes, clear.restype = [ctypes.c_void_p, ctypes.c_void_p], None
    clear(address, address + size)


@functools.cache
def _library() -> ctypes.CDLL:
    """What this process has of C."""
    return ctypes.CDLL(None, use_errno=True)


# The file format: System V ABI, chapters 4 and 5.

_RELOCATABLE = 1
_PROGBITS, _SYMTAB, _RELA, _REL = 1, 2, 4, 9
_ALLOC, _EXECINSTR, _MERGE, _STRINGS, _GROUP = 0x2, 0x4, 0x10, 0x20, 0x200
_UNDEFINED = 0
_HEADER, _SECTION = struct.Struct("<16xHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ")
_SYMBOL, _RELOCATION = struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
_UNWIND = ".eh_frame"
"""Tables to unwind the stack are of no use, as nothing raises."""


class _Unknown(Exception):
    """An object has something that only LLVM knows."""


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Symbol(NamedTuple):
    name: str
    section: int
    value: int


def linked(code: bytes, symbol: str, form: Form) -> tuple[bytearray, int]:
    """Return an object as it is in memory, at whichever page that begins, and where in it a symbol is."""
    sections = _sections(code, form)
    symbols = _symbols(code, sections)
    image, places = bytearray(), dict[int, int]()
    for number, section in enumerate(sections):
        if _is_loaded(section):
            image += bytes(-len(image) % max(1, section.alignment))
            places[number] = len(image)
            image += _bytes(code, section)
    targets = [places[s.section] + s.value if s.section in places else None for s in symbols]
    jumps = dict(_jumps(image, symbols, form))
    for section in sections:
        if section.kind == _RELA and section.info in places:
            for offset, about, addend in _table(_RELOCATION, code, section):
                number, kind = about >> 32, about & 0xFFFFFFFF
                is_far = kind in form.calls and targets[number] is None
                target = jumps.get(number) if is_far else targets[number]
                if target is None or kind not in form.fixes:
                    raise _Unknown(f"relocation {kind} of {symbols[number].name or section.name}")
                form.fixes[kind](image, places[section.info] + offset, target + addend)
        elif section.kind == _REL:
            raise _Unknown(f"{section.name}: relocations without addends")
    return image, {s.name: t for s, t in zip(symbols, targets, strict=True) if t is not None}[symbol]


def _sections(code: bytes, form: Form) -> list[_Section]:
    kind, machine, _, _, _, start, _, _, _, _, size, count, named = _HEADER.unpack_from(code)
    if (kind, machine, size) != (_RELOCATABLE, form.machine, _SECTION.size):
        raise _Unknown(f"kind {kind} of machine {machine} is no object of machine {form.machine}")
    rows = [_SECTION.unpack_from(code, start + number * size) for number in range(count)]
    return [_Section(_text(code, rows[named][4] + name), *rest) for name, *rest in rows]


def _is_loaded(section: _Section) -> bool:
    """Whether a section is code or constants."""
    if not section.flags & _ALLOC or section.name == _UNWIND:
        return False
    if section.kind != _PROGBITS or section.flags & ~(_ALLOC | _EXECINSTR | _MERGE | _STRINGS | _GROUP):
        raise _Unknown(f"{section.name}: kind {section.kind} with flags {section.flags:#x}")
    return True


def _symbols(code: bytes, sections: Sequence[_Section]) -> list[_Symbol]:
    """The symbols of an object, by their numbers; the first one has no meaning."""
    (table,) = (section for section in sections if section.kind == _SYMTAB)
    names = sections[table.link].offset
    return [
        _Symbol(_text(code, names + name), section, value)
        for name, _, _, section, value, _ in _table(_SYMBOL, code, table)
    ]


def _jumps(image: bytearray, symbols: Sequence[_Symbol], form: Form) -> Iterator[tuple[int, int]]:
    """Add jumps to functions of C, which can be too far away for calls; their places, by symbols' numbers."""
    image += bytes(-len(image) % form.jump.size)
    for number, symbol in enumerate(symbols):
        if symbol.section == _UNDEFINED and symbol.name:
            function = getattr(_library(), symbol.name, None)
            if function is None:
                raise _Unknown(f"there is no function {symbol.name}")
            yield number, len(image)
            image += form.jump.pack(form.code, ctypes.cast(function, ctypes.c_void_p).value or 0)


def _table(form: struct.Struct, code: bytes, section: _Section) -> Iterator[tuple[int, ...]]:
    return form.iter_unpack(_bytes(code, section))


def _bytes(code: bytes, section: _Section) -> bytes:
    found = code[section.offset : section.offset + section.size]
    if len(found) != section.size:
        raise _Unknown(f"{section.name}: {len(found)} of {section.size} bytes")
    return found


def _text(code: bytes, start: int) -> str:
    return code[start : code.index(b"\0", start)].decode("ascii")
