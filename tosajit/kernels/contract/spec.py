"""What a contraction kernel is compiled for."""

from dataclasses import dataclass

MAX_PANEL_ROWS = 240
TILE_ROWS = 12
SIDE = 16
"""Rows and columns of the squares in which matrices are turned."""


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What happens to each sum: text over `acc`, `channel` (column) and `index` (element of the output).

    `setup` runs once and may load its numbers from `load_i64(args, EPILOGUE + i)`; `functions` are
    definitions that both use. With `rescale`, the sum first becomes an int8 by the vector code of
    `rescale_i8`, and without a `body` that is what the kernel stores.
    """

    body: str = ""
    setup: str = ""
    functions: str = ""
    rescale: bool = False


@dataclass(frozen=True, slots=True)
class ContractSpec:
    """The structure of a kernel; everything else is a number that it is called with."""

    kind: str
    """"convolution" (also matrix products) or "depthwise"."""
    left: str = "i8"
    """Type of the activations: i8, i16, f32 or bf16."""
    right: str = "i8"
    """Type of the other operand as it was before packing: i8, i16, f32 or bf16."""
    library: str = "avx512"
    """Register tiles to use: avx512 or portable."""

    @property
    def accumulator(self) -> str:
        """Return the type of `acc` in an epilogue."""
        return {"i8": "i32", "i16": "i64"}.get(self.left, "f32")


LEAST_BYTES = 64
"""What precedes a packed matrix of bf16: its number nearest to zero, which `least_bf16` is for."""


def packed_bytes(
    depth: int, columns: int, element_bytes: int, halves: bool = False, least: bool = False
) -> int:
    """Return the bytes of a packed matrix B; `halves` if its int16 are split into bytes, `least` for bf16."""
    size = -(-depth * element_bytes // 4) * -(-columns // 16) * 64 * (2 if halves else 1)
    return size + LEAST_BYTES * least
