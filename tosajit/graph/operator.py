"""How operators are declared: the class body is the schema, an instance holds the attributes.

```python
class CONV2D(Operator):
    section, modes = "2.3.3", CONVOLUTION
    input = read("in_t", "N,IH,IW,IC")
    ...
    pad: Quad

    def infer(self, IH: int, KH: int) -> Dims: ...       # extents of the outputs that no input has

    @error_if("bias")
    def bias_length(self, BC: int, OC: int) -> bool:
        "its length is {BC}, but must be 1 or OC, which is {OC}"
        return BC not in (1, OC)
```

`infer` and the checks take what they need by name: extents (`OH`), whole shapes (`shape1`), type variables
(`in_t`), the value of an operand that is constant (`input_zp`), lists of operands, `graph`, `level`. A check
whose arguments are not known, because an operand is not constant or its rank is wrong, is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import FrozenInstanceError, field
from enum import IntEnum
from string import Formatter
from typing import Any, ClassVar, dataclass_transform

from tiling.records import dataclass, replace
from tiling.words import plain
from tosajit.dtypes import DTYPES, DType
from tosajit.errors import RuleKind
from tosajit.graph.attributes import Attribute, checked, declared

Dims = Mapping[str, int | tuple[int, ...]]
Verdict = bool | str | None | Iterable[str]

OPERATORS: dict[str, type[Operator]] = {}
"""Every operator by name, in the order of the specification."""

TYPES: dict[str, DType] = {
    **{f"{name}_t": DTYPES[name.upper()] for name in ("bool", "shape", "fp16", "bf16", "fp32")},
    **{f"i{bits}_t": DTYPES[f"INT{bits}"] for bits in (4, 8, 16, 32, 48)},
    **{f"{name}_t": DTYPES[name.upper()] for name in ("fp8e4m3", "fp8e5m2")},
}
"""The types by the names of the type tables."""

HOOKS = frozenset({"infer", "selects", "needs", "results", "compute", "lower", "completed"})
"""The methods that the framework calls."""

BATCH = None
"""The size of a batch, in `before_batch`."""

_CONTEXT = frozenset({"graph", "level"})


class ShapeFault(Exception):
    """Raised by `infer`: the inputs have no legal output shape."""

    def __init__(self, operand: str, message: str) -> None:
        super().__init__(message)
        self.operand, self.message = operand, message


@dataclass(frozen=True, slots=True)
class Operand:
    """An input or output of an operator."""

    type: str
    """A type variable of the operator's modes, a type such as `i8_t`, or nothing for any."""
    dims: tuple[str | int, ...] | None
    """Names or extents of the dimensions."""
    shape: str
    """The name of the whole shape, if the rank is not fixed."""
    rank: tuple[int, int | None]
    """Least and greatest rank, None for MAX_RANK."""
    is_output: bool
    is_list: bool = False
    constant_in: tuple[str, ...] = ()
    """The profiles in which it must be a compile-time constant, unless EXT-DYNAMIC is there."""
    or_zero: bool = False
    """Whether a call in Python may leave it out; it is then zero."""
    unsigned_if: str = ""
    """The attribute that, if it is true, makes the bits of this zero point an unsigned number."""
    name: str = ""

    @property
    def holds_anything(self) -> bool:
        """Whether it is a list of tensors of any types and ranks, which the specification does not limit."""
        return self.is_list and not self.type


def read(
    type: str,
    pattern: str,
    rank: tuple[int, int | None] = (0, None),
    *,
    ctc: tuple[str, ...] = (),
    or_zero: bool = False,
) -> Operand:
    """An input: `pattern` names its dimensions (`"N,H,C"`), or its whole shape (`"shape1"`)."""
    return replace(_operand(type, pattern, rank, is_output=False), constant_in=ctc, or_zero=or_zero)


def write(type: str, pattern: str, rank: tuple[int, int | None] = (0, None)) -> Operand:
    """An output."""
    return _operand(type, pattern, rank, is_output=True)


def reads(type: str = "", pattern: str = "", rank: tuple[int, int | None] = (0, None)) -> Operand:
    """The rest of the inputs, as a list; `pattern` names the tuple of their shapes."""
    return replace(_operand(type, pattern, rank, is_output=False), is_list=True)


def writes() -> Operand:
    """The rest of the outputs, as a list."""
    return replace(_operand("", "", (0, None), is_output=True), is_list=True)


def _operand(type: str, pattern: str, rank: tuple[int, int | None], *, is_output: bool) -> Operand:
    if pattern == pattern.lower() and not pattern.isdigit():
        return Operand(type, None, pattern, rank, is_output)
    dims = tuple(int(term) if term.isdigit() else term for term in pattern.split(","))
    return Operand(type, dims, "", (len(dims), len(dims)), is_output)


@dataclass(frozen=True, slots=True)
class Mode:
    """One row of an operator's type table."""

    name: str
    types: Mapping[str, DType]
    requirement: tuple[frozenset[str], ...]
    """Alternatives, each a set of profiles and extensions that are needed together."""
    extents: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, variable: str) -> DType:
        return self.types[variable]

    def __str__(self) -> str:
        return ", ".join(f"{variable} {dtype}" for variable, dtype in self.types.items()) or self.name

    @property
    def requires(self) -> str:
        """The requirement in words, such as `PRO-INT or PRO-FP`."""
        return " or ".join(" and ".join(sorted(needed)) for needed in self.requirement)

    def is_in(self, available: frozenset[str]) -> bool:
        """Whether an implementation of these profiles and extensions has this mode."""
        return any(needed <= available for needed in self.requirement)


def table(columns: str, rows: str) -> tuple[Mode, ...]:
    """The modes of a type table; each line of `rows` is `requirement | mode | types`."""
    names = columns.split()
    return tuple(
        _mode(names, *(cell.strip() for cell in line.split("|"))) for line in rows.strip().splitlines()
    )


def _mode(columns: list[str], requirement: str, name: str, cells: str = "") -> Mode:
    entries = dict(zip(columns, cells.split(), strict=True))
    types = {column: TYPES[f"{cell}_t"] for column, cell in entries.items() if not column.isupper()}
    extents = {column: int(cell) for column, cell in entries.items() if column.isupper()}
    alternatives = tuple(frozenset(part.split(" and ")) for part in requirement.split(" or "))
    return Mode(name, types, alternatives, extents)


class _Format(Formatter):
    """Fills in messages; values look as they do everywhere else."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return shown(value)


_FORMAT = _Format()


@dataclass(frozen=True, slots=True)
class Rule:
    """A check of an operator: the message is the docstring, filled in with the arguments."""

    kind: RuleKind
    operand: str
    function: Callable[..., Verdict]
    name: str
    parameters: tuple[str, ...]
    template: str

    def faults(self, operator: Operator, known: Mapping[str, Any]) -> Iterable[str]:
        """What is wrong, one message each; nothing if an argument is not known."""
        try:
            arguments = [known[name] for name in self.parameters]
        except KeyError:
            return ()
        verdict = self.function(operator, *arguments)
        if not verdict:
            return ()
        if verdict is True:
            named = dict(zip(self.parameters, arguments, strict=True))
            return (_FORMAT.format(self.template, self=operator, **named),)
        return (verdict,) if isinstance(verdict, str) else tuple(verdict)


Decorator = Callable[[Callable[..., Verdict]], Rule]


def error_if(operand: str = "") -> Decorator:
    """An ERROR_IF; what the method returns is true, or says what is wrong, if the graph is illegal."""
    return _decorator("error_if", operand)


def level_check(operand: str = "") -> Decorator:
    """Limits of the level; the method gives a message for each that is passed."""
    return _decorator("level", operand)


def require(operand: str = "") -> Decorator:
    """The part of a REQUIRE that shows in the graph; true is a fault, as for an ERROR_IF."""
    return _decorator("require", operand)


def type_check(operand: str = "") -> Decorator:
    """A rule about types that the type table cannot say."""
    return _decorator("type", operand)


def _decorator(kind: RuleKind, operand: str) -> Decorator:
    def decorate(function: Callable[..., Verdict]) -> Rule:
        name = function.__name__
        template = " ".join((function.__doc__ or name.replace("_", " ")).split()).rstrip(".")
        if template[1:2].islower():
            template = template[0].lower() + template[1:]
        return Rule(kind, operand, function, name, parameters_of(function), template)

    return decorate


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names that a method wants bound."""
    code = function.__code__
    return tuple(code.co_varnames[1 : code.co_argcount])


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Operator:
    """The base of all operators: a value, which consists of its attributes."""

    section: ClassVar[str] = ""
    modes: ClassVar[tuple[Mode, ...]] = ()
    optional: ClassVar[tuple[str, ...]] = ()
    """Extensions that some values of the attributes need; `needs` says which."""
    because: ClassVar[str] = "the inputs give"
    """Why an output has its shape, as messages say it: `OH is 55, but pad, stride and dilation give 56`."""
    not_in_file: ClassVar[frozenset[str]] = frozenset()
    """Attributes for which the file's attribute table has no field."""

    left_out: ClassVar[Mapping[str, Any]] = {}
    """Attributes that a call in Python may leave out, and what they are then; None: `completed` says it."""
    holds_data: ClassVar[bool] = False
    """Whether its output is data of the graph."""
    regions: ClassVar[tuple[str, ...]] = ()
    """The attributes that name regions it runs."""
    batched: ClassVar[str] = ""
    """How it takes the tensors of a batch (`tj.vmap`): `first`, those of any shape have it before their
    dimensions, and axes are one further behind; `N`, it becomes a part of that. Nothing: not at all."""
    before_batch: ClassVar[Mapping[str, tuple[int | None, ...]]] = {}
    """What comes before the extents that an operand has where the batch is first; `BATCH` is its size."""
    products: ClassVar[str] = ""
    """The extents whose product is the number of its multiplications, such as `N H W C`; padding counts."""

    opcode: ClassVar[str] = ""
    number: ClassVar[int] = 0
    """Its place in the enumeration of operators and in the union of attributes of the file format."""
    schema_name: ClassVar[str] = ""
    """The name of its attribute table in the file's schema."""
    operands_read: ClassVar[tuple[Operand, ...]] = ()
    operands_written: ClassVar[tuple[Operand, ...]] = ()
    rules: ClassVar[tuple[Rule, ...]] = ()
    fields: ClassVar[Mapping[str, Attribute]] = {}
    """All attributes by name."""
    attributes: ClassVar[tuple[Attribute, ...]] = ()
    """Those of its attribute table in files, in the order of that table."""
    is_executed: ClassVar[bool] = False
    """Whether the executor carries it out between programs, because there are no loop nests for it."""

    @classmethod
    def completed(
        cls, attributes: Mapping[str, Any], types: Mapping[str, DType], sizes: Mapping[str, int]
    ) -> tuple[dict[str, Any], dict[str, DType]]:
        """The attributes with those that follow from the operands, and the types that attributes name.

        `types` has what is known by type variable, `sizes` the elements of each operand.
        """
        return dict(attributes), {}

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(checked(self.opcode, self.fields, attributes))

    def __init_subclass__(cls) -> None:
        """Read the schema from the class body, and enter the operator in `OPERATORS`."""
        if not cls.__name__.isupper():
            return
        cls.opcode = cls.__name__
        members: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            members.update(vars(base))
        named = {name: replace(m, name=name) for name, m in members.items() if isinstance(m, Operand)}
        for name, operand in named.items():
            setattr(cls, name, operand)
        cls.operands_read = tuple(operand for operand in named.values() if not operand.is_output)
        cls.operands_written = tuple(operand for operand in named.values() if operand.is_output)
        cls.rules = tuple(one for one in members.values() if isinstance(one, Rule))
        cls.fields = declared(cls)
        cls.attributes = tuple(one for one in cls.fields.values() if one.name not in cls.not_in_file)
        cls.schema_name = _schema_name(cls.opcode)
        cls.is_executed = not cls.holds_data and not hasattr(cls, "lower")
        _check_declaration(cls)
        _register(cls)

    @classmethod
    def takes_batch(cls, operand: Operand) -> bool:
        """Whether an operand can differ from example to example of a batch."""
        if cls.batched == "first":
            return operand.dims is None and operand.type != "shape_t"
        return bool(cls.batched) and operand.dims is not None and operand.dims[0] == cls.batched

    def selects(self, mode: Mode) -> bool:
        """Whether the attributes allow this row of the type table."""
        return True

    def needs(self) -> frozenset[str]:
        """Extensions that the attributes need, beside those of the mode."""
        return frozenset()

    def __str__(self) -> str:
        text = ", ".join(f"{name}={shown(value)}" for name, value in self)
        return f"{self.opcode}({text})" if text else self.opcode

    def __repr__(self) -> str:
        return f"{self.opcode}({', '.join(f'{name}={value!r}' for name, value in self)})"

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(vars(self).items())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"an operator is a value: {name} of {self.opcode} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"an operator is a value: {name} of {self.opcode} cannot be deleted")


def known_names(cls: type[Operator]) -> frozenset[str]:
    """Every name that a check of this operator can ask for."""
    operands = cls.operands_read + cls.operands_written
    names = {operand.name for operand in operands} | {operand.shape for operand in operands}
    names |= {operand.type for operand in operands}
    names |= {dim for operand in operands for dim in operand.dims or () if isinstance(dim, str)}
    for mode in cls.modes:
        names |= set(mode.extents)
    return frozenset(names | _CONTEXT)


def _schema_name(opcode: str) -> str:
    irregular = {
        "ARGMAX": "ArgMax",
        "MATMUL": "MatMul",
        "INTDIV": "IntDiv",
        "FFT2D": "FFT2d",
        "RFFT2D": "RFFT2d",
    }
    regular = "".join(part.capitalize() for part in opcode.split("_"))
    return irregular.get(opcode, regular) + "Attribute"


def _check_declaration(cls: type[Operator]) -> None:
    for name, member in vars(cls).items():
        if (
            (callable(member) or isinstance(member, classmethod))
            and not name.startswith("_")
            and name not in HOOKS
            and not isinstance(member, type)
        ):
            raise TypeError(f"{cls.opcode}.{name} is not a hook; hooks are {', '.join(sorted(HOOKS))}")
    known = known_names(cls)
    wanted = {rule.name: rule.parameters for rule in cls.rules}
    if "infer" in vars(cls):
        wanted["infer"] = parameters_of(vars(cls)["infer"])
    for name, parameters in wanted.items():
        unknown = sorted(set(parameters) - known)
        if unknown:
            raise TypeError(f"{cls.opcode}.{name} asks for {', '.join(unknown)}, which no operand declares")


def _register(cls: type[Operator]) -> None:
    if cls.opcode in OPERATORS:
        raise TypeError(f"{cls.opcode} is declared twice")
    OPERATORS[cls.opcode] = cls


def arrange() -> None:
    """Put `OPERATORS` in the order of the specification, which numbers them in files as well."""
    ordered = sorted(OPERATORS.values(), key=lambda cls: [int(part) for part in cls.section.split(".")])
    OPERATORS.clear()
    for number, operator in enumerate(ordered, 1):
        OPERATORS[operator.opcode] = operator
        operator.number = number


def shown(value: object) -> str:
    """A value as messages and listings have it."""
    match value:
        case bool():
            return str(value).lower()
        case IntEnum():
            return value.name
        case tuple():
            return f"[{', '.join(map(shown, value))}]"
        case str() | bytes():
            return plain(repr(value))
    return str(value)
