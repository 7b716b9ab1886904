"""Types, and the blocks that declare tensors, attributes, symbols and assertions (sections 2.3 to 2.9)."""

from __future__ import annotations

from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.cursor import Cursor, SyntaxFault
from tosajit.frontends.nnef.syntax.expressions import Expressions
from tosajit.frontends.nnef.syntax.tokens import TYPE_NAMES, Kind, Token

_ABSTRACT = ("type", "arith", "num")
_LATER_MARKS = ("static", "dynamic")
"""Words of a later draft, which say what can be seen without them."""


class Declarations:
    """What parses declarations."""

    def __init__(self, cursor: Cursor, expressions: Expressions) -> None:
        self.cursor, self.expressions = cursor, expressions

    def dtype(self) -> tree.DtypeDefinition:
        """`T: num = real;`."""
        cursor = self.cursor
        name = cursor.name("the name of a type")
        cursor.expect(":")
        base = cursor.advance()
        if base.text not in _ABSTRACT:
            message = f"expected `type`, `arith` or `num`, but found {base}"
            raise SyntaxFault(base.span, message, "2.13")
        default = self.type_name().text if cursor.accept("=") else None
        cursor.expect(";")
        return tree.DtypeDefinition(cursor.since(name), name.text, base.text, default)

    def parameter(self) -> tree.Parameter:
        """An attribute or a tensor, `x: real[s..] = 0.0;`."""
        cursor = self.cursor
        name = cursor.name()
        cursor.expect(":", f"behind `{name.text}`")
        type = self.type()
        value = self.expressions.expression() if cursor.accept("=") else None
        bounds = []
        while cursor.accept(","):
            bounds.append(self.bound())
        cursor.expect(";")
        return tree.Parameter(cursor.since(name), name.text, type, value, tuple(bounds))

    def bound(self) -> tree.Bound:
        """`i < n`."""
        cursor = self.cursor
        name = cursor.name("an index, as in `i < n`")
        cursor.expect("<", f"behind the index `{name.text}`")
        limit = self.expressions.expression()
        return tree.Bound(cursor.since(name), name.text, limit)

    def type_name(self) -> Token:
        """The name of a type, built in or generic."""
        cursor = self.cursor
        if cursor.token.text not in TYPE_NAMES and cursor.token.kind is not Kind.NAME:
            raise cursor.unexpected("a type", section="2.3")
        return cursor.advance()

    def type(self) -> tree.Type:
        """`optional real^(r)[s..]..(n)`."""
        cursor = self.cursor
        start = cursor.token
        optional = self._marks()
        name = self.type_name()
        rank = None
        if cursor.accept("^"):
            cursor.expect("(")
            found = cursor.name("the name of the rank")
            rank = tree.Name(found.span, found.text)
            cursor.expect(")")
        shape = self.shape() if cursor.text == "[" else None
        pack = self.pack()
        return tree.Type(cursor.since(start), name.text, optional, rank, shape, pack)

    def _marks(self) -> bool:
        """Whether `optional` stands here; other marks say nothing new."""
        cursor = self.cursor
        optional = False
        while True:
            if cursor.accept("optional"):
                optional = True
            elif not (self._marked() and cursor.advance()):
                return optional

    def _marked(self) -> bool:
        """Whether the next name is a mark: something that could be marked follows."""
        cursor = self.cursor
        behind = cursor.ahead(1)
        follows = behind.kind in (Kind.NAME, Kind.INTEGER, Kind.KEYWORD) or behind.text in ("~", "(")
        return cursor.token.kind is Kind.NAME and cursor.token.text in _LATER_MARKS and follows

    def shape(self) -> tree.Shape:
        """`[m, ..z, s|10 ..(3)]`."""
        start = self.cursor.expect("[")
        extents = self.cursor.list_of(self._extent, "]")
        return tree.Shape(self.cursor.since(start), extents)

    def _extent(self) -> tree.Extent:
        cursor = self.cursor
        start = cursor.token
        distinct = cursor.accept("..") is not None
        if self._marked():
            cursor.advance()
        expression = None if cursor.accept("~") else self.expressions.expression()
        bound = self.expressions.expression() if cursor.accept("|") else None
        return tree.Extent(cursor.since(start), expression, distinct, bound, self.pack())

    def pack(self) -> tree.Pack | None:
        """`..` or `..(n)`, if it comes."""
        cursor = self.cursor
        if cursor.text == "...":
            raise cursor.unexpected("`..`", section="2.3")
        start = cursor.accept("..")
        if start is None:
            return None
        length = None
        if cursor.accept("("):
            length = self.expressions.expression()
            cursor.expect(")")
        return tree.Pack(cursor.since(start), length)

    def left(self) -> tree.Left:
        """One left-hand side of an assignment."""
        cursor = self.cursor
        start = cursor.token
        if cursor.accept("["):
            items = cursor.list_of(self._left_item, "]")
            return tree.TargetList(cursor.since(start), items)
        return self._left_item()

    def _left_item(self) -> tree.Target | tree.Unzip:
        cursor = self.cursor
        start = cursor.token
        if cursor.accept("("):
            targets = cursor.list_of(self._target, ")")
            pack = self.pack()
            return tree.Unzip(cursor.since(start), targets, pack)
        if cursor.accept("~"):
            return tree.Target(cursor.since(start), None)
        return self._target()

    def _target(self) -> tree.Target:
        cursor = self.cursor
        name = cursor.name()
        type = self.type() if cursor.accept(":") else None
        pack = self.pack()
        if pack is None and type is not None:
            pack = type.pack
        return tree.Target(cursor.since(name), name.text, type, pack)

    def using(self) -> tree.Using:
        """`c = a + d;`."""
        cursor = self.cursor
        start = cursor.token
        left = self.left()
        cursor.expect("=")
        value = self.expressions.expression()
        cursor.expect(";")
        return tree.Using(cursor.since(start), left, value)

    def assertion(self) -> tree.Assertion:
        """`a > 0: "'a' must be positive", a;`."""
        cursor = self.cursor
        start = cursor.token
        condition = self.expressions.expression()
        message, details = None, []
        if cursor.accept(":"):
            if cursor.token.kind is not Kind.STRING:
                raise cursor.unexpected("a message", section="2.8")
            message = self.expressions.string()
            while cursor.accept(","):
                details.append(self._detail())
        cursor.expect(";")
        return tree.Assertion(cursor.since(start), condition, message, tuple(details))

    def _detail(self) -> tree.Detail:
        cursor = self.cursor
        start = cursor.token
        label = None
        if start.kind in (Kind.NAME, Kind.STRING) and cursor.ahead(1).text == ":":
            cursor.advance()
            cursor.advance()
            label = start.text.strip("\"'")
        expression = self.expressions.expression()
        return tree.Detail(cursor.since(start), label, expression)
