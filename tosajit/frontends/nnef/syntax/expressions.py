r"""Expressions, by precedence (NNEF 2.0 section 2.4).

The specification gives no precedence. Here it is, loosest first: `? :` and `??`; `=>`; `&&`, `||` and `^`;
comparisons, `is` and `in`; `<?` and `>?`; `+` and `-`; `*`, `/`, `\` and `%`; `**`; unary operators.
`? :`, `??`, `=>` and `**` group from the right, the others from the left.
"""

from __future__ import annotations

from math import inf, pi
from typing import Literal as OneOf
from typing import cast

from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.cursor import Cursor, SyntaxFault
from tosajit.frontends.nnef.syntax.source import Span
from tosajit.frontends.nnef.syntax.strings import string_of
from tosajit.frontends.nnef.syntax.tokens import TYPE_NAMES, Kind, Token, tokens_of

_LEVELS = (
    ("=>",), ("&&", "||", "^"), ("<", "<=", ">", ">=", "==", "!=", "is", "in"), ("<?", ">?"), ("+", "-"),
    ("*", "/", "\\", "%"), ("**",),
)  # fmt: skip
_LEVEL = {text: level for level, texts in enumerate(_LEVELS) for text in texts}
_RIGHT = frozenset({"=>", "**"})
_FOLDS = frozenset({"+", "*", "&&", "||", "<", "<=", ">", ">=", "==", "!=", "<?", ">?"})
_CUMULATIVE = frozenset({"+", "*", "&&", "||", "<?", ">?"})
_CONSTANTS = {"true": True, "false": False, "inf": inf, "pi": pi}
_LARGEST_INTEGER = 20
"""Digits of an integer: 64 bits have no more."""


class Expressions:
    """What parses expressions."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor

    def expression(self) -> tree.Expression:
        """An expression."""
        cursor = self.cursor
        start = cursor.token
        with cursor.nested():
            found = self._binary(0)
            if cursor.accept("?"):
                then = self.expression()
                otherwise = self.expression() if cursor.accept(":") else None
                return tree.Select(cursor.since(start), found, then, otherwise)
            if cursor.accept("??"):
                return tree.Coalesce(cursor.since(start), found, self.expression())
            if cursor.text == ":=" and cursor.ahead(1).text in ("..", "..."):
                cursor.advance()
                return self._fold(start, ":=", found)
            return found

    def _binary(self, least: int) -> tree.Expression:
        """Operands and operators that bind at least as tightly as a level."""
        cursor = self.cursor
        start = cursor.token
        left = self._unary()
        while (operator := cursor.operator) in _LEVEL and _LEVEL[operator] >= least:
            level = _LEVEL[operator]
            cursor.advance()
            if cursor.text in ("..", "..."):
                left = self._fold(start, operator, left)
                continue
            with cursor.nested():
                right = self._binary(level if operator in _RIGHT else level + 1)
            left = tree.Binary(cursor.since(start), operator, left, right)
        return left

    def _fold(self, start: Token, operator: str, pack: tree.Expression) -> tree.Fold:
        cursor = self.cursor
        dots = cursor.advance()
        cumulative = dots.text == "..."
        known = _CUMULATIVE if cumulative else _FOLDS | {":="}
        if operator not in known:
            what = "cumulative fold" if cumulative else "fold"
            raise SyntaxFault(
                cursor.since(start),
                f"`{operator}` has no {what}",
                "2.4",
                f"these have: {' '.join(sorted(known))}",
            )
        return tree.Fold(cursor.since(start), operator, pack, cumulative)

    def _unary(self) -> tree.Expression:
        cursor = self.cursor
        start = cursor.token
        operator = cursor.accept("+", "-", "!", "?")
        if operator is None:
            return self._postfix(self._primary(), start)
        with cursor.nested():
            operand = self._unary()
        return tree.Unary(cursor.since(start), operator.text, operand)

    def _postfix(self, found: tree.Expression, start: Token) -> tree.Expression:
        """Subscripts and substitutions behind an operand."""
        cursor = self.cursor
        while cursor.accept("["):
            found = self._indexed(found, start)
            if cursor.text == "<-" and isinstance(found, tree.Subscript):
                cursor.advance()
                value = self.expression()
                return tree.Substitute(cursor.since(start), found.base, found.index, value)
        if cursor.text == "<-":
            raise cursor.unexpected(
                "an operator", section="2.4", remedy="write `< -x` to compare with a negative number"
            )
        return found

    def _indexed(self, base: tree.Expression, start: Token) -> tree.Subscript | tree.Access:
        cursor = self.cursor
        indices: list[tree.Expression] = []
        trailing = False
        while cursor.text != "]":
            indices.append(self._index())
            trailing = cursor.accept(",") is not None
            if not trailing:
                break
        cursor.expect("]")
        if len(indices) == 1 and not trailing and not isinstance(indices[0], tree.Expand | tree.Bounded):
            return tree.Subscript(cursor.since(start), base, indices[0])
        return tree.Access(cursor.since(start), base, tuple(indices))

    def access(self) -> tree.Subscript | tree.Access:
        """An element of a tensor, as the left-hand side of a lowering has it."""
        cursor = self.cursor
        start = cursor.token
        name = cursor.name("a tensor")
        found: tree.Expression = tree.Name(name.span, name.text)
        while cursor.accept("["):
            found = self._indexed(found, start)
        if not isinstance(found, tree.Subscript | tree.Access):
            raise cursor.unexpected(
                "`[`", "behind the tensor", "2.12", "a lowering assigns elements, such as y[i..]"
            )
        return found

    def _index(self) -> tree.Expression:
        cursor = self.cursor
        start = cursor.token
        return self._expanded(self._range(optional=True), start)

    def _bounded(self) -> tree.Bounded:
        """`|i|`, or `|i <> low : high|`, which the text also writes `|i < low : high|`."""
        cursor = self.cursor
        start = cursor.expect("|")
        index = self.expression()
        low: tree.Expression | None = None
        if cursor.accept("<>"):
            low = self.expression()
        elif cursor.text == ":" and isinstance(index, tree.Binary) and index.operator == "<":
            low, index = index.right, index.left
        high = None
        if low is not None:
            cursor.expect(":", "before the index that replaces one beyond the end")
            high = self.expression()
        cursor.expect("|", "behind a checked index")
        return tree.Bounded(cursor.since(start), index, low, high)

    def _range(self, *, optional: bool) -> tree.Expression:
        """An expression, or a range of them."""
        cursor = self.cursor
        start = cursor.token
        first = None if optional and cursor.text == ":" else self.expression()
        if not cursor.accept(":"):
            assert first is not None
            return first
        ends = ("]", ",", ":", "..")
        last = None if optional and cursor.text in ends else self.expression()
        stride = None
        if cursor.accept(":"):
            stride = None if optional and cursor.text in ends else self.expression()
        return tree.Range(cursor.since(start), first, last, stride)

    def list_item(self) -> tree.Expression:
        """An item of a list: an expression, a range, or one of them expanded."""
        start = self.cursor.token
        return self._expanded(self._range(optional=False), start)

    def _expanded(self, item: tree.Expression, start: Token) -> tree.Expression:
        cursor = self.cursor
        if cursor.text == "...":
            raise cursor.unexpected(
                "`..`", section="2.4", remedy="three dots follow an operator, as in `x + ...`"
            )
        if not cursor.accept(".."):
            return item
        count = None
        if cursor.accept("("):
            count = self.expression()
            cursor.expect(")")
        return tree.Expand(cursor.since(start), item, count)

    def _primary(self) -> tree.Expression:
        cursor = self.cursor
        token = cursor.token
        match token.kind:
            case Kind.INTEGER | Kind.REAL:
                return self._number()
            case Kind.STRING:
                return self.string()
            case Kind.NAME:
                return self._named()
            case _ if token.text in _CONSTANTS:
                cursor.advance()
                return tree.Literal(token.span, _CONSTANTS[token.text])
            case _ if token.text in TYPE_NAMES:
                cursor.advance()
                return self._call(token)
            case _ if token.text == "(":
                return self._parenthesised()
            case _ if token.text == "|":
                return self._bounded()
            case _ if token.text == "[":
                cursor.advance()
                items = cursor.list_of(self.list_item, "]")
                return tree.List(cursor.since(token), items)
        raise cursor.unexpected("an expression")

    def _number(self) -> tree.Literal:
        token = self.cursor.advance()
        if token.kind is Kind.REAL:
            return tree.Literal(token.span, float(token.text))
        if len(token.text) > _LARGEST_INTEGER or int(token.text) >= 2**63:
            raise SyntaxFault(
                token.span, "the integer has more than 64 bits", "2.4", "write a real number, such as 1e20"
            )
        return tree.Literal(token.span, int(token.text))

    def _named(self) -> tree.Expression:
        cursor = self.cursor
        token = cursor.advance()
        if cursor.text == "(":
            return self._call(token)
        if cursor.text == ".":
            cursor.advance()
            member = cursor.name("`shape`, `rank` or `size`")
            if member.text not in ("shape", "rank", "size"):
                remedy = "names of nested tensors stand in @quantize only"
                message = f"expected `shape`, `rank` or `size`, but found `{member.text}`"
                raise SyntaxFault(member.span, message, "2.4", remedy)
            kind = cast(OneOf["shape", "rank", "size"], member.text)
            return tree.Member(cursor.since(token), token.text, kind)
        return tree.Name(token.span, token.text)

    def _call(self, function: Token) -> tree.Call:
        cursor = self.cursor
        cursor.expect("(", f"behind `{function.text}`")
        argument = None if cursor.text == ")" else self.expression()
        cursor.expect(")")
        return tree.Call(cursor.since(function), function.text, argument)

    def _parenthesised(self) -> tree.Expression:
        """An expression in parentheses, or the tuple of a zip."""
        cursor = self.cursor
        start = cursor.advance()
        items = cursor.several(self.expression)
        cursor.expect(")")
        if len(items) == 1:
            return tree.Parenthesised(cursor.since(start), items[0])
        if cursor.text != "..":
            raise cursor.unexpected("`..`", "behind a zip expression", "2.4", "write [(a, b)..]")
        return tree.Zip(cursor.since(start), items)

    def string(self) -> tree.Literal | tree.Format:
        """A string, or several right behind each other, which are one."""
        cursor = self.cursor
        start = cursor.token
        parts: list[str | tree.Expression] = []
        while cursor.token.kind is Kind.STRING:
            token = cursor.advance()
            for part in string_of(token):
                parts.append(part if isinstance(part, str) else self._formatted(part))
        span = cursor.since(start)
        if all(isinstance(part, str) for part in parts):
            return tree.Literal(span, "".join(part for part in parts if isinstance(part, str)))
        return tree.Format(span, tuple(parts))

    def _formatted(self, span: Span) -> tree.Expression:
        """An expression within a string."""
        cursor = self.cursor
        inner = Cursor(tokens_of(cursor.faults, span.start, span.stop), cursor.faults)
        with cursor.nested():
            found = Expressions(inner).expression()
        if inner.token.kind is not Kind.END:
            raise inner.unexpected("`}`", "behind the expression in the string", "2.4", "escape a brace: \\{")
        return found
