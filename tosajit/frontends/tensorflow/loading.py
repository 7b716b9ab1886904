"""`tj.from_tensorflow`: TensorFlow is imported only for what it alone reads, and makes a GraphDef of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os.path import isdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tosajit.arrays import Array
from tosajit.errors import FileError, InputError
from tosajit.graph import Graph
from tosajit.storage import file_errors, read_file

if TYPE_CHECKING:
    from tosajit.graph.extents import Shapes

_DEFAULT = "serving_default"


def from_tensorflow(
    source: Any,
    *,
    shapes: Shapes | None = None,
    signature: str | None = None,
    outputs: Sequence[str] | None = None,
) -> Graph:
    """Make a graph of a TensorFlow model, through TensorFlow's own graph.

    `source` is the folder of a SavedModel, a Keras model, a `tf.function` or a concrete function, which need
    TensorFlow (`pip install tosajit[tensorflow]`), or a frozen GraphDef (`.pb`) or the bytes of one, which do
    not. `shapes` has the shapes of inputs that are left open; without it, batches have one element.
    `signature` chooses among the functions of a SavedModel, and `outputs` has the names of tensors of a
    GraphDef that are results; without it, those that no node uses.

    Raises `FileError` if a file is damaged, and `ModelError` with everything that has no form in TOSA.
    """
    from tosajit.frontends.tensorflow.lowering import graph_of

    if isinstance(source, bytes | bytearray | memoryview):
        return graph_of(source, shapes, outputs)
    if isinstance(source, str | Path) and not isdir(source):
        data = read_file(source)
        with file_errors(source):
            return graph_of(data, shapes, outputs)
    if outputs is not None:
        raise InputError("outputs are chosen only of a GraphDef; a function has its own results")
    return _graph_of(_concrete(source, shapes or {}, signature), shapes or {})


def _concrete(source: Any, shapes: Shapes, signature: str | None) -> Any:
    """The concrete function of a model."""
    _tensorflow()
    if isinstance(source, str | Path):
        return _signature(source, signature)
    if signature is not None:
        raise InputError(f"signature is {signature!r}, but only SavedModels have signatures")
    if hasattr(source, "structured_input_signature"):
        return source
    if hasattr(source, "inputs") and hasattr(source, "outputs") and callable(source):
        return _of_keras(source, shapes)
    if hasattr(source, "get_concrete_function"):
        try:
            return source.get_concrete_function()
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the function does not say what it takes ({error}): give "
                "function.get_concrete_function(tf.TensorSpec(shape, dtype), …)"
            ) from None
    raise InputError(
        f"{type(source).__name__} is no TensorFlow model: expected the folder of a SavedModel, a .pb file, "
        "a Keras model with inputs, a tf.function or a concrete function"
    )


def _tensorflow() -> Any:
    try:
        import tensorflow
    except ImportError:
        raise InputError(
            "TensorFlow is not installed, and only it reads this: pip install tosajit[tensorflow]; "
            "a frozen GraphDef (.pb) is read without it"
        ) from None
    return tensorflow


def _signature(folder: str | Path, signature: str | None) -> Any:
    """A function of a SavedModel."""
    try:
        loaded = _tensorflow().saved_model.load(str(folder))
    except (OSError, ValueError) as error:
        raise FileError(f"{folder}: {error}") from None
    found = loaded.signatures
    name = signature or (_DEFAULT if _DEFAULT in found else next(iter(found), _DEFAULT))
    if name not in found:
        there = ", ".join(map(repr, found)) or "none"
        raise FileError(f"{folder}: there is no signature {name!r}; the model has {there}")
    concrete = found[name]
    concrete._kept = loaded  # its variables live as long as what was loaded
    return concrete


def _of_keras(model: Any, shapes: Shapes) -> Any:
    """A Keras model as it is used for inference."""
    tensorflow = _tensorflow()
    if not model.inputs:
        raise InputError(
            "the Keras model does not say what it takes: give "
            "tf.function(model).get_concrete_function(tf.TensorSpec(shape, dtype))"
        )
    specs = [
        tensorflow.TensorSpec(shapes.get(one.name, one.shape), one.dtype, one.name) for one in model.inputs
    ]
    structure = getattr(model, "_inputs_struct", None)

    def call(*values: Any) -> Any:
        if structure is not None:
            given = tensorflow.nest.pack_sequence_as(structure, values)
        else:
            given = values[0] if len(values) == 1 else list(values)
        return model(given, training=False)

    return tensorflow.function(call).get_concrete_function(*specs)


def _graph_of(concrete: Any, shapes: Shapes) -> Graph:
    """The graph of a concrete function, whose variables are constants unless it writes them."""
    from tosajit.frontends.tensorflow.lowering import Captured, Interface, lowered, reference_of
    from tosajit.frontends.tensorflow.reader import read_model
    from tosajit.frontends.tensorflow.writing import written

    graph = concrete.graph
    model = read_model(graph.as_graph_def().SerializeToString())
    names, variables = written(model), {id(one.handle): one for one in concrete.variables}
    captured = {}
    for outer, inner in graph.captures:
        found = variables.get(id(outer), outer)
        if hasattr(found, "numpy") and outer.dtype.name != "variant":
            label = str(getattr(found, "path", "") or getattr(found, "name", "") or inner.op.name)
            name = inner.op.name
            captured[name] = Captured(label.partition(":")[0], _elements(found), name in names)
    taken = {inner.op.name for _, inner in graph.captures}
    inputs = {one.op.name: one.op.name for one in graph.inputs if one.op.name not in taken}
    results = zip(_names(concrete), graph.outputs, strict=True)
    outputs = {name: reference_of(one.name) for name, one in results}
    after = tuple(one.name for one in graph.control_outputs)
    return lowered(model, shapes, Interface(inputs, outputs, captured, after))


def _elements(value: Any) -> Array | None:
    """The elements of what a function has captured; None for tables and the like."""
    try:
        return np.asarray(value.numpy())
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return None


def _names(concrete: Any) -> list[str]:
    """What results are called: by their place in what the function returns."""
    found = concrete.structured_outputs
    if isinstance(found, Mapping) and len(found) == len(concrete.outputs):
        return sorted(map(str, found))
    return [one.op.name for one in concrete.outputs]
