"""Which format a file has, by its content, and what to do with it."""

from __future__ import annotations

from collections.abc import Callable
from os.path import isfile
from pathlib import Path

from tosajit.errors import FileError
from tosajit.files import from_bytes
from tosajit.files.cursor import Bytes
from tosajit.files.storage import file_errors, read_file
from tosajit.graph import Graph

_SEEN = 4096
"""How many bytes are looked at to tell what a file is."""


def load(source: str | Path | bytes, *, signature: str | None = None) -> Graph:
    """Read a model: a `.tosa` file, or a `.tflite` file, which becomes a graph; or the bytes of one.

    The content says which of them it is. `signature` chooses among the functions of a TFLite model; without
    one, its first subgraph is taken. Constants are views of what was read where the file holds them as TOSA
    does.

    Raises `FileError`, with the byte and the field, if the file is damaged or none of these, and `ModelError`
    with everything that has no form in TOSA. A graph that can be read may still break the specification:
    `validate` says.
    """
    if isinstance(source, bytes | bytearray | memoryview):
        return load_bytes(source, signature)
    _refuse_folders(Path(source))
    data = read_file(source)
    with file_errors(source):
        return load_bytes(data, signature)


def load_bytes(data: Bytes, signature: str | None = None) -> Graph:
    """The graph of a model of any format that can be read."""
    head = bytes(memoryview(data)[:_SEEN])
    if head[4:8] == b"TFL3":
        from tosajit.frontends.tflite.lowering import graph_of

        return graph_of(data, signature)
    if head[4:8] != b"TOSA" and (seen := _seems(head)) is not None:
        raise FileError(seen)
    if signature is not None:
        raise FileError(f"signature is {signature!r}, but only TFLite models have signatures")
    return from_bytes(data)


def _is_text(head: bytes) -> bool:
    return not any(byte < 9 or 13 < byte < 32 for byte in head)


def _is_onnx(head: bytes) -> bool:
    """A protocol buffer that begins with a small version, and has the name of a producer or a graph next."""
    return head[:1] == b"\x08" and head[1:2] < b"\x20" and head[2:3] in (b"\x12", b"\x3a", b"\x42")


_FORMATS: tuple[tuple[Callable[[bytes], bool], str], ...] = (
    (lambda head: head.startswith(b"PK\x03\x04"),
     "a zip archive, as PyTorch (.pt, .pt2) and Keras (.keras) write: in Python, export the model to TFLite"),
    (lambda head: head.startswith(b"\x89HDF\r\n"),
     "an HDF5 file, as Keras writes: load it with Keras and export it to TFLite"),
    (lambda head: head.startswith((b"\x80\x02", b"\x80\x04", b"\x80\x05")),
     "a Python pickle, which can run any code when it is read: tosajit never does"),
    (lambda head: head.startswith(b"ML\xefR"),
     "MLIR bytecode: `tosa-opt --tosa-serialize` of tosa-tools writes it as a .tosa file"),
    (lambda head: _is_text(head) and (b"module" in head or b"func.func" in head) and b"{" in head,
     "MLIR text: `tosa-opt --tosa-serialize` of tosa-tools writes it as a .tosa file"),
    (_is_onnx, "an ONNX model: convert it to TFLite, or to TOSA with another tool"),
    (lambda head: head.startswith(b"\n") and b"\x12" in head[:256],
     "a TensorFlow GraphDef (.pb): convert it to TFLite with TensorFlow's own converter"),
)  # fmt: skip
"""What other formats look like, and what to do with them."""


def _seems(head: bytes) -> str | None:
    """What a file seems to be that is none of those that can be read."""
    for fits, text in _FORMATS:
        if fits(head):
            return f"expected a .tosa or .tflite file, but this seems to be {text}"
    return None


def _refuse_folders(path: Path) -> None:
    """Say what a folder seems to be."""
    for name, text in (
        ("saved_model.pb", "a TensorFlow SavedModel: convert it to TFLite with TensorFlow's own converter"),
        ("main.sknd", "an NNEF model, which cannot be read yet"),
        ("graph.nnef", "an NNEF model, which cannot be read yet"),
    ):
        if isfile(path / name):  # false where a path cannot be, as one that is too long
            raise FileError(f"{path}: expected a file, but this folder seems to be {text}")
