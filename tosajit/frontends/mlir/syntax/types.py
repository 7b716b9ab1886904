"""Types in a text."""

from __future__ import annotations

import re

from tosajit.frontends.mlir.syntax.cursor import Cursor
from tosajit.frontends.mlir.syntax.records import Extents, Function, Plain, Span, Tensor, Type

_HIGHEST_RANK = 64
_EXTENTS = re.compile(r"\s*(\*\s*x|(?:(?:\?|[0-9]{1,18})\s*x\s*)*)")
_SIMPLE = re.compile(r"tensor<[0-9x?]*[A-Za-z][A-Za-z0-9]*>")
_PLAIN = r"(?:tensor<[0-9x?]*[A-Za-z][A-Za-z0-9]*>|!tosa\.shape<[0-9]+>)"
_SIGNATURE = re.compile(rf"\((?:{_PLAIN}, )*+{_PLAIN}?\) -> {_PLAIN}")
_ANGLES = re.compile(r'->|[<>]|"[^"\\\n]*(?:\\.[^"\\\n]*)*"')


class Types:
    """Reads types; aliases are what was said before of them."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.aliases: dict[str, Type] = {}
        self._seen: dict[str, Type] = {}
        """Types of tensors as they are written: most of a text are types, and few of them differ."""
        self._functions: dict[str, Function] = {}
        """Types of operations, too."""

    def type(self) -> Type:
        """A type."""
        cursor = self.cursor
        simple = _SIMPLE.match(cursor.text, cursor.token.start)
        if simple is None:
            return self._parsed()
        if simple.group() not in self._seen:
            self._seen[simple.group()] = self._parsed()
        else:
            cursor.go_to(simple.end())
        return self._seen[simple.group()]

    def _parsed(self) -> Type:
        cursor = self.cursor
        with cursor.nested():
            if cursor.token.text == "(":
                return self.function()
            token = cursor.token
            if token.kind == "type":
                cursor.advance()
                return self._of_dialect(token.text[1:], token.span)
            name = cursor.take("word", "a type").text
            match name:
                case "tensor":
                    return self._tensor(token.span)
                case "tuple" | "memref" | "vector" | "complex":
                    return Plain(f"{name}<{self.angles()}>")
            return Plain(name)

    def function(self) -> Function:
        """The type of an operation: what it takes, and what it gives."""
        cursor = self.cursor
        known = cursor.known(_SIGNATURE, self._functions)
        if known is not None:
            return known
        start = cursor.token.start
        with cursor.nested():
            cursor.expect("(", "before the types of operands")
            inputs = cursor.list_of(self.type, ")")
            cursor.expect("->", "between the types of operands and results")
            found = Function(inputs, self.results())
        return self._functions.setdefault(cursor.text[start : cursor.last], found)

    def results(self) -> tuple[Type, ...]:
        """One type, or several between parentheses."""
        if self.cursor.accept("("):
            return self.cursor.list_of(self.type, ")")
        return (self.type(),)

    def types(self) -> tuple[Type, ...]:
        """Types with commas between them."""
        found = [self.type()]
        while self.cursor.accept(","):
            found.append(self.type())
        return tuple(found)

    def angles(self) -> str:
        """What stands between angles, as it is written; they are taken."""
        cursor = self.cursor
        opening = cursor.token
        if opening.text != "<":
            cursor.unexpected("`<`")
        depth, place = 0, opening.start
        while True:
            found = _ANGLES.search(cursor.text, place)
            if found is None:
                cursor.fail(opening.span, "this is not closed")
            place = found.end()
            depth += {"<": 1, ">": -1}.get(found.group(), 0)
            if depth == 0:
                cursor.go_to(place)
                return cursor.text[opening.stop : place - 1].strip()

    def _of_dialect(self, name: str, span: Span) -> Type:
        if "." not in name:
            if self.cursor.token.text == "<":  # !tosa<shape<2>> has the name behind the dialect
                return Plain(f"!{name}<{self.angles()}>")
            if name not in self.aliases:
                self.cursor.fail(span, f"`!{name}` is not defined")
            return self.aliases[name]
        body = self.angles() if self.cursor.token.text == "<" else ""
        if name == "tosa.shape":
            if not body.isdigit() or len(body) > 4 or int(body) > 2 * _HIGHEST_RANK:
                self.cursor.fail(span, f"expected a rank up to {2 * _HIGHEST_RANK}, but found `{body}`")
            return Extents(int(body))
        return Plain(f"!{name}<{body}>" if body else f"!{name}")

    def _tensor(self, span: Span) -> Type:
        cursor = self.cursor
        if cursor.token.text != "<":
            cursor.unexpected("`<`")
        found = _EXTENTS.match(cursor.text, cursor.token.stop)
        extents = found[1] if found else ""
        cursor.go_to(found.end() if found else cursor.token.stop)
        element = self.type()
        if cursor.accept(","):  # an encoding, which says nothing of the elements
            while cursor.token.text not in (">", ""):
                self.angles() if cursor.token.text == "<" else cursor.advance()
        cursor.expect(">", "behind the type of the elements")
        if not isinstance(element, Plain):
            cursor.fail(span, "expected a type of elements, but found a type of tensors or functions")
        if extents.startswith("*"):
            return Tensor(None, element)
        shape = tuple(-1 if one.strip() == "?" else int(one) for one in extents.split("x")[:-1])
        if len(shape) > _HIGHEST_RANK:
            cursor.fail(span, f"expected at most {_HIGHEST_RANK} dimensions, but found {len(shape)}")
        return Tensor(shape, element)
