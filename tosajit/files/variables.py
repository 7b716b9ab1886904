"""The two ways in which files hold variables.

In a graph VARIABLE, VARIABLE_READ and VARIABLE_WRITE name their variable. In a file the name is that of a
tensor marked as variable, which every block that uses it lists. Arm's tools write IDENTITY from and to such a
tensor, and have no operator for the declaration; what this cannot say is written with the three operators.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count

from tiling.records import replace
from tosajit.errors import FileError
from tosajit.graph import Block, Graph, Node, Value
from tosajit.graph.operator import Operator
from tosajit.operators import VARIABLE, VARIABLE_READ, VARIABLE_WRITE

VARIABLES = (VARIABLE, VARIABLE_READ, VARIABLE_WRITE)


def access(
    operator: type[Operator], inputs: tuple[str, ...], outputs: tuple[str, ...], values: Mapping[str, Value]
) -> Node | None:
    """The node that a file's operator stands for if it touches a variable; None if that makes no sense."""
    named = {name: values[name].variable_name for name in inputs + outputs if values[name].variable_name}
    read = [named[name] for name in inputs if name in named]
    written = [named[name] for name in outputs if name in named]
    match operator.opcode, len(inputs), len(outputs), read, written:
        case "VARIABLE", 0, 1, [], [name]:
            return Node(VARIABLE(name=name), (), outputs)
        case "IDENTITY" | "VARIABLE_READ", 1, 1, [name], []:
            return Node(VARIABLE_READ(name=name), (), outputs)
        case "IDENTITY" | "VARIABLE_WRITE", 1, 1, [], [name]:
            return Node(VARIABLE_WRITE(name=name), inputs, ())
    return None


def declare_variables(graph: Graph) -> Graph:
    """Declare what the file's tensors declare, and drop the tensors that only stand for a variable."""
    declared = {node.operator.name for node in graph.nodes if isinstance(node.operator, VARIABLE)}
    found: dict[str, Value] = {}
    for block in (graph.main, *_blocks(graph)):
        for value in block.values.values():
            if value.variable_name and value.variable_name not in declared:
                found.setdefault(value.variable_name, value)
    if not declared and not found:
        return graph
    first = graph.main
    return _with_blocks(
        graph, lambda block: _declared(block, tuple(found.values()) if block is first else ())
    )


def _declared(block: Block, found: Iterable[Value]) -> Block:
    kept = {name for node in block.nodes for name in node.outputs}
    kept |= {value.name for value in found if block.values.get(value.name) is value}
    values = {name: value for name, value in block.values.items() if not value.variable_name or name in kept}
    nodes = []
    for value in found:
        name = value.name if values.get(value.name) is value else _free(value.name, values)
        values[name] = replace(value, name=name)
        nodes.append(Node(VARIABLE(name=value.variable_name), (), (name,)))
    return replace(block, nodes=(*nodes, *block.nodes), values=values)


def store_variables(graph: Graph) -> tuple[Graph, bool]:
    """The graph with a tensor for each variable that a block uses; whether IDENTITY is to access them."""
    if not any(isinstance(node.operator, VARIABLES) for node in graph.nodes):
        return graph, False
    declared = {
        node.operator.name: block.values[node.outputs[0]]
        for block in _blocks(graph)
        for node in block.nodes
        if isinstance(node.operator, VARIABLE) and node.outputs
    }
    for node in graph.nodes:
        if isinstance(node.operator, VARIABLE) and not node.outputs:
            raise FileError(f"variable {node.operator.name!r}: its declaration has no tensor")
        if isinstance(node.operator, VARIABLES) and node.operator.name not in declared:
            raise FileError(
                f"{node.name}: variable {node.operator.name!r} is not declared, so a file cannot hold it"
            )
    as_tensors = _tensors_say_all(graph)
    return _with_blocks(graph, lambda block: _stored(block, declared, as_tensors)), as_tensors


def _stored(block: Block, declared: Mapping[str, Value], as_tensors: bool) -> Block:
    values, nodes = dict(block.values), []
    tensors: dict[str, str] = {}
    for node in block.nodes:
        if not isinstance(node.operator, VARIABLES):
            nodes.append(node)
            continue
        name = node.operator.name
        if isinstance(node.operator, VARIABLE):
            tensors.setdefault(name, node.outputs[0])
            values[node.outputs[0]] = replace(values[node.outputs[0]], variable_name=name)
            nodes += [] if as_tensors else [node]
            continue
        if name not in tensors:
            tensors[name] = _free(name, values)
            values[tensors[name]] = replace(declared[name], name=tensors[name], variable_name=name)
        tensor = (tensors[name],)
        is_read = isinstance(node.operator, VARIABLE_READ)
        nodes.append(replace(node, inputs=tensor) if is_read else replace(node, outputs=tensor))
    return replace(block, nodes=tuple(nodes), values=values)


def _tensors_say_all(graph: Graph) -> bool:
    """Whether declarations are what tensors can tell: at the beginning, each once and before every use."""
    declarations = [node for node in graph.nodes if isinstance(node.operator, VARIABLE)]
    names = [node.operator.name for node in declarations if isinstance(node.operator, VARIABLE)]
    used = {node.operator.name for node in graph.nodes if isinstance(node.operator, VARIABLES)}
    return (
        tuple(declarations) == graph.main.nodes[: len(declarations)]
        and not any(node.location for node in declarations)
        and len(names) == len(used)
    )


def _free(name: str, values: Mapping[str, Value]) -> str:
    if name not in values:
        return name
    return next(other for number in count(1) if (other := f"{name}.{number}") not in values)


def _blocks(graph: Graph) -> Iterator[Block]:
    return (block for region in graph.regions for block in region.blocks)


def _with_blocks(graph: Graph, change: Callable[[Block], Block]) -> Graph:
    regions = tuple(replace(region, blocks=tuple(map(change, region.blocks))) for region in graph.regions)
    return replace(graph, regions=regions)
