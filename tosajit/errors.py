"""What can go wrong, as one tree.

```
TosaError
├── GraphError      a graph breaks the specification; `.violations` has everything that is wrong
├── FileError       a file is damaged, or of a version that cannot be read
├── ScriptError     the text of a module is wrong; `.faults` has everything, with its place
├── ModelError      a model of another format does what TOSA cannot say; `.refusals` has all of it
├── InputError      arrays do not fit the inputs of an executable
├── PlanError       a target is too small; names the resource, the demand, the bound and what would help.
│                   Or a plan is not one for its graph and machine; `.faults` has everything that is wrong
├── CompileError    a graph is legal but cannot be built, such as a CUSTOM operator that is not registered
├── TraceError      a traced function does what a graph cannot record
└── RequireError    data break a REQUIRE (only checked executables look)
```
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from tiling.records import dataclass
from tiling.words import TextError, paragraph, plain

RuleKind = Literal["error_if", "level", "require", "type", "profile", "structure", "constant", "internal"]
"""`internal` is a rule that failed itself: a fault of tosajit, reported so that it is found."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One fault of a graph."""

    kind: RuleKind
    node: str
    operator: str
    operand: str
    rule: str
    message: str
    section: str

    def __str__(self) -> str:
        node = plain(self.node)
        return self._behind(f"{node} ({self.operator})" if self.operator else node)

    @property
    def reason(self) -> str:
        """What is wrong, for those who know the node by another operator's name."""
        return self._behind(self.operator)

    def _behind(self, where: str) -> str:
        message = plain(paragraph(self.message), None)
        return f"{where} {plain(self.operand)}".strip() + f": {message} [TOSA 1.0.1 section {self.section}]"


class TosaError(TextError):
    """The base of all exceptions that this package raises on purpose."""


class GraphError(TosaError):
    """A graph violates the specification."""

    shown = 20

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations: tuple[Violation, ...] = tuple(violations)
        super().__init__(_listed("violations", self.violations, self.shown))

    def __reduce__(self) -> tuple[type[GraphError], tuple[tuple[Violation, ...]]]:
        return type(self), (self.violations,)


class FileError(TosaError):
    """A file cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A node of a model in another format that has no form in TOSA."""

    node: str
    operator: str
    reason: str
    remedy: str = ""

    def __str__(self) -> str:
        where, reason = f"{plain(self.node)} ({plain(self.operator)})", plain(paragraph(self.reason), None)
        return f"{where}: {reason}; {self.remedy}" if self.remedy else f"{where}: {reason}"


class ModelError(TosaError):
    """A model of another format cannot become a graph."""

    shown = 20

    def __init__(self, refusals: Iterable[Refusal], form: str = "TOSA") -> None:
        self.refusals, self.form = tuple(refusals), form
        super().__init__(_listed(f"nodes have no form in {form}", self.refusals, self.shown))

    def __reduce__(self) -> tuple[type[ModelError], tuple[tuple[Refusal, ...], str]]:
        return type(self), (self.refusals, self.form)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong at a place of a text."""

    module: str
    line: int
    column: int
    message: str
    section: str = ""
    """Of NNEF 2.0, where the rule stands; empty for other languages."""
    remedy: str = ""
    text: str = ""
    """The line, or the part of it that can be shown."""
    offset: int = 0
    """Where in `text` the place is."""
    width: int = 1

    def __str__(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        where = f"{plain(self.module)}:{self.line}:{self.column}"
        caret = "".join("\t" if letter == "\t" else " " for letter in self.text[: self.offset])
        caret += "^" * max(1, min(self.width, len(self.text) - self.offset))
        section = f" [NNEF 2.0 section {self.section}]" if self.section else ""
        message = f"{where}: {plain(self.message, None)}{plain(remedy, None)}{section}"
        return f"{message}\n    {plain(self.text, None)}\n    {caret}"


class ScriptError(TosaError):
    """The text of a module, such as one in SkriptND, is wrong."""

    shown = 20

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__(_listed("faults", self.faults, self.shown))

    def __reduce__(self) -> tuple[type[ScriptError], tuple[tuple[Fault, ...]]]:
        return type(self), (self.faults,)


class InputError(TosaError):
    """Arrays do not fit what an executable takes."""


class PlanError(TosaError):
    """A program does not fit its target, or a plan is not one for its graph and machine."""

    shown = 20

    def __init__(self, faults: Iterable[object] | str) -> None:
        self.faults: tuple[str, ...] = (faults,) if isinstance(faults, str) else tuple(map(str, faults))
        super().__init__(_listed("faults of a plan", self.faults, self.shown))

    def __reduce__(self) -> tuple[type[PlanError], tuple[tuple[str, ...]]]:
        return type(self), (self.faults,)


class CompileError(TosaError):
    """A legal graph cannot be built."""


class RequireError(TosaError):
    """Data violate a REQUIRE of the specification."""


class TraceError(TosaError, TypeError):
    """A traced function does something that cannot be recorded."""


def _listed(what: str, faults: Sequence[object], shown: int) -> str:
    """One fault, or how many there are and the first of them."""
    if len(faults) == 1:
        return str(faults[0])
    hidden = len(faults) - shown
    lines = [str(fault) for fault in faults[:shown]] + ([f"and {hidden} more"] if hidden > 0 else [])
    return "\n  ".join([f"{len(faults)} {what}", *lines])
