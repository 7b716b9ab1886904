"""What can go wrong, as one tree.

```
TosaError
├── GraphError      a graph breaks the specification; `.violations` has everything that is wrong
├── FileError       a file is damaged, or of a version that cannot be read
├── InputError      arrays do not fit the inputs of an executable
├── PlanError       a target is too small; names the resource, the demand, the bound and what would help
├── CompileError    a graph is legal but cannot be built, such as a CUSTOM operator that is not registered
├── TraceError      a traced function does what a graph cannot record
└── RequireError    data break a REQUIRE (only checked executables look)
```
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tiling.words import TextError, paragraph, plain

Kind = Literal["error_if", "level", "require", "type", "profile", "structure", "constant", "internal"]
"""`internal` is a rule that failed itself: a fault of tosajit, reported so that it is found."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One fault of a graph."""

    kind: Kind
    node: str
    operator: str
    operand: str
    rule: str
    message: str
    section: str

    def __str__(self) -> str:
        node = plain(self.node)
        where = f"{node} ({self.operator})" if self.operator else node
        message = plain(paragraph(self.message), None)
        return f"{where} {plain(self.operand)}".rstrip() + f": {message} [TOSA 1.0.1 section {self.section}]"


class TosaError(TextError):
    """Everything that this package raises on purpose."""


class GraphError(TosaError):
    """A graph breaks the specification."""

    shown = 20

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations: tuple[Violation, ...] = tuple(violations)
        super().__init__(self._text())

    def __reduce__(self) -> tuple[type[GraphError], tuple[tuple[Violation, ...]]]:
        return type(self), (self.violations,)

    def _text(self) -> str:
        lines = [str(violation) for violation in self.violations[: self.shown]]
        if len(lines) == 1 and len(self.violations) == 1:
            return lines[0]
        hidden = len(self.violations) - len(lines)
        lines += [f"and {hidden} more"] if hidden else []
        return "\n  ".join([f"{len(self.violations)} violations", *lines])


class FileError(TosaError):
    """A file cannot be read or written."""


class InputError(TosaError):
    """Arrays do not fit what an executable takes."""


class PlanError(TosaError):
    """A program does not fit its target."""


class CompileError(TosaError):
    """A legal graph cannot be built."""


class RequireError(TosaError):
    """Data break a REQUIRE of the specification."""


class TraceError(TosaError, TypeError):
    """A traced function does what cannot be recorded."""
