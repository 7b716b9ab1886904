"""The graph of an exported program, from the JSON that PyTorch writes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tosajit.files.document import Field
from tosajit.frontends.torch.records import Argument, Graph, Node, Reference, Type, Value

_TYPES = {
    1: Type.UINT8, 2: Type.INT8, 3: Type.INT16, 4: Type.INT32, 5: Type.INT64, 28: Type.UINT16,
    34: Type.UINT32, 35: Type.UINT64, 6: Type.FLOAT16, 7: Type.FLOAT32, 8: Type.FLOAT64, 13: Type.BFLOAT16,
    12: Type.BOOL, 10: Type.COMPLEX64, 11: Type.COMPLEX128, 29: Type.FLOAT8E4M3FN, 30: Type.FLOAT8E5M2,
}  # fmt: skip
_FORMATS = ("unknown", "contiguous_format", "channels_last", "channels_last_3d", "preserve_format")
_STRIDED = 7
_DEEPEST = 16


def type_of(number: Field) -> Type:
    """The type that a number stands for."""
    found = _TYPES.get(number.integer)
    if found is None:
        number.fail("expected a type of elements that is known")
    return found


def shape_of(sizes: Field) -> tuple[int, ...]:
    """Sizes or strides; symbolic ones are the numbers they had in the example."""
    return tuple(size_of(one) for one in sizes.items)


def size_of(size: Field) -> int:
    """One of them."""
    found = _hint(size)
    if type(found) is not int or not 0 <= found < 1 << 48:
        size.fail("expected a size")
    return found


def _hint(value: Field) -> int | float | bool:
    """A number, or that which a symbolic one had in the example."""
    kind, inside = value.only
    match kind:
        case "as_int":
            return inside.integer
        case "as_float":
            return inside.real
        case "as_bool":
            return inside.boolean
        case "as_expr":
            hint = inside.get("hint")
            if hint is None:
                inside.fail("expected the number that it had in the example")
            if hint.only[0] == "as_expr":
                hint.fail("expected a number")
            return _hint(hint)
    value.fail("expected a number")


class GraphReader:
    """Graphs on their way to records."""

    def __init__(self) -> None:
        self.fixed: list[str] = []
        """Extents of inputs that the program leaves open."""

    def graph(self, graph: Field, constants: Sequence[str] = (), depth: int = 0) -> Graph:
        """The records of a graph; `constants` are inputs that it has taken in."""
        return _Graph(graph, self, depth).records(constants)


class _Graph:
    """One graph, with the values that it names."""

    def __init__(self, graph: Field, reader: GraphReader, depth: int) -> None:
        if depth > _DEEPEST:
            graph.fail(f"expected at most {_DEEPEST} graphs in each other")
        self.graph, self.reader, self.depth = graph, reader, depth
        self.tensors = dict(graph["tensor_values"].entries)
        self.numbers: dict[str, int | float | bool] = {}
        for kind in ("sym_int_values", "sym_float_values", "sym_bool_values"):
            found = graph.get(kind)
            if found is not None:
                self.numbers.update((name, _hint(one)) for name, one in found.entries)

    def records(self, constants: Sequence[str]) -> Graph:
        """The records."""
        taken = iter(constants)
        inputs = [self._input(one, taken) for one in self.graph["inputs"].items]
        nodes = [self._node(one, place) for place, one in enumerate(self.graph["nodes"].items)]
        outputs = tuple(map(self.argument, self.graph["outputs"].items))
        return Graph(tuple(one for one in nodes if one is not None), tuple(inputs), outputs)

    def _input(self, given: Field, constants: Iterator[str]) -> Value:
        kind, inside = given.only
        if kind == "as_tensor":
            return self._value(inside["name"], given=True)
        if kind.startswith("as_sym") and (name := inside.get("as_name")) is not None:
            return Value(name.text)
        return Value(next(constants, given.place))

    def _value(self, name: Field, given: bool = False) -> Value:
        meta = self.tensors.get(name.text)
        if meta is None:
            name.fail("expected a tensor of the graph")
        if meta["layout"].integer != _STRIDED:
            meta["layout"].fail("expected a dense tensor, whose layout is 7")
        shape = shape_of(meta["sizes"])
        if given:
            open_ = [place for place, one in enumerate(meta["sizes"].items) if "as_expr" in one.value]
            self.reader.fixed += [f"{name.text}.shape[{place}] = {shape[place]}" for place in open_]
        return Value(name.text, type_of(meta["dtype"]), shape)

    def _node(self, node: Field, place: int) -> Node | None:
        """A node, unless it computes only sizes."""
        outputs = [value for one in node["outputs"].items for value in self._results(one)]
        numbers = [one for one in node["outputs"].items if one.only[0].startswith("as_sym")]
        if numbers and not outputs:
            return None
        named = node.get("name")
        name = named.text if named else outputs[0].name if outputs else f"node_{place}"
        arguments = {
            one["name"].text or str(number): self.argument(one["arg"])
            for number, one in enumerate(node["inputs"].items)
        }
        target = node["target"].text.removeprefix("torch.ops.")
        return Node(name, target, arguments, tuple(outputs), _module(node), place)

    def _results(self, output: Field) -> list[Value]:
        kind, inside = output.only
        match kind:
            case "as_tensor":
                return [self._value(inside["name"])]
            case "as_tensors":
                return [self._value(one["name"]) for one in inside.items]
            case "as_optional_tensors":
                return [value for one in inside.items for value in self._results(one)]
        return []

    def argument(self, argument: Field) -> Argument:
        """An argument, as records have it."""
        kind, inside = argument.only
        one = _ONE.get(kind)
        if one is not None:
            return one(self, inside)
        element = _MANY.get(kind)
        if element is not None:
            return tuple(element(self, value) for value in inside.items)
        lists = _LISTS.get(kind)
        if lists is None:
            argument.fail("expected an argument that is known")
        return tuple(tuple(lists(self, value) for value in row.items) for row in inside.items)

    def tensor(self, value: Field) -> Argument:
        """A reference to a tensor."""
        return Reference(value["name"].text)

    def symbol(self, value: Field) -> Argument:
        """The number that a symbolic one had in the example."""
        kind, inside = value.only
        if kind != "as_name":
            return _hint(value)
        if inside.text not in self.numbers:
            inside.fail("expected a size of the graph")
        return self.numbers[inside.text]

    def inner(self, value: Field) -> Argument:
        """A graph that a node runs."""
        return self.reader.graph(value["graph"], (), self.depth + 1)


def _device(graph: _Graph, value: Field) -> Argument:
    index = value.get("index")
    return value["type"].text if index is None else f"{value['type'].text}:{index.integer}"


def _format(graph: _Graph, value: Field) -> Argument:
    number = value.integer
    return f"torch.{_FORMATS[number]}" if 0 <= number < len(_FORMATS) else "torch.unknown"


_Reader = Callable[[_Graph, Field], Argument]

_ONE: dict[str, _Reader] = {
    "as_none": lambda graph, value: None,
    "as_tensor": _Graph.tensor,
    "as_int": lambda graph, value: value.integer,
    "as_float": lambda graph, value: value.real,
    "as_bool": lambda graph, value: value.boolean,
    "as_string": lambda graph, value: value.text,
    "as_operator": lambda graph, value: value.text,
    "as_scalar_type": lambda graph, value: type_of(value),
    "as_memory_format": _format,
    "as_layout": lambda graph, value: "torch.strided" if value.integer == _STRIDED else "torch.sparse",
    "as_device": _device,
    "as_sym_int": _Graph.symbol,
    "as_sym_float": _Graph.symbol,
    "as_sym_bool": _Graph.symbol,
    "as_optional_tensor": _Graph.argument,
    "as_complex": lambda graph, value: complex(value["real"].real, value["imag"].real),
    "as_graph": _Graph.inner,
    "as_custom_obj": lambda graph, value: value["name"].text,
}
_MANY: dict[str, _Reader] = {
    "as_tensors": _Graph.tensor,
    "as_ints": _ONE["as_int"],
    "as_floats": _ONE["as_float"],
    "as_bools": _ONE["as_bool"],
    "as_strings": _ONE["as_string"],
    "as_sym_ints": _Graph.symbol,
    "as_sym_floats": _Graph.symbol,
    "as_sym_bools": _Graph.symbol,
    "as_optional_tensors": _Graph.argument,
}
_LISTS: dict[str, _Reader] = {
    "as_int_lists": _ONE["as_int"],
    "as_float_lists": _ONE["as_float"],
    "as_nested_tensors": _Graph.tensor,
}


def _module(node: Field) -> str:
    """The path of the innermost module that a node belongs to."""
    metadata = node.get("metadata")
    stack = metadata and metadata.get("nn_module_stack")
    if not stack:
        return ""
    parts = stack.text.rpartition(";")[2].split(",")
    return parts[1] if len(parts) > 1 else ""
