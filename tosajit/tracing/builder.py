"""Building graphs by hand, one operator at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from tiling.records import dataclass, replace
from tosajit.arrays import Array
from tosajit.dtypes import SHAPE, DType, dtype_of
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.binding import infer_outputs, likeness
from tosajit.graph.operator import Operator
from tosajit.operators import CONST, CONST_SHAPE, VARIABLE, VARIABLE_READ, VARIABLE_WRITE

Shape = tuple[int, ...]


@dataclass(slots=True)
class Budget:
    """How many more nodes a graph may have, with all its regions, and bytes that few numbers ask for."""

    nodes: float = inf
    bytes: float = inf

    def make(self, bytes: int) -> None:
        """Make constants of so many bytes which the source does not have."""
        self.bytes -= bytes
        if self.bytes < 0:
            raise MemoryError("its constants take more bytes than they may")


class GraphBuilder:
    """Builds a graph node by node, and infers types and shapes on the way.

    ```python
    builder = GraphBuilder()
    x = builder.input("x", INT8, (1, 8))
    builder.output(builder.add(CLAMP(min_val=0, max_val=6), [x]))
    graph = builder.build()
    ```
    """

    def __init__(self, name: str = "main", version: tuple[int, int, int, bool] = (1, 0, 1, False)) -> None:
        self.name = name
        self.version = version
        self._values: dict[str, Value] = {}
        self._nodes: list[Node] = []
        self._inputs: list[str] = []
        self._outputs: list[str] = []
        self._constants: dict[str, Array] = {}
        self._inferred: dict[Hashable, tuple[tuple[DType, Shape], ...]] = {}
        self._regions: dict[str, GraphBuilder] = {name: self}
        self.budget = Budget()
        self._numbers: dict[str, int] = {}
        self._stem, self._location = "", ""

    @contextmanager
    def at(self, name: str, location: str, start: int | None = None) -> Iterator[Callable[[str, str], str]]:
        """In a `with` block, name new nodes after `name`, and note their location.

        What it gives renames results of the nodes that were added inside, or from `start` on.
        """
        before = self._stem, self._location
        start = len(self._nodes) if start is None else start
        self._stem, self._location = name, location
        try:
            yield partial(self._rename, start)
        finally:
            self._stem, self._location = before

    @contextmanager
    def inside(self, part: str) -> Iterator[None]:
        """In a `with` block, add a part to names."""
        before = self._stem
        self._stem = f"{before}/{part}" if before else part
        try:
            yield
        finally:
            self._stem = before

    def _rename(self, start: int, old: str, new: str) -> str:
        """Rename a result of the nodes from `start` on, to a free name; what it is called then.

        Constants keep their names: others may know them, since equal ones are stored once.
        """
        if self._values[old].data is not None:
            return old
        users = [place for place in range(start, len(self._nodes)) if _mentions(self._nodes[place], old)]
        if old == new or not users or old not in self._nodes[users[0]].outputs:
            return old
        name = self._free(new) if new in self._values else new
        for place in users:
            node = self._nodes[place]
            inputs, outputs = (_replaced(names, old, name) for names in (node.inputs, node.outputs))
            self._nodes[place] = replace(node, inputs=inputs, outputs=outputs)
        self._values[name] = replace(self._values.pop(old), name=name)
        return name

    def is_input(self, name: str) -> bool:
        """Whether a tensor is an input."""
        return name in self._inputs

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def value(self, name: str) -> Value:
        """The tensor called `name`."""
        return self._values[name]

    def holds(self, value: Value) -> bool:
        """Whether a tensor is still called what it was."""
        return self._values.get(value.name) is value

    @property
    def place(self) -> tuple[str, str]:
        """What new nodes are named after now, and their location."""
        return self._stem, self._location

    def producer(self, name: str) -> Node | None:
        """The node that makes a tensor; None for an input."""
        return next((node for node in reversed(self._nodes) if name in node.outputs), None)

    def input(self, name: str, dtype: DType, shape: Iterable[int]) -> str:
        """An input of the graph, or of a region."""
        self._inputs.append(self._declare(name, dtype, tuple(shape)))
        return name

    def output(self, *names: str) -> None:
        """Make tensors outputs of the graph, or of a region."""
        self._outputs += names

    def const(self, array: ArrayLike, dtype: DType | None = None, name: str = "") -> str:
        """A constant; `dtype` is needed for INT4 and INT48, which NumPy stores as other types."""
        given = np.asarray(array)
        chosen = dtype_of(given.dtype) if dtype is None else dtype
        if given.dtype == chosen.storage and _immutable(given):
            return self._constant(CONST(), name, chosen, given)
        data = np.array(given, chosen.storage)  # a copy: the caller may go on with his array
        data.flags.writeable = False
        return self._constant(CONST(), name, chosen, data)

    def shape(self, extents: Iterable[int], name: str = "") -> str:
        """A constant shape."""
        return self._constant(CONST_SHAPE(), name, SHAPE, np.array(tuple(extents), np.int64))

    def variable(
        self, name: str, dtype: DType, shape: Iterable[int], initial: ArrayLike | None = None
    ) -> None:
        """Declare a variable."""
        data = None if initial is None else np.array(initial, dtype.storage)
        tensor = self._declare(self._free(name, len(self._values)), dtype, tuple(shape), data, name)
        self._append(Node(VARIABLE(name=name), (), (tensor,)))

    def read(self, name: str, dtype: DType, shape: Iterable[int]) -> str:
        """The tensor that a variable holds."""
        return self.add(VARIABLE_READ(name=name), dtype=dtype, shape=tuple(shape))

    def write(self, name: str, value: str) -> None:
        """Store a tensor in a variable."""
        self._append(Node(VARIABLE_WRITE(name=name), (value,), (), self._location))

    def add(
        self,
        operator: Operator,
        inputs: Sequence[str] = (),
        *,
        dtype: DType | None = None,
        shape: Shape | None = None,
        name: str = "",
    ) -> str:
        """Add an operator with one output; give `dtype` and `shape` only where they cannot be inferred."""
        given = None if dtype is None or shape is None else [(dtype, shape)]
        outputs = self._add(operator, inputs, given, dtype, [name] if name else [])
        if len(outputs) != 1:
            raise ValueError(f"{operator.opcode} has {len(outputs)} outputs: use add_all")
        return outputs[0]

    def add_all(
        self,
        operator: Operator,
        inputs: Sequence[str] = (),
        outputs: Sequence[tuple[DType, Shape]] | None = None,
        names: Sequence[str] = (),
    ) -> tuple[str, ...]:
        """Add an operator with any number of outputs; for CUSTOM, give their types and shapes."""
        return self._add(operator, inputs, outputs, None, names)

    def region(self, name: str) -> GraphBuilder:
        """The builder of a region that COND_IF or WHILE_LOOP can name."""
        builder = GraphBuilder(name, self.version)
        builder._regions, builder.budget = self._regions, self.budget
        builder._location = self._location
        self._regions[name] = builder
        return builder

    def build(self) -> Graph:
        """The graph, with all regions."""
        regions = (Region(name, (builder.block(),)) for name, builder in self._regions.items())
        return Graph(tuple(regions), self.version)

    def block(self) -> Block:
        """The nodes added so far."""
        outputs, inputs = tuple(self._outputs), tuple(self._inputs)
        return Block(self.name, tuple(self._nodes), dict(self._values), inputs, outputs)

    def _add(
        self,
        operator: Operator,
        inputs: Sequence[str],
        outputs: Sequence[tuple[DType, Shape]] | None,
        dtype: DType | None,
        names: Sequence[str],
    ) -> tuple[str, ...]:
        if outputs is None:
            outputs = self._infer(operator, inputs, dtype)
        if names and len(names) != len(outputs):
            raise ValueError(
                f"{len(names)} names are given, but {operator.opcode} has {len(outputs)} outputs"
            )
        written = []
        for number, output in enumerate(outputs):
            name = names[number] if names else self._next(operator.opcode.lower())
            written.append(self._declare(name, *output))
        self._append(Node(operator, tuple(inputs), tuple(written), self._location))
        return tuple(written)

    def _infer(
        self, operator: Operator, inputs: Sequence[str], dtype: DType | None
    ) -> tuple[tuple[DType, Shape], ...]:
        """Types and shapes of the outputs; of operands that are alike they are worked out once."""
        values, known = [self._values[name] for name in inputs], self._constants
        if hasattr(operator, "results"):  # of regions, which are still being built
            return infer_outputs(operator, values, known, dtype=dtype, graph=self.build())
        key = likeness(operator, values, known), dtype
        found = self._inferred.get(key)
        if found is None:
            found = self._inferred[key] = infer_outputs(operator, values, known, dtype=dtype)
        return found

    def _constant(self, operator: Operator, name: str, dtype: DType, data: Array) -> str:
        declared = self._declare(name or self._next("const"), dtype, data.shape, data)
        self._constants[declared] = data
        self._append(Node(operator, (), (declared,)))
        return declared

    def _declare(
        self, name: str, dtype: DType, shape: Shape, data: Array | None = None, variable: str = ""
    ) -> str:
        if name in self._values:
            raise ValueError(f"{name} is declared twice")
        self._values[name] = Value(name, dtype, shape, data, variable)
        return name

    def _append(self, node: Node) -> None:
        self.budget.nodes -= 1
        if self.budget.nodes < 0:
            raise MemoryError("the graph has more nodes than it may have")
        self._nodes.append(node)

    def _next(self, opcode: str) -> str:
        """A name for the result of an operator."""
        if not self._stem:
            return self._free(opcode, len(self._values))
        name = f"{self._stem}/{opcode}"
        return self._free(name) if name in self._values else name

    def _free(self, stem: str, number: int = 1) -> str:
        number = max(number, self._numbers.get(stem, 1))
        while (name := f"{stem}_{number}") in self._values:
            number += 1
        self._numbers[stem] = number
        return name


def _mentions(node: Node, name: str) -> bool:
    return name in node.inputs or name in node.outputs


def _replaced(names: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in names)


def _immutable(array: Array) -> bool:
    """Whether nobody can write into what an array is a view of."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        if owner.base is None:
            return True
        owner = owner.base
    return isinstance(owner, bytes) or (isinstance(owner, memoryview) and owner.readonly)
