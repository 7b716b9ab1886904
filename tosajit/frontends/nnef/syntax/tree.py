"""What a text says: expressions, declarations, statements, as frozen records with their places.

Names follow the grammar (NNEF 2.0 section 2.16). Nothing is resolved here: whether a name is a tensor or an
attribute, and so whether `x[i]` takes an item of a pack or an element of a tensor, is known later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from tosajit.frontends.nnef.syntax.source import Span


@dataclass(frozen=True, slots=True)
class Tree:
    """Anything that stands somewhere in a text."""

    span: Span


# Expressions (section 2.4)


@dataclass(frozen=True, slots=True)
class Literal(Tree):
    """A number, a truth or a string."""

    value: int | float | bool | str


@dataclass(frozen=True, slots=True)
class Format(Tree):
    """A string with expressions in it, `"a = {a + 2}"`."""

    parts: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class Name(Tree):
    """A name."""

    name: str


@dataclass(frozen=True, slots=True)
class Member(Tree):
    """`x.shape`, `x.rank` or `x.size`."""

    name: str
    member: OneOf["shape", "rank", "size"]


@dataclass(frozen=True, slots=True)
class Parenthesised(Tree):
    """An expression in parentheses; they tell `(f(x))`, a built-in function, from an invocation."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class Expand(Tree):
    """`x..`: the items of a pack; `x..(n)`: an item n times."""

    item: Expression
    count: Expression | None = None


@dataclass(frozen=True, slots=True)
class Range(Tree):
    """`first:last:stride`; in a subscript each of them may be left out."""

    first: Expression | None
    last: Expression | None
    stride: Expression | None


@dataclass(frozen=True, slots=True)
class Zip(Tree):
    """`(a, b)`, always expanded: the items of packs in turns."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Bounded(Tree):
    """`|i|`: an index that is checked; `|i <> low : high|`: one that is replaced where it is outside."""

    index: Expression
    low: Expression | None = None
    high: Expression | None = None


@dataclass(frozen=True, slots=True)
class List(Tree):
    """`[a, b.., 0:n]`."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Subscript(Tree):
    """`x[i]` with one index: an item of a pack, a part of it, or an element of a tensor of rank 0 or 1."""

    base: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Access(Tree):
    """`x[i, j..]`: elements of a tensor."""

    base: Expression
    indices: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Substitute(Tree):
    """`x[i] <- y`: a pack with other items in some places."""

    pack: Expression
    index: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Unary(Tree):
    """`+x`, `-x`, `!x`, or `?x`: whether it is not null."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Tree):
    """Two operands of an operator, `is` and `in` among them."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Select(Tree):
    """`condition ? then : otherwise`; null where there is no `otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class Coalesce(Tree):
    """`value ?? otherwise`."""

    value: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Fold(Tree):
    """`x + ..`: the items of a pack made one; `x + ...`, cumulative: the pack of all steps."""

    operator: str
    pack: Expression
    cumulative: bool = False


@dataclass(frozen=True, slots=True)
class Call(Tree):
    """`sqrt(x)`, a cast `real(x)`, or the default value of a type `T()`."""

    function: str
    argument: Expression | None


Expression: TypeAlias = (
    Literal | Format | Name | Member | Parenthesised | Expand | Range | Zip | Bounded | List | Subscript
    | Access | Substitute | Unary | Binary | Select | Coalesce | Fold | Call
)  # fmt: skip


# Types and declarations (sections 2.3, 2.5 to 2.9, 2.13)


@dataclass(frozen=True, slots=True)
class Pack(Tree):
    """`..` or `..(n)` behind a type, an extent or a name."""

    length: Expression | None = None


@dataclass(frozen=True, slots=True)
class Extent(Tree):
    """A component of a shape: `..z`, `s..(d)`, `s|10`; no expression where it is `~`."""

    expression: Expression | None
    distinct: bool = False
    bound: Expression | None = None
    pack: Pack | None = None


@dataclass(frozen=True, slots=True)
class Shape(Tree):
    """`[m, s..]`."""

    extents: tuple[Extent, ...]


@dataclass(frozen=True, slots=True)
class Type(Tree):
    """`optional real^(r)[s..]..(n)`."""

    name: str
    optional: bool = False
    rank: Name | None = None
    shape: Shape | None = None
    pack: Pack | None = None


@dataclass(frozen=True, slots=True)
class Bound(Tree):
    """`i < n`."""

    name: str
    limit: Expression


@dataclass(frozen=True, slots=True)
class DtypeDefinition(Tree):
    """`T: num = real;`."""

    name: str
    base: str
    default: str | None


@dataclass(frozen=True, slots=True)
class Parameter(Tree):
    """An attribute, input, output, constant or variable."""

    name: str
    type: Type
    value: Expression | None
    bounds: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class Target(Tree):
    """What is given a value: `a`, `b..(n)`, `sum: real[n]`; no name where it is `~`."""

    name: str | None
    type: Type | None = None
    pack: Pack | None = None


@dataclass(frozen=True, slots=True)
class Unzip(Tree):
    """`(a, b)..` on a left-hand side."""

    targets: tuple[Target, ...]
    pack: Pack | None


@dataclass(frozen=True, slots=True)
class TargetList(Tree):
    """`[a, b..]` on a left-hand side."""

    items: tuple[Target | Unzip, ...]


Left: TypeAlias = Target | Unzip | TargetList


@dataclass(frozen=True, slots=True)
class Using(Tree):
    """`left = expression;`."""

    left: Left
    value: Expression


@dataclass(frozen=True, slots=True)
class Detail(Tree):
    """What a failed assertion shows: `label: expression`."""

    label: str | None
    expression: Expression


@dataclass(frozen=True, slots=True)
class Assertion(Tree):
    """`condition: "message", details;`."""

    condition: Expression
    message: Literal | Format | None
    details: tuple[Detail, ...]


# Composition (sections 2.10, 2.11, 2.14)


@dataclass(frozen=True, slots=True)
class Attribute(Tree):
    """`name=value` in an invocation."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Invocation(Tree):
    """`label: module.operator<real>{a=1}(x, ~)`; an argument that is left out is None."""

    label: str | None
    operator: str
    types: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    arguments: tuple[Expression | None, ...]


@dataclass(frozen=True, slots=True)
class ComposeBlock(Tree):
    """`label: { …; yield x; }`."""

    label: str | None
    components: tuple[Component, ...]
    results: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Given(Tree):
    """A tensor or a value that is there already."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Branch(Tree):
    """`if … then … elif … then … else …`."""

    cases: tuple[tuple[Part, Part], ...]
    otherwise: Part


@dataclass(frozen=True, slots=True)
class Carried(Tree):
    """A variable of a loop: `sum: real[n] = 0.0`."""

    name: str
    type: Type | None
    initial: Expression


@dataclass(frozen=True, slots=True)
class Scan(Tree):
    """`x : xs`."""

    name: str
    pack: Expression


@dataclass(frozen=True, slots=True)
class Count(Tree):
    """`..(i -> n)`: how often a loop runs, and the name of its index."""

    index: str | None
    limit: Expression | None


@dataclass(frozen=True, slots=True)
class Loop(Tree):
    """`with … for … while … do..(n) …`."""

    carried: tuple[Carried, ...]
    scans: tuple[Scan, ...]
    condition: Part | None
    tested_first: bool
    unrolled: bool
    count: Count | None
    body: Part


Part: TypeAlias = Invocation | ComposeBlock | Given | Branch | Loop


@dataclass(frozen=True, slots=True)
class Component(Tree):
    """`a, [b, c..] = …;`."""

    left: tuple[Left, ...]
    right: Part


@dataclass(frozen=True, slots=True)
class Quantization(Tree):
    """`tensor: operator{a=1};`."""

    tensor: str
    operator: str
    types: tuple[str, ...]
    attributes: tuple[Attribute, ...]


# Lowering (section 2.12)


@dataclass(frozen=True, slots=True)
class Local(Tree):
    """A value of a loop's body: `z = x[i..] ** 2`."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Lowering(Tree):
    """`unroll..(k -> n) with locals: left += right, i < n | condition;`."""

    unrolled: Count | None
    locals: tuple[Local, ...]
    left: Subscript | Access
    operator: str
    right: Expression
    bounds: tuple[Bound, ...]
    condition: Expression | None


# Documents (sections 2.2, 2.15)


@dataclass(frozen=True, slots=True)
class Operator(Tree):
    """An operator or a graph with its blocks."""

    name: str
    graph: bool
    public: bool
    dtypes: tuple[DtypeDefinition, ...] = ()
    attributes: tuple[Parameter, ...] = ()
    inputs: tuple[Parameter, ...] = ()
    outputs: tuple[Parameter, ...] = ()
    constants: tuple[Parameter, ...] = ()
    variables: tuple[Parameter, ...] = ()
    using: tuple[Using, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    components: tuple[Component, ...] | None = None
    lowerings: tuple[Lowering, ...] | None = None
    updates: tuple[Component, ...] = ()
    quantizations: tuple[Quantization, ...] = ()


@dataclass(frozen=True, slots=True)
class Import(Tree):
    """An imported module."""

    module: str


@dataclass(frozen=True, slots=True)
class Module(Tree):
    """A file: what it imports, and the operators and graphs that it defines."""

    name: str
    version: tuple[int, int] | None
    extensions: tuple[str, ...]
    imports: tuple[Import, ...]
    operators: tuple[Operator, ...]
