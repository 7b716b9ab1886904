"""Kernels for 64-bit Arm, from another machine: compiled here, run under emulation, judged by LLVM."""
