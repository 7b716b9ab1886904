"""From the bytes of an ONNX model to records: nothing of ONNX is needed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tosajit.errors import FileError
from tosajit.files.cursor import Bytes
from tosajit.files.wire import Message, message_of
from tosajit.frontends.onnx import schema
from tosajit.frontends.onnx.elements import Beside, elements_of
from tosajit.frontends.onnx.records import (
    Attribute,
    Elements,
    Function,
    Graph,
    Model,
    Node,
    Parameter,
    Shape,
    Value,
)
from tosajit.frontends.onnx.schema import Kind, Type

_DEEPEST = 32
"""How deep graphs are inside of each other."""


def read_model(data: Bytes, folder: Path | None = None) -> Model:
    """Decode a file; whatever is wrong with its structure is a FileError.

    `folder` is where files of constants are that it names.
    """
    message = message_of(data, schema.MODEL, "model")
    found = message.message("graph", schema.GRAPH)
    if found is None:
        message.refuse("graph", "expected a graph")
    reader = _Reader(Beside(folder))
    graph = reader.graph(found)
    functions = {}
    for one in message.messages("functions", schema.FUNCTION):
        functions[one.text("domain"), one.text("name")] = reader.function(one)
    size = len(data) + reader.beside.bytes
    return Model(graph, functions, _opsets(message), size, reader.nodes)


def _opsets(message: Message) -> dict[str, int]:
    """The version of each domain."""
    pairs = message.messages("opset_import", schema.OPSET)
    return {domain_of(one.text("domain")): one.integer("version") for one in pairs}


def domain_of(name: str) -> str:
    """The name of a domain: that of ONNX itself has two."""
    return "" if name == "ai.onnx" else name


class _Reader:
    """Reads graphs and what is in them, and counts their nodes."""

    def __init__(self, beside: Beside) -> None:
        self.beside, self.nodes = beside, 0

    def graph(self, message: Message, depth: int = 0) -> Graph:
        """A graph, and those inside of it."""
        if depth > _DEEPEST:
            raise FileError(f"byte {message.start}: expected graphs in each other to a depth of {_DEEPEST}")
        constants: dict[str, Elements] = {}
        for one in message.messages("initializer", schema.TENSOR):
            constants[one.text("name")] = elements_of(one, self.beside)
        if "sparse_initializer" in message:
            message.refuse("sparse_initializer", "expected dense constants: sparse ones are not read")
        inputs = tuple(_value(one) for one in message.messages("input", schema.VALUE))
        outputs = tuple(_value(one) for one in message.messages("output", schema.VALUE))
        return Graph(self.walk(message.messages("node", schema.NODE), depth), constants, inputs, outputs)

    def walk(self, messages: Iterable[Message], depth: int = 0) -> tuple[Node, ...]:
        """Nodes in order."""
        return tuple(self._node(place, one, depth) for place, one in enumerate(messages))

    def _node(self, place: int, message: Message, depth: int) -> Node:
        self.nodes += 1
        op, outputs = message.text("op_type"), message.texts("output")
        if not op:
            message.refuse("op_type", "expected the name of an operator")
        attributes = {
            one.text("name"): self._attribute(one, depth)
            for one in message.messages("attribute", schema.ATTRIBUTE)
        }
        name = message.text("name") or next((one for one in outputs if one), f"{op}_{place}")
        domain = domain_of(message.text("domain"))
        return Node(name, op, domain, message.texts("input"), outputs, attributes, place)

    def function(self, message: Message) -> Function:
        """A function of the model."""
        named: dict[str, Attribute] = dict.fromkeys(message.texts("attribute"))
        for one in message.messages("attribute_proto", schema.ATTRIBUTE):
            named[one.text("name")] = self._attribute(one, 0)
        nodes = self.walk(message.messages("node", schema.NODE))
        return Function(message.texts("input"), message.texts("output"), named, nodes, _opsets(message))

    def _attribute(self, message: Message, depth: int) -> Attribute:
        """The value of an attribute: its type says which field has it."""
        parameter = message.text("ref_attr_name")
        if parameter:
            return Parameter(parameter)
        match _kind(message):
            case Kind.F:
                return message.real("f")
            case Kind.I:
                return message.integer("i")
            case Kind.S:
                return str(message.blob("s"), "utf-8", "replace")
            case Kind.T:
                tensor = message.message("t", schema.TENSOR)
                return None if tensor is None else elements_of(tensor, self.beside)
            case Kind.G:
                graph = message.message("g", schema.GRAPH)
                return None if graph is None else self.graph(graph, depth + 1)
            case Kind.FLOATS:
                return tuple(float(one) for one in message.reals("floats", "<f4"))
            case Kind.INTS:
                return message.integers("ints")
            case Kind.STRINGS:
                return message.texts("strings")
        return None


def _kind(message: Message) -> Kind | None:
    """The kind of value that an attribute has; old files do not say it."""
    number = message.integer("type")
    if number in Kind._value2member_map_:
        return Kind(number)
    if number:
        return None
    return next((kind for kind in Kind if kind.name.lower() in message), None)


def _value(message: Message) -> Value:
    kind = message.message("type", schema.TYPE)
    tensor = None if kind is None else kind.message("tensor_type", schema.TENSOR_TYPE)
    if tensor is None:
        return Value(message.text("name"), None, None)
    number = tensor.integer("elem_type")
    known = Type(number) if number in Type._value2member_map_ else Type.UNDEFINED
    shape = tensor.message("shape", schema.SHAPE)
    return Value(message.text("name"), known, None if shape is None else _shape(shape))


def _shape(message: Message) -> Shape:
    """Extents, some of which have only names."""
    extents: list[int | str] = []
    for one in message.messages("dim", schema.DIMENSION):
        if "dim_value" in one and one.integer("dim_value") >= 0:
            extents.append(one.integer("dim_value"))
        else:
            extents.append(one.text("dim_param"))
    return tuple(extents)
