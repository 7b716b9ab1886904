"""Steps that need the graph: checks that wait for data, and operators of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tiling.nest import Nest
from tiling.records import dataclass
from tosajit import customs
from tosajit.arrays import Array
from tosajit.checks.validation import late_faults
from tosajit.compiler.options import Options
from tosajit.errors import CompileError, GraphError
from tosajit.graph import Block, Node, Value
from tosajit.graph.binding import Use
from tosajit.runtime.steps import Frame, Known, call_custom


@dataclass(frozen=True, slots=True)
class CheckLate:
    """The checks of a node that wait for data, because EXT-DYNAMIC lets an operand come from elsewhere."""

    node: Node
    block: Block
    operands: tuple[str, ...]

    def run(self, frame: Frame) -> None:
        """Raise if the data make the node illegal."""
        arrays = dict(zip(self.operands, frame.take(self.operands), strict=True))
        faults = late_faults(self.node, self.block, {**frame.constants, **arrays})
        if faults:
            raise GraphError(faults)


@dataclass(frozen=True, slots=True)
class CustomCall:
    """CUSTOM (TOSA 1.0.1 section 2.15.1)."""

    node: Node
    call: Callable[..., Any]
    outputs: tuple[Value, ...]
    estimates: Callable[[], Sequence[Nest]] | None = None
    """Nests that take as long on a machine; None where nothing is known of it."""
    is_cut: bool = False
    """Whether it cuts outputs of the graph to size, which are declared as large as they can be."""
    is_own: bool = False
    """Whether tosajit knows what it means."""

    def run(self, frame: Frame) -> None:
        """Call the function."""
        call_custom(frame, self.node.name, self.call, self.node.inputs, self.outputs, self.is_cut)

    def known(self) -> Known | None:
        """The same without the graph, if the meaning is ours."""
        operator: Any = self.node.operator
        if not self.is_own:
            return None
        name, attributes = operator.operator_name, operator.implementation_attrs
        return Known(self.node.name, name, attributes, self.node.inputs, self.outputs, self.is_cut)


def custom_call(use: Use, node: Node, options: Options, *, leaves: bool) -> CustomCall:
    """Look the operator up and check its shape rule; `leaves` says that its results are only outputs."""
    operator: Any = node.operator
    written = options.written(use)
    if written is not None:
        function = written.call() if options.run else _not_run
        return CustomCall(node, function, use.outputs, written.estimates)
    custom = options.custom_operator(node.name, operator.domain_name, operator.operator_name)
    if custom.shape is not None:
        shapes = [tuple(shape) for shape in custom.shape(*(value.shape for value in use.inputs))]
        declared = [value.shape for value in use.outputs]
        if shapes != declared:
            text = f"its shape rule gives {shapes}, but the outputs are {declared}"
            raise CompileError(f"{node.name} (CUSTOM): {text}")
    assert custom.function is not None
    is_cut = leaves and (operator.domain_name, operator.operator_name) == (customs.DOMAIN, customs.CUT)
    function = _bound(custom.function, operator.implementation_attrs)
    is_own = options.given(operator.domain_name, operator.operator_name) is None
    return CustomCall(node, function, use.outputs, is_cut=is_cut, is_own=is_own)


def _not_run(*arrays: Array) -> Sequence[Array]:
    raise AssertionError("the graph is only timed")


def _bound(function: Callable[..., Any], attributes: bytes) -> Callable[..., Any]:
    """The function with the operator's attributes, if it takes them."""
    import inspect

    try:
        takes = "attributes" in inspect.signature(getattr(function, "py_func", function)).parameters
    except (TypeError, ValueError):
        takes = False
    return (lambda *arrays: function(*arrays, attributes=attributes)) if takes else function
