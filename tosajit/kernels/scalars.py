"""The scalar library: its text for kernels, and the same text as Python functions.

A scalar's name is what it does and the type of its first operand, `add_i32`; `<name>_ok` is its REQUIRE.
The definitions are in `arithmetic.py`, `floating.py`, `transcendental.py` and `requires.py`. Numbers that
they take from `coefficients.py` by name are literals in the text of kernels.
"""

import ast
import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tosajit.kernels import coefficients, plain

FILES = ("arithmetic.py", "floating.py", "transcendental.py", "requires.py")
ROUND = {"f16": "round_f16", "bf16": "round_bf16", "f32": "np.float32"}
"""What rounds a float32 to each type that is computed with."""
BITS = {"bool": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 48}
"""Of each type; int64 holds int48."""
NUMBERS: dict[str, Any] = {name: value for name, value in vars(coefficients).items() if name.isupper()}


@dataclass(frozen=True, slots=True)
class Definition:
    """One scalar: its text, the scalars that it calls, and what it does (or asks for) in words."""

    text: str
    calls: tuple[str, ...]
    summary: str


def scalar_source(names: Iterable[str]) -> str:
    """Return the text of the named scalars and of all that they call, callees first."""
    ordered: dict[str, str] = {}

    def add(name: str) -> None:
        if name not in ordered:
            known = definition(name)
            for callee in known.calls:
                add(callee)
            ordered[name] = known.text

    for name in names:
        add(name)
    return "\n\n".join(ordered.values())


@functools.cache
def scalar(name: str) -> Callable[..., Any]:
    """Return a scalar as a Python function on NumPy scalars."""
    namespace: dict[str, Any] = {"np": np, **plain.NAMES}
    exec(scalar_source([name]), namespace)
    made: Callable[..., Any] = namespace[name]
    return made


@functools.cache
def vectorised(name: str) -> Callable[..., Any]:
    """Return a scalar as a function of whole arrays."""
    namespace: dict[str, Any] = {"np": np, "min": np.minimum, "max": np.maximum, **plain.NAMES}
    exec(scalar_source([name]), namespace)
    made: Callable[..., Any] = namespace[name]
    return made


def requirement(name: str) -> str | None:
    """Return the name of the scalar that tells whether `name` may have its arguments, if it has a REQUIRE."""
    return f"{name}_ok" if f"{name}_ok" in _declared() else None


def requirement_text(name: str) -> str:
    """Return what the REQUIRE of a scalar asks for, in words."""
    rule = definition(f"{name}_ok").summary.rstrip(".")
    type = name.rpartition("_")[2]
    rule = rule.format(bits=48 if type == "i64" else BITS.get(type))  # int64 holds what has 48 bits
    return f"{name} needs: {rule[0].lower()}{rule[1:]}"


def scalars() -> dict[str, Definition]:
    """Return all scalars by name."""
    return {name: definition(name) for name in _declared()}


@functools.cache
def definition(name: str) -> Definition:
    """Return one scalar: a function's text, without docstring, annotations and decorators."""
    if name not in _declared():
        raise KeyError(f"no scalar is named {name}")
    declared, type = _declared()[name]
    form, values = _form(declared), _values(type)
    text = _PLACEHOLDER.sub(lambda found: values.get(found[0], found[0]), form.text)
    named = dict.fromkeys(values.get(callee, callee) for callee in form.calls)
    calls = tuple(callee for callee in named if callee in _declared())
    return Definition(_NAME.sub(name, text, count=1), calls, form.summary)


_DECLARED = re.compile(r"^(?:@of\((.*)\)\n)?(def (\w+)\(.*(?:\n(?:[ )].*)?)*)", re.MULTILINE)
"""A function of a file: the types it is for, its text, its name."""
_TYPES = re.compile(r'"(\w+)"|\*(\w+)')
_PLACEHOLDER = re.compile(r"(?<!\.)\b(?:T|U|BITS|LOW|HIGH)\b")
_NAME = re.compile(r"(?<=def )\w+")
_COMMENT = re.compile(r"(?m)^ *#.*\n|  #.*$")
_NUMBER = re.compile(r"\b([A-Z][A-Z0-9_]*)\b(?:\[(\d+)\])?")


@functools.cache
def _declared() -> dict[str, tuple[str, str]]:
    """Return, by name, the text that a scalar is an instance of, and the type that it is for, if any."""
    found: dict[str, tuple[str, str]] = {}
    for file in FILES:
        for given, text, name in _DECLARED.findall(
            Path(__file__).with_name(file).read_text(encoding="utf-8")
        ):
            base = name.removesuffix("_ok")
            for type in _types(given):
                found[f"{base.rstrip('_')}_{type}{name[len(base) :]}"] = text, type
            if not given and name != "of":
                found[name] = text, ""
    return found


def _types(given: str) -> list[str]:
    """Return the types of `@of`; a starred argument stands for all integers or floating-point numbers."""
    several = {"INTEGERS": [type for type in BITS if type != "bool"], "FLOATS": list(ROUND)}
    return [type for one, many in _TYPES.findall(given) for type in (several[many] if many else [one])]


@functools.cache
def _form(declared: str) -> Definition:
    """Return a function as it is for all types, and all names that it calls."""
    (node,) = ast.parse(declared).body
    assert isinstance(node, ast.FunctionDef)
    summary = ast.get_docstring(node) or ""
    node.body = node.body[1:]
    calls = [n.func.id for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    head = f"def {node.name}({', '.join(argument.arg for argument in node.args.args)}):"
    body = "\n".join(declared.split("\n")[node.body[0].lineno - 1 :])
    text = _NUMBER.sub(_number, _COMMENT.sub("", f"{head}\n{body}")).rstrip()
    return Definition(text, tuple(calls), summary)


def _number(found: re.Match[str]) -> str:
    """Return a number of `coefficients.py` for its name; other names stay."""
    name, place = found.groups()
    if name not in NUMBERS:
        return found[0]
    return repr(NUMBERS[name] if place is None else NUMBERS[name][int(place)])


def _values(type: str) -> dict[str, str]:
    """Return what a type puts for the placeholders of a definition."""
    if type not in BITS:
        return {"T": ROUND[type]} if type else {}
    bits = BITS[type]
    number = "64" if type == "i64" else str(bits)
    signed = "np.bool_" if type == "bool" else f"np.int{number}"
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return {"T": signed, "U": f"np.uint{number}", "BITS": str(bits), "LOW": str(low), "HIGH": str(high)}
