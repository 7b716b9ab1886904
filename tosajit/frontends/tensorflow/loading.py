"""`tj.from_tensorflow`: TensorFlow is imported only for what it alone reads, and makes a GraphDef of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os.path import isdir
from pathlib import Path
from typing import Any

from tosajit.errors import FileError, InputError
from tosajit.files.cursor import Bytes
from tosajit.files.storage import file_errors, read_file
from tosajit.graph import Graph

Shapes = Mapping[str, Sequence[int]]

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
    return _frozen(_concrete(source, shapes or {}, signature)).graph(shapes or {})


@dataclass(frozen=True, slots=True)
class _Frozen:
    """A function of TensorFlow as the bytes of a GraphDef, with its inputs and outputs by name."""

    data: Bytes
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    variables: tuple[tuple[str, str, Any], ...]
    """Placeholder, name and elements of what the function writes."""

    def graph(self, shapes: Shapes) -> Graph:
        """The graph of it."""
        from tosajit.frontends.tensorflow.lowering import Held, Interface, lowered, reference_of
        from tosajit.frontends.tensorflow.reader import read_model

        results = {name: reference_of(tensor) for name, tensor in self.outputs}
        held = {node: Held(name, elements) for node, name, elements in self.variables}
        return lowered(read_model(self.data), shapes, Interface(dict(self.inputs), results, held))


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
    structure = model.input

    def call(*values: Any) -> Any:
        return model(tensorflow.nest.pack_sequence_as(structure, values), training=False)

    return tensorflow.function(call).get_concrete_function(*specs)


def _frozen(concrete: Any) -> _Frozen:
    """A concrete function whose variables are constants."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    written = _written(concrete)
    frozen = convert_variables_to_constants_v2(
        concrete, lower_control_flow=False, variable_names_denylist={one.name for one in written}
    )
    held = {id(one.handle): one for one in written}
    variables = tuple(
        (inner.op.name, held[id(outer)].name.partition(":")[0], held[id(outer)].numpy())
        for outer, inner in frozen.graph.captures
        if id(outer) in held
    )
    inner = {one[0] for one in variables}
    inputs = tuple((one.op.name, one.op.name) for one in frozen.inputs if one.op.name not in inner)
    outputs = tuple(zip(_names(concrete), [one.name for one in frozen.outputs], strict=True))
    return _Frozen(frozen.graph.as_graph_def().SerializeToString(), inputs, outputs, variables)


def _written(concrete: Any) -> list[Any]:
    """The variables that a function writes."""
    from tosajit.frontends.tensorflow.reader import read_model
    from tosajit.frontends.tensorflow.writing import written

    names = written(read_model(concrete.graph.as_graph_def().SerializeToString()))
    resources = {id(outer) for outer, inner in concrete.graph.captures if inner.op.name in names}
    return [one for one in concrete.variables if id(one.handle) in resources]


def _names(concrete: Any) -> list[str]:
    """What results are called: by their place in what the function returns."""
    found = concrete.structured_outputs
    if isinstance(found, Mapping) and len(found) == len(concrete.outputs):
        return sorted(map(str, found))
    return [one.op.name for one in concrete.outputs]
