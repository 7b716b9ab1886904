"""What a contraction kernel is compiled for."""

from collections.abc import Mapping

from tiling.records import dataclass
from tosajit.kernels.sets.description import InstructionSet, Matrices

MAX_PANEL_ROWS = 240
SIDE, WORD_SIDE = 16, 8
"""Rows and columns of the squares in which matrices are turned; of words where registers have few of them."""
WORD_BYTES = 4
LINE = 64
"""Bytes of a cache line."""


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What happens to each sum: text over `acc`, `channel` (column) and `index` (element of the output).

    `setup` runs once and may load its numbers from `load_i64(args, EPILOGUE + i)`; `functions` are
    definitions that both use. With `rescale`, the sum first becomes an int8 by the vector code of
    `rescale_i8`, and without a `body` that is what the kernel stores. `in_registers`, sums of float32 are
    finished by vector code, as numbers say; the text is for parts of registers.
    """

    body: str = ""
    setup: str = ""
    functions: str = ""
    rescale: bool = False
    in_registers: bool = False

    @property
    def computes_floats(self) -> bool:
        """Whether sums become floating-point numbers."""
        return "np.float" in self.functions + self.body + self.setup

    @property
    def ends(self) -> Mapping[str, str]:
        """Return the functions of `structure` that the texts replace, by their signatures."""
        return {"setup(args)": self.setup, "epilogue(acc, channel, index)": self.body}


@dataclass(frozen=True, slots=True)
class ContractSpec:
    """The structure of a kernel; everything else is a number that it is called with."""

    isa: InstructionSet
    kind: str
    """"convolution" (also matrix products), "row" (the same of one row of A), "depthwise", "pixel" (the
    same of one pixel), "winograd" or, by both axes, "winograd squares"."""
    left: str = "i8"
    """Type of the activations: i8, i16, f32, f16 or bf16."""
    right: str = "i8"
    """Type of the other operand as it was before packing: i8, i16, f32, f16 or bf16."""

    @property
    def accumulator(self) -> str:
        """Return the type of `acc` in an epilogue."""
        return {"i8": "i32", "i16": "i64"}.get(self.left, "f32")

    @property
    def matrices(self) -> Matrices | None:
        """Return how whole matrices are multiplied, if they are."""
        return self.isa.matrices_of(self.left) if self.kind == "convolution" else None


LEAST_BYTES = LINE
"""What precedes a packed matrix of bf16: its number nearest to zero, which `least_bf16` is for."""


def side_of(isa: InstructionSet, size: int) -> int:
    """Return the side of squares of elements of so many bytes: all of their rows are in registers."""
    return WORD_SIDE if size == WORD_BYTES and isa.lanes <= WORD_SIDE else SIDE
