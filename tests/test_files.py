"""Reading and writing TOSA files: what is written comes back, and what is wrong is told by place."""

from __future__ import annotations

import contextlib
import os
import struct
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from file_seeds import constant, constants, counter, graph_of, region, seeds, tensor

import tosajit as tj
from tests.raw_files import RawFile, RawOperator, RawShape, RawTensor
from tosajit import samples
from tosajit.checks.validation import validate
from tosajit.dtypes import BOOL, FP32, INT4, INT8, INT32, INT48, SHAPE, UINT8, DType
from tosajit.errors import FileError
from tosajit.files import from_bytes, save, to_bytes
from tosajit.files.builder import Builder
from tosajit.files.encode import write_graph
from tosajit.files.variables import store_variables
from tosajit.frontends import load
from tosajit.graph import Graph, Node, Value
from tosajit.operators import CLAMP, COND_IF, CONST, OPERATORS, VARIABLE, VARIABLE_READ

DIGESTS = {
    "autoencoder": "abcaa4f65d162ba4",
    "ds_cnn": "d6767be7ad95006e",
    "ds_cnn_i16x8": "dad520918b4f30a7",
    "resnet8": "20c6ec1db6160991",
    "transformer_tiny": "c7b6e394a8eac4fd",
}
"""Beginnings of the SHA-256 of what `to_bytes` gives."""


def declare(variable: str, output: str) -> Node:
    return Node(VARIABLE(name=variable), (), (output,))


def read(variable: str, output: str) -> Node:
    return Node(VARIABLE_READ(name=variable), (), (output,))


SEEDS = seeds()
NUMBERS = {name: operator.number for name, operator in OPERATORS.items()}


@pytest.mark.parametrize("name", SEEDS)
def test_a_graph_is_read_as_it_was_written(name: str) -> None:
    assert from_bytes(to_bytes(SEEDS[name])) == SEEDS[name]


@pytest.mark.parametrize("name", SEEDS)
def test_writing_what_was_read_gives_the_same_bytes(name: str) -> None:
    data = to_bytes(SEEDS[name])
    assert to_bytes(from_bytes(data)) == data


@pytest.mark.parametrize("name", SEEDS)
def test_the_seeds_are_valid(name: str) -> None:
    assert validate(SEEDS[name]) == ()


def test_the_seeds_hold_every_operator() -> None:
    assert {node.operator.opcode for graph in SEEDS.values() for node in graph.nodes} == set(OPERATORS)


@pytest.mark.parametrize(("name", "digest"), DIGESTS.items())
def test_the_bytes_of_a_graph_are_the_same_everywhere(name: str, digest: str) -> None:
    assert sha256(to_bytes(samples.load(name))).hexdigest()[:16] == digest


def test_objects_of_different_sizes_have_layouts_of_their_own() -> None:
    builder = Builder()
    tables = [builder.table([("uint64", number), ("uint8", 1)]) for number in (1, 2)]
    tables += [builder.table([("uint8", 1), ("uint8", 1)]), builder.table([("uint8", 1)])]
    data = builder.finished(builder.offsets(tables), b"TEST")
    sizes, layouts = [], []
    for table in tables:
        start = len(data) - table
        layout = start - int.from_bytes(data[start : start + 4], "little", signed=True)
        layouts.append(layout)
        sizes.append(int.from_bytes(data[layout + 2 : layout + 4], "little"))
    assert len(set(layouts)) == 3
    assert layouts[0] == layouts[1]
    assert sizes == [16, 16, 8, 8]


@pytest.mark.parametrize("end", [".tflite", ".onnx", ".pt2", ".pb", ".sknd", ".nnef"])
def test_a_graph_is_not_saved_under_the_name_of_another_format(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"model{end}"
    with pytest.raises(
        FileError, match=rf"model{end}: graphs are not written in the format of {end} files: name"
    ):
        tj.save(counter(), path)
    assert not path.exists()


def test_a_saved_graph_is_loaded(tmp_path: Path) -> None:
    save(counter(), tmp_path / "counter.tosa")
    assert load(tmp_path / "counter.tosa") == counter()
    assert load(str(tmp_path / "counter.tosa")) == load((tmp_path / "counter.tosa").read_bytes())


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.tosa: No such file"):
        load(tmp_path / "none.tosa")


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none/x\.tosa: No such file"):
        save(counter(), tmp_path / "none" / "x.tosa")


@pytest.mark.parametrize("path", ["/dev/zero", "/", "a\0b"])
def test_what_is_no_file_is_refused(path: str) -> None:
    with pytest.raises(FileError, match=r"expected a file|null (byte|character)"):
        load(path)


def test_a_file_is_replaced_only_by_a_complete_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.tosa"
    save(counter(), path)
    monkeypatch.setattr(
        os, "replace", lambda *paths: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(FileError, match=r"x\.tosa: No space left"):
        save(constants(), path)
    assert load(path) == counter()
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.tosa"]


def test_long_names_do_not_make_long_messages() -> None:
    with pytest.raises(FileError) as caught:
        from_bytes(RawFile((RawTensor("x" * 5000), RawTensor("x" * 5000))).bytes())
    assert len(str(caught.value)) < 500


def test_damage_is_told_with_file_and_position(tmp_path: Path) -> None:
    (tmp_path / "x.tosa").write_bytes(b"\x08\0\0\0TOSI" + bytes(20))
    with pytest.raises(FileError, match=r"x\.tosa: byte 4 \(file\): expected the identifier b'TOSA'"):
        load(tmp_path / "x.tosa")


def test_constants_are_views_of_the_file() -> None:
    data = to_bytes(graph_of("CONST", [], [constant(FP32, np.arange(1000))]))
    array = from_bytes(data).main.values["out0"].data
    assert array is not None
    assert np.shares_memory(array, np.frombuffer(data, np.uint8))
    assert not array.flags.writeable


def test_constants_are_aligned_in_the_file() -> None:
    data = to_bytes(constants())
    for value in from_bytes(data).main.values.values():
        if value.data is not None and value.dtype not in (INT4, INT48) and value.data.size:
            assert value.data.flags.aligned


@pytest.mark.parametrize("limit", [0, 40, 100])
def test_large_constants_lie_behind_the_flatbuffer(limit: int) -> None:
    graph = constants()
    data = write_graph(graph, inline_limit=limit)
    assert from_bytes(data) == graph
    assert write_graph(from_bytes(data), inline_limit=limit) == data


def test_external_data_outside_the_file_are_refused() -> None:
    with pytest.raises(FileError, match=r"tensors\[0\]\.offset\): expected 2 bytes at 4096, but the file"):
        from_bytes(constant_file(RawTensor(external=(4096, 2))))


@pytest.mark.parametrize("padding", range(7))
def test_constants_may_be_padded_to_eight_bytes(padding: int) -> None:
    tensor = RawTensor(data=b"\x05\xff" + bytes(padding))
    if padding <= 6:
        data = from_bytes(constant_file(tensor)).main.values["x"].data
        assert data is not None
        assert data.tolist() == [5, -1]


@pytest.mark.parametrize(
    ("dtype", "shape", "data", "elements"),
    [
        (INT8, (1,), b"\xfb" * 16, [-5]),
        (INT8, (2,), b"\x05" * 3, [5, 5]),
        (INT4, (1,), b"\xdd" * 9, [-3]),
        (INT32, (1,), b"\x02\x01\x00\x00" * 2, [258]),
        (INT48, (1,), b"\x02\x01\x00\x00\x00\x00" * 3, [258]),
    ],
)
def test_a_constant_may_have_one_element_more_often_than_its_shape_says(
    dtype: DType, shape: tuple[int, ...], data: bytes, elements: list[int]
) -> None:
    tensor = RawTensor(type=dtype.number, shape=shape, data=data)
    found = from_bytes(constant_file(tensor)).main.values["x"].data
    assert found is not None
    assert found.tolist() == elements


def test_surplus_that_many_constants_share_is_paid_for() -> None:
    def file(offset: int) -> bytes:
        tensors = [RawTensor(f"x{place}", shape=(1,), external=(offset, 1 << 17)) for place in range(20)]
        constants = [RawOperator(NUMBERS["CONST"], (), (tensor.name,)) for tensor in tensors]
        return RawFile(tuple(tensors), operators=tuple(constants)).bytes()

    data = file(len(file(1))) + bytes(1 << 17)
    with pytest.raises(FileError, match="its offsets repeat too much"):
        from_bytes(data)


def test_a_shape_without_components_may_be_padded() -> None:
    file = RawFile((), (RawShape("s", 0, bytes(8)),), (RawOperator(NUMBERS["CONST_SHAPE"], (), ("s",)),))
    assert from_bytes(file.bytes()).main.values["s"].shape == (0,)


@pytest.mark.parametrize("version", [(1, 0, 0, False), (1, 0, 2, True), (1, 0, 1, False)])
def test_versions_of_1_0_are_kept(version: tuple[int, int, int, bool]) -> None:
    graph = replace(counter(), version=version)
    assert from_bytes(to_bytes(graph)).version == version


@pytest.mark.parametrize("version", [(1, 1, 0, True), (1, 7, 3, False)])
def test_a_newer_minor_version_is_read_and_written_as_1_0_1(version: tuple[int, int, int, bool]) -> None:
    graph = from_bytes(RawFile(version=version).bytes())
    assert graph.version == version
    assert from_bytes(to_bytes(graph)).version == (1, 0, 1, False)


def constant_file(tensor: RawTensor) -> bytes:
    return RawFile((tensor,), operators=(RawOperator(NUMBERS["CONST"], (), (tensor.name,)),)).bytes()


def shape_file(shape: RawShape) -> bytes:
    return RawFile((), (shape,), (RawOperator(NUMBERS["CONST_SHAPE"], (), (shape.name,)),)).bytes()


def operator_file(opcode: str | int, *fields: tuple[str, object], attribute: int | None = None) -> bytes:
    number = opcode if isinstance(opcode, int) else NUMBERS[opcode]
    return RawFile(operators=(RawOperator(number, ("x",), ("x",), fields, attribute),)).bytes()


def tensor_file(*tensors: RawTensor) -> bytes:
    return RawFile(tensors).bytes()


def offset(*values: object) -> tuple[tuple[str, object], ...]:
    return tuple(("offset", value) for value in values)


VARIABLE_TENSOR = RawTensor(variable="v")
UNREADABLE = {
    "an empty file": (b"", "expected a flatbuffer, found 0 bytes"),
    "major version 0": (
        RawFile(version=(0, 80, 0, False)).bytes(),
        "TOSA 1.x, found version 0.80.0",
    ),
    "major version 2": (RawFile(version=(2, 0, 0, False)).bytes(), "expected TOSA 1.x, found version 2.0.0"),
    "a negative version": (RawFile(version=(1, -5, 0, False)).bytes(), "found 1.-5.0"),
    "a newer operator": (operator_file(100), "operator MATMUL_T is not part of TOSA 1.0.1"),
    "an unknown operator": (operator_file(4711), "operator number 4711 is not part of TOSA 1.0.1"),
    "no operator": (operator_file(0), "operator number 0 is not part"),
    "a newer type": (tensor_file(RawTensor(type=17)), "type INT64 is not part of TOSA 1.0.1"),
    "an unknown type": (tensor_file(RawTensor(type=99)), "type number 99 is not part of TOSA 1.0.1"),
    "no type": (tensor_file(RawTensor(type=0)), "type number 0 is not part of TOSA 1.0.1"),
    "a tensor that is a shape": (
        tensor_file(RawTensor(type=10)),
        "expected the type of a tensor, found SHAPE",
    ),
    "block scaling": (
        tensor_file(RawTensor(scale_type=16)),
        "block scaling is not part of TOSA 1.0.1",
    ),
    "a newer feature": (RawFile(features=2).bytes(), "needs the feature MXFP"),
    "an unknown feature": (RawFile(features=1 << 40).bytes(), "needs the feature number 40"),
    "a newer field": (RawFile(extra_fields=1).bytes(), "field 4 is not part of TOSA 1.0.1"),
    "a newer attribute": (
        operator_file("ADD", ("bool", True)),
        r"(ADD)): field 0 is not part of TOSA 1.0.1",
    ),
    "attributes of another operator": (
        operator_file("ADD", attribute=NUMBERS["SUB"]),
        f"expected {NUMBERS['ADD']}, the attributes of ADD, found {NUMBERS['SUB']}",
    ),
    "missing attributes": (
        RawFile(operators=(RawOperator(NUMBERS["ARGMAX"], ("x",), ("x",), None),)).bytes(),
        "expected the attributes of ARGMAX",
    ),
    "an unknown enumerator": (
        operator_file("ARGMAX", ("int32", 0), ("uint32", 9)),
        "nan_mode): 9 is not part of TOSA 1.0.1: expected one of UNKNOWN (0), PROPAGATE (1), IGNORE (2)",
    ),
    "too few strides": (
        operator_file("MAX_POOL2D", *offset((2, 2), (1,), (0,) * 4)),
        "attribute stride",
    ),
    "bounds of another size": (
        operator_file("CLAMP", *offset(b"ab", b"b")),
        "expected 1 or 8 bytes for INT8, found 2",
    ),
    "bounds with a remainder": (
        operator_file("CLAMP", *offset(b"a1234567", b"b")),
        "expected zeros after the element",
    ),
    "no region": (RawFile(regions=()).bytes(), "expected at least one region"),
    "no block": (RawFile(blocks=0).bytes(), "expected region 'main' to have a block"),
    "two regions of one name": (RawFile(regions=("main", "a", "a")).bytes(), "found 'a' twice"),
    "two tensors of one name": (tensor_file(RawTensor(), RawTensor()), "found 'x' twice"),
    "a tensor and a shape of one name": (RawFile(shapes=(RawShape("x", 1),)).bytes(), "found 'x' twice"),
    "a tensor without name": (tensor_file(RawTensor("")), "tensors[0].name): expected a name"),
    "a negative extent": (
        tensor_file(RawTensor(shape=(2, -2))),
        "expected extents from 0, or -1 for open ones, found [2, -2]",
    ),
    "an unknown input": (RawFile(inputs=("y",)).bytes(), "'y' is not a tensor or shape of the block"),
    "an unknown operand": (
        RawFile(operators=(RawOperator(NUMBERS["ADD"], ("x", "z"), ("x",)),)).bytes(),
        "operators[0].inputs): 'z' is not a tensor or shape of the block",
    ),
    "a constant without data": (constant_file(RawTensor()), "expected 2 bytes for INT8[2], found 0"),
    "a constant that is too short": (
        constant_file(RawTensor(data=b"1")),
        "expected 2 bytes for INT8[2], found 1",
    ),
    "a constant that is too long": (
        constant_file(RawTensor(data=bytes(8) + b"1")),
        "expected 2 bytes for INT8[2], found 9",
    ),
    "surplus elements that differ": (
        constant_file(RawTensor(shape=(1,), data=bytes(15) + b"1")),
        "expected 1 bytes for INT8[1], found 16",
    ),
    "surplus halves of a byte that differ": (
        constant_file(RawTensor(type=INT4.number, shape=(1,), data=b"\x21" * 9)),
        "expected 1 bytes for INT4[1], found 9",
    ),
    "surplus that is no whole element": (
        constant_file(RawTensor(type=INT32.number, shape=(1,), data=bytes(17))),
        "expected 4 bytes for INT32[1], found 17",
    ),
    "a huge constant": (
        constant_file(RawTensor(shape=((1 << 31) - 1,) * 9, data=b"12")),
        "bytes for INT8[2147483647, 2147483647",
    ),
    "a tensor of high rank": (
        tensor_file(RawTensor(shape=(2,) * 65)),
        "expected at most 64 dimensions, found 65",
    ),
    "padding that is not zero": (
        constant_file(RawTensor(data=b"1234")),
        "expected zeros after the last element",
    ),
    "a boolean of 2": (constant_file(RawTensor(type=1, data=b"\1\2")), "expected booleans to be 0 or 1"),
    "a shape of too few components": (
        shape_file(RawShape("s", 3, bytes(8))),
        "expected 24 bytes for SHAPE[3], found 8",
    ),
    "a shape of too many components": (
        shape_file(RawShape("s", 1 << 31, bytes(8))),
        "expected at most 128 components, found 2147483648",
    ),
    "a read of a tensor that is no variable": (
        operator_file("IDENTITY", attribute=NUMBERS["VARIABLE_READ"]),
        "the attributes of IDENTITY, found",
    ),
    "a variable as an input": (
        RawFile((VARIABLE_TENSOR,), inputs=("x",)).bytes(),
        "expected tensors as inputs and outputs, found a variable",
    ),
    "a variable as an operand": (
        RawFile((VARIABLE_TENSOR,), operators=(RawOperator(NUMBERS["ADD"], ("x", "x"), ("x",)),)).bytes(),
        "expected a variable to be declared, read or written, found ADD",
    ),
    "a variable read without a variable": (
        RawFile(operators=(RawOperator(NUMBERS["VARIABLE_READ"], ("x",), ("x",)),)).bytes(),
        "expected a variable to be declared, read or written, found VARIABLE_READ",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named(name: str) -> None:
    data, message = UNREADABLE[name]
    with pytest.raises(FileError) as caught:
        from_bytes(data)
    assert message in str(caught.value)
    assert str(caught.value).startswith("byte ")


def test_a_missing_region_is_named() -> None:
    node = Node(COND_IF(then_graph="here", else_graph="there"), ("c",), ("y",))
    values = [Value("c", BOOL, ()), Value("y", INT8, (1,))]
    graph = Graph((region("main", [node], values, ["c"], ["y"]), region("here", [], values, [], ["y"])))
    with pytest.raises(FileError, match=r"y \(COND_IF\) runs 'there', which is not a region"):
        from_bytes(to_bytes(graph))


def test_every_prefix_of_a_file_is_refused() -> None:
    data = to_bytes(counter())
    for length in range(0, len(data) - 8, 3):
        with pytest.raises(FileError):
            from_bytes(data[:length])


def test_offsets_that_repeat_cannot_expand_a_small_file() -> None:
    operator = RawOperator(NUMBERS["ADD"], ("x",), ("x",))
    data = RawFile(operators=(operator,), repeat=1000).bytes()
    assert len(data) < 20_000
    with pytest.raises(FileError, match="its offsets repeat too much"):
        from_bytes(data)


def test_strings_must_be_utf8_and_closed() -> None:
    data = RawFile((RawTensor("name_of_x"),)).bytes()
    with pytest.raises(FileError, match=r"tensors\[0\]\.name\): expected UTF-8"):
        from_bytes(data.replace(b"name_of_x", b"name\xffof_x"))
    with pytest.raises(FileError, match="expected a zero byte at the end of the string"):
        from_bytes(data.replace(b"name_of_x\0", b"name_of_x!"))


@pytest.mark.parametrize("value", [0, -1, 0x7FFFFFFF, -0x80000000, 1, 3])
def test_any_integer_of_a_file_may_be_wrong(value: int) -> None:
    data = to_bytes(counter())
    for place in range(0, len(data) - 3, 4):
        damaged = data[:place] + struct.pack("<i", value) + data[place + 4 :]
        with contextlib.suppress(FileError):
            to_bytes(from_bytes(damaged))


def test_variables_are_written_as_arms_tools_write_them() -> None:
    stored, as_tensors = store_variables(counter())
    assert as_tensors
    assert [node.operator.opcode for node in stored.main.nodes] == ["VARIABLE_READ", "COND_IF"]
    assert stored.main.nodes[0].inputs == ("state",)
    assert stored.regions[1].blocks[0].values["counter"].variable_name == "counter"


UNUSUAL = {
    "declared twice": (declare("v", "a"), declare("v", "b")),
    "declared late": (read("v", "a"), declare("v", "b")),
    "declared at a place": (replace(declare("v", "a"), location="here"), read("v", "b")),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_variables_are_written_with_the_operators(name: str) -> None:
    nodes = UNUSUAL[name]
    names = ["v" if isinstance(node.operator, VARIABLE) else "" for node in nodes]
    values = [Value(node.name, INT8, (2,), None, name) for node, name in zip(nodes, names, strict=True)]
    graph = Graph((region("main", nodes, values, [], []),))
    data = to_bytes(graph)
    assert from_bytes(data) == graph
    assert to_bytes(from_bytes(data)) == data


def test_variables_that_only_a_region_lists_are_declared_in_the_beginning() -> None:
    identity = RawOperator(NUMBERS["IDENTITY"], ("x",), ("y",))
    file = RawFile((VARIABLE_TENSOR, RawTensor("y")), operators=(identity,), outputs=("y",))
    graph = from_bytes(file.bytes())
    assert [node.operator for node in graph.main.nodes] == [VARIABLE(name="v"), VARIABLE_READ(name="v")]
    assert graph.main.nodes[1].inputs == ()


def test_a_variable_that_is_not_declared_is_not_written() -> None:
    graph = Graph((region("main", [read("v", "a")], [Value("a", INT8, (2,))], [], []),))
    with pytest.raises(FileError, match="a: variable 'v' is not declared"):
        to_bytes(graph)


def test_a_constant_that_is_not_what_its_value_says_is_not_written() -> None:
    wrong = Value("x", INT8, (3,), np.zeros(2, np.int8))
    graph = Graph((region("main", [Node(CONST(), (), ("x",))], [wrong], [], ["x"]),))
    with pytest.raises(FileError, match=r"x: expected INT8\[3\], found an array of int8\[2\]"):
        to_bytes(graph)


def test_a_constant_without_data_is_not_written() -> None:
    graph = Graph((region("main", [Node(CONST(), (), ("x",))], [Value("x", INT8, (3,))], [], ["x"]),))
    with pytest.raises(FileError, match="x: a constant needs data"):
        to_bytes(graph)


def test_data_of_what_is_no_constant_are_not_written() -> None:
    graph = graph_of("IDENTITY", [tensor(INT8, 2)], [constant(INT8, [1, 2])])
    assert from_bytes(to_bytes(graph)).main.values["out0"].data is None


@pytest.mark.parametrize(
    "value",
    [
        Value("x", SHAPE, (2, 2)),
        Value("x", UINT8, (2,)),
        Value("x", INT8, (1 << 31,)),
        Value("\ud800", INT8, ()),
    ],
)
def test_what_the_format_cannot_hold_is_not_written(value: Value) -> None:
    with pytest.raises(FileError, match="the graph does not fit in a file"):
        to_bytes(Graph((region("main", [], [value], [], []),)))


def test_a_constant_that_does_not_fit_is_not_written() -> None:
    wrong = Value("x", INT48, (2,), np.array([0, 1 << 47]))
    graph = Graph((region("main", [Node(CONST(), (), ("x",))], [wrong], [], ["x"]),))
    with pytest.raises(FileError, match="x: element 1 does not fit in INT48"):
        to_bytes(graph)


def test_a_bound_that_is_no_element_of_the_input_is_not_written() -> None:
    graph = graph_of("CLAMP", [tensor(INT8, 2)], [tensor(INT8, 2)], {"min_val": 0, "max_val": 300})
    with pytest.raises(FileError, match="max_val is 300, which INT8 cannot hold"):
        to_bytes(graph)


def test_a_name_that_is_not_in_the_block_is_not_written() -> None:
    graph = Graph((region("main", [Node(CLAMP(min_val=0, max_val=1), ("x",), ("y",))], [], [], []),))
    with pytest.raises(FileError, match="block 'main': 'x' is not a value of the block"):
        to_bytes(graph)


def test_a_file_is_compiled_by_its_path(tmp_path: Path) -> None:
    graph = tj.trace(lambda x: x + x, np.zeros(3, np.int32))
    tj.save(graph, tmp_path / "model.tosa")
    for path in (tmp_path / "model.tosa", str(tmp_path / "model.tosa")):
        np.testing.assert_array_equal(tj.compile(path)(np.array([1, 2, 3], np.int32)), [2, 4, 6])


@pytest.mark.parametrize(
    ("given", "hint"),
    [(lambda x: x, "got function: compile it with tj.jit"), (3, "got int: get one from tj.trace or tj.load")],
)
def test_what_is_no_graph_is_not_compiled(given: object, hint: str) -> None:
    with pytest.raises(tj.CompileError, match=f"expected a graph or the path of a model, {hint}"):
        tj.compile(given)  # type: ignore[arg-type]
