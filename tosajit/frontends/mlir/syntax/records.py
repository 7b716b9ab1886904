"""What a text says, as records: types, attributes, operations, blocks and regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the text: from an offset to another."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Plain:
    """A type with nothing in it: `i8`, `bf16`, `index`, or one of another dialect, as it is written."""

    name: str


@dataclass(frozen=True, slots=True)
class Tensor:
    """A type of tensors; -1 is an open extent, and no shape an unknown rank."""

    shape: tuple[int, ...] | None
    element: Plain


@dataclass(frozen=True, slots=True)
class Extents:
    """The type `!tosa.shape<rank>`."""

    rank: int


@dataclass(frozen=True, slots=True)
class Function:
    """A type of operations and functions."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]


Type: TypeAlias = Plain | Tensor | Extents | Function


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or a real number, as it is written, and its type, if one is given."""

    text: str
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """What stands between quotes, as the bytes that it means."""

    data: bytes

    @property
    def text(self) -> str:
        """The text of the bytes."""
        return self.data.decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, such as `true`, `unit` or the member of an enumeration."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """The name of a function or a variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """An attribute of a dialect: its name, and what stands between its angles."""

    name: str
    body: str


@dataclass(frozen=True, slots=True)
class Many:
    """A list of attributes."""

    items: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Dense:
    """Elements of a tensor: the part of the text that has them, which is read when they are wanted."""

    span: Span
    type: Type


@dataclass(frozen=True, slots=True)
class Resource:
    """Elements of a tensor that stand at the end of the text, under a name."""

    key: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Attributes by name."""

    items: Mapping[str, Attribute] = field(hash=False)


Attribute: TypeAlias = (
    Number | Text | Word | Symbol | Foreign | Many | Dense | Resource | Dictionary
    | Plain | Tensor | Extents | Function
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operand:
    """A use of a value: its name, and which of several results of that name."""

    name: str
    number: int
    span: Span


@dataclass(frozen=True, slots=True)
class Argument:
    """What a block takes: its name, its type and its attributes."""

    name: str
    type: Type
    span: Span
    attributes: Mapping[str, Attribute] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation; attributes are its properties too."""

    name: str
    span: Span
    results: tuple[tuple[str, int], ...]
    """The names of its results, and how many each stands for."""
    operands: tuple[Operand, ...]
    attributes: Mapping[str, Attribute] = field(hash=False)
    regions: tuple[Region, ...]
    type: Function
    location: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Operations one after another."""

    arguments: tuple[Argument, ...]
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """What an operation holds."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Module:
    """All of a text."""

    name: str
    """What messages call the text."""
    text: str
    operations: tuple[Operation, ...]
    resources: Mapping[str, Span] = field(hash=False)
    """Where the elements are that stand at the end of the text."""
    locations: Mapping[str, str] = field(hash=False)
    """What the names of locations stand for."""
