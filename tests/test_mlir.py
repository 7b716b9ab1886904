"""Texts of MLIR become graphs: the forms of operations, types, attributes and constants."""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tosajit as tj
from tosajit.dtypes import DTYPES
from tosajit.errors import ScriptError

CLAMP = """
module {{
  func.func @main(%x: tensor<4xi16>) -> tensor<4xi16> {{
    %y = {} : (tensor<4xi16>) -> tensor<4xi16>
    return %y : tensor<4xi16>
  }}
}}
"""
FORMS = {
    "generic": '"tosa.clamp"(%x) <{max_val = 100 : i16, min_val = -3 : i16, nan_mode = #tosa.nan_mode<IGNORE>}>',  # noqa: E501
    "older": '"tosa.clamp"(%x) {max_val = 100 : i16, min_val = -3 : i16, nan_mode = "IGNORE"}',
    "braces": "tosa.clamp %x {max_val = 100 : i16, min_val = -3 : i16, nan_mode = IGNORE}",
    "arguments": "tosa.clamp %x min_val(-3 : i16) max_val(100 : i16) nan_mode<IGNORE>",
}


def load(text: str, **options: object) -> tj.Graph:
    return tj.load(text.encode(), **options)  # type: ignore[arg-type]


def const(text: str, type: str) -> np.ndarray:
    """The constant that elements in the text become."""
    text = f'%0 = "tosa.const"() <{{values = {text} : {type}}}> : () -> {type}'
    graph = load(f"func.func @f() -> {type} {{ {text} return %0 : {type} }}")
    data = graph.outputs[0].data
    assert data is not None
    assert data.shape == graph.outputs[0].shape
    return data


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_attributes_is_read(form: str) -> None:
    graph = load(CLAMP.format(FORMS[form]))
    (node,) = graph.main.nodes
    assert str(node.operator) == "CLAMP(min_val=-3, max_val=100, nan_mode=IGNORE)"
    assert (graph.main.inputs, graph.main.outputs) == (("x",), ("y",))
    assert tj.validate(graph) == ()


CONVOLUTION = """
func.func @main(%x: tensor<1x4x4x2xi8>, %w: tensor<3x1x1x2xi8>, %b: tensor<3xi32>, %z: tensor<1xi8>)
    -> tensor<1x4x4x3xi32> {{
  %y = tosa.conv2d %x, %w, %b, %z, %z {} :
    (tensor<1x4x4x2xi8>, tensor<3x1x1x2xi8>, tensor<3xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x3xi32>
  return %y : tensor<1x4x4x3xi32>
}}
"""


@pytest.mark.parametrize(
    "attributes",
    [
        "{acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}",  # noqa: E501
        "pad([0, 0, 0, 0]) stride([1, 1]) dilation([1, 1]) acc_type(i32)",
        "pad([0, 0, 0, 0]) stride([1, 1]) dilation([1, 1]) acc_type(i32) local_bound(false)",
    ],
)
def test_lists_types_and_defaults_are_attributes(attributes: str) -> None:
    (node,) = load(CONVOLUTION.format(attributes)).main.nodes
    expected = "pad=[0, 0, 0, 0], stride=[1, 1], dilation=[1, 1], local_bound=false, acc_type=INT32"
    assert str(node.operator) == f"CONV2D({expected})"


@pytest.mark.parametrize(
    ("text", "type", "expected"),
    [
        ("dense<5>", "tensor<2x3xi32>", np.full((2, 3), 5, np.int32)),
        ("dense<[[1, -2], [3, 4]]>", "tensor<2x2xi8>", np.array([[1, -2], [3, 4]], np.int8)),
        ("dense<[true, false]>", "tensor<2xi1>", np.array([True, False])),
        ("dense<255>", "tensor<1xi8>", np.array([-1], np.int8)),
        ("dense<[1, -7]>", "tensor<2xi4>", np.array([1, -7], np.int8)),
        ('dense<"0x0109">', "tensor<2xi4>", np.array([1, -7], np.int8)),
        ('dense<"0x010000000000F9FFFFFFFFFF">', "tensor<2xi48>", np.array([1, -7], np.int64)),
        ('dense<"0x0001">', "tensor<2xi1>", np.array([False, True])),
        ('dense<"0x05">', "tensor<3xi1>", np.array([True, False, True])),
        ('dense<"0x0000C03F">', "tensor<3xf32>", np.full(3, 1.5, np.float32)),
        ('dense<"0x803F0040">', "tensor<2xbf16>", np.array([1, 2], ml_dtypes.bfloat16)),
        ("dense<[1.5e+00, 0xFF800000, -0.0]>", "tensor<3xf32>", np.array([1.5, -np.inf, -0.0], "f4")),
        ("dense<0x7C00>", "tensor<f16>", np.array(np.inf, np.float16)),
        ("dense<[1.0, -1.5]>", "tensor<2xf8E4M3FN>", np.array([1, -1.5], ml_dtypes.float8_e4m3fn)),
        ("dense<[[], []]>", "tensor<2x0xi8>", np.empty((2, 0), np.int8)),
        ("dense<>", "tensor<0xi8>", np.empty(0, np.int8)),
        ("dense<1>", "tensor<2xui8>", np.ones(2, np.int8)),
    ],
)  # fmt: skip
def test_elements_are_read(text: str, type: str, expected: np.ndarray) -> None:
    found = const(text, type)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


def test_resources_stand_at_the_end() -> None:
    text = """
    func.func @f() -> tensor<2xi16> {
      %0 = "tosa.const"() <{values = dense_resource<weights> : tensor<2xi16>}> : () -> tensor<2xi16>
      return %0 : tensor<2xi16>
    }
    {-#
      dialect_resources: {
        builtin: {
          weights: "0x020000000100FEFF"
        }
      }
    #-}
    """
    data = load(text).outputs[0].data
    assert data is not None
    assert data.tolist() == [1, -2]


@pytest.mark.parametrize(
    ("text", "type", "fault"),
    [
        ("dense<[1, 2]>", "tensor<3xi8>", "there are 2 elements, but the shape [3] has 3"),
        ("dense<[[1, 2, 3, 4]]>", "tensor<2x2xi8>", "the lists are not nested as the shape [2, 2] has it"),
        ("dense<[1, x]>", "tensor<2xi8>", "expected integers between the commas"),
        ("dense<[1.0, nan]>", "tensor<2xf32>", "expected numbers between the commas"),
        ("dense<300>", "tensor<1xi8>", "300 to 300 is more than 8 bits hold"),
        ('dense<"0x01">', "tensor<2xi32>", "there are 1 bytes, but 2 elements of 4 bytes have 8"),
        ('dense<"0x0g">', "tensor<1xi8>", "expected hexadecimal digits, two for each byte"),
        ("dense_resource<a>", "tensor<1xi8>", "the text has no resource a"),
        ("dense<1>", "tensor<100000x100000xi8>", "constants of one number have 10000000000 bytes"),
    ],
)
def test_wrong_elements_are_refused(text: str, type: str, fault: str) -> None:
    with pytest.raises(ScriptError) as caught:
        const(text, type)
    assert fault in str(caught.value)


def test_a_module_may_have_variables() -> None:
    graph = load("""
    module {
      tosa.variable @state = dense<[1, 2]> : tensor<2xi8>
      "tosa.variable"() <{sym_name = "other", type = i8, var_shape = dense<2> : tensor<1xindex>}> : () -> ()
      func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> {
        %0 = tosa.variable_read @state : tensor<2xi8>
        tosa.variable_write @state, %x : tensor<2xi8>
        "tosa.variable_write"(%0) <{name = "other"}> : (tensor<2xi8>) -> ()
        return %0 : tensor<2xi8>
      }
    }""")
    model = tj.compile(graph)
    assert model(np.array([5, 6], np.int8)).tolist() == [1, 2]
    assert model(np.array([7, 8], np.int8)).tolist() == [5, 6]


BRANCH = """
func.func @main(%c: tensor<i1>, %x: tensor<2xi32>) -> tensor<2xi32> {
  %two = "tosa.const"() <{values = dense<2> : tensor<2xi32>}> : () -> tensor<2xi32>
  %y = HEAD {
    THEN
    %a = tosa.add %x, %two : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    tosa.yield %a : tensor<2xi32>
  } else {
    THEN
    tosa.yield %two : tensor<2xi32>
  }
  return %y : tensor<2xi32>
}
"""


def test_branches_take_values_from_around_them() -> None:
    head = "tosa.cond_if %c : tensor<i1> -> tensor<2xi32>"
    graph = load(BRANCH.replace("HEAD", head).replace("THEN", ""))
    assert tj.validate(graph) == ()
    model = tj.compile(graph)
    x = np.array([10, 20], np.int32)
    assert model(np.array(True), x).tolist() == [12, 22]
    assert model(np.array(False), x).tolist() == [2, 2]


def test_loops_take_values_from_around_them() -> None:
    graph = load("""
    func.func @main(%n: tensor<i32>, %step: tensor<i32>) -> tensor<i32> {
      %zero = "tosa.const"() <{values = dense<0> : tensor<i32>}> : () -> tensor<i32>
      %one = "tosa.const"() <{values = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %end:2 = tosa.while_loop (%i = %zero, %sum = %zero)
          : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>) {
        %more = tosa.greater %n, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
        tosa.yield %more : tensor<i1>
      } do {
      ^bb0(%i: tensor<i32>, %sum: tensor<i32>):
        %next = tosa.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
        %more = tosa.add %sum, %step : (tensor<i32>, tensor<i32>) -> tensor<i32>
        tosa.yield %next, %more : tensor<i32>, tensor<i32>
      }
      return %end#1 : tensor<i32>
    }""")
    assert tj.validate(graph) == ()
    assert tj.compile(graph)(np.array(4, np.int32), np.array(5, np.int32)) == 20


TWO = """
#place = loc("model.py":3:5)
!image = tensor<?x2xf32>
module attributes {torch.debug_module_name = "Net"} {
  ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
  func.func private @helper()
  func.func @double(%x: !image {tosa.tensor_name = "image:0"} loc(#place))
      -> (!image {tosa.tensor_name = "twice"}) {
    %0 = tosa.add %x, %x : (!image, !image) -> !image loc(#later)
    return %0 : !image
  } loc(unknown)
  func.func @negative(%x: tensor<2xf32>) -> tensor<2xf32> {
    %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
    %0 = tosa.negate %x, %z, %z : (tensor<2xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
#later = loc("layers/add"(callsite("f"("model.py":1:2) at #place)))
"""


def test_a_function_is_chosen_and_open_extents_are_given() -> None:
    graph = load(TWO, function="double", shapes={"image:0": (3, 2)})
    assert (graph.main.inputs, graph.main.outputs) == (("image:0",), ("twice",))
    assert graph.outputs[0].shape == (3, 2)
    assert graph.main.nodes[0].location == "layers/add"
    assert load(TWO, signature="negative").main.inputs == ("x",)


def test_a_function_must_be_one_of_the_module() -> None:
    with pytest.raises(tj.FileError, match="give function=, one of double, negative"):
        load(TWO)
    with pytest.raises(
        tj.FileError, match="function is 'other', but those of the module are double, negative"
    ):
        load(TWO, function="other")
    with pytest.raises(tj.FileError, match="constants are given, but only ONNX models"):
        load(TWO, function="double", constants={"x": 1})
    with pytest.raises(tj.FileError, match="only MLIR modules have functions"):
        tj.load(tj.samples.path("ds_cnn"), function="main")


def test_types_without_a_sign_and_quantised_ones_are_those_outside() -> None:
    graph = load("""
    func.func @f(%x: tensor<2xui8>, %q: tensor<2x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<2xui8> {
      return %x : tensor<2xui8>
    }""")
    assert graph.outside == {"x": "uint8"}
    assert graph.scales == {"q": (0.5, -3)}
    assert [value.dtype.name for value in graph.inputs] == ["INT8", "INT8"]


def test_wide_types_are_narrowed_where_that_is_exact() -> None:
    graph = load("""
    func.func @f(%i: tensor<1x2xi64>, %x: tensor<1x3x1xf32>) -> (tensor<1x2x1xf32>, tensor<1xf32>) {
      %0 = tosa.gather %x, %i : (tensor<1x3x1xf32>, tensor<1x2xi64>) -> tensor<1x2x1xf32>
      %e = "tosa.const"() <{values = dense<1.0e-05> : tensor<1xf64>}> : () -> tensor<1xf64>
      %1 = tosa.cast %e : (tensor<1xf64>) -> tensor<1xf32>
      return %0, %1 : tensor<1x2x1xf32>, tensor<1xf32>
    }""")
    assert tj.validate(graph) == ()
    assert graph.outside == {"i": "int64"}
    x = np.array([[[1.0], [2.0], [3.0]]], np.float32)
    gathered, rounded = tj.compile(graph)(np.array([[2, 0]]), x)
    assert gathered.ravel().tolist() == [3, 1]
    assert rounded.tolist() == [np.float32(1e-5)]


TYPES = {"T": "tensor<2xf32>", "D": "tensor<2xf64>"}
FAULTS = {
    'func.func @f(%x: T) {\n  %0 = tosa.add %x, %y : (T, T) -> T\n}':
        ("2:21", "%0 (tosa.add) %y: there is no such value before this"),
    'func.func @f(%x: T) {\n  %0 = tosa.cast %x : (T) -> D\n  %1 = tosa.exp %0 : (D) -> D\n}':
        ("3:8", "%1 (tosa.exp) computes in f64, which TOSA 1.0.1 lacks; give narrow=True to compute in f32"),
    'func.func @f(%x: T) {\n  %0 = tosa.matmul_t %x : (T) -> T\n}':
        ("2:8", "is not an operator of TOSA 1.0.1; it is of a draft of TOSA 1.1"),
    'func.func @f(%x: T) {\n  %0 = stablehlo.add %x, %x : T\n}':
        ("2:8", "stablehlo.add is not an operator of TOSA; convert the model to the TOSA dialect alone"),
    'func.func @f(%x: T) {\n  %0 = tosa.reverse %x {axis = true} : (T) -> T\n}':
        ("2:8", "%0 (tosa.reverse) axis: expected an integer"),
    'func.func @f(%x: T) {\n  %0 = tosa.reverse %x : (T) -> T\n}':
        ("2:8", "%0 (tosa.reverse) axis: it is missing"),
    'func.func @f(%x: T) {\n  %0 = tosa.abs %x {axis = 1 : i32} : (T) -> T\n}':
        ("2:8", "%0 (tosa.abs) axis: TOSA 1.0.1 has no such attribute of ABS"),
    'func.func @f(%x: T) {\n  %0 = tosa.abs %x : (tensor<3xf32>) -> T\n}':
        ("2:17", "%0 (tosa.abs) %x: its type is FP32[2], but here it is FP32[3]"),
    'func.func @f(%x: tensor<2xcomplex<f32>>) {\n}\nfunc.func @g(':
        ("3:14", "expected a type, but found the end of the text"),
    'func.func @f(%x: tensor<2xf32) {}':
        ("1:30", "expected `>` behind the type of the elements, but found `)`"),
    'func.func @f(%x: tensor<2xf6E2M3FN>, %i: index) { return }':
        ("1:14", "%x: TOSA 1.0.1 has no type tensor<2xf6E2M3FN>"),
    'func.func @f() { ~ }': ("1:18", "'~' begins nothing in this language"),
    'func.func @f() {\n  return': ("1:16", "this is not closed; close it with `}`"),
}  # fmt: skip


@pytest.mark.parametrize("text", FAULTS)
def test_faults_say_their_place(text: str) -> None:
    place, message = FAULTS[text]
    with pytest.raises(ScriptError) as caught:
        load(re.sub(r"\b[TD]\b", lambda one: TYPES[one[0]], text))
    first = caught.value.faults[0]
    assert f"{first.line}:{first.column}" == place
    assert message in str(first)
    assert str(first).splitlines()[2].strip(" ^") == ""


def test_all_that_is_not_tosa_is_told_at_once() -> None:
    text = """func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
      %0 = tosa.exp %x : (tensor<2xf64>) -> tensor<2xf64>
      %1 = tosa.dim %0 {axis = 0 : i32} : (tensor<2xf64>) -> !tosa.shape<1>
      return %0 : tensor<2xf64>
    }"""
    with pytest.raises(ScriptError) as caught:
        load(text)
    assert [fault.line for fault in caught.value.faults] == [1, 2, 3]


def test_nesting_is_bounded() -> None:
    for text in ("module {" * 5000, "#a = " + "[" * 5000, "!a = " + "tuple<" * 5000, "!a = " + "(" * 5000):
        with pytest.raises(ScriptError):
            load(text)


def test_a_file_is_named_in_faults(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text("nothing")
    with pytest.raises(ScriptError) as caught:
        tj.load(path)
    assert str(caught.value).startswith(f"{path}:1:1: nothing is not an operator of TOSA")


def test_every_type_has_a_name() -> None:
    from tosajit.frontends.mlir.kinds import NAMES

    assert set(NAMES) == set(DTYPES.values())


def test_what_several_tools_write_stands_in_one_module() -> None:
    graph = tj.load(Path(__file__).parent / "data" / "module.mlir")
    assert tj.validate(graph) == ()
    image, condition, turns = np.full((3, 2), 5, np.float32), np.array(False), np.array(4, np.int32)
    given = image, condition, turns, np.array([[2, 0]]), np.zeros(2, np.uint8)
    twice, branch, last, gathered = tj.compile(graph)(*given)
    assert twice.tolist() == [[6, 6]] * 3
    assert branch.tolist() == [1 ^ 7, 2 ^ -2]
    assert last == 4
    assert gathered.ravel().tolist() == [-20, 1.5]


def test_integers_without_a_sign_are_only_moved_and_rescaled() -> None:
    text = """func.func @f(%x: tensor<2xui8>) -> tensor<1x2xTYPE> {
      %s = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
      %0 = tosa.reshape %x, %s : (tensor<2xui8>, !tosa.shape<2>) -> tensor<1x2xui8>
      %1 = OPERATOR : (tensor<1x2xui8>) -> tensor<1x2xTYPE>
      return %1 : tensor<1x2xTYPE>
    }"""
    graph = load(text.replace("OPERATOR", "tosa.identity %0").replace("TYPE", "ui8"))
    given = np.array([3, 200], np.uint8)
    assert tj.compile(graph)(given).tolist() == [[3, 200]]
    with pytest.raises(ScriptError, match=r"%1 \(tosa.cast\) computes with integers without a sign"):
        load(text.replace("OPERATOR", "tosa.cast %0").replace("TYPE", "i32"))


def test_constants_that_are_too_wide_stay_so_in_regions() -> None:
    text = """func.func @f(%c: tensor<i1>) -> tensor<1xi64> {
      %big = "tosa.const"() <{values = dense<5000000000> : tensor<1xi64>}> : () -> tensor<1xi64>
      %0 = tosa.cond_if %c : tensor<i1> -> tensor<1xi64> {
        tosa.yield %big : tensor<1xi64>
      } else {
        %1 = tosa.identity %big : (tensor<1xi64>) -> tensor<1xi64>
        tosa.yield %1 : tensor<1xi64>
      }
      return %0 : tensor<1xi64>
    }"""
    with pytest.raises(ScriptError) as caught:
        load(text)
    assert "%1 (tosa.identity) computes in i64, which TOSA 1.0.1 lacks" in str(caught.value)
    assert "%big: its elements are more than TOSA 1.0.1 can hold" in str(caught.value)
