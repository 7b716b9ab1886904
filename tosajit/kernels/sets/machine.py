"""What LLVM says of this machine, which is remembered: to ask it takes as long as to import NumPy.

Answers are kept in the cache, and in the package by its build, under all that LLVM looks at: what the CPU
says of itself, and which of its registers the system keeps. Where that cannot be read, LLVM is asked.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tiling.records import dataclass
from tosajit.kernels import cache, loader, shipped
from tosajit.kernels.relocations import FORMS
from tosajit.kernels.versions import compiler

NATIVE = "native"
"""What the CPU of this machine is called."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What LLVM answers."""

    triple: str
    name: str
    features: Mapping[str, bool]
    """Each feature that it knows of such CPUs, and whether this one has it."""

    @property
    def switches(self) -> str:
        """The features as LLVM wants to be told of them."""
        return ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(self.features.items()))


@functools.cache
def machine() -> Machine:
    """Return what LLVM says, or has said, of this machine."""
    name = _name()
    if not name:
        return _asked()
    for data in (cache.read(name), shipped.trusted(shipped.FOLDER / NATIVE / name)):
        if (known := _read(data)) is not None:
            return known
    found = _asked()
    cache.write(name, _written(found))
    return found


def _asked() -> Machine:
    import llvmlite.binding as llvm

    features = dict(llvm.get_host_cpu_features())
    return Machine(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


def _written(known: Machine) -> bytes:
    text = json.dumps([known.triple, known.name, known.features]).encode()
    return _digest(text) + text


def _read(data: bytes) -> Machine | None:
    """What was written; None if it is not there, or damaged."""
    digest, text = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    return Machine(*json.loads(text)) if text and digest == _digest(text) else None


_DIGEST_BYTES = 16


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()


def _name() -> str:
    """The file of this machine's answers; none if it cannot say what it is."""
    with suppress(OSError):
        if loader.FORM is not None:
            told = _registers() if loader.FORM is FORMS["x86_64"] else _listed()
            text = repr((compiler(), told))
            return hashlib.blake2b(text.encode(), digest_size=16).hexdigest() + cache.MACHINE
    return ""


def _listed() -> list[str]:
    """What Linux says of 64-bit Arm cores, which is all that LLVM looks at."""
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    return sorted({line for line in lines if line.startswith(("CPU ", "Features", "Hardware"))})


# Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CPUID and XGETBV.

_CPUID = bytes.fromhex("53 49 89 d0 89 f8 89 f1 0f a2 41 89 00 41 89 58 04 41 89 48 08 41 89 50 0c 5b c3")
"""CPUID of a leaf and a subleaf; EAX, EBX, ECX and EDX go to an address."""
_XGETBV = bytes.fromhex("31 c9 0f 01 d0 c3")
"""Which registers the system keeps for processes."""
_LEAVES = (1, 0), (7, 0), (7, 1), (0xD, 1), (0x14, 0), (0x19, 0), (0x1E, 1), (0x24, 0)
_EXTENDED = 0x80000000
_EXTENDED_LEAVES = 1, 7, 8
_OF_A_CORE = {1: 0xFF, 0xD: 0}
"""What of EBX is the same on all cores and at any time."""
_KEEPS_REGISTERS = 1 << 27


def _registers() -> list[tuple[int, ...]]:
    """What the CPU says of itself."""
    words = ctypes.c_uint32 * 4
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32))
    cpuid = prototype(loader.executable(_CPUID))

    def asked(leaf: int, subleaf: int = 0) -> tuple[int, ...]:
        made = words()
        cpuid(leaf, subleaf, made)
        a, b, c, d = made
        return a, b & _OF_A_CORE.get(leaf, 0xFFFFFFFF), c, d

    first, extended = asked(0), asked(_EXTENDED)
    found = [first, extended]
    found += (asked(leaf, subleaf) for leaf, subleaf in _LEAVES if leaf <= first[0])
    found += (asked(_EXTENDED + leaf) for leaf in _EXTENDED_LEAVES if _EXTENDED + leaf <= extended[0])
    if found[2][2] & _KEEPS_REGISTERS:
        found.append((ctypes.CFUNCTYPE(ctypes.c_uint32)(loader.executable(_XGETBV))(),))
    return found
