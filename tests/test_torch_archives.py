"""Archives of `torch.export.save` are read without PyTorch and without pickles, and damaged ones are refused.

`tools/torch_archives.py` has written those in `data/torch`, with what their modules take and give.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tosajit as tj
from tosajit.arrays import Array
from tosajit.files.archive import members
from tosajit.frontends.torch.records import Reference, Type
from tosajit.frontends.torch.saved import read_archive
from tosajit.frontends.torch.trees import result_names

FILES = Path(__file__).parent / "data" / "torch"
MODEL, WEIGHTS = "models/model.json", "data/weights/model_weights_config.json"


def data(name: str = "images") -> bytes:
    return (FILES / f"{name}.pt2").read_bytes()


def arrays(name: str) -> dict[str, Array]:
    with np.load(FILES / f"{name}.npz") as found:
        return dict(found)


def rewritten(
    change: Callable[[Any], None], member: str = MODEL, name: str = "images", method: int = zipfile.ZIP_STORED
) -> bytes:
    """An archive with a document that is changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(FILES / f"{name}.pt2") as source, zipfile.ZipFile(out, "w", method) as written:
        for one in source.namelist():
            content = source.read(one)
            if one.endswith(member):
                document = json.loads(content)
                change(document)
                content = json.dumps(document).encode()
            written.writestr(one, content)
    return out.getvalue()


def test_a_file_gives_what_its_module_gives() -> None:
    expected = arrays("images")
    graph = tj.load(FILES / "images.pt2")
    assert tj.validate(graph) == ()
    assert graph.main.inputs == ("image",)
    np.testing.assert_allclose(tj.compile(graph)(expected["in0"]), expected["out0"], rtol=1e-5, atol=1e-6)


def test_a_buffer_persists() -> None:
    expected = arrays("sums")
    model = tj.compile(tj.load(data("sums")))
    for turn in (1, 2, 3):
        np.testing.assert_allclose(model(expected["in0"]), turn * expected["out0"], rtol=1e-6)


def test_shapes_are_those_of_the_example(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", "tosajit"):
        tj.load(data(), shapes={"image": (2, 2, 4, 4)})
    assert "image.shape[0] = 2 is dynamic, and fixed as in the example" in caplog.text
    with pytest.raises(tj.InputError, match=r"its shape is \[2, 2, 4, 4\], .* but \[1, 2, 4, 4\] is given"):
        tj.load(data(), shapes={"image": (1, 2, 4, 4)})
    with pytest.raises(tj.InputError, match="shapes has 'x', but the inputs are image"):
        tj.load(data(), shapes={"x": (1,)})


def test_records_have_types_strides_arguments_and_names() -> None:
    program = read_archive(data("nested"))
    held = {one.label: one for one in program.held.values()}
    assert held["turned"].elements.shape == (4, 3)
    assert held["turned"].elements.strides == (4, 16)
    assert held["narrow"].type is Type.BFLOAT16
    assert held["narrow"].elements.dtype == ml_dtypes.bfloat16
    assert held["kept"].elements.tolist() == [0, 1, 2]
    assert held["plain"].elements.tolist() == [1, float("inf")]
    assert list(program.results.values()) == ["y", "more_0", "more_1"]
    nodes = {one.target: one for one in program.graph.nodes}
    assert nodes["aten.matmul.default"].arguments["self"] == Reference("x")
    assert nodes["aten.to.dtype"].arguments["dtype"] is Type.FLOAT32
    assert nodes["aten.matmul.default"].outputs[0].shape == (5, 3)


def test_nodes_know_their_modules() -> None:
    modules = {one.target: one.module for one in read_archive(data()).graph.nodes}
    assert modules["aten.conv2d.default"] == "features.0"
    assert modules["aten.flatten.using_ints"] == ""


def test_elements_are_views_of_what_was_read() -> None:
    given = data("nested")
    held = {one.label: one for one in read_archive(given).held.values()}
    assert np.shares_memory(held["turned"].elements, np.frombuffer(given, np.uint8))
    assert not held["turned"].elements.flags.writeable


def test_operators_that_pytorch_takes_apart_are_said_to_be_so() -> None:
    def change(document: Any) -> None:
        nodes = document["graph_module"]["graph"]["nodes"]
        (node,) = [one for one in nodes if one["target"] == "torch.ops.aten.conv2d.default"][:1]
        node["target"] = "torch.ops.aten.fft_fftn.default"

    with pytest.raises(tj.ModelError, match=r"fft_fftn.* no lowering is written yet; .*run_decompositions"):
        tj.load(rewritten(change))


LEAF = '{"type": null, "context": null, "children_spec": []}'


def nest(kind: str, context: str, *children: str) -> str:
    return (
        json.dumps({"type": kind, "context": context}).rstrip("}")
        + f', "children_spec": [{", ".join(children)}]}}'
    )


@pytest.mark.parametrize(
    ("tree", "names"),
    [
        (LEAF, ["output"]),
        (nest("builtins.tuple", "null", LEAF, LEAF), ["output_0", "output_1"]),
        (nest("builtins.dict", '["a", "b"]', LEAF, nest("builtins.list", "null", LEAF)), ["a", "b_0"]),
        (
            nest("builtins.tuple", "null", nest("builtins.dict", '[1, "z"]', LEAF, LEAF)),
            ["output_0_1", "output_0_z"],
        ),
        (nest("collections.namedtuple", "my.Pair", LEAF, LEAF), ["first", "second"]),
        (nest("other", "null", LEAF), ["output_0"]),
    ],
)
def test_results_are_called_as_the_module_calls_them(tree: str, names: list[str]) -> None:
    assert result_names(f"[1, {tree}]", {"my.Pair": ["first", "second"]}) == names


def first_node(document: Any) -> Any:
    return document["graph_module"]["graph"]["nodes"][0]


def pickled(document: Any) -> None:
    document["config"]["classes.bias"]["use_pickle"] = True


def long(document: Any) -> None:
    document["config"]["classes.bias"]["tensor_meta"]["sizes"][0]["as_int"] = 3


def repeated(document: Any) -> None:
    meta = document["config"]["classes.bias"]["tensor_meta"]
    meta["sizes"], meta["strides"] = [{"as_int": 1 << 40}], [{"as_int": 0}]


def newer(document: Any) -> None:
    document["schema_version"]["major"] = 9


def unknown_type(document: Any) -> None:
    document["graph_module"]["graph"]["tensor_values"]["image"]["dtype"] = 31


def unknown_tensor(document: Any) -> None:
    first_node(document)["outputs"][0]["as_tensor"]["name"] = "nobody"


def sparse(document: Any) -> None:
    document["graph_module"]["graph"]["tensor_values"]["image"]["layout"] = 1


def unknown_argument(document: Any) -> None:
    first_node(document)["inputs"][0]["arg"] = {"as_new": 1}


def unknown_input(document: Any) -> None:
    document["graph_module"]["signature"]["input_specs"][0]["parameter"]["arg"]["name"] = "nobody"


def no_list(document: Any) -> None:
    first_node(document)["inputs"] = 3


@pytest.mark.parametrize(
    ("change", "member", "message"),
    [
        (pickled, WEIGHTS, "classes.bias is pickled, and pickles can run any code"),
        (long, WEIGHTS, "expected 3 elements, and there are 2"),
        (repeated, WEIGHTS, "expected at most 2 elements"),
        (newer, MODEL, "schema_version: expected version 8 of the schema"),
        (unknown_type, MODEL, "expected a type of elements that is known, found 31"),
        (unknown_tensor, MODEL, "expected a tensor of the graph, found 'nobody'"),
        (sparse, MODEL, "layout: expected a dense tensor"),
        (unknown_argument, MODEL, r"nodes\[0\].inputs\[0\].arg: expected an argument that is known"),
        (unknown_input, MODEL, "signature: nobody is no input of the graph"),
        (no_list, MODEL, r"nodes\[0\].inputs: expected a list, found 3"),
    ],
)
def test_documents_that_are_wrong_are_refused_by_place(
    change: Callable[[Any], None], member: str, message: str
) -> None:
    with pytest.raises(tj.FileError, match=message):
        tj.load(rewritten(change, member))


def test_an_operand_that_is_no_tensor_is_refused() -> None:
    def numbered(document: Any) -> None:
        bias = next(one for one in first_node(document)["inputs"] if one["name"] == "bias")
        bias["arg"] = {"as_int": 3}

    with pytest.raises(tj.ModelError, match="its argument bias is 3, but must be a tensor"):
        tj.load(rewritten(numbered))


def test_a_document_may_not_be_nested_too_deeply() -> None:
    bomb = zipped({"a/archive_format": b"pt2", "a/models/model.json": b"[" * 100_000})
    with pytest.raises(tj.FileError, match="nested too deeply"):
        tj.load(bomb)


def zipped(content: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as written:
        for name, one in content.items():
            written.writestr(name, one)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"archive/data.pkl": b"\x80\x02", "archive/version": b"3"},
            "torch.save and torch.jit.save write pickles",
        ),
        ({"config.json": b"{}", "metadata.json": b"{}"}, r"if it is of Keras, tj.from_tensorflow\(model\)"),
        (
            {"hand_detector.tflite": b"", "hand_landmarks_detector.tflite": b"", "metadata.json": b""},
            "holds hand_detector.tflite, hand_landmarks_detector.tflite: unpack it, and load one of them",
        ),
        ({"model/net.onnx": b"", "model/labels.txt": b""}, "holds model/net.onnx: unpack it"),
        ({"serialized_exported_program.json": b"{}", "version": b"1"}, "as PyTorch up to 2.7 wrote them"),
        ({"a/archive_format": b"pt2", "a/byteorder": b"big"}, "byteorder: expected little"),
        ({"a/archive_format": b"pt2"}, "expected one exported program in the archive, found 0"),
        ({"a/archive_format": b"pt2", "a/models/model.json": b"\xff"}, "model.json: it is no JSON"),
    ],
)
def test_other_archives_say_what_they_are(content: dict[str, bytes], message: str) -> None:
    with pytest.raises(tj.FileError, match=message):
        tj.load(zipped(content))


def test_nothing_is_unpacked() -> None:
    with pytest.raises(tj.FileError, match="is compressed or encrypted"):
        tj.load(rewritten(lambda document: None, method=zipfile.ZIP_DEFLATED))


def test_every_prefix_of_an_archive_is_refused() -> None:
    whole = data("sums")
    for length in range(0, len(whole), 97):
        with pytest.raises(tj.FileError):
            tj.load(whole[:length])


def test_members_of_wide_archives_are_found() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as written, written.open("a/b", "w", force_zip64=True) as member:
        member.write(b"content")
    assert {name: bytes(view) for name, view in members(out.getvalue()).items()} == {"a/b": b"content"}


def test_a_name_stands_once() -> None:
    twice = zipped({"a/b": b"1", "a/c": b"2"}).replace(b"a/c", b"a/b")
    with pytest.raises(tj.FileError, match="expected distinct names, found 'a/b' twice"):
        members(twice)
