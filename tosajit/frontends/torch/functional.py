"""Programs without writes in place, and without graphs that are only wrapped.

A write in place gives a new tensor, which its name stands for from then on. Where that is a view of another
tensor, the new elements are scattered into that one, and other views of it are taken anew when they are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from tiling.records import replace
from tosajit.errors import FileError
from tosajit.frontends.frame.proportion import below
from tosajit.frontends.torch.records import Argument, Graph, Node, Program, Reference, Value

_FREE_NODES, _NODES = 10_000, 4
"""How many nodes may be put between the others, and how many more for each of them."""
_WRAPPERS = {"wrap_with_set_grad_enabled": 1, "wrap_with_autocast": 4}
"""Operators that run a graph as it is, with the place of that graph among their arguments."""
_SHAPED = frozenset(
    "view reshape unsqueeze squeeze flatten unflatten detach alias view_as _unsafe_view contiguous".split()
)
"""Views that have all elements in their order."""
_VIEWS = _SHAPED | frozenset(
    "slice select permute transpose t expand expand_as narrow movedim "
    "chunk split split_with_sizes unbind".split()
)


def functional(program: Program) -> Program:
    """The program without writes in place: what they write to buffers are outputs."""
    try:
        return _Walk(program, tuple(inlined(program.graph.nodes))).program()
    except (LookupError, TypeError, ValueError) as error:
        text = f"expected arguments that its operators take ({type(error).__name__}: {error})"
        raise FileError(text) from None


def inlined(nodes: Iterable[Node], depth: int = 0) -> Iterable[Node]:
    """Nodes with those of wrapped graphs in place."""
    for node in nodes:
        name = node.target.split(".")[-1]
        if name not in _WRAPPERS or not node.target.startswith("higher_order."):
            yield node
            continue
        given = [one for value in node.arguments.values() for one in _flat(value)]
        (graph,) = (one for one in given if isinstance(one, Graph))
        operands = given[given.index(graph) + 1 :]
        yield from inlined(_renamed(node, graph, operands), below(depth))


def _renamed(caller: Node, graph: Graph, operands: Sequence[Argument]) -> Iterable[Node]:
    """The nodes of a graph under names of their own, and then its results under those of the caller."""
    names: dict[str, Argument] = {}
    for value, operand in zip(graph.inputs, operands, strict=True):
        names[value.name] = operand
    for node in graph.nodes:
        outputs = tuple(replace(one, name=f"{caller.name}/{one.name}") for one in node.outputs)
        arguments = {key: _replaced(one, names) for key, one in node.arguments.items()}
        names |= {one.name: Reference(other.name) for one, other in zip(node.outputs, outputs, strict=True)}
        yield replace(node, name=f"{caller.name}/{node.name}", arguments=arguments, outputs=outputs)
    for value, result in zip(caller.outputs, graph.outputs, strict=False):
        given: dict[str, Argument] = {"self": _replaced(result, names)}
        yield replace(caller, name=value.name, target="aten.alias.default", arguments=given, outputs=(value,))


def _flat(argument: Argument) -> list[Argument]:
    if isinstance(argument, tuple):
        return [inner for one in argument for inner in _flat(one)]
    return [argument]


def _replaced(argument: Argument, names: Mapping[str, Argument]) -> Argument:
    if isinstance(argument, tuple):
        return tuple(_replaced(one, names) for one in argument)
    if isinstance(argument, Reference):
        return names.get(argument.name, argument)
    return argument


@dataclass(slots=True)
class _Storage:
    """Elements that several tensors are views of."""

    root: str
    writes: int = 0


@dataclass(slots=True)
class _View:
    """A tensor as what takes it from another one, and the version of the elements that it was taken of."""

    source: str
    node: Node
    output: Value
    writes: int


class _Walk:
    """A graph, node by node."""

    def __init__(self, program: Program, nodes: Sequence[Node]) -> None:
        self.given, self.source = program, nodes
        self.nodes: list[Node] = []
        self.values: dict[str, Value] = {one.name: one for one in program.graph.inputs}
        self.storages = {one.name: _Storage(one.name) for one in program.graph.inputs}
        self.views: dict[str, _View] = {}
        self.now: dict[str, str] = {}
        """What tensors are called since they were written."""
        self.same: dict[str, str] = {}
        """Results that are tensors which had a name before."""
        self.numbers = count(1)

    def program(self) -> Program:
        """The program again."""
        for node in self.source:
            self._take(node)
        graph = self.given.graph
        outputs = [self._current(one) for one in graph.outputs]
        mutations = dict(self.given.mutations)
        for name in self.given.held:
            if self.storages[name].writes and name not in mutations.values():
                mutations[len(outputs)] = name
                outputs.append(Reference(self.now[name]))
        graph = Graph(tuple(self.nodes), graph.inputs, tuple(outputs))
        return replace(self.given, graph=graph, mutations=mutations)

    def _take(self, node: Node) -> None:
        name = _operator(node)
        written = _written(node, name)
        arguments = {key: self._current(one) for key, one in node.arguments.items()}
        first = next(iter(node.arguments.values()), None)
        source = self._own(first.name) if isinstance(first, Reference) else None
        if written and source is not None:
            self._write(node, source, arguments)
            return
        self.nodes.append(replace(node, arguments=arguments))
        for value in node.outputs:
            self.values[value.name] = value
            self.storages[value.name] = _Storage(value.name)
        if source in self.storages and name in _VIEWS:
            assert source is not None
            storage = self.storages[source]
            for value in node.outputs:
                self.storages[value.name] = storage
                self.views[value.name] = _View(source, node, value, storage.writes)

    def _write(self, node: Node, name: str, arguments: Mapping[str, Argument]) -> None:
        """Give a tensor new elements, and all that it is a view of."""
        (value,) = node.outputs
        operator, _, overload = node.target.removeprefix("aten.").partition(".")
        target = f"aten.{operator.removesuffix('_')}.{overload}"
        self.nodes.append(replace(node, target=target, arguments=arguments))
        self.values[value.name] = value
        self.same[value.name] = name
        storage, new, place = self.storages[name], value.name, name
        while place in self.views:
            view = self.views[place]
            before = self._name(view.source)
            new = self._scattered(view, before, new)
            place = view.source
        storage.writes += 1
        self.now[storage.root] = new
        if name in self.views:
            self.views[name].writes = storage.writes
            self.now[name] = value.name

    def _scattered(self, view: _View, before: str, new: str) -> str:
        """The tensor that another one is a view of, with the elements of that one."""
        name = f"{view.source}/written_{self._number()}"
        whole = replace(self.values[view.source], name=name)
        target, more = _inverse(view, whole.shape)
        first = {"self": Reference(before), "src": Reference(new)} if "_scatter" in target else {}
        arguments: dict[str, Argument] = {**(first or {"self": Reference(new)}), **more}
        self.nodes.append(Node(name, target, arguments, (whole,), view.node.module, view.node.place))
        self.values[name] = whole
        return name

    def _number(self) -> int:
        """The number of a node that is put between the others."""
        number = next(self.numbers)
        if number > _FREE_NODES + _NODES * len(self.source):
            raise FileError(
                "expected a program in proportion to its file, but its views are written too often"
            )
        return number

    def _current(self, argument: Argument) -> Argument:
        if isinstance(argument, tuple):
            return tuple(map(self._current, argument))
        if isinstance(argument, Reference):
            return Reference(self._name(self._own(argument.name)))
        return argument

    def _own(self, name: str) -> str:
        """The first name of a tensor."""
        return self.same.get(name, name)

    def _name(self, name: str) -> str:
        """What a tensor is called now: a view of elements that have been written since is taken anew."""
        view = self.views.get(name)
        if view is None:
            return self.now.get(name, name)
        storage = self.storages[name]
        if view.writes != storage.writes:
            self._renew(name, view, storage)
        return self.now.get(name, name)

    def _renew(self, name: str, view: _View, storage: _Storage) -> None:
        suffix = f"/again_{self._number()}"
        outputs = tuple(replace(one, name=one.name + suffix) for one in view.node.outputs)
        first = next(iter(view.node.arguments))
        arguments = {**view.node.arguments, first: Reference(self._name(view.source))}
        self.nodes.append(
            replace(view.node, name=view.node.name + suffix, arguments=arguments, outputs=outputs)
        )
        self.values |= {one.name: one for one in outputs}
        self.now[name] = view.output.name + suffix
        view.writes = storage.writes


def _inverse(view: _View, shape: tuple[int, ...]) -> tuple[str, dict[str, Argument]]:
    """The operator that puts the elements of a view where they come from, and its further arguments."""
    operator, given = _operator(view.node), dict(list(view.node.arguments.items())[1:])
    place = [one.name for one in view.node.outputs].index(view.output.name)
    match operator:
        case "slice" | "select":
            return f"aten.{operator}_scatter.default", given
        case "chunk" | "split" | "split_with_sizes":
            dim = _whole(given.get("dim", 0))
            start = sum(one.shape[dim] for one in view.node.outputs[:place])
            end = start + view.output.shape[dim]
            return "aten.slice_scatter.default", {"dim": dim, "start": start, "end": end}
        case "unbind":
            return "aten.select_scatter.default", {"dim": given.get("dim", 0), "index": place}
        case "transpose" | "t":
            dims = {"dim0": given.get("dim0", 0), "dim1": given.get("dim1", -1)}
            return "aten.transpose.int", dims
        case "permute":
            places = [_whole(one) % len(shape) for one in _flat(given["dims"])]
            return "aten.permute.default", {"dims": tuple(places.index(one) for one in range(len(shape)))}
        case _ if operator in _SHAPED:
            return "aten.view.default", {"size": shape}
    return f"{view.node.target} that is written in place", {}


def _whole(argument: Argument) -> int:
    if not isinstance(argument, int):
        raise TypeError(f"{argument!r:.60} is no integer")
    return argument


def _operator(node: Node) -> str:
    """The name of an operator without its overload."""
    parts = node.target.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def _written(node: Node, name: str) -> bool:
    """Whether an operator writes its first operand."""
    return (
        node.target.startswith("aten.")
        and name.endswith("_")
        and not name.endswith("__")
        and len(node.outputs) == 1
    )
