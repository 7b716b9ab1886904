"""The mutants of a source text: one operator, number or word of the code changed in each."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

COMPARISONS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "in": "not in",
    "not in": "in",
}
ARITHMETIC = {
    "+": "-",
    "-": "+",
    "*": "+",
    "//": "*",
    "/": "*",
    "%": "*",
    "<<": ">>",
    ">>": "<<",
    "&": "|",
    "|": "&",
}
WORDS = {"and": "or", "or": "and"}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
UNTOUCHED_KEYWORDS = frozenset(
    {"strict", "encoding", "check", "text", "frozen", "slots", "exist_ok", "parents"}
)
"""Arguments whose values tests cannot see, or need not."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault: what stands at a place of a file, and what is put there."""

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str
    context: str
    """The line as it stands."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before} -> {self.after}   {self.context}"

    def applied(self, text: str) -> str:
        """The file with the fault in it."""
        data = text.encode()
        return (data[: self.start] + self.after.encode() + data[self.end :]).decode()


def mutants(path: str, text: str) -> Iterator[Mutant]:
    """Every mutant of a file, in order of lines."""
    source = _Source(text)
    for start, end, after in sorted(set(_changes(ast.parse(text), source))):
        line = source.line_of(start)
        before = source.data[start:end].decode()
        yield Mutant(path, line, start, end, before, after, source.lines[line - 1].strip())


class _Source:
    """A text with the byte offsets of its nodes."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self.lines = text.splitlines()
        self._starts = [0]
        for line in self.data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr) -> Span:
        """Where a node begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def line_of(self, offset: int) -> int:
        """The number of the line that an offset is in."""
        return bisect_right(self._starts, offset)

    def between(
        self, left: ast.expr, right: ast.expr, words: dict[str, str]
    ) -> Iterator[tuple[int, int, str]]:
        """The change of the operator between two operands."""
        low, high = self.span(left)[1], self.span(right)[0]
        gap = re.sub(rb"#[^\n]*", lambda found: b" " * len(found[0]), self.data[low:high])
        found = re.search(rb"not\s+in|[a-z]+|[<>=!+\-*/%&|]+", gap)
        if found and (after := words.get(" ".join(found[0].decode().split()))):
            yield low + found.start(), low + found.end(), after


def _changes(root: ast.AST, source: _Source) -> Iterator[tuple[int, int, str]]:
    """Where something can be changed, and to what."""
    for child in _code_below(root):
        yield from _changes_of(child, source)
        yield from _changes(child, source)


def _code_below(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that run: no annotations, decorators, assertions, exports or text."""
    skipped = {"annotation", "returns", "decorator_list", "type_params"}
    for name, value in ast.iter_fields(node):
        if name in skipped:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _untouched(child):
                yield child


def _untouched(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.Raise():
            return True
        case ast.keyword(arg=name):
            return name in UNTOUCHED_KEYWORDS
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name == "__all__" or name.endswith(("_EXAMPLES", "_HELP"))
    return False


def _changes_of(node: ast.AST, source: _Source) -> Iterator[tuple[int, int, str]]:
    match node:
        case ast.Compare(left=left, comparators=comparators):
            for one, other in pairwise([left, *comparators]):
                yield from source.between(one, other, COMPARISONS)
        case ast.BoolOp(values=values):
            for one, other in pairwise(values):
                yield from source.between(one, other, WORDS)
        case ast.BinOp(left=left, right=right) if not _is_text(left):
            yield from source.between(left, right, ARITHMETIC)
        case ast.UnaryOp(op=ast.Not()):
            start, _ = source.span(node)
            yield start, start + len("not"), ""
        case ast.Call(func=ast.Name(id=name) as called) if name in CALLS:
            yield *source.span(called), CALLS[name]
        case ast.Constant(value=bool(value)):
            yield *source.span(node), str(not value)
        case ast.Constant(value=int(value)):
            yield *source.span(node), str(value + 1)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
