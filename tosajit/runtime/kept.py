"""Whole executables in the user's cache: a graph that was compiled before is compiled by no stage again.

An executable is named by all that it depends on: the graph with its constants, what was asked for, the CPU,
and the sources of this package as Python knows bytecode to be current, by size and time. What lies in the
cache is trusted as far as kernels are (`kernels/cache.py`), and used only if its digest is right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tosajit import version
from tosajit.errors import CompileError
from tosajit.graph import Block, Graph
from tosajit.kernels import cache
from tosajit.kernels.objects import environment
from tosajit.kernels.sets.registry import instruction_set
from tosajit.log import LOG
from tosajit.runtime.archive import bytes_of, unpacked
from tosajit.runtime.body import Body
from tosajit.runtime.interface import Interface
from tosajit.runtime.keeping import is_explained, place, put, sources
from tosajit.runtime.storing import DAMAGE, restored, stored

if TYPE_CHECKING:
    from tosajit.compiler.options import Options

WORTH_SECONDS = 0.1
"""What is made faster than this is not kept."""


def name_of(graph: Graph, options: Options) -> str:
    """The name of the executable in the cache; empty if it is not to be kept."""
    if options.machine is not None or options.interpret or is_explained():
        return ""
    texts = [] if graph.digest else _texts(graph, options)
    if texts is None:
        return ""
    isa = instruction_set()
    found = hashlib.sha256(repr((version.VERSION, sources(), environment(), isa and isa.name)).encode())
    found.update(
        repr(
            (
                options.target,
                options.checked,
                options.generic == "always",
                sorted(options.limits.items()),
                texts,
            )
        ).encode()
    )
    for part in [graph.digest.encode()] if graph.digest else _graph(graph):
        found.update(part)
    return found.hexdigest()[:32]


def find(name: str) -> tuple[Interface, Body] | None:
    """The executable of this name, if the cache has it whole."""
    data = cache.mapped(name + cache.EXECUTABLE)
    if data is None:
        return None
    try:
        return restored(*unpacked(memoryview(data)))
    except DAMAGE as error:
        LOG.warning("executable %s is damaged in the cache, and compiled again: %s", name, error)
        return None


def keep(name: str, interface: Interface, body: Body) -> None:
    """Put an executable into the cache, if it can be stored."""
    try:
        header, blobs = stored(interface, body)
    except CompileError:
        return
    put(name + cache.EXECUTABLE, header, blobs)


def _texts(graph: Graph, options: Options) -> list[str] | None:
    """What texts of the user's say that CUSTOM operators are; None if a function of Python says it."""
    used: list[Any] = [node.operator for node in graph.nodes if node.operator.opcode == "CUSTOM"]
    given = [options.given(operator.domain_name, operator.operator_name) for operator in used]
    if any(one is not None and one.nnef is None for one in given):
        return None
    return [one.nnef or "" for one in given if one is not None]


def _graph(graph: Graph) -> Iterator[bytes | memoryview]:
    """All of a graph but where its nodes come from."""
    yield repr((graph.version, sorted(graph.outside.items()))).encode()
    for region in graph.regions:
        yield repr((region.name, len(region.blocks))).encode()
        for block in region.blocks:
            yield from _block(block)


def _block(block: Block) -> Iterator[bytes | memoryview]:
    nodes = [(n.operator.opcode, tuple(n.operator), n.inputs, n.outputs) for n in block.nodes]
    arrays = [value.data for value in block.values.values() if value.data is not None]
    values = [
        (key, v.name, v.dtype.name, v.shape, v.variable_name, v.data is None)
        for key, v in block.values.items()
    ]
    places = [place(array) for array in arrays]
    forms = [(str(array.dtype), array.shape, at) for array, at in zip(arrays, places, strict=True)]
    yield repr((block.name, block.inputs, block.outputs, nodes, values, forms)).encode()
    for array, at in zip(arrays, places, strict=True):
        if at is None:
            yield bytes_of(array)
