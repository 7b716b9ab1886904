"""Which register tiles this machine has."""

from __future__ import annotations

import os
from functools import cache


@cache
def array_library() -> str | None:
    """The library of array kernels for this core; `TOSAJIT_ARRAY=none` does without."""
    chosen = os.environ.get("TOSAJIT_ARRAY")
    if chosen:
        return None if chosen == "none" else chosen
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    wanted = ("avx512f", "avx512bw", "avx512vl", "avx512vnni")
    return "avx512" if all(features.get(name) for name in wanted) else None
