"""The vector code of every procedure stays as it is on each instruction set: its functions and instructions.

Which tiles there are, how far loops are unrolled and how many registers are filled changes no result: it is
seen here alone. No code is compiled, so that the sets of other machines are looked at as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from inspect import signature
from zlib import crc32

import pytest
from llvmlite import ir

from tosajit.kernels.contract.procedures import PROCEDURES
from tosajit.kernels.sets.amx.vectors import Amx
from tosajit.kernels.sets.avx2.vectors import Avx2
from tosajit.kernels.sets.avx2_bytes.vectors import Avx2Bytes
from tosajit.kernels.sets.avx2_small.vectors import Avx2Small
from tosajit.kernels.sets.avx512.vectors import Avx512
from tosajit.kernels.sets.avxvnni.vectors import AvxVnni
from tosajit.kernels.sets.cpus import named
from tosajit.kernels.sets.neon.vectors import Neon
from tosajit.kernels.sets.neon_bytes.vectors import NeonBytes
from tosajit.kernels.sets.portable.vectors import Portable
from tosajit.kernels.sets.values import I64, Value
from tosajit.kernels.sets.vectors import Vectors

VECTORS: dict[str, type[Vectors]] = {
    "portable": Portable,
    "avx2": Avx2,
    "avx2_bytes": Avx2Bytes,
    "avx2_small": Avx2Small,
    "avxvnni": AvxVnni,
    "avx512": Avx512,
    "amx": Amx,
    "neon": Neon,
    "neon_bytes": NeonBytes,
    "neon_pairs": Neon,
}
CPUS = {
    "portable": "x86-64",
    "avx2": "haswell",
    "avx2_bytes": "haswell",
    "avx2_small": "haswell",
    "avxvnni": "alderlake",
    "avx512": "sapphirerapids",
    "amx": "sapphirerapids",
    "neon": "neoverse-n1",
    "neon_bytes": "cortex-a72",
    "neon_pairs": "neoverse-v1",
}
TABLES = dict.fromkeys(("lookup_i8", "tile_f16"), tuple(name for name in VECTORS if name != "portable"))
LINES = dict.fromkeys(
    ("greatest_line_i8", "least_line_i8"),
    tuple(name for name in VECTORS if name.startswith("avx2") or name == "avxvnni"),
)
PAIRS = dict.fromkeys(("tile_bf16", "least_bf16"), ("avx512", "amx", "neon_pairs"))
MATRICES = "start_matrices", "end_matrices", "tile_matrices_i8", "tile_matrices_bf16", "tile_rescale_matrices"
ONLY = TABLES | LINES | PAIRS | dict.fromkeys(MATRICES, ("amx",))
"""The sets that have instructions for a procedure, if not all do."""


def features(library: str) -> Collection[str]:
    """Those of a CPU that the set is for."""
    return named("aarch64" if library.startswith("neon") else "x86_64")[CPUS[library]]


def functions(name: str, library: str) -> Iterator[ir.Function]:
    """The functions of a procedure, itself first."""
    vectors = VECTORS[library]
    isa = vectors.describe(features(library))
    assert isa is not None
    module, procedure = ir.Module(), PROCEDURES[name]
    count = len(signature(procedure.body).parameters) - 1
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * count), name)
    builder = ir.IRBuilder(function.append_basic_block())
    procedure.body(vectors(builder, isa), *(Value(builder, one) for one in function.args))
    builder.ret_void()
    yield from (one for one in module.functions if one.blocks)


def numbers(function: ir.Function) -> int:
    """A sum over what instructions have as constants, in whatever order they stand."""
    found = []
    for block in function.blocks:
        for one in block.instructions:
            given = [operand.get_reference() for operand in one.operands if isinstance(operand, ir.Constant)]
            found.append(f"{one.opname} {' '.join(given)}")
    return crc32("\n".join(sorted(found)).encode())


@pytest.mark.parametrize("library", CPUS)
def test_code_has_the_instructions_that_it_had(library: str, golden: Callable[[str, str], None]) -> None:
    lines = []
    for name in PROCEDURES:
        if library not in ONLY.get(name, CPUS):
            continue
        for function in functions(name, library):
            used = Counter(part.opname for block in function.blocks for part in block.instructions)
            text = " ".join(f"{opcode} {number}" for opcode, number in sorted(used.items()))
            lines.append(f"{name} {function.name}: {text}; {numbers(function):08x}")
    golden(f"code_{library}", "\n".join(lines))
