"""What a set of instructions tells the rest of the package about itself."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InstructionSet:
    """A set of instructions, as far as a CPU has it."""

    name: str
    """Of its folder."""
    bf16_pairs: bool = False
    """Whether it multiplies pairs of bfloat16 and adds them to float32."""
    byte_tables: bool = False
    """Whether it looks up a register of bytes in a table of 256 at once."""
