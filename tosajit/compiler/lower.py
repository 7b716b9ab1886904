"""Lowering a part of a graph: the loop nests of its operators, and the tensors that they know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tiling.nest import Nest
from tiling.records import replace
from tosajit.arrays import Array
from tosajit.compiler.options import Options
from tosajit.compiler.parts import Part
from tosajit.compiler.segment import Segment, Tensor, tensor_of
from tosajit.dtypes import dtype_of
from tosajit.errors import CompileError
from tosajit.graph import Block
from tosajit.graph.binding import use_of
from tosajit.kernels.sets.registry import instruction_set
from tosajit.operators.lowering import Lowering


def lower(part: Part, options: Options) -> Segment:
    """The part as loop nests, operator by operator."""
    nests: list[Nest] = []
    constants = dict(part.constants)
    for node in part.nodes:
        at = Lowering(use_of(node, part.block, part.constants), options.checked, array_kernels(options))
        nests += _lowered(at, options)
        constants |= at.added
    tensors = _tensors(part.block, constants, nests)
    dense = {name: np.ascontiguousarray(array) for name, array in constants.items()}
    return Segment(part.name, tuple(nests), tensors, part.inputs, part.outputs, dense)


def array_kernels(options: Options) -> bool:
    """Whether there are array kernels for what nests are recognised as."""
    kernels = options.run and options.on_host and not options.interpret and options.machine is None
    return kernels and instruction_set() is not None


def _lowered(at: Lowering, options: Options) -> list[Nest]:
    function, name = getattr(at.operator, "lower", None), f"{at.name} ({at.operator.opcode})"
    if function is None and (written := options.written(at.use)) is not None:
        function = written.nests
    if function is None:
        raise CompileError(f"{name}: cannot be compiled yet")
    nests: list[Nest] = function(at)
    if at.checked:
        # Reports of violated requirements call nests by their members.
        nests = [replace(nest, members=(name,)) for nest in nests]
    return nests


def _tensors(block: Block, constants: Mapping[str, Array], nests: Sequence[Nest]) -> dict[str, Tensor]:
    """All that nests may read or write, by name."""
    shaped = [value for value in block.values.values() if value.shape is not None]
    found = {value.name: Tensor(value.name, value.dtype, value.shape or ()) for value in shaped}
    ours = {name: array for name, array in constants.items() if name not in found}
    found |= {name: Tensor(name, dtype_of(array.dtype), array.shape) for name, array in ours.items()}
    return found | {t.name: t for nest in nests for t in _temporaries(nest, found)}


def _temporaries(nest: Nest, known: Mapping[str, Tensor]) -> Iterator[Tensor]:
    """Tensors that only nests know, such as an intermediate result inside one operator."""
    for write in nest.writes:
        name = write.access.operand
        if name not in known:
            yield tensor_of(name, write.access.type, write.access.shape)
