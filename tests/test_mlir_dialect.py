"""What the dialect allows and what it forbids: open types, names, attributes of other versions."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tosajit.errors import ScriptError

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import mlir_tests


def load(text: str, **options: object) -> tj.Graph:
    return tj.load(text.encode(), **options)  # type: ignore[arg-type]


UNRANKED = """
func.func @main(%x: tensor<1x4x1xf32>, %y: tensor<1x1x3xf32>) -> tensor<*xf32> {
  %0 = tosa.add %x, %y : (tensor<1x4x1xf32>, tensor<1x1x3xf32>) -> tensor<*xf32>
  %1 = tosa.exp %0 : (tensor<*xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}
"""


def test_shapes_that_are_not_said_follow_from_the_operands() -> None:
    graph = load(UNRANKED)
    assert tj.validate(graph) == ()
    assert [value.shape for value in graph.outputs] == [(1, 4, 3)]
    x, y = np.ones((1, 4, 1), np.float32), np.zeros((1, 1, 3), np.float32)
    assert tj.compile(graph)(x, y).shape == (1, 4, 3)


def test_an_input_whose_rank_is_not_said_has_to_be_given() -> None:
    text = UNRANKED.replace("%x: tensor<1x4x1xf32>", "%x: tensor<*xf32>").replace(
        "(tensor<1x4x1xf32>,", "(tensor<*xf32>,"
    )
    with pytest.raises(tj.FileError, match=r"input x: its shape is not known; give shapes=\{'x': \(…\)\}"):
        load(text)
    assert load(text, shapes={"x": (1, 4, 1)}).outputs[0].shape == (1, 4, 3)


def test_declared_extents_must_be_those_of_the_result() -> None:
    text = UNRANKED.replace("-> tensor<*xf32>\n", "-> tensor<?x4x5xf32>\n", 1).replace(
        "(tensor<*xf32>)", "(tensor<?x4x5xf32>)"
    )
    with pytest.raises(
        tj.FileError, match=re.escape("declared as [?, 4, 5], but its operands give [1, 4, 3]")
    ):
        load(text)


@pytest.mark.parametrize(
    "written", ["", "#tosa.nan_mode<IGNORE>", "#tosa.nan_mode<IGNORE> : i32", '"IGNORE"']
)
def test_members_may_say_the_type_that_they_are_kept_in(written: str) -> None:
    mode = f", nan_mode = {written}" if written else ""
    type = "tensor<2xf32>"
    graph = load(f"""func.func @f(%x: {type}) -> {type} {{
      %0 = "tosa.clamp"(%x) {{min_val = 0.0 : f32, max_val = 1.0 : f32{mode}}} : ({type}) -> {type}
      return %0 : {type}
    }}""")
    assert ("IGNORE" in str(graph.main.nodes[0].operator)) is bool(written)


def test_the_shape_of_a_transposed_convolution_may_be_said_twice() -> None:
    graph = load("""
    func.func @f(%x: tensor<1x2x2x1xf32>, %w: tensor<1x1x1x1xf32>, %b: tensor<1xf32>) -> tensor<1x2x2x1xf32> {
      %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
      %0 = tosa.transpose_conv2d %x, %w, %b, %z, %z {acc_type = f32, out_pad = array<i64: 0, 0, 0, 0>,
        out_shape = array<i64: 1, 2, 2, 1>, stride = array<i64: 1, 1>} : (tensor<1x2x2x1xf32>,
        tensor<1x1x1x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x2x2x1xf32>
      return %0 : tensor<1x2x2x1xf32>
    }""")
    assert tj.validate(graph) == ()


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("%0 = tosa.variable_read @gone : tensor<2xf32>", "@gone: the module declares no such variable"),
        ("tosa.variable_write @gone, %x : tensor<2xf32>", "@gone: the module declares no such variable"),
        (
            '%0 = "tosa.const"() {values = dense<tensor<2x!tosa.mxint8> : [1 : i8, 2 : i8]>}'
            " : () -> tensor<2x!tosa.mxint8>",
            "elements of the types of dialects are not read",
        ),
        (
            "%0:2 = tosa.cast_to_block_scaled %x {block_size = #tosa.block_size<BLOCK_SIZE_32> : i32}"
            " : (tensor<2xf32>) -> (tensor<2xf4E2M1FN>, tensor<1xf8E8M0FNU>)",
            "is not an operator of TOSA 1.0.1; it is of a draft of TOSA 1.1",
        ),
    ],
)
def test_what_the_module_or_the_version_lacks_is_refused(body: str, fault: str) -> None:
    with pytest.raises(ScriptError) as caught:
        load(f"func.func @f(%x: tensor<2xf32>) {{ {body} return }}")
    assert fault in str(caught.value)


def test_truths_are_no_numbers_to_be_clamped() -> None:
    graph = load("""func.func @f(%x: tensor<2xi1>) -> tensor<2xi1> {
      %0 = tosa.clamp %x {min_val = false, max_val = true} : (tensor<2xi1>) -> tensor<2xi1>
      return %0 : tensor<2xi1>
    }""")
    assert "no mode has in_out_t BOOL" in str(tj.validate(graph)[0])


def test_lists_of_control_flow_may_have_any_rank() -> None:
    type = f"tensor<{'1x' * 7}f32>"
    graph = load(f"""func.func @f(%c: tensor<i1>, %x: {type}) -> {type} {{
      %0 = "tosa.cond_if"(%c, %x) ({{
      ^bb0(%a: {type}):
        "tosa.yield"(%a) : ({type}) -> ()
      }}, {{
      ^bb0(%a: {type}):
        "tosa.yield"(%a) : ({type}) -> ()
      }}) : (tensor<i1>, {type}) -> {type}
      return %0 : {type}
    }}""")
    assert tj.validate(graph) == ()
    given = np.full((1,) * 7, 3, np.float32)
    assert tj.compile(graph)(np.array(True), given) == given


RUN = '-tosa-attach-target="profiles=pro_int extensions=int16" -tosa-validate="strict-op-spec-alignment"'
FILE = (
    f"// RUN: mlir-opt %s {RUN}"
    + """
func.func @good(%x: tensor<2xi32>) -> tensor<2xi32> {
  %0 = tosa.abs %x : (tensor<2xi32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}
// -----
func.func @bad(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{'tosa.exp' op illegal: requires [pro_fp] but not enabled in target}}
  %0 = tosa.exp %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @lacking(%x: tensor<2xf32>) {
  %0 = tosa.cast_stochastic %x : (tensor<2xf32>) -> tensor<2xf32>
  return
}
"""
)


def test_functions_of_a_file_are_judged_by_what_they_expect() -> None:
    found = list(mlir_tests.functions(FILE))
    assert [one.name for one in found] == ["good", "bad", "lacking"]
    ends = [mlir_tests.outcome(one)[0] for one in found]
    assert ends == ["valid", "refused as expected", "outside TOSA 1.0.1"]
    good, bad, _ = found
    assert mlir_tests.outcome(mlir_tests.Test("good", good.text, bad.expected, {}))[0] == "wrong"
    assert (
        mlir_tests.outcome(mlir_tests.Test("good", good.text, (), {"profiles": ()}))[0]
        == "forbidden by TOSA 1.0.1"
    )
    assert (
        mlir_tests.outcome(
            mlir_tests.Test("bad", bad.text, ("'tosa.exp' op failed level check: MAX_RANK",), bad.target)
        )[0]
        == "wrong"
    )


NORM = """func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %share = "tosa.const"() <{values = dense<1.250000e-01> : tensor<1x1xf64>}> : () -> tensor<1x1xf64>
  %small = "tosa.const"() <{values = dense<1.0e-05> : tensor<1x1xf64>}> : () -> tensor<1x1xf64>
  %0 = tosa.cast %x : (tensor<2x8xf32>) -> tensor<2x8xf64>
  %1 = tosa.reduce_sum %0 {axis = 1 : i32} : (tensor<2x8xf64>) -> tensor<2x1xf64>
  %2 = tosa.mul %1, %share, %shift : (tensor<2x1xf64>, tensor<1x1xf64>, tensor<1xi8>) -> tensor<2x1xf64>
  %3 = tosa.sub %0, %2 : (tensor<2x8xf64>, tensor<2x1xf64>) -> tensor<2x8xf64>
  %4 = tosa.mul %3, %3, %shift : (tensor<2x8xf64>, tensor<2x8xf64>, tensor<1xi8>) -> tensor<2x8xf64>
  %5 = tosa.reduce_sum %4 {axis = 1 : i32} : (tensor<2x8xf64>) -> tensor<2x1xf64>
  %6 = tosa.mul %5, %share, %shift : (tensor<2x1xf64>, tensor<1x1xf64>, tensor<1xi8>) -> tensor<2x1xf64>
  %7 = tosa.add %6, %small : (tensor<2x1xf64>, tensor<1x1xf64>) -> tensor<2x1xf64>
  %8 = tosa.rsqrt %7 : (tensor<2x1xf64>) -> tensor<2x1xf64>
  %9 = tosa.mul %3, %8, %shift : (tensor<2x8xf64>, tensor<2x1xf64>, tensor<1xi8>) -> tensor<2x8xf64>
  %10 = tosa.cast %9 : (tensor<2x8xf64>) -> tensor<2x8xf32>
  return %10 : tensor<2x8xf32>
}"""


def test_layer_norms_in_double_precision_are_computed_in_f32_if_that_is_wanted() -> None:
    with pytest.raises(
        ScriptError, match=r"computes in f64, which TOSA 1.0.1 lacks; give narrow=True to compute in f32"
    ):
        load(NORM)
    graph = load(NORM, narrow=True)
    assert tj.validate(graph) == ()
    x = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    assert np.abs(tj.compile(graph)(x) - expected).max() < 1e-6


def test_integers_of_64_bits_are_computed_in_32_if_that_is_wanted() -> None:
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xi64> {
      %most = arith.constant dense<9223372036854775807> : tensor<1xi64>
      %0 = tosa.cast %x : (tensor<3xf32>) -> tensor<3xi64>
      %1 = tosa.minimum %0, %most : (tensor<3xi64>, tensor<1xi64>) -> tensor<3xi64>
      return %1 : tensor<3xi64>
    }"""
    with pytest.raises(ScriptError, match=r"computes in i64, which TOSA 1.0.1 lacks; give narrow=True"):
        load(text)
    found = tj.compile(load(text, narrow=True))(np.array([-7, 2.5, 3e9], np.float32))
    assert found.dtype == np.int64
    assert found.tolist() == [-7, 2, (1 << 31) - 1]


def test_only_modules_and_onnx_models_are_narrowed() -> None:
    with pytest.raises(tj.FileError, match="narrow is given, but only MLIR and ONNX have types to narrow"):
        tj.load(tj.samples.path("ds_cnn"), narrow=True)


def test_constants_of_another_dialect_are_constants() -> None:
    for constant in ("arith.constant dense<[1, 2]>", '"arith.constant"() <{value = dense<[1, 2]>'):
        type = "tensor<2xi32>" + ("}> : () -> tensor<2xi32>" if constant.startswith('"') else "")
        graph = load(
            f"func.func @f() -> tensor<2xi32> {{ %0 = {constant} : {type} return %0 : tensor<2xi32> }}"
        )
        assert graph.outputs[0].data is not None
        assert graph.outputs[0].data.tolist() == [1, 2]
