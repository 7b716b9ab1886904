"""Write `tosajit/ops.py` from the declarations of the operators; `--check` says whether it is up to date."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from textwrap import wrap
from typing import Any, get_args, get_origin

from tosajit.graph.attributes import REQUIRED
from tosajit.graph.operator import OPERATORS, Operand, Operator
from tosajit.operators.types import AccType

TARGET = Path(__file__).parents[1] / "tosajit" / "ops.py"
WIDTH = 106

BY_HAND = {
    "CONST": "const",
    "CUSTOM": "custom",
    "COND_IF": "cond_if",
    "WHILE_LOOP": "while_loop",
    "VARIABLE": "variable",
    "VARIABLE_WRITE": "variable_write",
    "VARIABLE_READ": "variable_read",
    "CONST_SHAPE": "const_shape",
}
"""What takes Python functions, or makes something else than a tensor of tensors."""

HEAD = '''"""The operators of TOSA 1.0.1 as functions of arrays and traced tensors.

In a function that `tj.jit` or `tj.trace` traces, a call is recorded; outside, on NumPy arrays, it runs at
once. Operands stand in the order of the specification, attributes behind them by name. A vector operand, such
as a zero point, may be given as Python numbers if its type follows from the others; int64 arrays are INT48,
those of `ml_dtypes.int4` INT4. `acc_type`, `scale32` and `per_channel` follow from the operands unless they
are given. A `dtype` is a type of TOSA (`tj.INT8`), its name, or a NumPy type (`np.int8`).

Written by tools/generate_ops.py from the declarations of the operators: do not edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from tosajit.arrays import Array
from tosajit.operators import (
    OPERATORS,
    AccType,
    NanMode,
    ResizeMode,
    RoundingMode,
)
from tosajit.tracing.apply import apply
from tosajit.tracing.numbers import Type
from tosajit.tracing.structured import (
    Variable,
    cond_if,
    const,
    const_shape,
    custom,
    variable,
    variable_read,
    variable_write,
    while_loop,
)
from tosajit.tracing.tensor import Tensor

Operand = Array | Tensor | np.generic
"""An array, or a traced tensor."""
Vector = Operand | float | Sequence[float]
"""An operand of one dimension, which Python numbers can stand for."""
Shape = Sequence[int] | Array | Tensor

T = TypeVar("T", Array, Tensor)
"""Arrays in, arrays out; traced tensors in, traced tensors out."""
'''


def main() -> int:
    """Write the module, or compare it."""
    text = module_text()
    if "--check" in sys.argv[1:]:
        return int(TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


def module_text() -> str:
    """The whole module, formatted."""
    functions = [_function(operator) for name, operator in OPERATORS.items() if name not in BY_HAND]
    names = [BY_HAND.get(name, name.lower()) for name in OPERATORS]
    exports = ["Operand", "Tensor", "Variable", *names]
    listed = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in exports) + "]\n"
    return _formatted("\n\n".join([HEAD, *functions, listed]))


def _formatted(text: str) -> str:
    command = [
        sys.executable,
        "-P",
        "-m",
        "ruff",
        "format",
        "--line-length",
        "110",
        "--stdin-filename",
        "ops.py",
        "-",
    ]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


def _function(operator: type[Operator]) -> str:
    operands = operator.operands_read
    attributes = list(_attributes(operator))
    results = len(operator.operands_written)
    parameters = [_parameter(operand, first=number == 0) for number, operand in enumerate(operands)]
    keywords = [f"{name}: {kind}{f' = {default}' if default else ''}" for name, kind, default in attributes]
    if _has_dtype(operator):
        follows = any(operand.type == operator.operands_written[0].type for operand in operands)
        is_only = len(operator.modes[0].types) == 2 and len(operands) == 1 and not follows
        keywords.append("dtype: Type" if is_only else "dtype: Type | None = None")
    given_by_place = all("=" not in parameter for parameter in parameters)
    required = [keyword for keyword in keywords if "=" not in keyword] if given_by_place else []
    keywords = [keyword for keyword in keywords if keyword not in required]
    signature = ", ".join([*parameters, *required, *(["*", *keywords] if keywords else [])])
    returns = "T" if results == 1 else f"tuple[{', '.join(['T'] * results)}]"
    bound = ", ".join(operand.name for operand in operands)
    given = f", {{{', '.join(f'{name!r}: {name}' for name, _, _ in attributes)}}}" if attributes else ""
    chosen = ", dtype=dtype" if _has_dtype(operator) else ""
    return (
        f"def {operator.opcode.lower()}({signature}) -> {returns}:\n"
        f'    """{_documentation(operator)}\n    """\n'
        f"    result: {returns} = apply(OPERATORS[{operator.opcode!r}], [{bound}]{given}{chosen})\n"
        "    return result\n"
    )


def _parameter(operand: Operand, first: bool) -> str:
    name = operand.name
    if operand.is_list:
        return f"{name}: Sequence[{'T' if first else 'Operand'}]"
    if first:
        return f"{name}: T"
    if operand.type == "shape_t":
        return f"{name}: Shape"
    if operand.or_zero:
        return f"{name}: Vector | None = None"
    return f"{name}: Vector" if operand.dims is not None and len(operand.dims) == 1 else f"{name}: Operand"


def _attributes(operator: type[Operator]) -> Iterator[tuple[str, str, str]]:
    """Names, types and defaults of the attributes; those without a default first."""
    found = []
    for name, field in operator.fields.items():
        default = "" if field.default is REQUIRED else _shown(field.default)
        if name in operator.left_out:
            default = _shown(operator.left_out[name])
        follows = operator.left_out.get(name, name) is None
        found.append((name, _annotation(field.annotation, follows), default))
    yield from sorted(found, key=lambda row: bool(row[2]))


def _annotation(annotation: Any, follows: bool) -> str:
    if annotation is AccType:
        return "AccType | Type | None"
    if get_origin(annotation) is tuple:
        return "Sequence[int]"
    if isinstance(annotation, type) and issubclass(annotation, IntEnum):
        return f"{annotation.__name__} | str"
    text = "float" if get_args(annotation) else annotation.__name__
    return f"{text} | None" if follows else text


def _shown(default: object) -> str:
    return f"{type(default).__name__}.{default.name}" if isinstance(default, IntEnum) else repr(default)


def _has_dtype(operator: type[Operator]) -> bool:
    """Whether the types of the operands leave a choice for the output."""
    read = {operand.type for operand in operator.operands_read if not operand.or_zero}
    written = operator.operands_written[0].type
    columns = [name for name in operator.modes[0].types if name in read | {"acc_t"} and name != written]
    if operator.selects is not Operator.selects and "acc_t" not in operator.modes[0].types:
        return False  # an attribute chooses
    results: dict[tuple[Any, ...], set[Any]] = {}
    for mode in operator.modes:
        results.setdefault(tuple(mode[name] for name in columns), set()).add(mode.types.get(written))
    return written not in read and any(len(types) > 1 for types in results.values())


def _documentation(operator: type[Operator]) -> str:
    summary = (operator.__doc__ or "").splitlines()[0]
    lines = [summary, "", f"{operator.opcode}, TOSA 1.0.1 section {operator.section}:", ""]
    for operand in (*operator.operands_read, *operator.operands_written):
        arrow = "returns " if operand.is_output else ""
        lines.append(f"* {arrow}`{operand.name}`: {_described(operand)}")
    lines += ["", *_types(operator)]
    return "\n    ".join(lines).replace("\n    \n", "\n\n").rstrip()


def _described(operand: Operand) -> str:
    if operand.type == "shape_t":
        what = (
            "a shape"
            if operand.dims is None or not isinstance(operand.dims[0], int)
            else f"{operand.dims[0]} integers"
        )
        return f"{what}, known when tracing"
    extents = f"[{', '.join(map(str, operand.dims))}]" if operand.dims is not None else "any shape"
    many = "tensors of " if operand.is_list else ""
    return f"{many}{operand.type}, {extents}"


def _types(operator: type[Operator]) -> list[str]:
    columns = list(operator.modes[0].types)
    if not columns:
        return []
    rows = dict.fromkeys(
        " ".join(dtype.name for dtype in mode.types.values()) if len(columns) > 1 else str(mode[columns[0]])
        for mode in operator.modes
    )
    head = f"{', '.join(columns)}: "
    return wrap(head + ("; " if len(columns) > 1 else ", ").join(rows), WIDTH - 4)


if __name__ == "__main__":
    sys.exit(main())
