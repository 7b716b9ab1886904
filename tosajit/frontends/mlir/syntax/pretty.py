"""Operations that have a form of their own in the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tosajit.frontends.mlir.syntax.attributes import symbol_of
from tosajit.frontends.mlir.syntax.cursor import Token
from tosajit.frontends.mlir.syntax.parts import Parts, Results
from tosajit.frontends.mlir.syntax.records import (
    Argument,
    Attribute,
    Dense,
    Dictionary,
    Function,
    Many,
    Operand,
    Operation,
    Region,
    Resource,
    Symbol,
    Tensor,
    Text,
    Type,
)

_CLOSING = {"(": ")", "<": ">"}
_ARGUMENT = r'\w+(?:\([^()"#!%@/{}<>]{0,200}+\)|<\w+>)'
_ARGUMENTS = re.compile(rf"{_ARGUMENT}(?: {_ARGUMENT})*+")
"""Attributes that mean the same wherever they stand."""


class Pretty:
    """Reads what stands behind the name of an operation."""

    def __init__(self, parts: Parts, region: Callable[[tuple[Argument, ...]], Region]) -> None:
        self.parts, self.cursor, self.region = parts, parts.cursor, region
        self.types, self.attributes = parts.types, parts.attributes

    def other(self, token: Token, results: Results) -> Operation:
        """`name operands {attributes} : type`; attributes may stand as `name(value)` and `name<MEMBER>`."""
        if not token.text.startswith("tosa."):
            self.cursor.fail(
                token.span,
                f"{token.text} is not an operator of TOSA",
                "convert the model to the TOSA dialect alone; mlir-opt --mlir-print-op-generic tells more",
            )
        operands = self.parts.operands()
        attributes = self._given(token) if self.cursor.token.kind == "word" else {}
        attributes |= self._braces()
        self.cursor.expect(":", "before the type of the operation")
        return self.parts.made(token, results, operands, attributes, (), self.types.function())

    def module(self, token: Token, results: Results) -> Operation:
        """`module @name attributes {…} {…}`."""
        if self.cursor.token.kind == "symbol":
            self.cursor.advance()
        attributes = self._function_attributes()
        region = self.region(())
        return self.parts.made(token, results, (), attributes, (region,), Function((), ()), "builtin.module")

    def function(self, token: Token, results: Results) -> Operation:
        """`func.func @name(arguments) -> results attributes {…} {…}`."""
        attributes: dict[str, Attribute] = {}
        if self.cursor.token.text in ("private", "public", "nested"):
            attributes["sym_visibility"] = Text(self.cursor.advance().text.encode())
        name = self.cursor.take("symbol", "the name of the function")
        self.cursor.expect("(", "before the arguments")
        if self.cursor.token.kind == "value":
            arguments = self.cursor.list_of(self.parts.argument, ")")
            inputs = tuple(one.type for one in arguments)
        else:
            arguments, inputs = (), self.cursor.list_of(self._argument_type, ")")
        given: tuple[tuple[Type, Dictionary], ...] = ()
        if self.cursor.accept("->"):
            if self.cursor.accept("("):
                given = self.cursor.list_of(self._result, ")")
            else:
                given = ((self.types.type(), Dictionary({})),)
        attributes |= self._function_attributes()
        attributes["sym_name"] = Text(symbol_of(name).encode("utf-8", "replace"))
        attributes["function_type"] = Function(inputs, tuple(type for type, _ in given))
        attributes["arg_attrs"] = Many(tuple(Dictionary(one.attributes) for one in arguments))
        attributes["res_attrs"] = Many(tuple(names for _, names in given))
        regions = (self.region(arguments),) if self.cursor.token.text == "{" else ()
        return self.parts.made(token, results, (), attributes, regions, Function((), ()), "func.func")

    def ending(self, token: Token, results: Results) -> Operation:
        """`return operands : types`."""
        operands = self.parts.operands()
        attributes = self._braces()
        inputs = self.types.types() if operands and self.cursor.accept(":") else ()
        return self.parts.made(token, results, operands, attributes, (), Function(inputs, ()))

    def branch(self, token: Token, results: Results) -> Operation:
        """`tosa.cond_if condition (name = operand, …) : type (types) -> types {…} else {…}`."""
        condition = self.parts.operand()
        names, operands = self._bound()
        attributes = self._braces()
        self.cursor.expect(":", "before the type of the operation")
        inputs: tuple[Type, ...] = (self.types.type(),)
        if self.cursor.accept("("):
            inputs += self.cursor.list_of(self.types.type, ")")
        given = self.types.results() if self.cursor.accept("->") else ()
        arguments = self._arguments(names, inputs[1:])
        first = self.region(arguments)
        self.cursor.expect("else", "behind the first region")
        regions = first, self.region(arguments)
        attributes |= self._braces()
        type = Function(inputs, given)
        return self.parts.made(token, results, (condition, *operands), attributes, regions, type)

    def loop(self, token: Token, results: Results) -> Operation:
        """`tosa.while_loop (name = operand, …) : (types) -> types {…} do {…}`."""
        names, operands = self._bound()
        attributes = self._braces()
        self.cursor.expect(":", "before the type of the operation")
        type = self.types.function()
        condition = self.region(self._arguments(names, type.inputs))
        self.cursor.expect("do", "behind the condition")
        regions = condition, self.region(self._arguments(names, type.inputs))
        if self.cursor.accept("attributes"):
            attributes |= self._braces()
        return self.parts.made(token, results, operands, attributes, regions, type)

    def variable(self, token: Token, results: Results) -> Operation:
        """`tosa.variable @name = value`, or with a type in place of the value."""
        name = self._symbol()
        attributes: dict[str, Attribute] = {**self._braces(), "sym_name": name}
        if self.cursor.accept("="):
            value = self.attributes.attribute()
            if not isinstance(value, Dense | Resource):
                self.cursor.fail(
                    token.span, "expected the initial value to be elements, `dense<…> : tensor<…>`"
                )
            attributes["initial_value"], type = value, value.type
        else:
            self.cursor.expect(":", "before the type of the variable")
            type = self.types.type()
        if not isinstance(type, Tensor):
            self.cursor.fail(token.span, "expected the type of a tensor")
        attributes["type"] = type
        return self.parts.made(token, results, (), attributes, (), Function((), ()))

    def variable_read(self, token: Token, results: Results) -> Operation:
        """`tosa.variable_read @name : type`."""
        attributes: dict[str, Attribute] = {"name": self._symbol(), **self._braces()}
        self.cursor.expect(":", "before the type of the result")
        return self.parts.made(token, results, (), attributes, (), Function((), self.types.types()))

    def variable_write(self, token: Token, results: Results) -> Operation:
        """`tosa.variable_write @name, operand : type`."""
        attributes: dict[str, Attribute] = {"name": self._symbol(), **self._braces()}
        self.cursor.expect(",", "behind the name of the variable")
        operands = self.parts.operands()
        self.cursor.expect(":", "before the type of the operand")
        return self.parts.made(token, results, operands, attributes, (), Function(self.types.types(), ()))

    def cast(self, token: Token, results: Results) -> Operation:
        """`tensor.cast operand : type to type`."""
        operand = self.parts.operand()
        self.cursor.expect(":", "before the type of the operand")
        source = self.types.type()
        self.cursor.expect("to", "before the type of the result")
        type = Function((source,), (self.types.type(),))
        return self.parts.made(token, results, (operand,), {}, (), type)

    def constant(self, token: Token, results: Results) -> Operation:
        """`arith.constant elements : type`."""
        attributes = self._braces()
        value = self.attributes.attribute()
        if not isinstance(value, Dense | Resource):
            self.cursor.fail(
                token.span, f"{token.text} is not an operator of TOSA but of tensors, `dense<…> : tensor<…>`"
            )
        attributes["value"] = value
        return self.parts.made(token, results, (), attributes, (), Function((), (value.type,)))

    def setting(self, token: Token, results: Results) -> Operation:
        """`ml_program.global private mutable @name(value) : type`."""
        while self.cursor.token.kind == "word":
            self.cursor.advance()
        name = self._symbol()
        if self.cursor.accept("("):
            self.attributes.attribute()
            self.cursor.expect(")")
        self.cursor.expect(":")
        self.types.type()
        return self.parts.made(token, results, (), {"sym_name": name}, (), Function((), ()))

    def _given(self, token: Token) -> dict[str, Attribute]:
        """Attributes as arguments."""
        known = self.cursor.known(_ARGUMENTS, self.parts.given)
        if known is not None:
            return dict(known)
        start, found = self.cursor.token.start, dict[str, Attribute]()
        while self.cursor.token.kind == "word":
            name = self.cursor.advance().text
            if name in found:
                self.cursor.fail(token.span, f"the attribute {name} is there twice")
            found[name] = self._value()
        self.attributes.keep(self.parts.given, start, found)
        return found

    def _value(self) -> Attribute:
        """What stands behind the name of an attribute, in parentheses or angles."""
        opening = self.cursor.token
        if opening.text not in _CLOSING:
            self.cursor.unexpected("`(`", "behind the name of an attribute")
        self.cursor.advance()
        found = self.attributes.attribute()
        self.cursor.expect(_CLOSING[opening.text])
        return found

    def _braces(self) -> dict[str, Attribute]:
        if self.cursor.token.text == "<":
            self.cursor.advance()
            found = self.attributes.dictionary()
            self.cursor.expect(">", "behind the properties")
            return found
        return self.attributes.dictionary() if self.cursor.token.text == "{" else {}

    def _function_attributes(self) -> dict[str, Attribute]:
        return self.attributes.dictionary() if self.cursor.accept("attributes") else {}

    def _argument_type(self) -> Type:
        type = self.types.type()
        self._braces()
        return type

    def _result(self) -> tuple[Type, Dictionary]:
        type = self.types.type()
        return type, Dictionary(self._braces())

    def _bound(self) -> tuple[tuple[Token, ...], tuple[Operand, ...]]:
        """`(name = operand, …)`, or nothing."""
        if not self.cursor.accept("("):
            return (), ()

        def pair() -> tuple[Token, Operand]:
            name = self.cursor.take("value", "the name of an argument")
            self.cursor.expect("=", "behind the name of the argument")
            return name, self.parts.operand()

        pairs = self.cursor.list_of(pair, ")")
        return tuple(name for name, _ in pairs), tuple(operand for _, operand in pairs)

    def _arguments(self, names: tuple[Token, ...], types: tuple[Type, ...]) -> tuple[Argument, ...]:
        if len(names) != len(types):
            self.cursor.fail(
                self.cursor.token.span, f"there are {len(names)} arguments, but {len(types)} types of them"
            )
        return tuple(
            Argument(name.text[1:], type, name.span) for name, type in zip(names, types, strict=True)
        )

    def _symbol(self) -> Symbol:
        return Symbol(symbol_of(self.cursor.take("symbol", "a name that begins with `@`")))


PRETTY: Final[dict[str, Callable[[Pretty, Token, Results], Operation]]] = {
    "module": Pretty.module,
    "builtin.module": Pretty.module,
    "func.func": Pretty.function,
    "ml_program.func": Pretty.function,
    "ml_program.subgraph": Pretty.function,
    "ml_program.global": Pretty.setting,
    "return": Pretty.ending,
    "func.return": Pretty.ending,
    "ml_program.return": Pretty.ending,
    "ml_program.output": Pretty.ending,
    "tosa.yield": Pretty.ending,
    "tosa.cond_if": Pretty.branch,
    "tosa.while_loop": Pretty.loop,
    "tosa.variable": Pretty.variable,
    "tosa.variable_read": Pretty.variable_read,
    "tosa.variable_write": Pretty.variable_write,
    "tensor.cast": Pretty.cast,
    "arith.constant": Pretty.constant,
}
"""The readers of operations whose form is not that of the others."""
