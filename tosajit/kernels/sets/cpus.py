"""CPUs that kernels are compiled for: this machine's, and those that it can pretend to be."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import llvmlite.binding as llvm


@dataclass(frozen=True, slots=True)
class Cpu:
    """A CPU as LLVM knows it."""

    name: str
    features: frozenset[str]
    """What it has, by LLVM's names."""
    switches: str
    """The same as LLVM wants to be told: all names, each with + or -."""
    architecture: str

    @property
    def is_arm(self) -> bool:
        """Tell whether it is a 64-bit Arm."""
        return self.architecture in ("aarch64", "arm64")


@functools.cache
def host() -> Cpu:
    """Return the CPU of this machine."""
    found = llvm.get_host_cpu_features()
    enabled = frozenset(name for name, on in found.items() if on)
    return Cpu(llvm.get_host_cpu_name(), enabled, found.flatten(), llvm.get_process_triple().split("-")[0])


NATIVE = "native"
"""What the CPU of this machine is called."""

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
    "znver1": ("x86-64-v3", "adx"),
    "znver2": ("x86-64-v3", "adx"),
    "znver3": ("x86-64-v3", "adx vaes vpclmulqdq"),
    "skylake-avx512": ("x86-64-v4", "adx"),
    "cascadelake": ("x86-64-v4", "adx avx512vnni"),
    "cooperlake": ("x86-64-v4", "adx avx512vnni avx512bf16"),
    "icelake-server": ("x86-64-v4", f"adx {_ICELAKE}"),
    "znver4": ("x86-64-v4", f"adx avx512bf16 {_ICELAKE}"),
    "sapphirerapids": ("x86-64-v4", f"adx avx512bf16 avxvnni {_ICELAKE}"),
    "znver5": ("x86-64-v4", f"adx avx512bf16 avxvnni {_ICELAKE}"),
}
"""A level and what else is of use to kernels."""


@functools.cache
def known() -> Mapping[str, frozenset[str]]:
    """Return the features of the CPUs of this machine's architecture, by LLVM's names of the CPUs."""
    if host().architecture != "x86_64":
        return {NATIVE: host().features}
    total: frozenset[str] = frozenset()
    levels = {level: (total := total | set(names.split())) for level, names in _LEVELS.items()}
    named = {name: levels[level] | set(more.split()) for name, (level, more) in _CPUS.items()}
    return {NATIVE: host().features, **levels, **named}


def cpu_with(name: str, features: frozenset[str]) -> Cpu:
    """Return a CPU that has these features and no others, of all that LLVM can tell of this machine."""
    if name == NATIVE and features == host().features:
        return host()
    names = sorted(llvm.get_host_cpu_features())
    switches = ",".join(f"{'+' if feature in features else '-'}{feature}" for feature in names)
    return Cpu(host().name if name == NATIVE else name, features, switches, host().architecture)
