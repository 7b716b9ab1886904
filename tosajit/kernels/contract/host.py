"""Which vector library the host can run."""

import functools

import llvmlite.binding as llvm

AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "avx512vnni")


@functools.cache
def multiplies_bf16(library: str) -> bool:
    """Tell whether a library has register tiles of bfloat16 that this CPU can run."""
    return library == "avx512" and bool(llvm.get_host_cpu_features().get("avx512bf16"))


@functools.cache
def library_of_host() -> str:
    """Return the library of register tiles for this CPU."""
    features = llvm.get_host_cpu_features()
    return "avx512" if all(features.get(name) for name in AVX512) else "portable"
