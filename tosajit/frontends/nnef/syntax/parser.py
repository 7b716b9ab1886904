"""From the text of a module to what it says (NNEF 2.0 section 2.16)."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from tiling.records import replace
from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.cursor import BEGINNINGS, Cursor, SyntaxFault
from tosajit.frontends.nnef.syntax.declarations import Declarations
from tosajit.frontends.nnef.syntax.expressions import Expressions
from tosajit.frontends.nnef.syntax.source import Faults, Source, Span
from tosajit.frontends.nnef.syntax.statements import Statements
from tosajit.frontends.nnef.syntax.tokens import BLOCKS, Kind, Token, tokens_of


def parse(source: Source) -> tree.Module:
    """What a module says; `ScriptError` with everything that breaks the grammar."""
    faults = Faults(source)
    cursor = Cursor(tokens_of(faults), faults)
    module = Parser(cursor).module()
    faults.settle()
    return module


class Parser:
    """What parses a module and its operators."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        expressions = Expressions(cursor)
        declarations = Declarations(cursor, expressions)
        self.statements = Statements(cursor, expressions, declarations)
        self._blocks: dict[str, tuple[str, Callable[[], tree.Tree]]] = {
            "@dtype": ("dtypes", declarations.dtype),
            "@attrib": ("attributes", declarations.parameter),
            "@input": ("inputs", declarations.parameter),
            "@output": ("outputs", declarations.parameter),
            "@constant": ("constants", declarations.parameter),
            "@variable": ("variables", declarations.parameter),
            "@using": ("using", declarations.using),
            "@assert": ("assertions", declarations.assertion),
            "@compose": ("components", self.statements.component),
            "@lower": ("lowerings", self.statements.lowering),
            "@update": ("updates", self.statements.component),
            "@quantize": ("quantizations", self.statements.quantization),
        }  # fmt: skip

    def module(self) -> tree.Module:
        """The whole text."""
        cursor = self.cursor
        version: tuple[int, int] | None = None
        extensions: tuple[str, ...] = ()
        imports: tuple[tree.Import, ...] = ()
        operators: list[tree.Operator] = []
        while cursor.token.kind is not Kind.END:
            try:
                if cursor.accept("version"):
                    version = self._version()
                elif cursor.accept("extension"):
                    extensions += cursor.several(self.statements.qualified)
                    cursor.expect(";")
                elif cursor.accept("import"):
                    imports += cursor.several(self._import)
                    cursor.expect(";")
                else:
                    operators.append(self.operator())
            except SyntaxFault as fault:
                cursor.tell(fault)
                self._next()
        whole = Span(0, len(cursor.faults.source.text))
        return tree.Module(whole, cursor.faults.source.name, version, extensions, imports, tuple(operators))

    def _version(self) -> tuple[int, int]:
        """`2.0`, which looks like a real number."""
        cursor = self.cursor
        token = cursor.advance()
        parts = token.text.split(".")
        if token.kind is not Kind.REAL or len(parts) != 2 or not all(part.isdecimal() for part in parts):
            raise SyntaxFault(token.span, f"expected a version such as 2.0, but found {token}")
        cursor.expect(";")
        return int(parts[0]), int(parts[1])

    def _import(self) -> tree.Import:
        start = self.cursor.token
        name = self.statements.qualified()
        return tree.Import(self.cursor.since(start), name)

    def _next(self) -> None:
        """Go on where a definition may begin."""
        cursor = self.cursor
        if cursor.text in BEGINNINGS:
            cursor.advance()
        while cursor.token.kind is not Kind.END and cursor.text not in (*BEGINNINGS, "import", "extension"):
            cursor.advance()

    def operator(self) -> tree.Operator:
        """`public operator name { … }` or `graph name { … }`."""
        cursor = self.cursor
        start = cursor.token
        public = cursor.accept("public") is not None
        kind = cursor.accept("operator") if public else cursor.accept("operator", "graph")
        if kind is None:
            raise cursor.unexpected("`operator`" if public else "`operator` or `graph`", section="2.2")
        name = cursor.name(f"the name of the {kind.text}")
        found = tree.Operator(name.span, name.text, kind.text == "graph", public)
        cursor.expect("{", f"behind `{name.text}`")
        blocks: dict[str, Any] = {}
        while cursor.text != "}":
            if cursor.text in BEGINNINGS or cursor.token.kind is Kind.END:
                raise cursor.unexpected("`}`", f"at the end of `{name.text}`", "2.2")
            self._block(blocks)
        cursor.advance()
        return replace(found, span=cursor.since(start), **blocks)

    def _block(self, blocks: dict[str, Any]) -> None:
        """One block of an operator."""
        cursor = self.cursor
        token = cursor.advance()
        if token.text not in self._blocks:
            self._foreign(token)
            return
        field, item = self._blocks[token.text]
        if field in blocks:
            cursor.tell(
                SyntaxFault(token.span, f"`{token.text}` stands here twice", "2.2", "make it one block")
            )
        try:
            cursor.expect("{", f"behind `{token.text}`")
            blocks[field] = blocks.get(field, ()) + cursor.items_until("}", item)
        except SyntaxFault as fault:
            cursor.tell(fault)
            self._next_block()

    def _foreign(self, token: Token) -> None:
        """Tell of what is no block, and go on behind it."""
        close = get_close_matches(token.text, BLOCKS, 1)
        remedy = f"did you mean `{close[0]}`?" if close else f"blocks are {' '.join(BLOCKS)}"
        self.cursor.tell(SyntaxFault(token.span, f"expected a block, but found {token}", "2.2", remedy))
        self._next_block()

    def _next_block(self) -> None:
        """Go on at the next block, or at the end of the operator."""
        cursor = self.cursor
        depth = 0
        while cursor.token.kind is not Kind.END and cursor.text not in BEGINNINGS:
            if depth == 0 and (cursor.text == "}" or cursor.text in self._blocks):
                return
            depth += {"{": 1, "}": -1}.get(cursor.advance().text, 0)
