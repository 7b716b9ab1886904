"""A composed model: operations on tensors, with all attributes, types and shapes known (NNEF 2.0 chapter 3).

It keeps the structure of the text. An operation has the body that its `@compose` block says, so that a reader
of the model decides whether to look inside: an operator that TOSA has is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tosajit.arrays import Array
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.source import Source
from tosajit.frontends.nnef.values.value import Value

Kind: TypeAlias = Literal["input", "output", "constant", "variable", "local"]


@dataclass(frozen=True, slots=True)
class Open:
    """An extent that data decide, and no more than which it is."""

    bound: int


Extent: TypeAlias = int | Open


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor of a model. Two are the same only if they are one object."""

    name: str
    """Its name with the labels around it, `conv1.filter`; no two tensors of a model share one."""
    type: str
    """`real`, `int`, `bool` or `str`."""
    shape: tuple[Extent, ...]
    kind: Kind = "local"
    value: Array | None = None
    """What a constant is, and a variable at first.

    Numbers in a text have 64 bits here; a uniform tensor is one number, broadcast.
    """
    extents: Tensor | None = None
    """Where data decide its shape, the tensor of ints that has its extents when they are known."""

    @property
    def rank(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)


Argument: TypeAlias = Tensor | tuple[Tensor, ...] | None
"""What a parameter stands for: a tensor, a pack of them, or null. A number is a constant of rank 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """An operator or a graph, and where it stands."""

    module: str
    """`nn`, `main`, `layers.attention`."""
    operator: tree.Operator
    source: Source
    standard: bool = False
    """Whether the module is one of our standard library, whose operators have forms in TOSA."""

    @property
    def name(self) -> str:
        """`nn.conv`."""
        return f"{self.module}.{self.operator.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A symbol that data decide, all of it or some items of a pack."""

    tensor: Tensor
    """Holds its value when the model runs: of rank 0, of rank 1 for a pack."""
    items: tuple[bool, ...]
    """Which items of a pack data decide."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operator that is called: everything that its definition leaves open has a value."""

    definition: Definition
    label: str
    """Where it stands: `block1.conv`; empty for a graph itself."""
    types: Mapping[str, str]
    """Generic types, as concrete ones."""
    symbols: Mapping[str, Value]
    """Attributes, extents, ranks, pack lengths, helper symbols."""
    inputs: Mapping[str, Argument]
    outputs: Mapping[str, Argument]
    constants: Mapping[str, Argument] = field(default_factory=dict)
    variables: Mapping[str, Argument] = field(default_factory=dict)
    body: Body | None = None
    """What `@compose` says; none for operators with `@lower`, and for those that have neither."""
    update: Body | None = None
    """What `@update` says, behind the body: its results are the new values of `updated`."""
    updated: tuple[Tensor, ...] = ()
    opened: Mapping[str, Opened] = field(default_factory=dict)
    """Symbols that data decide; in `symbols` they have the values that follow from bounds."""

    @property
    def is_open(self) -> bool:
        """Whether data decide the shape of an input or output."""
        arguments = (*self.inputs.values(), *self.outputs.values())
        return any(one.extents is not None for argument in arguments for one in tensors_of(argument))

    @property
    def name(self) -> str:
        """What is called, as `nn.conv`."""
        return self.definition.name

    @property
    def attributes(self) -> Mapping[str, Value]:
        """The values of the declared attributes."""
        return {one.name: self.symbols[one.name] for one in self.definition.operator.attributes}

    @property
    def parameters(self) -> Mapping[str, Argument]:
        """Everything that a lowering may read or write, by name."""
        return {**self.inputs, **self.constants, **self.variables, **self.outputs}


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """Steps in the order in which they are done, and what comes out."""

    steps: tuple[Step, ...]
    results: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """The first body whose condition holds; what its body gives are the outputs."""

    label: str
    cases: tuple[tuple[Body, Body], ...]
    otherwise: Body
    outputs: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A tensor that a step of a loop takes from the one before."""

    tensor: Tensor
    initial: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Scanned:
    """An item of a pack, another one in each step."""

    tensor: Tensor
    pack: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """A loop that was not unrolled.

    The first results of its body are the next values of `carried`; the others are packed, an item a step. So
    are the outputs: they have `most` items, and those beyond the last step are zeros. The condition is
    asked of what is carried into a step or, where it is not tested first, out of it.
    """

    label: str
    carried: tuple[Carried, ...]
    scanned: tuple[Scanned, ...]
    condition: Body | None
    tested_first: bool
    count: int | Tensor | None
    most: int | None
    """How many steps there can be; None where only the condition ends it."""
    index: Tensor | None
    body: Body
    outputs: tuple[Argument, ...]
    """None for a pack that is not needed, and has no greatest length."""


Step: TypeAlias = Operation | Branches | Repeat


@dataclass(frozen=True, slots=True, eq=False)
class Quantized:
    """How a tensor is quantised: by an operation on it that has one input and one output."""

    tensor: Tensor
    operation: Operation

    @property
    def before(self) -> Tensor:
        """What stands for the tensor before."""
        (found,) = tensors_of(next(iter(self.operation.inputs.values())))
        return found

    @property
    def after(self) -> Tensor:
        """What stands for it afterwards."""
        (found,) = tensors_of(next(iter(self.operation.outputs.values())))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A composed graph."""

    name: str
    root: Operation
    """The graph as an operation: its inputs, outputs, variables, body and updates.

    Its outputs are the results of its body; those of other operations stand outside of theirs.
    """
    quantized: tuple[Quantized, ...] = ()


def tensors_of(argument: Argument) -> tuple[Tensor, ...]:
    """All tensors of an argument."""
    match argument:
        case None:
            return ()
        case tuple():
            return argument
    return (argument,)


def tensors_told(arguments: Iterable[Argument]) -> list[Tensor]:
    """All tensors of arguments; behind them the extents of those whose shape data decide."""
    found = [one for argument in arguments for one in tensors_of(argument)]
    return [*found, *(one.extents for one in found if one.extents is not None)]


def operations(body: Body | None) -> Iterator[Operation]:
    """All operations of a body, those inside of others behind these."""
    stack = list(reversed(body.steps)) if body else []
    while stack:
        step = stack.pop()
        inner: list[Body] = []
        match step:
            case Operation():
                yield step
                inner = [one for one in (step.body, step.update) if one]
            case Branches():
                inner = [one for case in step.cases for one in case] + [step.otherwise]
            case Repeat():
                inner = [one for one in (step.condition, step.body) if one]
        stack += [one for body in reversed(inner) for one in reversed(body.steps)]
