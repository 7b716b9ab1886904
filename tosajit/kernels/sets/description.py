"""What a set of instructions tells the rest of the package about itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tiling.records import dataclass

FEW, ANY = 2, 1 << 62
"""Rows that leave time to convert what they meet, and as many rows as there are."""
LARGEST, SMALL = 128, 64
"""Sizes of int8: that of the largest of all, and the largest of which two products by bytes have 16 bits."""
EIGHT = 8
"""Bytes of a row that meet those of a column at once, where rows are multiplied two by two."""
EIGHTS: Mapping[str, int] = {"i8": 8, "bf16": 4}
"""Elements that they are, of the types that there are such products of."""
MATRIX_BYTES: Mapping[str, int] = {"i8": 1, "bf16": 2}
"""Bytes of an element, of the types that there are products of whole matrices of."""


class Side(NamedTuple):
    """Taps of a depthwise convolution side by side, of pixels that are so many taps apart."""

    taps: int = 1
    step: int = 1

    @property
    def number(self) -> int:
        """Return what kernels are told of it."""
        return self.taps + 16 * (self.step - 1)


ALONE = Side()


@dataclass(frozen=True, slots=True)
class Matrices:
    """What a set has that multiplies whole matrices: registers of rows, which are loaded from memory.

    A register holds rows of A, or as many columns of a panel of B, a word of each, or sums of both.
    """

    rows: int
    """Rows of A in a register."""
    row_bytes: int
    """Bytes of each; rows of A in memory are padded to a multiple, and begin at one."""
    vectors: InstructionSet
    """The set that multiplies what is too small for it."""
    kinds: tuple[str, ...]
    """The types that it multiplies: of `MATRIX_BYTES`."""

    @property
    def height(self) -> int:
        """Return the rows of A that a tile has at most: those of two registers."""
        return 2 * self.rows


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """A set of instructions, as far as a CPU has it: its registers, and the tiles that fit into them."""

    name: str
    """Of its folder."""
    lanes: int
    """Words of 32 bits in a register; a panel of a packed matrix has as many columns."""
    heights: tuple[int, ...]
    """Rows of register tiles, least first; the first is 1."""
    panels: int
    """Panels of columns that a register tile has at most."""
    rescaled: tuple[int, ...]
    """Rows of register tiles whose sums are rescaled before they leave the registers."""
    pixels: tuple[int, int]
    """Pixels that a tile of a depthwise convolution has, and has at the end of a row; more, and fewer."""
    latency: int
    """Additions that have to be under way at a time to keep the units busy."""
    covers: tuple[int, ...]
    """Heights of tiles that should cover a row of the output well for its input to be gathered as a whole."""
    alone: tuple[int, ...] = ()
    """More rows of tiles whose sums are rescaled in registers, of a single panel: loads bound these."""
    spare: int = 0
    """Of how many rows, as a power of two, taller tiles whose sums are rescaled may waste one; 0 of none."""
    together_bytes: int = 0
    """What a tile of a depthwise convolution of float32 may read for all of its channels to stay together."""
    near_bytes: int = 0
    """The second-level cache of common CPUs, which chains of float32 go through in bands; 0: none do."""
    block: int = 12
    """Rows among which the heights of tiles are evened out."""
    low: int = 1
    """The height that tiles have where steps are few: the next ones begin before they end."""
    short_steps: int = 0
    """Steps of float32 that are few: a panel of columns stays in the first-level cache."""
    byte_width: int = 1
    """Bytes that an int8 has where products take it: 2 where only products of int16 are exact."""
    bias: int = 0
    """What is added to int8 on the left of a product, which then is unsigned."""
    bf16_pairs: bool = False
    """Whether it multiplies pairs of bfloat16 and adds them to float32."""
    half_rows: int = 0
    """Rows of float16 at most that it multiplies by constants of that type without widening both before."""
    byte_dots: bool = True
    """Whether it adds products of four bytes to a word in one instruction."""
    row_pairs: tuple[str, ...] = ()
    """Types of which it multiplies two rows by two columns at once, eight bytes of each."""
    sides: tuple[Side, ...] = (ALONE,)
    """Depthwise taps of int8 side by side whose input it loads once: several where loads take longest."""
    narrowed: int = 1
    """Registers of words that are best made bytes together."""
    signed: bool = False
    """Whether sums whose sign matters to their rounding are rescaled in registers, as others are."""
    float_rescale: bool = False
    """Whether sums are made int8 sooner by float32, where that is exact."""
    masked: bool = False
    """Whether it stores the bytes of a mask in one instruction."""
    byte_tables: bool = False
    """Whether it looks up a register of bytes in a table of 256 at once."""
    byte_lines: bool = False
    """Whether it computes the greatest or least of two lines of bytes sooner than it looks them up."""
    words: InstructionSet | None = None
    """The set for convolutions that take fewer products, of int16, where this one multiplies bytes."""
    symmetric: InstructionSet | None = None
    """The set for int8 whose weights are constant and none of them -128."""
    symmetric_rows: int = 0
    """Rows that it is for at most."""
    small: InstructionSet | None = None
    """The set for int8 whose weights are constant and no larger than `SMALL`."""
    matrices: Matrices | None = None
    """How it multiplies int8, and perhaps bfloat16, but for depthwise convolutions."""
    floats: InstructionSet | None = None
    """The same with the tiles that it has for float32, if they are others."""

    def rescaled_of(self, panels: int) -> tuple[int, ...]:
        """Return the rows of register tiles of so many panels whose sums are rescaled in registers."""
        return self.rescaled + self.alone if panels == 1 else self.rescaled

    def tiles_of(self, kind: str) -> InstructionSet:
        """Return the set with its tiles for activations of a type."""
        return self.floats if kind == "f32" and self.floats else self

    def matrices_of(self, kind: str) -> Matrices | None:
        """Return how it multiplies elements of a type, unless by vectors."""
        return self.matrices if self.matrices and kind in self.matrices.kinds else None

    @property
    def register_bytes(self) -> int:
        """Return the size of a register."""
        return 4 * self.lanes

    def padded(self, columns: int, panels: int = 1) -> int:
        """Return how many columns there are in whole panels, or in whole groups of them."""
        return -(-columns // (panels * self.lanes)) * (panels * self.lanes)

    def whole_depth(self, depth: int, kind: str) -> int:
        """Return how many elements of a type a row of A has with those that make it whole."""
        matrices = self.matrices_of(kind)
        block = matrices.row_bytes // MATRIX_BYTES[kind] if matrices else self.eights_of(kind) or 1
        return -(-depth // block) * block

    def eights_of(self, kind: str) -> int:
        """Return how many elements of a type are multiplied at once, if by eight bytes, else 0."""
        return EIGHTS[kind] if kind in self.row_pairs else 0

    def sums_apart(self, registers: int) -> int:
        """Return how many sums are kept for each element of a tile of so many registers, to hide latency.

        They are added up in the end, so the bits of floating-point sums depend on it.
        """
        return max(1, min(4, self.latency // registers))
