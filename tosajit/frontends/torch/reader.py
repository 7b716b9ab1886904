"""Records of a live `torch.export.ExportedProgram`: tensors are views of its own, nothing is copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tosajit.arrays import Array
from tosajit.frontends.frame import Refused
from tosajit.frontends.torch.records import Argument, Graph, Held, Node, Program, Reference, Type, Value

_TYPES = {one.value: one for one in Type}
_BITS = {
    "bfloat16": ("uint16", ml_dtypes.bfloat16),
    "float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
    "float8_e5m2": ("uint8", ml_dtypes.float8_e5m2),
}
"""Types that NumPy has only by a package: how `torch` gives their bits, and what these are."""


def read_program(exported: Any) -> Program:
    """The records of an exported program."""
    signature = exported.graph_signature
    held = _held(exported)
    graph = _Graph(exported.graph_module).graph()
    results, mutations = {}, {}
    names = iter(_result_names(exported.call_spec.out_spec))
    for place, spec in enumerate(signature.output_specs):
        kind = spec.kind.name
        if kind == "USER_OUTPUT":
            name = next(names)
            if graph.outputs[place] is not None:
                results[place] = name
        elif kind in ("BUFFER_MUTATION", "PARAMETER_MUTATION"):
            mutations[place] = next(key for key, one in held.items() if one.label == spec.target)
        elif kind == "USER_INPUT_MUTATION":
            mutations[place] = spec.target
    return Program(
        graph, held, results, mutations, tuple(_fixed(exported)), _trees(exported.call_spec),
        sum(one.elements.nbytes for one in held.values()),
    )  # fmt: skip


def _held(exported: Any) -> dict[str, Held]:
    """Parameters, buffers and constants, by the names of the inputs that stand for them."""
    found, tensors = {}, {**exported.constants, **exported.state_dict}
    for spec in exported.graph_signature.input_specs:
        if spec.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR") and spec.target in tensors:
            tensor = tensors[spec.target]
            found[spec.arg.name] = Held(spec.target, type_of(tensor.dtype), elements_of(tensor))
    return found


def type_of(dtype: Any) -> Type:
    """The type of elements by that of `torch`."""
    name = str(dtype).removeprefix("torch.")
    if name not in _TYPES:
        raise Refused(f"{name} is a type that is not known")
    return _TYPES[name]


def elements_of(tensor: Any) -> Array:
    """The elements of a tensor: a view of its memory, where NumPy can have one."""
    import torch

    plain = tensor.detach().cpu()
    special = _BITS.get(str(plain.dtype).removeprefix("torch."))
    if special is None:
        return np.asarray(plain.numpy())
    bits = plain.contiguous().view(getattr(torch, special[0])).numpy()
    return np.asarray(bits.view(special[1]))


class _Graph:
    """A graph of `torch.fx` on its way to records."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.names: dict[Any, Argument] = {}
        """What nodes that are no operators stand for."""

    def graph(self) -> Graph:
        """The records."""
        nodes: list[Node] = []
        inputs: list[Value] = []
        outputs: Argument = ()
        for place, node in enumerate(self.module.graph.nodes):
            if node.op == "placeholder":
                inputs.append(_value(node.name, node.meta.get("val")))
            elif node.op == "get_attr":
                self.names[node] = _Graph(getattr(self.module, node.target)).graph()
            elif node.op == "output":
                outputs = self.argument(node.args[0])
            elif not self._passed(node):
                nodes.append(self._node(node, place))
        assert isinstance(outputs, tuple)
        return Graph(tuple(nodes), tuple(inputs), outputs)

    def _passed(self, node: Any) -> bool:
        """Whether a node only takes a part of another one, or computes a size."""
        value = node.meta.get("val")
        if getattr(node.target, "__name__", "") == "getitem":
            source, place = node.args
            if isinstance(self.names.get(source), tuple):
                self.names[node] = self.names[source][place]  # type: ignore[index]
            else:
                self.names[node] = Reference(f"{source.name}.{place}")
            return True
        hint = _hint(value)
        if hint is not None:
            self.names[node] = hint
        return hint is not None

    def _node(self, node: Any, place: int) -> Node:
        value = node.meta.get("val")
        if isinstance(value, list | tuple):
            outputs = tuple(_value(f"{node.name}.{number}", one) for number, one in enumerate(value))
        else:
            outputs = (_value(node.name, value),)
        return Node(
            node.name, str(_target(node.target)), self._arguments(node), outputs, _module(node.meta), place
        )

    def _arguments(self, node: Any) -> dict[str, Argument]:
        """Arguments by the names of the schema."""
        schema = getattr(node.target, "_schema", None)
        names = [f"{place}" for place in range(len(node.args))]
        if schema is not None:
            names = [one.name for one in schema.arguments]
        found = dict(zip(names, map(self.argument, node.args), strict=False))
        return {**found, **{name: self.argument(one) for name, one in node.kwargs.items()}}

    def argument(self, value: Any) -> Argument:
        """An argument as records have it."""
        if isinstance(value, list | tuple):
            return tuple(map(self.argument, value))
        if value is None or isinstance(value, bool | int | float | complex | str):
            return value
        if hasattr(value, "meta") and hasattr(value, "name"):
            return self.names.get(value, Reference(value.name))
        hint = _hint(value)
        if hint is not None:
            return hint
        name = str(value)
        return _TYPES.get(name.removeprefix("torch."), name)


def _target(target: Any) -> str:
    """An operator by its name and overload, such as `aten.conv2d.default`."""
    name = str(target)
    if "." in name:
        return name
    package = getattr(target, "namespace", "higher_order")
    return f"{package}.{name}"


def _value(name: str, value: Any) -> Value:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return Value(name, type_of(value.dtype), tuple(map(_extent, value.shape)))
    return Value(name)


def _extent(value: Any) -> int:
    """An extent; -1 is one that depends on elements."""
    found = value if isinstance(value, int) else _hint(value)
    return -1 if found is None else int(found)


def _hint(value: Any) -> int | float | bool | None:
    """The number that a symbolic one had in the example."""
    node = getattr(value, "node", None)
    found = getattr(node, "hint", None)
    return found if isinstance(found, bool | int | float) else None


def _module(meta: Mapping[str, Any]) -> str:
    """The path of the innermost module that a node belongs to."""
    stack = meta.get("nn_module_stack")
    return str(next(reversed(stack.values()))[0]) if stack else ""


def _fixed(exported: Any) -> Iterator[str]:
    """Extents of inputs that the program leaves open."""
    for node in exported.graph.nodes:
        shape: Sequence[Any] = getattr(node.meta.get("val"), "shape", ())
        if node.op == "placeholder":
            for place, extent in enumerate(shape):
                hint = _hint(extent)
                if not isinstance(extent, int) and hint is not None:
                    yield f"{node.name}.shape[{place}] = {hint}"


def _result_names(spec: Any) -> list[str]:
    """What results are called, by their places in what the module returns."""
    from torch.utils import _pytree

    tree = _pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    paths = [path for path, _ in _pytree.tree_flatten_with_path(tree)[0]]
    return ["_".join(map(_key, path)) if path and _is_named(path[0]) else _numbered(path) for path in paths]


def _numbered(path: Sequence[Any]) -> str:
    return "_".join(["output", *map(_key, path)])


def _is_named(key: Any) -> bool:
    return not _key(key).isdigit()


def _key(key: Any) -> str:
    """A step of a path: a key, an index or the name of a field."""
    for name in ("key", "idx", "name"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)


def _trees(spec: Any) -> tuple[str, str]:
    """How inputs and outputs are nested, as `.pt2` files have it; empty where `torch` cannot write that."""
    from torch.utils import _pytree

    found = []
    for one in (spec.in_spec, spec.out_spec):
        try:
            found.append(_pytree.treespec_dumps(one))
        except (NotImplementedError, TypeError, ValueError):
            found.append("")
    return found[0], found[1]
