"""Compositions and lowerings (NNEF 2.0 sections 2.10 to 2.12 and 2.14)."""

from __future__ import annotations

from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.cursor import Cursor, SyntaxFault
from tosajit.frontends.nnef.syntax.declarations import Declarations
from tosajit.frontends.nnef.syntax.expressions import Expressions
from tosajit.frontends.nnef.syntax.tokens import TYPE_NAMES, Kind, Token

_ASSIGNMENTS = ("=", "+=", "*=", "&=", "|=", "<?=", ">?=", ":=")


class Statements:
    """What parses the bodies of operators."""

    def __init__(self, cursor: Cursor, expressions: Expressions, declarations: Declarations) -> None:
        self.cursor, self.expressions, self.declarations = cursor, expressions, declarations

    def component(self) -> tree.Component:
        """`a, b = operator(x);`."""
        cursor = self.cursor
        start = cursor.token
        left = cursor.several(self.declarations.left)
        cursor.expect("=")
        right = self._part(whole=True)
        cursor.expect(";")
        return tree.Component(cursor.since(start), left, right)

    def _part(self, *, whole: bool = False) -> tree.Part:
        """What gives tensors; only a whole right-hand side may branch or loop."""
        cursor = self.cursor
        with cursor.nested():
            match cursor.text:
                case "if" if whole:
                    return self._branch()
                case "with" | "for" | "while" | "do" | "unroll" if whole:
                    return self._loop()
                case "{":
                    return self._block(cursor.token, None)
            if self._labelled():
                start = cursor.advance()
                cursor.advance()
                if cursor.text == "{":
                    return self._block(start, start.text)
                return self._invocation(start, start.text)
            if self._invoked():
                return self._invocation(cursor.token, None)
            start = cursor.token
            value = self.expressions.expression()
            return tree.Given(cursor.since(start), value)

    def _labelled(self) -> bool:
        cursor = self.cursor
        return cursor.token.kind is Kind.NAME and cursor.ahead(1).text == ":"

    def _invoked(self) -> bool:
        """Whether an invocation comes: a name with `(`, `{` or types in `<>` behind it."""
        cursor = self.cursor
        if cursor.token.kind is not Kind.NAME:
            return False
        place = 1
        while cursor.ahead(place).text == "." and cursor.ahead(place + 1).kind is Kind.NAME:
            place += 2
        if cursor.ahead(place).text == "<":
            place += 1
            while cursor.ahead(place).kind is Kind.NAME or cursor.ahead(place).text in TYPE_NAMES | {","}:
                place += 1
            return cursor.ahead(place).text == ">" and cursor.ahead(place + 1).text in ("(", "{")
        return cursor.ahead(place).text in ("(", "{")

    def qualified(self) -> str:
        """`module.operator`."""
        names = [self.cursor.name().text]
        while self.cursor.accept("."):
            names.append(self.cursor.name().text)
        return ".".join(names)

    def _invocation(self, start: Token, label: str | None) -> tree.Invocation:
        cursor = self.cursor
        operator = self.qualified()
        types, attributes = self._bound()
        cursor.expect("(", f"behind `{operator}`")
        arguments = cursor.list_of(self._argument, ")")
        return tree.Invocation(cursor.since(start), label, operator, types, attributes, arguments)

    def _bound(self) -> tuple[tuple[str, ...], tuple[tree.Attribute, ...]]:
        """Types in `<>` and attributes in `{}`."""
        cursor = self.cursor
        types: tuple[str, ...] = ()
        attributes: tuple[tree.Attribute, ...] = ()
        if cursor.accept("<"):
            types = cursor.list_of(lambda: self.declarations.type_name().text, ">")
        if cursor.accept("{"):
            attributes = cursor.list_of(self._attribute, "}")
        return types, attributes

    def _attribute(self) -> tree.Attribute:
        cursor = self.cursor
        name = cursor.name("the name of an attribute")
        if cursor.text == ":":
            raise cursor.unexpected("`=`", f"behind the attribute `{name.text}`", "2.10")
        cursor.expect("=", f"behind the attribute `{name.text}`")
        value = self.expressions.expression()
        return tree.Attribute(cursor.since(name), name.text, value)

    def _argument(self) -> tree.Expression | None:
        return None if self.cursor.accept("~") else self.expressions.expression()

    def _block(self, start: Token, label: str | None) -> tree.ComposeBlock:
        """`{ …; yield x; }`."""
        cursor = self.cursor
        cursor.expect("{")
        components = []
        while cursor.text not in ("yield", "}") and cursor.token.kind is not Kind.END:
            components.append(self.component())
        if not cursor.accept("yield"):
            raise cursor.unexpected(
                "`yield`", "at the end of the block", "2.10.1", "a block says what it gives"
            )
        results = cursor.several(self.expressions.expression)
        cursor.expect(";")
        cursor.expect("}", "behind `yield`, which is the last statement of a block")
        return tree.ComposeBlock(cursor.since(start), label, tuple(components), results)

    def _branch(self) -> tree.Branch:
        cursor = self.cursor
        start = cursor.advance()
        cases = [self._case()]
        while cursor.accept("elif"):
            cases.append(self._case())
        cursor.expect("else", "behind the branches of `if`")
        if cursor.text == "if":
            raise cursor.unexpected("what is done otherwise", section="2.10.1", remedy="write `elif`")
        otherwise = self._part()
        return tree.Branch(cursor.since(start), tuple(cases), otherwise)

    def _case(self) -> tuple[tree.Part, tree.Part]:
        condition = self._part()
        self.cursor.expect("then", "behind the condition")
        return condition, self._part()

    def _loop(self) -> tree.Loop:
        cursor = self.cursor
        start = cursor.token
        carried = cursor.several(self._carried) if cursor.accept("with") else ()
        scans = cursor.several(self._scan) if cursor.accept("for") else ()
        condition = self._part() if cursor.accept("while") else None
        tested_first = condition is not None
        verb = cursor.accept("do", "unroll")
        if verb is None:
            raise cursor.unexpected("`do` or `unroll`", section="2.10.1")
        count = self._count()
        body = self._part()
        if cursor.text == "while":
            if tested_first:
                raise cursor.unexpected("`;`", "behind a loop that has a condition", "2.10.1")
            cursor.advance()
            condition = self._part()
        span = cursor.since(start)
        if not (scans or condition or (count is not None and count.limit is not None)):
            remedy = "add `for`, `while`, or a count as in `do..(n)`"
            raise SyntaxFault(span, "nothing ends this loop", "2.10.1", remedy)
        if condition is not None and verb.text == "unroll":
            raise SyntaxFault(verb.span, "a loop with a condition cannot be unrolled", "2.10.1", "write `do`")
        return tree.Loop(span, carried, scans, condition, tested_first, verb.text == "unroll", count, body)

    def _carried(self) -> tree.Carried:
        cursor = self.cursor
        name = cursor.name("a variable of the loop")
        type = self.declarations.type() if cursor.accept(":") else None
        cursor.expect("=", f"and the first value of `{name.text}`")
        initial = self.expressions.expression()
        return tree.Carried(cursor.since(name), name.text, type, initial)

    def _scan(self) -> tree.Scan:
        cursor = self.cursor
        name = cursor.name("an item, as in `for x : xs`")
        cursor.expect(":", f"behind `{name.text}`")
        pack = self.expressions.expression()
        return tree.Scan(cursor.since(name), name.text, pack)

    def _count(self) -> tree.Count | None:
        """`..(i -> n)`, if it comes."""
        cursor = self.cursor
        start = cursor.accept("..")
        if start is None:
            return None
        cursor.expect("(")
        index = None
        if cursor.token.kind is Kind.NAME and cursor.ahead(1).text == "->":
            index = cursor.advance().text
            cursor.advance()
        limit = None if index is not None and cursor.text == ")" else self.expressions.expression()
        cursor.expect(")")
        return tree.Count(cursor.since(start), index, limit)

    def lowering(self) -> tree.Lowering:
        """`y[i..] += x[i..], i < s | condition;`."""
        cursor = self.cursor
        start = cursor.token
        unrolled = None
        if cursor.accept("unroll"):
            unrolled = self._count()
            if unrolled is None or unrolled.limit is None:
                raise cursor.unexpected("`..(k -> n)`", "behind `unroll`", "2.12")
        locals: tuple[tree.Local, ...] = ()
        if cursor.accept("with"):
            locals = self._locals()
        left = self.expressions.access()
        operator = cursor.accept(*_ASSIGNMENTS)
        if operator is None:
            raise cursor.unexpected(f"one of {' '.join(_ASSIGNMENTS)}", section="2.12")
        right = self.expressions.expression()
        bounds = []
        while cursor.accept(","):
            bounds.append(self.declarations.bound())
        condition = self.expressions.expression() if cursor.accept("|") else None
        cursor.expect(";")
        span = cursor.since(start)
        return tree.Lowering(span, unrolled, locals, left, operator.text, right, tuple(bounds), condition)

    def _locals(self) -> tuple[tree.Local, ...]:
        """Values of the loop; the grammar puts a comma behind the last one, the text a colon or semicolon."""
        cursor = self.cursor
        found = [self._local()]
        while cursor.accept(","):
            if cursor.ahead(1).text == "[":
                return tuple(found)
            found.append(self._local())
        if not cursor.accept(":", ";"):
            raise cursor.unexpected("`:`", "behind the values of the loop", "2.12")
        return tuple(found)

    def _local(self) -> tree.Local:
        cursor = self.cursor
        name = cursor.name("a value of the loop")
        cursor.expect("=", f"behind `{name.text}`")
        value = self.expressions.expression()
        return tree.Local(cursor.since(name), name.text, value)

    def quantization(self) -> tree.Quantization:
        """`tensor: operator{a=1};`."""
        cursor = self.cursor
        start = cursor.token
        tensor = self.qualified()
        cursor.expect(":", f"behind `{tensor}`")
        operator = self.qualified()
        types, attributes = self._bound()
        cursor.expect(";")
        return tree.Quantization(cursor.since(start), tensor, operator, types, attributes)
