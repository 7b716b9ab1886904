"""64-bit Arm CPUs: their names, and the features that the system says this machine has.

LLVM itself says little of them: it reads names of CPUs alone, and none of an emulated one.
"""

import ctypes
import sys
from collections.abc import Callable, Mapping

_ARMV82 = "neon dotprod fullfp16 lse rdm"
CPUS: Mapping[str, str] = {
    "cortex-a53": "neon",
    "cortex-a72": "neon",
    "cortex-a55": _ARMV82,
    "cortex-a76": _ARMV82,
    "neoverse-n1": _ARMV82,
    "neoverse-v1": f"{_ARMV82} bf16 fp16fml i8mm",
    "neoverse-n2": f"{_ARMV82} bf16 fp16fml i8mm",
    "neoverse-v2": f"{_ARMV82} bf16 fp16fml i8mm",
    "apple-m1": f"{_ARMV82} fp16fml",
    "apple-m2": f"{_ARMV82} bf16 fp16fml i8mm",
    "apple-m4": f"{_ARMV82} bf16 fp16fml i8mm",
}
"""What is of use to kernels, by LLVM's names."""

_AT_HWCAP, _AT_HWCAP2 = 16, 26
_LINUX = {
    _AT_HWCAP: {"neon": 1, "lse": 8, "fullfp16": 10, "rdm": 12, "dotprod": 20, "fp16fml": 23},
    _AT_HWCAP2: {"i8mm": 13, "bf16": 14},
}
"""Bits of the auxiliary vector (Linux, `asm/hwcap.h`); `fullfp16` is that of vectors."""
_DARWIN = {
    "neon": "AdvSIMD",
    "lse": "arm.FEAT_LSE",
    "fullfp16": "arm.FEAT_FP16",
    "rdm": "arm.FEAT_RDM",
    "dotprod": "arm.FEAT_DotProd",
    "i8mm": "arm.FEAT_I8MM",
    "bf16": "arm.FEAT_BF16",
    "fp16fml": "arm.FEAT_FHM",
}
"""Names below `hw.optional` of macOS's sysctl."""
_WINDOWS = {"lse": 34, "dotprod": 43, "i8mm": 66, "fullfp16": 67, "bf16": 68}
"""Numbers of `IsProcessorFeaturePresent` (Windows, `winnt.h`); NEON is always there."""


def features() -> frozenset[str]:
    """Return what the CPU of this machine has, by LLVM's names; NEON at least."""
    return frozenset({"neon", *_READERS.get(sys.platform, tuple)()})


def _linux() -> list[str]:
    getauxval = ctypes.CDLL(None).getauxval
    getauxval.argtypes, getauxval.restype = [ctypes.c_ulong], ctypes.c_ulong
    words = {kind: int(getauxval(kind)) for kind in _LINUX}
    return [name for kind, bits in _LINUX.items() for name, bit in bits.items() if words[kind] >> bit & 1]


def _darwin() -> list[str]:
    read = ctypes.CDLL(None).sysctlbyname

    def has(name: str) -> bool:
        value, size = ctypes.c_int(0), ctypes.c_size_t(ctypes.sizeof(ctypes.c_int))
        path = f"hw.optional.{name}".encode()
        return read(path, ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)) == 0 and bool(
            value.value
        )

    return [feature for feature, name in _DARWIN.items() if has(name)]


def _windows() -> list[str]:
    present = ctypes.CDLL("kernel32").IsProcessorFeaturePresent
    return [name for name, number in _WINDOWS.items() if present(number)]


_READERS: Mapping[str, Callable[[], list[str]]] = {
    "linux": _linux,
    "darwin": _darwin,
    "win32": _windows,
}
