"""A graph from the text or the bytecode of a module."""

from __future__ import annotations

from tosajit.errors import FileError
from tosajit.files.cursor import Bytes
from tosajit.frontends.mlir.bytecode import MAGIC, text_of
from tosajit.frontends.mlir.lowering import lowered
from tosajit.frontends.mlir.syntax.parser import parse
from tosajit.graph import Graph
from tosajit.graph.extents import Shapes


def graph_of(
    data: Bytes,
    function: str | None = None,
    shapes: Shapes | None = None,
    name: str = "the text",
    *,
    narrow: bool = False,
) -> Graph:
    """The graph of a function of a module: of `main`, or of the only one, if none is named.

    `narrow` has what is f64 and i64 computed in f32 and i32.
    """
    if bytes(data[: len(MAGIC)]) == MAGIC:
        data = text_of(bytes(data))
    return lowered(parse(_text(data), name), function, shapes, narrow)


def _text(data: Bytes) -> str:
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError as error:
        raise FileError(f"byte {error.start}: expected a text in UTF-8") from None
