"""Graphs of models in the user's cache: a file that was read before is lowered by no front end again.

A graph is named by the bytes of the file, by what was asked for, and by what lowered it: the sources of this
package, and NumPy, which folds constants. The cache is trusted as it is for executables (`runtime/kept.py`).
Weights that are used where they lie in the file are not written again.

What is found is read when somebody looks at it: an executable of it is found by its name alone.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from tiling.records import replace
from tosajit import version
from tosajit.arrays import Array
from tosajit.dtypes import DTYPES
from tosajit.graph import Block, Graph, Node, Region, Value
from tosajit.graph.graph import read_from, read_later
from tosajit.kernels import cache
from tosajit.kernels.lines import address_of
from tosajit.log import LOG, collected
from tosajit.runtime.archive import Blobs, unpacked
from tosajit.runtime.keeping import frozen, is_explained, put, sources

if TYPE_CHECKING:
    from tosajit.files.cursor import Bytes
    from tosajit.graph.extents import Shapes
    from tosajit.graph.operator import Operator

WORTH_SECONDS = 0.02
"""What is lowered faster than this, imports included, is not kept."""
DAMAGE = (LookupError, TypeError, ValueError, AttributeError)
"""What reading something raises that has another form."""


def through_cache(
    data: Bytes,
    signature: str | None,
    shapes: Shapes | None,
    lower: Callable[[], Graph],
    is_whole: Callable[[], bool],
    is_ours: bool = False,
) -> Graph:
    """What `lower` makes of a file, from the cache if it is there; `data` and the choices say all of it.

    What is not, `is_whole` tells, and it is not kept. Nobody can change `data` later. A file that `is_ours`
    is read again as fast: of that the cache only has that it can be read, unless it warns when it is.
    """
    name = _name(data, signature, shapes)
    if name and (found := _find(name, data, lower)):
        return found
    if not name or not is_whole():
        return lower()
    began = perf_counter()
    with collected() as said:
        graph = lower()
    worth = perf_counter() - began > WORTH_SECONDS and not (is_ours and said)
    if worth and _keep(name, graph, data, is_ours, said):
        return read_from(graph, "" if _has_custom(graph) else name)
    return graph


def _name(data: Bytes, signature: str | None, shapes: Shapes | None) -> str:
    """The name of the graph in the cache; empty if it is not to be kept."""
    if is_explained():
        return ""
    asked = None if shapes is None else _written(shapes)
    if shapes and not asked:
        return ""
    made_by = (version.VERSION, sources(), sys.version, np.__version__, _simd())
    found = hashlib.sha256(repr((made_by, signature, asked)).encode())
    found.update(data)
    return found.hexdigest()[:32]


def _simd() -> object:
    """The instructions that NumPy computes with, by which the last bits of its functions can differ."""
    return np.show_config(mode="dicts").get("SIMD Extensions")


def _written(shapes: Shapes) -> list[tuple[str, list[int]]]:
    """Shapes that are as they should be; nothing if any is not, so that it is refused anew."""
    if not isinstance(shapes, Mapping) or not all(isinstance(one, Sequence) for one in shapes.values()):
        return []
    if any(type(extent) is not int for shape in shapes.values() for extent in shape):
        return []
    return sorted((name, list(shape)) for name, shape in shapes.items())


def _find(name: str, data: Bytes, lower: Callable[[], Graph]) -> Graph | None:
    kept = cache.mapped(name + cache.GRAPH)
    if kept is None:
        return None
    try:
        header, blobs = unpacked(memoryview(kept))
        graph, has_custom = _about(header), bool(header["custom"])
        said = [str(text) for text in header["warnings"]]
    except DAMAGE as error:
        _damaged(name, error)
        return None
    for text in said:
        LOG.warning("%s", text)
    memory, file = frozen(kept, name + cache.GRAPH), frozen(data, name)

    def regions() -> tuple[Region, ...]:
        try:
            if blobs:
                return _regions([_view(memory, blob) for blob in blobs], file)
        except DAMAGE as error:
            _damaged(name, error)
        return lower().regions

    return read_later(graph, "" if has_custom else name, regions)


def _damaged(name: str, error: Exception) -> None:
    LOG.warning("graph %s is damaged in the cache, and read from its model again: %s", name, error)


def _has_custom(graph: Graph) -> bool:
    """Whether a graph depends on more than its file: others say what CUSTOM operators are."""
    return any(node.operator.opcode == "CUSTOM" for node in graph.nodes)


def _view(memory: Array, blob: memoryview) -> Array:
    """A part of memory as a view of it."""
    start = address_of(np.frombuffer(blob, np.uint8)) - address_of(memory)
    return memory[start : start + blob.nbytes]


def _keep(name: str, graph: Graph, data: Bytes, is_ours: bool, said: list[str]) -> bool:
    """Put a graph into the cache, if it can be stored and is not too large; return whether it was."""
    try:
        header = _header(graph) | {"warnings": said}
        return put(name + cache.GRAPH, header, [] if is_ours else _blobs(graph, data))
    except TypeError:  # JSON has not all that Python could put into a graph
        return False


def stored(graph: Graph, data: Bytes = b"") -> tuple[dict[str, Any], list[memoryview]]:
    """A graph as the header and the blobs of an archive, but for what `data`, its file, has of it."""
    return _header(graph), _blobs(graph, data)


def _header(graph: Graph) -> dict[str, Any]:
    """All of a graph but its regions."""
    return {
        "version": graph.version,
        "outside": list(graph.outside.items()),
        "scales": list(graph.scales.items()),
        "notes": graph.notes,
        "custom": _has_custom(graph),
    }


def _blobs(graph: Graph, data: Bytes) -> list[memoryview]:
    """The regions of a graph: arrays, and the text that says what they are."""
    writer = _Writer(np.frombuffer(data, np.uint8))
    regions = [[region.name, [writer.block(block) for block in region.blocks]] for region in graph.regions]
    operators = [[one.opcode, _attributes(one)] for one in writer.operators]
    text = json.dumps([operators, regions], separators=(",", ":")).encode()
    return [*writer.blobs.parts, memoryview(text)]


def restored(header: dict[str, Any], memory: Sequence[Array], file: Array) -> Graph:
    """What was stored; one of `DAMAGE` is raised if the header is none of ours."""
    return replace(_about(header), regions=_regions(memory, file))


def _about(header: dict[str, Any]) -> Graph:
    """The graph of a header, without regions."""
    major, minor, patch, draft = header["version"]
    return Graph(
        (),
        (major, minor, patch, draft),
        dict(header["outside"]),
        {name: (scale, zero) for name, (scale, zero) in header["scales"]},
        tuple(header["notes"]),
    )


def _regions(memory: Sequence[Array], file: Array) -> tuple[Region, ...]:
    """What `_blobs` gave, in memory."""
    *arrays, text = memory
    operators, regions = json.loads(text.tobytes())
    made, blobs = [_operator(*one) for one in operators], [*arrays, file]
    return tuple(
        Region(name, tuple(_block(blobs, made, *block) for block in blocks)) for name, blocks in regions
    )


class _Writer:
    """The parts of a graph in the words of JSON, with numbers in place of arrays and operators."""

    def __init__(self, file: Array) -> None:
        self.blobs, self.file = Blobs(), file
        self.operators: list[Operator] = []
        self._known: dict[str, int] = {}

    def block(self, block: Block) -> list[Any]:
        nodes = [[self.operator(n.operator), n.inputs, n.outputs, n.location] for n in block.nodes]
        values = [[key, *self.value(value)] for key, value in block.values.items()]
        return [block.name, nodes, values, block.inputs, block.outputs]

    def operator(self, operator: Operator) -> int:
        number = self._known.setdefault(repr(operator), len(self.operators))
        if number == len(self.operators):
            self.operators.append(operator)
        return number

    def value(self, value: Value) -> list[Any]:
        data = None if value.data is None else self.array(value.data, value.dtype.storage)
        return [value.name, value.dtype.name, value.shape, data, value.variable_name]

    def array(self, array: Array, storage: np.dtype[Any]) -> list[Any]:
        if array.dtype != storage:
            raise TypeError(f"elements are {array.dtype}, but are stored as {storage}")
        start = address_of(array) - address_of(self.file)
        if 0 <= start <= self.file.size - array.nbytes and array.flags.c_contiguous:
            return [array.shape, -1, start]
        return [array.shape, self.blobs.add(array), 0]


def _attributes(operator: Operator) -> list[Any]:
    """The values of an operator's attributes, in the order of their declaration."""
    return [value.hex() if isinstance(value, bytes) else value for _, value in operator]


def _operator(opcode: str, values: list[Any]) -> Operator:
    from tosajit.operators import OPERATORS  # which whoever looks at no graph does without

    kind = OPERATORS[opcode]
    return kind(
        **{
            name: bytes.fromhex(value) if attribute.encoding == "bytes" else value
            for (name, attribute), value in zip(kind.fields.items(), values, strict=True)
        }
    )


def _block(
    blobs: Sequence[Array],
    operators: list[Operator],
    name: str,
    nodes: list[Any],
    values: list[Any],
    inputs: list[str],
    outputs: list[str],
) -> Block:
    made = tuple(Node(operators[n], tuple(takes), tuple(gives), at) for n, takes, gives, at in nodes)
    found = {key: _value(blobs, *value) for key, *value in values}
    return Block(name, made, found, tuple(inputs), tuple(outputs))


def _value(
    blobs: Sequence[Array],
    name: str,
    dtype: str,
    shape: list[int] | None,
    data: tuple[list[int], int, int] | None,
    variable: str,
) -> Value:
    kind = DTYPES[dtype]
    array = None
    if data is not None:
        extents, blob, start = data  # the last blob is the file
        size = prod(extents) * kind.storage.itemsize
        array = blobs[blob][start : start + size].view(kind.storage).reshape(extents)
        array.flags.writeable = False
    return Value(name, kind, None if shape is None else tuple(shape), array, variable)
