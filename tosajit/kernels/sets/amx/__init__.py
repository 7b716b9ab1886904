"""AMX: AVX-512 with registers of 16 rows of 64 bytes, and products of such matrices of int8 and bfloat16."""

from collections.abc import Collection

from tiling.records import replace
from tosajit.kernels.sets.avx512 import avx512
from tosajit.kernels.sets.description import InstructionSet, Matrices

NEEDS = {"amx-tile", "amx-int8"}


def amx(features: Collection[str]) -> InstructionSet | None:
    """The set for a CPU with these features; None if they are not enough."""
    vectors = avx512(features)
    if vectors is None or not vectors.byte_dots or not NEEDS.issubset(features):
        return None
    pairs = vectors.bf16_pairs and "amx-bf16" in features
    matrices = Matrices(16, 64, vectors, ("i8", "bf16") if pairs else ("i8",))
    # tdpbssd multiplies signed bytes by signed ones, so nothing has to be made unsigned.
    return replace(vectors, name="amx", bias=0, words=None, matrices=matrices)
