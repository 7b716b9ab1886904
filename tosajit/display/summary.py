"""What a graph holds and needs: operators, multiplications, parameters, profiles and extensions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from tosajit.checks.validation import validate
from tosajit.checks.variables import declared_variables
from tosajit.graph import Block, Graph, Value
from tosajit.graph.binding import Use, constants_of, use_of
from tosajit.profiles import EXTENSIONS


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input, an output or a variable, under its own name: a summary is data."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    scale: float | None = None
    zero_point: int | None = None

    @classmethod
    def of(cls, name: str, value: Value, scales: Mapping[str, tuple[float, int]]) -> Tensor:
        """What a value is, and what its integers stand for, as far as the model says it."""
        return cls(name, value.dtype.name, value.shape, *scales.get(name, (None, None)))

    def __str__(self) -> str:
        extents = "*" if self.shape is None else ", ".join(map(str, self.shape))
        return f"{self.name}: {self.dtype}[{extents}]"


@dataclass(frozen=True, slots=True)
class Summary:
    """A graph in numbers; counts are of the file, whatever control flow does with them."""

    version: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    operators: dict[str, int]
    macs: int
    parameter_bytes: int
    """Of the constant tensors, shapes left out."""
    needs: tuple[str, ...]
    """Profiles (alternatives with `or`) and extensions."""
    variables: tuple[Tensor, ...]
    regions: tuple[str, ...]
    violations: int
    notes: tuple[str, ...]
    """What the front end has to say of the graph."""


def summarize(graph: Graph) -> Summary:
    """Look at a graph that may be illegal: what cannot be told is left out."""
    blocks = [block for region in graph.regions for block in region.blocks]
    main = [block for region in graph.regions if region.name == "main" for block in region.blocks][
        :1
    ] or blocks[:1]
    uses = [use for block in blocks for use in _uses(block)]
    constants = [value for block in blocks for value in _constants(block)]
    variables = declared_variables(graph)
    return Summary(
        version=".".join(map(str, graph.version[:3])),
        inputs=tuple(one for block in main for one in _declared(block, block.inputs, graph)),
        outputs=tuple(one for block in main for one in _declared(block, block.outputs, graph)),
        operators=dict(Counter(node.operator.opcode for node in graph.nodes).most_common()),
        macs=sum(map(macs, uses)),
        parameter_bytes=sum(constants),
        needs=_needs(graph, uses),
        variables=tuple(Tensor.of(name, value, {}) for name, value in variables.items()),
        regions=tuple(region.name for region in graph.regions),
        violations=len(validate(graph)),
        notes=graph.notes,
    )


def macs(use: Use) -> int:
    """Multiplications of a convolution or a matrix product."""
    names = use.operator.products.split()
    if not names or any(name not in use.dims for name in names):
        return 0
    return prod(int(use.dims[name]) for name in names)


def _uses(block: Block) -> Iterator[Use]:
    constants = constants_of(block)
    for node in block.nodes:
        yield use_of(node, block, constants)


def _constants(block: Block) -> Iterator[int]:
    for node in block.nodes:
        if node.operator.holds_data:
            for value in _values(block, node.outputs):
                if value.shape is not None and value.dtype.kind != "shape":
                    yield -(-prod(value.shape) * value.dtype.bits // 8)


def _declared(block: Block, names: Iterable[str], graph: Graph) -> Iterator[Tensor]:
    return (Tensor.of(value.name, value, graph.scales) for value in _values(block, names))


def _values(block: Block, names: Iterable[str]) -> list[Value]:
    return [block.values[name] for name in names if name in block.values]


def _needs(graph: Graph, uses: Iterable[Use]) -> tuple[str, ...]:
    """The fewest profiles and extensions: what has an alternative counts only if nothing else covers it."""
    alternatives = {use.mode.requirement for use in uses if use.mode is not None}
    needed = {name for use in uses for name in use.operator.needs()}
    needed |= {name for options in alternatives if len(options) == 1 for name in options[0]}
    if any(
        fault.kind == "constant" for fault in validate(graph, extensions=set(EXTENSIONS) - {"EXT-DYNAMIC"})
    ):
        needed.add("EXT-DYNAMIC")
    needed |= _bases(needed)
    open_ones = [options for options in alternatives if not any(option <= needed for option in options)]
    texts = {" or ".join(sorted(" and ".join(sorted(option)) for option in options)) for options in open_ones}
    return tuple(sorted(needed, key=_rank) + sorted(texts))


def _bases(needed: set[str]) -> set[str]:
    """Profiles that extensions belong to, where there is only one."""
    return {EXTENSIONS[name][0] for name in needed if len(EXTENSIONS.get(name, ())) == 1}


def _rank(name: str) -> tuple[bool, str]:
    return not name.startswith("PRO-"), name
