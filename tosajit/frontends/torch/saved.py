"""Records of a `.pt2` file, as `torch.export.save` writes it: a zip archive with JSON and raw elements.

Nothing is unpickled: what only a pickle says is refused where it is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tiling.records import replace
from tiling.words import listed
from tosajit.arrays import Array
from tosajit.errors import FileError, InputError, ModelError, Refusal
from tosajit.files.archive import members
from tosajit.files.cursor import Bytes
from tosajit.files.document import Field, document
from tosajit.frontends.frame.declaration import UNWRITTEN
from tosajit.frontends.torch.graphs import GraphReader, shape_of, size_of, type_of
from tosajit.frontends.torch.lowering import lowered
from tosajit.frontends.torch.records import Arguments, Held, Program, Reference
from tosajit.frontends.torch.trees import result_names
from tosajit.graph import Graph
from tosajit.graph.extents import Shapes, check_names

_MODELS = (".tflite", ".onnx", ".tosa", ".mlir", ".pt2", ".pb")
"""How files end that may be loaded from where an archive is unpacked."""
_SCHEMA = 8
_HIGHEST_RANK = 64
_OLD = "serialized_exported_program.json"
_AGAIN = "load it with the PyTorch that wrote it, and save it with PyTorch 2.9 or newer"
_APART = "save what exported.run_decompositions() gives, or give the program to tj.from_torch"
_WEIGHTS = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}
_MUTATIONS = {"buffer_mutation": "buffer_name", "parameter_mutation": "parameter_name"}


def graph_of(data: Bytes, shapes: Shapes | None = None) -> Graph:
    """The graph of a file."""
    program = read_archive(data)
    given = {one.name: one.shape for one in program.graph.inputs if one.name not in program.held}
    check_names(shapes, given)
    for name, shape in (shapes or {}).items():
        if tuple(shape) != given[name]:
            raise InputError(
                f"input {name}: its shape is {list(given[name])}, as in the example of torch.export, "
                f"but {list(shape)} is given: export it with that"
            )
    try:
        return lowered(program)
    except ModelError as error:
        raise ModelError(map(_taken_apart, error.refusals), error.form) from None


def _taken_apart(refusal: Refusal) -> Refusal:
    """PyTorch takes apart what has no lowering, which is not at hand where a file is read."""
    unwritten = refusal.reason == UNWRITTEN and refusal.operator.startswith("aten.")
    return replace(refusal, remedy=_APART) if unwritten else refusal


def read_archive(data: Bytes) -> Program:
    """The records of an exported program in a file."""
    files = _folder(members(data))
    name = _model(files)
    root = document(files[f"models/{name}.json"], f"models/{name}.json")
    version = root["schema_version"]["major"].integer
    if version != _SCHEMA:
        root["schema_version"].fail(f"expected version {_SCHEMA} of the schema; {_AGAIN}")
    return _program(root["graph_module"], _Payloads.of(files, name))


def _folder(found: Mapping[str, memoryview]) -> dict[str, memoryview]:
    """The members below the only folder of the archive."""
    if any(name.endswith(_OLD) for name in found):
        raise FileError(f"its parameters are pickled, as PyTorch up to 2.7 wrote them: {_AGAIN}")
    tops = {name.partition("/")[0] for name in found}
    if len(tops) != 1:
        raise _other(
            found,
            "this zip archive is none of torch.export.save: if it is of Keras, tj.from_tensorflow(model)",
        )
    files = {name.partition("/")[2]: view for name, view in found.items()}
    form = bytes(files.get("archive_format", b"")[:16])
    if form != b"pt2":
        raise _other(
            found,
            "expected an archive of torch.export.save; torch.save and torch.jit.save write pickles, which "
            "can run any code: load the module, and tj.from_torch(module, inputs)",
        )
    order = bytes(files.get("byteorder", b"little")[:16])
    if order != b"little":
        raise FileError(f"byteorder: expected little, found {order!r}")
    return files


def _other(found: Mapping[str, memoryview], otherwise: str) -> FileError:
    """What another archive is: one of models, such as MediaPipe's tasks, or what is said otherwise."""
    models = [name for name in found if name.endswith(_MODELS)]
    text = f"this zip archive holds {listed(models)}: unpack it, and load one of them"
    return FileError(text if models else otherwise)


def _model(files: Mapping[str, memoryview]) -> str:
    """The name of the model of an archive."""
    names = [
        name.removeprefix("models/").removesuffix(".json")
        for name in files
        if name.startswith("models/") and name.endswith(".json")
    ]
    if len(names) != 1:
        raise FileError(f"expected one exported program in the archive, found {len(names)}: {names[:8]}")
    return names[0]


def _program(module: Field, payloads: _Payloads) -> Program:
    signature, reader = module["signature"], GraphReader()
    held = _held(signature["input_specs"], payloads)
    graph = reader.graph(module["graph"], _taken_in(signature["input_specs"]))
    lost = held.keys() - {one.name for one in graph.inputs}
    if lost:
        signature.fail(f"{min(lost)} is no input of the graph")
    entry = next(iter(module["module_call_graph"].items), None)
    call = entry and entry.get("signature")
    if call is None:
        module["module_call_graph"].fail("expected how the module is called")
    trees = call["in_spec"].text, call["out_spec"].text
    names = result_names(trees[1], _named_tuples(module))
    results, mutations = _outputs(signature["output_specs"], graph.outputs, names, held)
    size = sum(one.elements.nbytes for one in held.values())
    return Program(graph, held, results, mutations, tuple(reader.fixed), trees, size)


def _held(specs: Field, payloads: _Payloads) -> dict[str, Held]:
    """Parameters, buffers and constants, by the names of the inputs that stand for them."""
    found: dict[str, Held] = {}
    for spec in specs.items:
        kind, inside = spec.only
        if kind in _WEIGHTS and (one := payloads.held(inside[_WEIGHTS[kind]].text)) is not None:
            found[inside["arg"]["name"].text] = one
    return found


def _taken_in(specs: Field) -> list[str]:
    """The inputs that are numbers and texts, which the program has taken in."""
    return [
        inside["name"].text for kind, inside in (one.only for one in specs.items) if kind == "constant_input"
    ]


def _outputs(
    specs: Field, outputs: Arguments, names: Sequence[str], held: Mapping[str, Held]
) -> tuple[dict[int, str], dict[int, str]]:
    """What results are called, and which buffers others are written to, by their places."""
    results: dict[int, str] = {}
    mutations: dict[int, str] = {}
    given = iter(names)
    for place, (spec, output) in enumerate(zip(specs.items, outputs, strict=False)):
        kind, inside = spec.only
        if kind == "user_output":
            name = next(given, None)
            if name is None:
                spec.fail("expected a result that out_spec has")
            if output is not None:
                results[place] = name
        elif kind in _MUTATIONS:
            label = inside[_MUTATIONS[kind]].text
            target = next((key for key, one in held.items() if one.label == label), None)
            if target is None or not isinstance(output, Reference):
                inside.fail("expected a buffer of the program")
            mutations[place] = target
        elif kind == "user_input_mutation":
            mutations[place] = inside["user_input_name"].text
    return results, mutations


def _named_tuples(module: Field) -> dict[str, list[str]]:
    """The fields of named tuples by the names of their types."""
    declared = module.get("treespec_namedtuple_fields")
    if declared is None:
        return {}
    return {name: [one.text for one in spec["field_names"].items] for name, spec in declared.entries}


@dataclass(frozen=True, slots=True)
class _Payloads:
    """Parameters, buffers and constants of an archive."""

    entries: Mapping[str, tuple[str, Field]]
    """The folder and the description of each, by its path in the module."""
    files: Mapping[str, memoryview]

    @classmethod
    def of(cls, files: Mapping[str, memoryview], name: str) -> _Payloads:
        return cls(dict(_described(files, name)), files)

    def held(self, label: str) -> Held | None:
        """What the module holds under a name."""
        if label not in self.entries:
            return None
        folder, entry = self.entries[label]
        meta = entry.get("tensor_meta")
        if entry["use_pickle"].boolean or meta is None:
            entry.fail(f"{label} is pickled, and pickles can run any code: export it as a plain tensor")
        kind, shape = type_of(meta["dtype"]), shape_of(meta["sizes"])
        path = entry["path_name"]
        raw = self.files.get(f"{folder}{path.text}")
        if raw is None:
            path.fail(f"expected a member of {folder}")
        return Held(label, kind, _elements(raw, kind.storage, shape, meta))


def _described(files: Mapping[str, memoryview], name: str) -> Iterator[tuple[str, tuple[str, Field]]]:
    for kind in ("weights", "constants"):
        place = f"data/{kind}/{name}_{kind}_config.json"
        if place in files:
            for label, entry in document(files[place], place)["config"].entries:
                yield label, (f"data/{kind}/", entry)


def _elements(raw: memoryview, storage: np.dtype[np.generic], shape: tuple[int, ...], meta: Field) -> Array:
    """A view of a member, with the strides that it is written with."""
    if len(shape) > _HIGHEST_RANK:
        meta["sizes"].fail(f"expected at most {_HIGHEST_RANK} dimensions")
    strides, offset = shape_of(meta["strides"]), size_of(meta["storage_offset"])
    if len(strides) != len(shape):
        meta["strides"].fail(f"expected {len(shape)} strides")
    last = offset + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    count = len(raw) // storage.itemsize
    if 0 in shape:
        return np.empty(shape, storage)
    if last >= count:
        meta.fail(f"expected {last + 1} elements, and there are {count}")
    if prod(shape) > max(count, 1):
        meta.fail(f"expected at most {count} elements, as there are in its member")
    flat = np.frombuffer(raw[: count * storage.itemsize], storage)
    if not flat.flags.aligned:
        flat = flat.copy()
    steps = [stride * storage.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, steps, writeable=False)
