"""The steps that the generic kernel is made of: what a scalar does to vectors, and what moves these.

A step is a function in a kernel, its library, which calls it by its number. Vectors are in the registers of a
frame; a register has one of four classes, which hold all types: a narrow integer is an int32 there, a narrow
floating-point number a float32. A scalar's step is the scalar's text in a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby

from tiling.expr import BYTES
from tiling.records import dataclass
from tiling.scalars import SCALARS, TABLE, Scalar
from tosajit.kernels.scalars import scalar_source

CLASSES: Mapping[str, str] = {
    "bool": "bool",
    **dict.fromkeys(("i8", "u8", "i16", "u16", "i32"), "i32"),
    "i64": "i64",
    **dict.fromkeys(("f8e4m3", "f8e5m2", "f16", "bf16", "f32"), "f32"),
}
"""What a value of each type is in a register."""
WIDEST = ("f32", "i64", "i32", "bool")
"""The class of an operand that may have several types: the first of these that one of them has."""
INTO = {"bool": "{}", "i32": "np.int32({})", "i64": "np.int64({})", "f32": "{}"}
"""What makes a register's element of a scalar."""
OUT_OF = {"i8": "np.int8({})", "u8": "np.uint8({})", "i16": "np.int16({})", "u16": "np.uint16({})"}
"""What makes an operand's element of a register's, where they differ."""
BY_BITS = ("half_clip", "half_clip_ignore")
"""What kernels do to the bits of half precision."""
EXACT = ("f16", "bf16", "f8e4m3", "f8e5m2")
"""Types that have another step for values that need no rounding."""

HEADER = """import numpy as np
from tosajit.kernels.generic.words import COLUMNS, COUNT, FRAME, NUMBER, RESULT, ROWS
from tosajit.kernels.intrinsics import *
from tosajit.kernels.floats import *
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A step: in which library, what it does, and on what."""

    library: str
    name: str
    """A scalar, or how vectors come and go: load, store …"""
    kinds: tuple[str, ...]
    """The classes of a scalar's operands, or the type that is moved."""


def step_of(name: str, *kinds: str) -> tuple[str, int]:
    """The text of a step's library, and its number there."""
    step, number = _named()[name, kinds]
    return library(step.library), number


def has(name: str, *kinds: str) -> bool:
    """Whether there is such a step."""
    return (name, kinds) in _named()


def result_of(name: str) -> str:
    """The class of what a scalar gives."""
    return "i32" if name in BY_BITS else CLASSES[SCALARS[name].result]


@cache
def library(name: str) -> str:
    """The text of a library: a kernel that does the step that its arguments ask for."""
    steps = libraries()[name]
    scalars = sorted({step.name for step in steps} - MOVES.keys())
    functions = [_function(step, number) for number, step in enumerate(steps)]
    ways = _ways(range(len(steps)))
    head = [f'"""Steps of generic kernels: {name}."""\n{HEADER}', scalar_source(scalars)]
    body = ["def kernel(args):", "    number = load_i64(args, NUMBER)", *ways]
    return "\n\n\n".join([*head, *functions, "\n".join(body)]) + "\n"


def _ways(numbers: Sequence[int], indent: str = "    ") -> Iterator[str]:
    """Calls of the step of a number, found by halving."""
    if len(numbers) == 1:
        yield f"{indent}step_{numbers[0]}(args)"
        return
    middle = len(numbers) // 2
    yield f"{indent}if number < {numbers[middle]}:"
    yield from _ways(numbers[:middle], indent + "    ")
    yield f"{indent}else:"
    yield from _ways(numbers[middle:], indent + "    ")


@cache
def libraries() -> Mapping[str, tuple[Step, ...]]:
    """All steps, by library."""
    steps = sorted(_steps(), key=lambda step: step.library)
    return {name: tuple(group) for name, group in groupby(steps, lambda step: step.library)}


@cache
def _named() -> Mapping[tuple[str, tuple[str, ...]], tuple[Step, int]]:
    """Each step, and its number in its library."""
    every = [pair for steps in libraries().values() for pair in zip(steps, range(len(steps)), strict=True)]
    return {(step.name, step.kinds): (step, number) for step, number in every}


def _steps() -> Iterator[Step]:
    for move, types in MOVES.items():
        yield from (Step("memory", move, (type,)) for type in types)
    for scalar in TABLE:
        yield from (Step(_home(scalar), scalar.name, kinds) for kinds in _kinds(scalar))
    for name in BY_BITS:
        yield Step("halves", name, ("i32",) * 3)


def _kinds(scalar: Scalar) -> Iterator[tuple[str, ...]]:
    """The classes of operands that there are steps for: the widest, and all of the only one."""
    if len(scalar.operands) == 1:
        yield from ((kind,) for kind in WIDEST if kind in map(CLASSES.get, scalar.operands[0]))
    else:
        yield tuple(map(widest, scalar.operands))


def widest(types: frozenset[str]) -> str:
    """The class that holds all of these types."""
    found = {CLASSES[type] for type in types}
    return next(kind for kind in WIDEST if kind in found)


def _home(scalar: Scalar) -> str:
    """The library of a scalar: what is used together is compiled together."""
    kinds = {widest(types) for types in scalar.operands} | {CLASSES[scalar.result]}
    if scalar.type in EXACT:
        return "halves" if scalar.family != "function" else f"functions of {scalar.type}"
    if "f32" in kinds:
        return "floats" if scalar.family != "function" else "functions"
    return "wide integers" if scalar.type in ("i64", "bool") else "integers"


# Texts.


def _function(step: Step, number: int) -> str:
    write = MOVES.get(step.name)
    lines = _scalar_lines(step) if write is None else TEXTS[step.name](step.kinds[0])
    head = [f"def step_{number}(args):", '    """{}"""'.format(" ".join([step.name, *step.kinds]))]
    return "\n".join([*head, "    frame = load_i64(args, FRAME)", *(f"    {line}" for line in lines)])


def _scalar_lines(step: Step) -> list[str]:
    numbers = range(len(step.kinds))
    result = result_of(step.name)
    values = ", ".join(f"v{n}" for n in numbers)
    return [
        *_registers(1 + len(step.kinds)),
        "for i in range(load_i64(frame, COUNT)):",
        *(f"    v{n} = load_{kind}(p{n + 1}, i)" for n, kind in enumerate(step.kinds)),
        f"    store_{result}(p0, i, {INTO[result].format(f'{step.name}({values})')})",
    ]


def _registers(count: int, first: int = 0) -> list[str]:
    """The addresses of registers, from the result on."""
    return [f"p{n} = frame + load_i64(args, RESULT + {n})" for n in range(first, count)]


def _fill(kind: str) -> list[str]:
    """A number in all elements; its bits are a word of the record."""
    type = "i32" if kind == "f32" else kind
    made = "number != 0" if type == "bool" else INTO[type].format("number")
    return [
        *_registers(1),
        "number = load_i64(args, RESULT + 1)",
        "for i in range(load_i64(frame, COUNT)):",
        f"    store_{type}(p0, i, {made})",
    ]


def _ramp(_: str) -> list[str]:
    """Numbers that grow along columns and rows."""
    return [
        *_registers(1),
        "row = load_i64(frame, load_i64(args, RESULT + 1))",
        *_walk("store_i64(p0, x, row + x * near)", 8),
    ]


def _load(type: str) -> list[str]:
    """Elements that are evenly apart."""
    kind = CLASSES[type]

    def move(index: str) -> str:
        return f"store_{kind}(p0, x, {INTO[kind].format(f'load_{type}(row, {index})')})"

    return [
        *_registers(1),
        "row = load_i64(frame, load_i64(args, RESULT + 1))",
        *_walk(move("x * near"), BYTES[kind], move("x")),
    ]


def _store(type: str, put: bool = False) -> list[str]:
    def move(index: str) -> str:
        value = OUT_OF.get(type, "{}").format(f"load_{CLASSES[type]}(p0, x)")
        return f"{'put' if put else 'store'}_{type}(row, {index}, {value})"

    return [
        *_registers(1),
        "row = load_i64(frame, load_i64(args, RESULT + 1))",
        *_walk(move("x * near"), BYTES[CLASSES[type]], move("x")),
    ]


def _put(type: str) -> list[str]:
    return _store(type, put=True)


def _walk(line: str, width: int, dense: str = "") -> list[str]:
    """Rows and columns; `dense` is for neighbours in memory."""
    columns = "for x in range(columns):"
    inner = [columns, f"    {line}"]
    if dense:
        ways = ["if near == 1:", f"    {columns}", f"        {dense}", "else:"]
        inner = [*ways, *(f"    {text}" for text in inner)]
    return [
        "near, far = load_i64(args, RESULT + 2), load_i64(args, RESULT + 3)",
        "columns = load_i64(frame, COLUMNS)",
        "for y in range(load_i64(frame, ROWS)):",
        *(f"    {text}" for text in inner),
        f"    p0 += columns * {width}",
        "    row += far",
    ]


def _gather(type: str) -> list[str]:
    """Elements at indices, where they are inside; elsewhere others."""
    kind = CLASSES[type]
    found = INTO[kind].format(f"load_{type}(place, load_i64(p4, i))")
    return [
        *_registers(1),
        "place = load_i64(frame, load_i64(args, RESULT + 1))",
        *_registers(7, 4),
        "for i in range(load_i64(frame, ROWS) * load_i64(frame, COLUMNS)):",
        f"    store_{kind}(p0, i, {found} if load_bool(p5, i) else load_{kind}(p6, i))",
    ]


def _scatter(type: str, put: bool = False) -> list[str]:
    value = OUT_OF.get(type, "{}").format(f"load_{CLASSES[type]}(p0, i)")
    return [
        *_registers(1),
        "place = load_i64(frame, load_i64(args, RESULT + 1))",
        *_registers(5, 4),
        "for i in range(load_i64(frame, ROWS) * load_i64(frame, COLUMNS)):",
        f"    {'put' if put else 'store'}_{type}(place, load_i64(p4, i), {value})",
    ]


def _scatter_put(type: str) -> list[str]:
    return _scatter(type, put=True)


ALL = tuple(CLASSES)
MOVES: Mapping[str, tuple[str, ...]] = {
    "fill": WIDEST,
    "ramp": ("i64",),
    "load": ALL,
    "gather": ALL,
    "store": ALL,
    "put": EXACT,
    "scatter": ALL,
    "scatter_put": EXACT,
}
"""What brings vectors and takes them away, and for which types or classes."""
TEXTS: Mapping[str, Callable[[str], list[str]]] = {
    "fill": _fill,
    "ramp": _ramp,
    "load": _load,
    "gather": _gather,
    "store": _store,
    "put": _put,
    "scatter": _scatter,
    "scatter_put": _scatter_put,
}
