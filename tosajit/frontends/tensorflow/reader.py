"""From the bytes of a GraphDef to records: nothing of TensorFlow is needed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tosajit.errors import FileError
from tosajit.files.cursor import Bytes
from tosajit.files.prototext import Words, to_wire
from tosajit.files.wire import Message, message_of
from tosajit.frontends.tensorflow import schema
from tosajit.frontends.tensorflow.elements import array_of
from tosajit.frontends.tensorflow.records import (
    AnyShape,
    Attribute,
    Function,
    FunctionName,
    Model,
    Node,
    Reference,
    Shape,
)
from tosajit.frontends.tensorflow.schema import REFERENCE, Type

_WORDS = Words(schema.MESSAGES, schema.REALS, schema.ENUMERATORS)
_BEGINNING = re.compile(rb"\s*(node|library|versions)\s*[{<]")
_HIGHEST_RANK = 64  # that of NumPy


def read_model(data: Bytes) -> Model:
    """Decode a file; whatever is wrong with its structure is a FileError."""
    if is_text(bytes(memoryview(data)[:64])):
        data = to_wire(bytes(data), schema.GRAPH, _WORDS)
    graph = message_of(data, schema.GRAPH, "graph")
    nodes = _nodes(graph.messages("node", schema.NODE), None)
    functions: dict[str, Function] = {}
    for library in graph.messages("library", schema.LIBRARY):
        for one in library.messages("function", schema.FUNCTION):
            function = _function(one)
            functions[function.name] = function
    if not nodes:
        raise FileError("byte 0 (graph.node): expected a node at least")
    return Model(nodes, functions, len(data))


def is_text(head: bytes) -> bool:
    """Whether a file is a GraphDef as text, as TensorFlow writes it unless it is told otherwise."""
    return _BEGINNING.match(head) is not None


def _function(message: Message) -> Function:
    signature = message.message("signature", schema.SIGNATURE)
    if signature is None:
        message.refuse("signature", "expected a signature")
    arguments = tuple(one.text("name") for one in signature.messages("input_arg", schema.ARGUMENT))
    nodes = _nodes(message.messages("node_def", schema.NODE), set(arguments))
    returned = {one.text("key"): one.text("value") for one in message.messages("ret", schema.ENTRY)}
    ops = {node.name: node.op for node in nodes}
    results = []
    for one in signature.messages("output_arg", schema.ARGUMENT):
        name = one.text("name")
        if name not in returned:
            message.refuse("ret", f"expected what result {name!r} is")
        results.append(_inner(returned[name], ops, message))
    after = tuple(one.text("value") for one in message.messages("control_ret", schema.ENTRY))
    return Function(signature.text("name"), arguments, tuple(results), after, nodes)


def _nodes(messages: Iterable[Message], arguments: set[str] | None) -> tuple[Node, ...]:
    """The nodes of a graph, or of a function with these arguments."""
    read: list[tuple[str, str, Message]] = []
    taken = set(arguments or ())
    for message in messages:
        name, op = message.text("name"), message.text("op")
        if not op:
            message.refuse("op", "expected the name of an operator")
        if not name or name in taken:
            message.refuse("name", f"expected a name that no other node has, found {name!r}")
        taken.add(name)
        read.append((name, op, message))
    ops = {name: op for name, op, _ in read} if arguments is not None else None
    return tuple(_node(place, *one, ops) for place, one in enumerate(read))


def _node(place: int, name: str, op: str, message: Message, ops: dict[str, str] | None) -> Node:
    inputs, after = [], []
    for text in message.texts("input"):
        if text.startswith("^"):
            after.append(text[1:])
        else:
            inputs.append(_outer(text, message) if ops is None else _inner(text, ops, message))
    attributes: dict[str, Attribute] = {}
    for one in message.messages("attr", schema.ENTRY):
        value = one.message("value", schema.ATTRIBUTE)
        attributes[one.text("key")] = None if value is None else _attribute(value)
    return Node(name, op, tuple(inputs), tuple(after), attributes, place)


def _outer(text: str, message: Message) -> Reference:
    """A reference between nodes of the graph: `node` or `node:place`."""
    name, _, number = text.partition(":")
    return Reference(name, _number(number or "0", message))


def _inner(text: str, ops: dict[str, str], message: Message) -> Reference:
    """A reference between nodes of a function: an argument, or `node:result:place`."""
    name, _, rest = text.partition(":")
    result, _, number = rest.partition(":")
    names = schema.RESULTS.get(ops.get(name, ""), ())
    first = names.index(result) if result in names else 0
    return Reference(name, first + _number(number or "0", message))


def _number(text: str, message: Message) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        message.fail(message.start, f"expected the number of a result, found {text[:40]!r}")
    return int(text)


def _attribute(value: Message) -> Attribute:
    """The value of an attribute: a file has one of its fields."""
    for name in ("s", "i", "f", "b", "type", "shape", "tensor", "func", "list"):
        if name in value:
            break
    else:
        return None
    match name:
        case "s":
            return str(value.blob("s"), "utf-8", "replace")
        case "f":
            return value.real("f")
        case "list":
            found = value.message("list", schema.LIST)
            assert found is not None
            return _listed(found)
        case "tensor":
            tensor = value.message("tensor", schema.TENSOR)
            assert tensor is not None
            return array_of(tensor, _shape_of(tensor, "tensor_shape"))
        case "shape":
            return _shape_of(value, "shape")
        case "func":
            called = value.message("func", schema.CALLED)
            assert called is not None
            return FunctionName(called.text("name"))
    return _enumerated(name, value.integer(name))


def _listed(value: Message) -> Attribute:
    """The value of an attribute that is a list: it has one kind of items."""
    if "s" in value:
        return value.texts("s")
    if "f" in value:
        return tuple(float(one) for one in value.reals("f", "<f4"))
    if "func" in value:
        return tuple(FunctionName(one.text("name")) for one in value.messages("func", schema.CALLED))
    if "shape" in value:
        shapes = (_shape(one) for one in value.messages("shape", schema.SHAPE))
        return tuple(one for one in shapes if not isinstance(one, AnyShape))
    for name in ("i", "b", "type"):
        if name in value:
            return tuple(_enumerated(name, one) for one in value.integers(name))
    return ()


def _enumerated(name: str, number: int) -> int | bool | Type:
    if name == "type":
        return type_of(number)
    return bool(number) if name == "b" else number


def type_of(number: int) -> Type:
    """A type by its number; one that is not known is invalid."""
    plain = number - REFERENCE if number > REFERENCE else number
    return Type(plain) if plain in Type._value2member_map_ else Type.INVALID


def _shape_of(message: Message, name: str) -> Shape | AnyShape:
    found = message.message(name, schema.SHAPE)
    return () if found is None else _shape(found)


def _shape(message: Message) -> Shape | AnyShape:
    if message.integer("unknown_rank"):
        return AnyShape()
    extents = tuple(one.integer("size") for one in message.messages("dim", schema.DIMENSION))
    if len(extents) > _HIGHEST_RANK:
        message.refuse("dim", f"expected up to {_HIGHEST_RANK} dimensions, found {len(extents)}")
    return extents
