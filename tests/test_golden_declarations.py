"""What operators declare stays what it is: operands with types and ranks, rules, modes, defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields

from tosajit import operators
from tosajit.graph.operator import OPERATORS


def test_declarations_are_what_they_were(golden: Callable[[str, str], None]) -> None:
    assert set(OPERATORS) >= {"CONV2D", operators.RESIZE.__name__}
    golden("declarations", "\n".join(lines()))


def lines() -> Iterator[str]:
    """Each operator: its operands, what may be left out, its rules, and its modes with their types."""
    own = {name: one for name, one in OPERATORS.items() if one.__module__.startswith("tosajit.operators")}
    for name, operator in sorted(own.items()):
        yield f"{name}, number {operator.number}, section {operator.section}, products {operator.products}"
        for operand in (*operator.operands_read, *operator.operands_written):
            known = {one.name: getattr(operand, one.name) for one in fields(operand)}
            told = " ".join(f"{key} {value}" for key, value in known.items() if value and key != "name")
            yield f"  {operand.name}: {told}"
        yield f"  optional {operator.optional}, left out {dict(operator.left_out)}"
        for rule in operator.rules:
            yield f"  {rule.kind} {rule.operand} {rule.name} {' '.join(rule.parameters)}"
        for mode in operator.modes:
            types = " ".join(f"{variable}={dtype}" for variable, dtype in mode.types.items())
            needs = " or ".join("+".join(sorted(one)) for one in mode.requirement)
            yield f"  {mode.name}: {types}; {needs} {dict(mode.extents) or ''}".rstrip()
