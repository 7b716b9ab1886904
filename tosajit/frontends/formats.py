"""Which format a file has, by its content, and what to do with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from os.path import isfile, lexists
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosajit.errors import FileError
from tosajit.garbage import keeps_garbage
from tosajit.graph import Graph
from tosajit.graph.given import graph_for
from tosajit.kernels.lines import read_aligned
from tosajit.storage import file_errors

if TYPE_CHECKING:
    from tosajit.files.cursor import Bytes
    from tosajit.frontends.nnef.loading import Attribute, Weights
    from tosajit.frontends.onnx.lowering import Constants
    from tosajit.graph.extents import Shapes

_SEEN = 4096
"""How many bytes are looked at to tell what a file is."""
_CHOICES = ("signature", "shapes", "constants", "function", "narrow")
"""What other models than those of NNEF may be given."""
_OPTIONS = {"weights": "--zeros", "stdlib": "--stdlib", "quantized": "--quantized"}
"""What commands call what only NNEF models have use for."""
_READ_ONLY = (".tflite", ".onnx", ".pt2", ".pb", ".sknd", ".nnef")
"""How names of files end whose formats are read, but not written."""


def load(
    source: str | Path | bytes | bytearray | memoryview,
    *,
    signature: str | None = None,
    shapes: Shapes | None = None,
    constants: Constants | None = None,
    function: str | None = None,
    narrow: bool = False,
    graph: str | None = None,
    weights: Weights = None,
    stdlib: str | Path | None = None,
    quantized: bool = False,
    **attributes: Attribute,
) -> Graph:
    """Read a model: a `.tosa` file, or a `.tflite`, `.onnx`, `.pt2`, `.mlir`, `.pb` or NNEF 2.0 one.

    The content says which of them it is, and the bytes of one do as well; the folder of a SavedModel is read
    by TensorFlow. `signature` chooses among the functions of a TFLite model or a SavedModel; without one, the
    first is taken. `shapes` has the shapes of inputs that are left open, by their names; without it, batches
    have one element. Constants are views of what was read where the file holds them as TOSA does.

    `constants` has the elements of inputs of an ONNX model that have to be known when it is read, such as
    axes: they are no inputs of the graph.

    `function` or `signature` chooses a function of an MLIR module: `main` or the only one, if none is named.
    `narrow` computes in float32 and int32 what the module computes in float64 and int64; of an ONNX model,
    whose int64 is int32 anyhow, in float32.

    An NNEF model is a folder with `main.sknd`, or a `.sknd` file. `graph` or `signature` names one of its
    graphs (the first, if none is named), and further keywords give its attributes values: `batch=4`.
    `weights` has the elements of variables by their names, in place of `.dat` files; a number stands for all
    that have none. `stdlib` is a folder of standard modules in place of ours.
    `quantized` makes integers of what `@quantize` says; TFLite's quantised models are integers anyhow.

    Raises `FileError`, with the byte and the field, if the file is damaged or none of these, `ScriptError`
    with all faults of a text, and `ModelError` with everything that has no form in TOSA. A graph that can be
    read can still violate the specification; see `validate`.
    """
    nnef = {
        "graph": graph, "weights": weights, "stdlib": stdlib, "quantized": quantized or None, **attributes,
    }  # fmt: skip
    if isinstance(source, bytes | bytearray | memoryview):
        _refuse(nnef)
        if _is_mlir(bytes(memoryview(source)[:_SEEN])):
            _refuse_constants(constants)
            return _of_mlir(source, function or signature, shapes, "the text", narrow)
        _refuse_function(function)
        return load_bytes(source, signature, shapes, constants=constants, narrow=narrow)
    if _is_nnef(Path(source)):
        from tosajit.frontends.nnef.loading import Choice, load_model

        _refuse_choices(constants, function, narrow)
        choice = Choice(graph or signature, attributes, {}, shapes, weights, stdlib, quantized)
        return load_model(Path(source), choice)
    _refuse(nnef)
    if isfile(Path(source) / "saved_model.pb"):  # false where a path cannot be, as one that is too long
        from tosajit.frontends.tensorflow.loading import from_tensorflow

        _refuse_choices(constants, function, narrow)
        return from_tensorflow(source, shapes=shapes, signature=signature)
    _refuse_folders(Path(source))
    data = read_aligned(source)
    with file_errors(source):
        if Path(source).suffix == ".mlir" or _is_mlir(bytes(data[:_SEEN])):
            _refuse_constants(constants)
            return _of_mlir(data, function or signature, shapes, str(source), narrow)
        _refuse_function(function)
        return load_bytes(data, signature, shapes, Path(source).parent, constants, narrow)


@keeps_garbage
def load_bytes(
    data: Bytes,
    signature: str | None = None,
    shapes: Shapes | None = None,
    folder: Path | None = None,
    constants: Constants | None = None,
    narrow: bool = False,
) -> Graph:
    """The graph of a model of any format that can be read; `folder` is where files are that it names."""
    head = bytes(memoryview(data)[:_SEEN])
    if not _is_onnx(head):
        _refuse_choices(constants, None, narrow)

    def lower() -> Graph:
        return _lowered(data, head, signature, shapes, folder, constants, narrow)

    is_ours = head[4:8] == b"TOSA"
    lasts = folder is not None or isinstance(data, bytes)  # nobody else has what was read from a file
    if constants is not None or narrow or (is_ours and not lasts):
        return lower()
    from tosajit.frontends.kept import through_cache

    data = data if lasts else bytes(data)
    return through_cache(data, signature, shapes, lower, lambda: not _names_files(data, head), is_ours)


def _lowered(
    data: Bytes,
    head: bytes,
    signature: str | None,
    shapes: Shapes | None,
    folder: Path | None,
    constants: Constants | None,
    narrow: bool,
) -> Graph:
    if is_graph_def(head):
        _refuse_signature(signature)
        from tosajit.frontends.tensorflow.lowering import graph_of as graph_of_tensorflow

        return graph_of_tensorflow(data, shapes)
    if head[4:8] == b"TFL3":
        from tosajit.frontends.tflite.lowering import graph_of

        return graph_of(data, signature, shapes)
    if _is_onnx(head):
        _refuse_signature(signature)
        from tosajit.frontends.onnx.lowering import graph_of as graph_of_onnx

        return graph_of_onnx(data, shapes, folder, constants, narrow)
    if head.startswith(b"PK\x03\x04"):
        _refuse_signature(signature)
        from tosajit.frontends.torch.saved import graph_of as graph_of_torch

        return graph_of_torch(data, shapes)
    if head[4:8] != b"TOSA" and (seen := _seems(head)) is not None:
        raise FileError(seen)
    _refuse_signature(signature)
    from tosajit.files import from_bytes

    return from_bytes(data, shapes)


def save(
    graph: Any, path: str | Path, *, form: str | None = None, example_inputs: Sequence[Any] | None = None
) -> None:
    """Write a graph as a `.tosa` file; or, as the name ends, as `.mlir` or as a `.nnef2` folder of NNEF 2.0.

    `form` is that of the text of MLIR: `tosa` has attributes in braces, as Arm's tosa-tools read it, `llvm`
    as arguments, as IREE and newer LLVM do, and `generic` is what all tools read.

    A jitted function is saved as its graph for `example_inputs`, or for the arguments of its only call.

    A file is written as a whole or not at all; reading it and writing it again gives the same bytes. Raises
    `FileError` if it cannot be written, or if the graph contains something that files cannot hold, and
    `ModelError` with everything that NNEF lacks.
    """
    if (end := Path(path).suffix) in _READ_ONLY:
        remedy = "name it MODEL.tosa, MODEL.mlir or MODEL.nnef2"
        raise FileError(f"{path}: graphs are not written in the format of {end} files: {remedy}")
    graph = graph_for(graph, example_inputs, error=FileError)
    if end == ".mlir":
        from tosajit.frontends.mlir.writing import save_module

        save_module(graph, path, form)
        return
    if form is not None:
        raise FileError(f"form is {form!r}, but only texts of MLIR have several forms: name it MODEL.mlir")
    if end != ".nnef2":
        from tosajit import files

        files.save(graph, path)
        return
    from tosajit.frontends.nnef.writing import save_model

    save_model(graph, path)


def _of_mlir(data: Bytes, function: str | None, shapes: Shapes | None, name: str, narrow: bool) -> Graph:
    from tosajit.frontends.mlir.loading import graph_of

    return graph_of(data, function, shapes, name, narrow=narrow)


def _refuse_constants(constants: Constants | None) -> None:
    if constants is not None:
        raise FileError("constants are given, but only ONNX models have inputs that may be known beforehand")


def _refuse_function(function: str | None) -> None:
    if function is not None:
        raise FileError(f"function is {function!r}, but only MLIR modules have functions to choose from")


def _refuse_choices(constants: Constants | None, function: str | None, narrow: bool) -> None:
    """Refuse what other models than those of MLIR and ONNX have no use for."""
    _refuse_constants(constants)
    _refuse_function(function)
    if narrow:
        raise FileError("narrow is given, but only MLIR and ONNX have types to narrow")


def _is_nnef(path: Path) -> bool:
    return lexists(path / "main.sknd") or path.suffix == ".sknd"


def _refuse(nnef: Mapping[str, object]) -> None:
    """Refuse what only NNEF models have use for."""
    for name, value in nnef.items():
        if value is not None:
            from difflib import get_close_matches

            near = get_close_matches(name, _CHOICES, 1)
            remedy = f"did you mean {near[0]}?" if near else "leave it out"
            option = f" ({_OPTIONS[name]})" if name in _OPTIONS else ""
            shown = str(value) if isinstance(value, Path) else value
            rule = "only NNEF models have attributes and such choices"
            raise FileError(f"{name} is {shown!r}{option}, but {rule}: {remedy}")


def _refuse_signature(signature: str | None) -> None:
    if signature is not None:
        raise FileError(f"signature is {signature!r}, but only TFLite models and SavedModels have signatures")


def is_graph_def(head: bytes) -> bool:
    """Whether a file begins with a message that begins with a text, as a node has its name, or is a text."""
    if re.match(rb"\s*(node|library|versions)\s*[{<]", head):
        return True
    place = next((number for number, byte in enumerate(head[1:6], 1) if byte < 0x80), 0)
    return head[:1] == b"\n" and place > 0 and head[place + 1 : place + 2] == b"\n"


_MLIR = re.compile(
    rb"""(?:\s|//[^\n]*\n)*(?:(?:builtin\.)?module\b|func\.func\b|ml_program\.|tosa\.
    |"(?:builtin\.module|func\.func|tosa\.\w+)"|[\#!][\w$.]+\s*=)""",
    re.VERBOSE,
)


def _is_mlir(head: bytes) -> bool:
    """Whether a text begins as modules of MLIR do, or a file as their bytecode."""
    return head.startswith(b"ML\xefR") or _MLIR.match(head) is not None


def _is_onnx(head: bytes) -> bool:
    """A protocol buffer that begins with a small version, and has the name of a producer or a graph next."""
    return head[:1] == b"\x08" and b"\x01" < head[1:2] < b"\x20" and head[2:3] in (b"\x12", b"\x3a", b"\x42")


def _names_files(data: Bytes, head: bytes) -> bool:
    """Whether a model may have constants in files beside it: ONNX has their names behind this word."""
    return _is_onnx(head) and re.search(b"location", data) is not None


_FORMATS: tuple[tuple[Callable[[bytes], bool], str], ...] = (
    (lambda head: head.startswith(b"\x89HDF\r\n"),
     "an HDF5 file, as Keras writes: load it with Keras, then tj.from_tensorflow(model)"),
    (lambda head: head[4:6] == b"ET" and head[6:8].isdigit(),
     "an ExecuTorch program (.pte): export the PyTorch model as TOSA, with ExecuTorch's TOSA backend"),
    (lambda head: head[4:8] == b"ORTM",
     "a model in ONNX Runtime's own format (.ort): start from its ONNX model"),
    (lambda head: head.startswith(b"GGUF"),
     "weights in GGUF, as llama.cpp reads them: they say nothing of how they are used"),
    (lambda head: re.match(rb'.{8}\{\s*"', head, re.DOTALL) is not None and head[4:8] == bytes(4),
     "weights as safetensors: load them into their model, and export that"),
    (lambda head: head.startswith(b"<?xml") and b"<net " in head,
     "an OpenVINO model: start from the model that it was made from"),
    (lambda head: head.startswith((b"\x80\x02", b"\x80\x04", b"\x80\x05")),
     "a Python pickle, which can run any code when it is read: tosajit never does"),
    (lambda head: head.startswith(b"\x08\x01\x12"),
     "the saved_model.pb of a TensorFlow SavedModel: give its folder, and have TensorFlow installed"),
)  # fmt: skip
"""What other formats look like, and what to do with them."""


def _seems(head: bytes) -> str | None:
    """What a file seems to be that is none of those that can be read."""
    for fits, text in _FORMATS:
        if fits(head):
            known = "a .tosa, .tflite, .onnx, .pt2 or .pb file, or an NNEF folder"
            return f"expected {known}, but this seems to be {text}"
    return None


def _refuse_folders(path: Path) -> None:
    """Say what a folder seems to be."""
    for name, text in (
        (
            "graph.nnef",
            "a model of NNEF 1, which cannot be read: convert it to NNEF 2.0, a folder with main.sknd",
        ),
    ):
        if isfile(path / name):
            raise FileError(f"{path}: expected a file, but this folder seems to be {text}")
