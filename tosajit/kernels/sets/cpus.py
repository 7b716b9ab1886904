"""CPUs that kernels are compiled for: this machine's, and those that it can pretend to be."""

import ctypes
import functools
import sys
from collections.abc import Mapping

from tiling.records import dataclass
from tosajit.kernels.sets import arm
from tosajit.kernels.sets.machine import NATIVE, machine


@dataclass(frozen=True, slots=True)
class Cpu:
    """A CPU as LLVM knows it."""

    name: str
    features: frozenset[str]
    """What it has, by LLVM's names."""
    switches: str
    """The same as LLVM wants to be told: all names, each with + or -."""
    triple: str
    """Architecture, system and form of objects, as LLVM writes them."""

    @property
    def architecture(self) -> str:
        """Return the first part of the triple."""
        return self.triple.split("-")[0]

    @property
    def is_windows(self) -> bool:
        """Tell whether its system is Windows."""
        return "-windows-" in self.triple

    @property
    def is_arm(self) -> bool:
        """Tell whether it is a 64-bit Arm."""
        return self.architecture in ARM


ARM = ("aarch64", "arm64")
"""What systems call 64-bit Arm."""


@functools.cache
def host() -> Cpu:
    """Return the CPU of this machine."""
    found = machine()
    if found.triple.split("-")[0] in ARM:
        return made(found.name, arm.features(), found.triple)
    features = frozenset(name for name, on in found.features.items() if on)
    if features & AMX and not _may_use_amx():
        return made(found.name, features - AMX, found.triple)
    return Cpu(found.name, features, found.switches + _whole_registers(features), found.triple)


AMX = frozenset(("amx-tile", "amx-int8", "amx-bf16", "amx-fp16", "amx-complex"))
"""Features whose registers Linux gives to processes that ask for them."""


def _may_use_amx() -> bool:
    """Ask the system for the registers of AMX; what it grants is for all threads of the process."""
    if sys.platform != "linux":
        return False
    arch_prctl, request_permission, tile_data = 158, 0x1023, 18  # Linux: arch/x86/include/uapi/asm/prctl.h
    return int(ctypes.CDLL(None).syscall(arch_prctl, request_permission, tile_data)) == 0


_LEVELS = {
    "x86-64": "64bit cmov crc32 cx8 fxsr mmx sse sse2",
    "x86-64-v2": "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3",
    "x86-64-v3": "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave",
    "x86-64-v4": "avx512bw avx512cd avx512dq avx512f avx512vl",
}
"""What each level of the x86-64 psABI adds to the one before."""

_ICELAKE = "avx512bitalg avx512ifma avx512vbmi avx512vbmi2 avx512vnni avx512vpopcntdq gfni vaes vpclmulqdq"
_CPUS = {
    "nehalem": ("x86-64-v2", ""),
    "sandybridge": ("x86-64-v2", "avx xsave"),
    "haswell": ("x86-64-v3", ""),
    "broadwell": ("x86-64-v3", "adx"),
    "skylake": ("x86-64-v3", "adx"),
    "alderlake": ("x86-64-v3", "adx avxvnni gfni vaes vpclmulqdq"),
    "sierraforest": ("x86-64-v3", "adx avxvnni avxvnniint8 gfni vaes vpclmulqdq"),
    "znver1": ("x86-64-v3", "adx"),
    "znver2": ("x86-64-v3", "adx"),
    "znver3": ("x86-64-v3", "adx vaes vpclmulqdq"),
    "skylake-avx512": ("x86-64-v4", "adx"),
    "cascadelake": ("x86-64-v4", "adx avx512vnni"),
    "cooperlake": ("x86-64-v4", "adx avx512vnni avx512bf16"),
    "icelake-server": ("x86-64-v4", f"adx {_ICELAKE}"),
    "znver4": ("x86-64-v4", f"adx avx512bf16 {_ICELAKE}"),
    "sapphirerapids": ("x86-64-v4", f"adx amx-bf16 amx-int8 amx-tile avx512bf16 avxvnni {_ICELAKE}"),
    "znver5": ("x86-64-v4", f"adx avx512bf16 avxvnni {_ICELAKE}"),
}
"""A level and what else is of use to kernels."""


def named(architecture: str) -> Mapping[str, frozenset[str]]:
    """Return the features of the CPUs of an architecture, by LLVM's names of the CPUs."""
    if architecture in ARM:
        return {name: frozenset(features.split()) for name, features in arm.CPUS.items()}
    if architecture != "x86_64":
        return {}
    total: frozenset[str] = frozenset()
    levels = {level: (total := total | set(names.split())) for level, names in _LEVELS.items()}
    return levels | {name: levels[level] | set(more.split()) for name, (level, more) in _CPUS.items()}


@functools.cache
def known() -> Mapping[str, frozenset[str]]:
    """Return the features of the CPUs of this machine's architecture."""
    return {NATIVE: host().features, **named(host().architecture)}


@functools.cache
def named_features() -> frozenset[str]:
    """Return the features that CPUs of this kind may have, as far as LLVM or we name them."""
    return frozenset(machine().features).union(*known().values())


def cpu_with(name: str, features: frozenset[str]) -> Cpu:
    """Return a CPU that has these features and no others, of all that LLVM can tell of this machine."""
    if name == NATIVE and features == host().features:
        return host()
    return made(host().name if name == NATIVE else name, features, host().triple)


def foreign(triple: str, name: str) -> Cpu:
    """Return a CPU of any machine by LLVM's name of it, to compile for it here."""
    return made(name, named(triple.split("-")[0])[name], triple)


def made(name: str, features: frozenset[str], triple: str) -> Cpu:
    """Return a CPU that has these features and no others of those that are known."""
    others: frozenset[str] = frozenset().union(*named(triple.split("-")[0]).values())
    if triple == machine().triple:
        others |= set(machine().features)
    switches = ",".join(f"{'+' if one in features else '-'}{one}" for one in sorted(features | others))
    return Cpu(name, features, switches + _whole_registers(features), triple)


def _whole_registers(features: frozenset[str]) -> str:
    """Return what has LLVM use registers of 512 bits in loops too: by itself it takes half of Intel's.

    The array kernels use whole ones anyway, so the core's clock is that of such code.
    """
    return ",-prefer-256-bit" if "avx512f" in features else ""
