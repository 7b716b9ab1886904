"""From the records of a text to a graph: functions, and which of them is meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tiling.records import replace
from tiling.words import plain
from tosajit.errors import FileError
from tosajit.files.closing import closed_graph
from tosajit.frontends.mlir.block import Building
from tosajit.frontends.mlir.context import Context, Faults, Refused
from tosajit.frontends.mlir.kinds import kind_of, scale_of
from tosajit.frontends.mlir.syntax.records import (
    Argument,
    Attribute,
    Dictionary,
    Many,
    Module,
    Operation,
    Tensor,
    Text,
    Type,
)
from tosajit.frontends.mlir.syntax.records import Function as Signature
from tosajit.graph import Graph, Region
from tosajit.graph.extents import Shapes

_NAMES = ("tosa.tensor_name", "ml_program.identifier")
"""What tools call the names of inputs and outputs."""


def lowered(module: Module, name: str | None, shapes: Shapes | None, narrow: bool = False) -> Graph:
    """The graph of a function; `ScriptError` with everything that has no form in TOSA 1.0.1."""
    operations = tuple(_operations(module))
    faults = Faults(module)
    function = _chosen([one for one in operations if one.name == "func.func"], name)
    context = Context(module, faults, narrow)
    for one in operations:
        if one.name not in _LEFT_OUT:
            context.declare(one)
    graph = _graph(context, function)
    faults.settle()
    return closed_graph(graph, shapes)


_LEFT_OUT = frozenset({"func.func", "builtin.module", "ml_program.global"})
"""Operations of modules that are no part of a graph."""


def _operations(module: Module) -> Iterator[Operation]:
    """The operations of all modules of a text."""
    stack = list(reversed(module.operations))
    while stack:
        operation = stack.pop()
        yield operation
        if operation.name == "builtin.module":
            inner = [
                one for region in operation.regions for block in region.blocks for one in block.operations
            ]
            stack.extend(reversed(inner))


def _chosen(functions: list[Operation], name: str | None) -> Operation:
    """The function that is named, or is meant: those without a body are only declared."""
    found = {_symbol(one): one for one in functions if one.regions and one.regions[0].blocks[0].operations}
    listed = ", ".join(found) or "none"
    if name is not None:
        if name not in found:
            raise FileError(f"function is {name!r}, but those of the module are {listed}")
        return found[name]
    public = [one for one in found.values() if "sym_visibility" not in one.attributes or _is_public(one)]
    if "main" in found:
        return found["main"]
    if len(found) == 1 or len(public) == 1:
        return (public or list(found.values()))[0]
    if not found:
        raise FileError("expected a module with a function, but there is none")
    raise FileError(f"there are several functions, and none is called main: give function=, one of {listed}")


def _symbol(function: Operation) -> str:
    name = function.attributes.get("sym_name")
    return name.text if isinstance(name, Text) else ""


def _is_public(function: Operation) -> bool:
    visibility = function.attributes["sym_visibility"]
    return isinstance(visibility, Text) and visibility.text == "public"


def _graph(context: Context, function: Operation) -> Graph:
    block = function.regions[0].blocks[0]
    names = _given(function.attributes.get("arg_attrs"), len(block.arguments))
    main = Building(context, "main")
    taken = [
        _takes(main, context, argument, name or _given_to(argument))
        for argument, name in zip(block.arguments, names, strict=True)
    ]
    if not all(taken):
        context.faults.settle()
    main.variables()
    results = main.run(
        function.regions[0], ("func.return", "return", "ml_program.return", "ml_program.output")
    )
    signature = function.attributes.get("function_type")
    given = signature.results if isinstance(signature, Signature) else ()
    wanted = _given(function.attributes.get("res_attrs"), len(results))
    outputs = tuple(main.call(value, name) for value, name in zip(results, wanted, strict=True))
    done = main.finished(outputs)
    inputs = [argument.type for argument in block.arguments]
    types = {**dict(zip(done.outputs, given, strict=False)), **dict(zip(done.inputs, inputs, strict=True))}
    graph = Graph((Region("main", (done,)), *context.regions))
    return replace(graph, outside=_outside(types), scales=_scales(types))


def _takes(main: Building, context: Context, argument: Argument, name: str) -> bool:
    """Add an input; whether TOSA has its type."""
    try:
        main.take(argument, name)
    except Refused as fault:
        context.faults.add(fault.span, f"%{plain(argument.name)}: {fault.message}", fault.remedy)
        return False
    return True


def _given(names: Attribute | None, count: int) -> list[str]:
    """The names that tools have given to inputs or outputs."""
    items = names.items if isinstance(names, Many) else ()
    found = [_name(one.items) if isinstance(one, Dictionary) else "" for one in items][:count]
    return found + [""] * (count - len(found))


def _given_to(argument: Argument) -> str:
    return _name(argument.attributes)


def _name(attributes: Mapping[str, Attribute]) -> str:
    found = (attributes.get(name) for name in _NAMES)
    return next((one.text for one in found if isinstance(one, Text) and one.data), "")


def _outside(types: Mapping[str, Type]) -> dict[str, str]:
    """The NumPy types of inputs and outputs, where TOSA lacks theirs."""
    kinds = {name: kind_of(one.element.name) for name, one in types.items() if isinstance(one, Tensor)}
    return {name: kind.outside for name, kind in kinds.items() if kind is not None and kind.outside}


def _scales(types: Mapping[str, Type]) -> dict[str, tuple[float, int]]:
    found = {name: scale_of(type) for name, type in types.items()}
    return {name: scale for name, scale in found.items() if scale is not None}
