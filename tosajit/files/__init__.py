"""Files: TOSA flatbuffers and .npy arrays, read without trusting them.

May import `operators`, whose declarations say what files hold, and `graph`. Begin with `decode.py`;
`cursor.py` is all that touches bytes.
"""

from pathlib import Path

from tosajit.errors import FileError
from tosajit.files.cursor import Bytes
from tosajit.files.decode import read_graph
from tosajit.files.encode import graph_parts, write_graph
from tosajit.graph import Graph
from tosajit.graph.extents import Shapes
from tosajit.graph.given import as_graph
from tosajit.storage import write_file

__all__ = ["from_bytes", "save", "to_bytes"]


def from_bytes(data: Bytes, shapes: Shapes | None = None) -> Graph:
    """Read a graph from the bytes of a `.tosa` file; constants are views of them.

    `shapes` has those of inputs that the file leaves open; without it, batches have one element. Raises
    `FileError`, with the byte and the field, if they are damaged or of another version than 1.0. A graph that
    can be read may still break the specification: `validate` says.
    """
    return read_graph(data, shapes)


def save(graph: Graph, path: str | Path) -> None:
    """Write a graph; reading it and writing it again gives the same bytes.

    The file is written as a whole or not at all. Raises `FileError` if it cannot be written, or if the graph
    contains something that files cannot hold.
    """
    write_file(path, graph_parts(as_graph(graph, error=FileError)))


def to_bytes(graph: Graph) -> bytes:
    """The bytes of a file with this graph; raises `FileError` as `save` does."""
    return write_graph(as_graph(graph, error=FileError))
