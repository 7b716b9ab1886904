"""A module's graph, and the executable that takes and gives tensors as the module does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from tosajit.arrays import Array
from tosajit.compiling import compile
from tosajit.errors import InputError
from tosajit.frontends.torch.loading import exported_program, program_of
from tosajit.frontends.torch.lowering import lowered
from tosajit.frontends.torch.reader import elements_of
from tosajit.frontends.torch.records import Program
from tosajit.graph import Graph
from tosajit.runtime.context import Context
from tosajit.runtime.executable import Executable

_BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
"""Types that PyTorch takes from NumPy only by their bits."""


@dataclass(frozen=True)
class Nesting:
    """How a module is called: what the leaves of its arguments and results are."""

    takes: Any
    gives: Any
    """Both as `torch.utils._pytree` has them."""
    inputs: tuple[str, ...]
    """Names of the leaves of the arguments."""
    outputs: tuple[bool, ...]
    """Whether each leaf of the results is a tensor; others are None."""

    @classmethod
    def of(cls, exported: Any, program: Program) -> Nesting:
        """How an exported program is called."""
        names = tuple(one.name for one in program.graph.inputs if one.name not in program.held)
        places = range(len(program.graph.outputs))
        given = tuple(place in program.results for place in places if place not in program.mutations)
        return cls(exported.call_spec.in_spec, exported.call_spec.out_spec, names, given)

    def leaves(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The leaves of a call by their names."""
        from torch.utils import _pytree

        example = _pytree.tree_unflatten(list(range(len(self.inputs))), self.takes)
        order = list(example[1])
        if set(order) != set(keywords):
            raise InputError(f"it takes the keywords {order}, but {sorted(keywords)} are given")
        found, spec = _pytree.tree_flatten((tuple(arguments), {name: keywords[name] for name in order}))
        if spec != self.takes:
            raise InputError(f"its arguments are nested as {example}, but those that are given otherwise")
        return dict(zip(self.inputs, found, strict=True))

    def results(self, tensors: Sequence[Any]) -> Any:
        """Tensors in the structure that the module gives."""
        from torch.utils import _pytree

        left = iter(tensors)
        return _pytree.tree_unflatten([next(left) if one else None for one in self.outputs], self.gives)


@dataclass(frozen=True)
class ModuleGraph(Graph):
    """The graph of a PyTorch module; `compile` gives what is called as the module is."""

    nesting: Nesting | None = field(default=None, compare=False, repr=False)

    def compile(self, **options: Any) -> CompiledModule:
        """Compile it; the options are those of `tosajit.compile`."""
        assert self.nesting is not None
        return CompiledModule(compile(self, **options), self.nesting)


@dataclass(frozen=True)
class CompiledModule:
    """An executable that takes and gives tensors of PyTorch, in the structure of its module.

    Tensors are seen where they are if they are contiguous and on the CPU; results are new ones. There are no
    gradients.
    """

    executable: Executable
    nesting: Nesting

    def __call__(self, *arguments: Any, context: Context | None = None, **keywords: Any) -> Any:
        """Run on what the module takes; `context` has the variables to use."""
        leaves = self.nesting.leaves(arguments, keywords)
        arrays = [_array(one.name, leaves[one.name]) for one in self.executable.interface.inputs]
        found = self.executable(*arrays, context=context)
        tensors = [_tensor(one) for one in (found if isinstance(found, tuple) else (found,))]
        return self.nesting.results(tensors)


def from_torch(
    module: Any,
    example_inputs: Sequence[Any] | None = None,
    example_keywords: Mapping[str, Any] | None = None,
) -> ModuleGraph:
    """Make a graph of a PyTorch module, through `torch.export`, or of an `ExportedProgram`.

    `example_inputs` and `example_keywords` are what `forward` is called with: tensors, and lists, tuples and
    dictionaries of them; one tensor stands for itself. Shapes are those of the example. Parameters are
    constants, buffers that `forward` writes are variables. Inputs are called as the arguments of
    `forward` are, outputs by their places in what it returns: `output`, `output_1`, or their keys.
    `compile()` of the graph gives what is called with tensors, as the module is.

    Needs PyTorch (`pip install tosajit[torch]`). Raises `InputError` if the module cannot be exported, and
    `ModelError` with everything that has no form in TOSA.
    """
    exported = exported_program(module, example_inputs, example_keywords)
    program = program_of(exported)
    return of_program(exported, program)


def of_program(exported: Any, program: Program) -> ModuleGraph:
    """The graph of an exported program that has been read."""
    graph = lowered(program)
    values = {one.name: getattr(graph, one.name) for one in fields(graph)}
    return ModuleGraph(**values, nesting=Nesting.of(exported, program))


def _array(name: str, leaf: Any) -> Array:
    import torch

    if not isinstance(leaf, torch.Tensor):
        raise InputError(f"input {name}: expected a tensor, found {type(leaf).__name__}")
    return elements_of(leaf)


def _tensor(array: Array) -> Any:
    import torch

    name = array.dtype.name
    if name in _BITS:
        return torch.from_numpy(array.view(_BITS[name])).view(getattr(torch, name))
    return torch.from_numpy(array)
