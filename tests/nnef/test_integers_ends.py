"""What goes in and out of a quantised graph, what stays real and why, and weights that are integers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tosajit as tj
from tests.nnef.quantizing import Model, Q, steps_apart
from tosajit import nnef
from tosajit.cli.arguments import main
from tosajit.errors import FileError, ModelError
from tosajit.frontends.nnef.weights import save_dat, written_dat

BYTES, BARE, WORDS = Q(0.05, 3), Q(0.05, 131, signed=False), Q(0.001, bits=16)
RESULT = Q(0.1, -20)
SHAPES = {"k": (4, 2, 3, 3), "b": (4,)}
CONV = Model(
    "c = nn.conv{padding=[1, 1, 1, 1]}(x, k, b); y = nn.relu(c);", {"x": (1, 2, 5, 6)},
    {"x": BYTES, "k": Q((0.01, 0.02, 0.03, 0.01), symmetric=True), "y": RESULT}, (1, 4, 5, 6), SHAPES,
)  # fmt: skip


def one(compose: str, **said: Q | str) -> Model:
    """A model of one input `x` and the result `y`, of one shape."""
    return Model(compose, {"x": (2, 6)}, said, (2, 6))


@pytest.mark.parametrize(
    ("form", "outside", "scale"),
    [
        (BYTES, {}, (0.05, 3)), (BARE, {"x": "uint8", "y": "uint8"}, (0.05, 131)), (WORDS, {}, (0.001, 0)),
        (Q(0.5, 3, bits=4, signed=False), {}, (0.5, 3)),
    ],
)  # fmt: skip
def test_quantised_ends_are_integers_whose_meaning_is_kept(
    form: Q, outside: dict[str, str], scale: tuple[float, int]
) -> None:
    graph = one("y = nn.relu(x);", x=form, y=form).graph()
    assert graph.scales == {"x": scale, "y": scale}
    assert graph.outside == outside
    assert graph.notes == ()


def test_ends_that_are_not_quantised_are_real() -> None:
    model = one("z = nn.relu(x); y = nn.sigmoid(z);", z=BYTES)
    graph = model.graph()
    assert graph.inputs[0].dtype is graph.outputs[0].dtype is tj.FP32
    assert graph.scales == {}
    rounded = tj.compile(nnef.parse(model.text))(*model.feeds)
    np.testing.assert_allclose(tj.compile(graph)(*model.feeds), rounded, atol=1e-6)


def test_what_only_moves_integers_needs_no_quantiser() -> None:
    graph = one(
        "t = layout.transpose{perm=[1, 0]}(x); y = layout.transpose{perm=[1, 0]}(t);", x=BYTES
    ).graph()
    assert graph.outputs[0].dtype is tj.INT8
    assert graph.scales["y"] == (0.05, 3)


@pytest.mark.parametrize(
    ("compose", "said", "note"),
    [
        ("y = math.pow(x, 2.0);", {"x": BYTES, "y": RESULT},
         "y (math.pow) is in floating point: there is no rule for it in integers"),
        ("t = math.add(x, x); y = math.sqr(t);", {"x": BYTES, "y": RESULT},
         "y (math.sqr) is in floating point: t is not quantised"),
        ("t = math.add(x, x); y = math.sqr(t);", {"x": BYTES, "y": RESULT},
         "t (math.add) is in floating point: nothing tells the scale of its result"),
        ("y = nn.sigmoid(x);", {"x": Q((0.1, 0.2), axis=0), "y": RESULT},
         "x (quant.zero_point_linear_quantize) is in floating point: it is quantised with 2 scales, "
         "but only weights have several"),
        ("y = nn.sigmoid(x);", {"x": Q(0.1, 5, bits=16), "y": RESULT},
         "x (quant.zero_point_linear_quantize) is in floating point: it is quantised to 16 bits with the "
         "zero point 5, and TOSA's have none"),
        ("y = nn.sigmoid(x);", {"x": Q(0.1, bits=20), "y": RESULT},
         "x (quant.zero_point_linear_quantize) is in floating point: it is quantised to more than 16 bits, "
         "which only biases may have"),
        ("y = nn.sigmoid(x);", {"x": Q(0.1, 300), "y": RESULT},
         "x (quant.zero_point_linear_quantize) is in floating point: its zero point is 300, "
         "which is none of its integers"),
        ("y = nn.sigmoid(x);", {"x": BYTES, "y": WORDS},
         "y (nn.sigmoid) is in floating point: it takes INT8 and gives INT16, and tables do not change "
         "types"),
        ("y = math.iden(x);", {"x": Q(1000.0), "y": Q(0.001)},
         "y (quant.zero_point_linear_quantize) is in floating point: its operand has the scale 1000, but its "
         "result 0.001"),
        ("y = math.add(x, x);",
         {"x": "quant.min_max_linear_quantize{min=1.0, max=3.0, bits=8}", "y": RESULT},
         "x (quant.min_max_linear_quantize) is in floating point: 0 is not within its range, and integers "
         "that are added up need one for it"),
        ("y = math.iden(x);", {"x": "quant.min_max_linear_quantize{min=-1.0, max=1.0, bits=8}", "y": RESULT},
         "the range of x is moved by 0.5 steps, so that 0 is one of its numbers"),
    ],
)  # fmt: skip
def test_the_graph_says_what_stays_real_and_why(compose: str, said: dict[str, Q | str], note: str) -> None:
    model = one(compose, **said)
    graph = model.graph()
    assert note in graph.notes
    assert tj.validate(graph) == ()
    assert graph.outputs[0].dtype is (tj.INT16 if said["y"] is WORDS else tj.INT8)


def test_an_island_in_floating_point_gives_the_rounded_numbers() -> None:
    model = one("p = math.pow(x, 2.0); y = nn.relu(p);", x=BYTES, p=RESULT, y=RESULT)
    assert len(model.graph().notes) == 1
    assert steps_apart(model).max() == 0


@pytest.mark.parametrize("bits", [8, 16])
def test_ranges_are_quantisations_as_well(bits: int) -> None:
    scale = 2.0**-5 if bits == 8 else 2.0**-12
    low, high = -(2 ** (bits - 1)) * scale, (2 ** (bits - 1) - 1) * scale
    text = f"quant.min_max_linear_quantize{{min={low}, max={high}, bits={bits}}}"
    linear = one("y = math.add(x, x);", x=Q(scale, bits=bits), y=Q(2 * scale, bits=bits))
    ranged = one("y = math.add(x, x);", x=text, y=Q(2 * scale, bits=bits))
    assert ranged.graph().scales == linear.graph().scales
    np.testing.assert_array_equal(tj.compile(ranged.graph())(*linear.integers), linear.run())


def test_a_quantiser_that_is_composed_of_a_standard_one_tells_a_scale() -> None:
    text = CONV.text.replace(
        "graph main",
        """operator symmetric {
        @attrib { scale: real..(n); n_: int = 8; }
        @input { x: real[n, s..]; }
        @output { y: real[n, s..]; }
        @compose { y = quant.zero_point_linear_quantize{
            zero_point=0, scale=scale, bits=n_, symmetric=true, channel_axis=0}(x); }
    }
    graph main""",
    ).replace(CONV.said["k"].text, "symmetric{scale=[0.01, 0.02, 0.03, 0.01]}")  # type: ignore[union-attr]
    found = nnef.parse(text, weights=CONV.weights, quantized=True)
    assert found.notes == ()
    np.testing.assert_array_equal(tj.compile(found)(*CONV.integers), CONV.run())


def test_quantisers_among_the_operators_make_integers() -> None:
    inner = Model(
        f"q = {Q(0.05, 3).text}(x); r = nn.relu(q); y = {Q(0.05, -3).text}(r);", {"x": (2, 6)}, {}, (2, 6)
    )
    graph = inner.graph()
    assert [one.operator.opcode for one in graph.nodes if one.operator.opcode in ("CLAMP", "RESCALE")]
    assert graph.scales == {"y": (0.05, -3)}


def test_branches_take_and_give_real_numbers() -> None:
    model = one(
        "z = nn.relu(x); s = math.sum_reduce{axes=[0, 1]}(z); w = layout.squeeze{axes=[0, 1]}(s);"
        "c = math.gt(w, 1.0); b = if c then math.mul(z, 0.5) else nn.sigmoid(z); y = nn.relu(b);",
        x=BYTES, z=RESULT, y=RESULT,
    )  # fmt: skip
    assert steps_apart(model).max() == 0


_KIND, _QUANTIZED_SIGNED = 48, 3
"""Where the header of a file has the kind of its items, and one of them."""


def stored(folder: Path, quantized: bool) -> Path:
    """The convolution on disk, with weights as integers or as the real numbers that they stand for."""
    folder.mkdir()
    (folder / "main.sknd").write_text(CONV.text)
    kernel = CONV.said["k"]
    assert isinstance(kernel, Q)
    integers = kernel.integers(CONV.weights["k"])
    real = kernel.reals(integers).astype(np.float32)
    data = bytearray(written_dat(integers if quantized else real))
    data[_KIND] = _QUANTIZED_SIGNED if quantized else data[_KIND]
    (folder / "main.main.k.dat").write_bytes(data)
    save_dat(folder / "main.main.b.dat", CONV.weights["b"])
    return folder


@pytest.mark.parametrize("quantized", [True, False])
def test_files_of_integers_are_the_weights_themselves(tmp_path: Path, quantized: bool) -> None:
    found, real = (tj.load(stored(tmp_path / name, is_), quantized=quantized)
                   for name, is_ in (("a.nnef2", True), ("b.nnef2", False)))  # fmt: skip
    given = CONV.integers if quantized else CONV.feeds
    np.testing.assert_array_equal(tj.compile(found)(*given), tj.compile(real)(*given))


def test_integers_may_be_given_for_weights() -> None:
    kernel = CONV.said["k"]
    assert isinstance(kernel, Q)
    given = {"k": kernel.integers(CONV.weights["k"]), "b": CONV.weights["b"]}
    np.testing.assert_array_equal(tj.compile(CONV.graph(given))(*CONV.integers), CONV.run())


def test_a_bias_of_32_bits_is_the_integers_that_are_added() -> None:
    scales = (0.0005, 0.001, 0.0015, 0.0005)
    said = {**CONV.said, "b": Q(scales, bits=32)}
    numbers = np.array([-70000, 123456, 7, -2147483], np.int32)
    found = replace(CONV, said=said).graph({"k": CONV.weights["k"], "b": numbers})
    held = [one.data for one in found.main.values.values() if one.dtype is tj.INT32 and one.data is not None]
    assert any(one.tolist() == numbers.tolist() for one in held)


def test_integers_that_a_quantisation_does_not_have_are_refused() -> None:
    with pytest.raises(FileError, match=r"k holds -128 to -128, but is quantised to -127 to 127"):
        CONV.graph({"k": np.full(SHAPES["k"], -128, np.int8), "b": CONV.weights["b"]})


@pytest.mark.parametrize("quantized", [True, False])
def test_integers_that_nothing_explains_are_refused(quantized: bool) -> None:
    bare = replace(CONV, said={"y": RESULT})
    given = {"k": np.ones(SHAPES["k"], np.int8), "b": CONV.weights["b"]}
    with pytest.raises(ModelError, match="the numbers of k are quantised, and nothing says how"):
        nnef.parse(bare.text, weights=given, quantized=quantized)


def test_only_nnef_models_are_quantised_when_they_are_loaded(tmp_path: Path) -> None:
    tj.save(CONV.graph(), tmp_path / "model.tosa")
    with pytest.raises(FileError, match=r"quantized is True \(--quantized\), but only NNEF models"):
        tj.load(tmp_path / "model.tosa", quantized=True)


def test_commands_quantise_and_show_scales_and_notes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "model.nnef2"
    folder.mkdir()
    (folder / "main.sknd").write_text(one("y = math.pow(x, 2.0);", x=BYTES, y=RESULT).text)
    assert main(["info", str(folder), "--quantized"]) == 0
    text = capsys.readouterr().out
    assert "%x: (integer - 3) x 0.05" in text
    assert "%y: (integer + 20) x 0.1" in text
    assert "y (math.pow) is in floating point: there is no rule for it in integers" in text
    assert main(["info", str(folder), "--quantized", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    ends = [(one["name"], one["scale"], one["zero_point"]) for one in (*found["inputs"], *found["outputs"])]
    assert ends == [("x", 0.05, 3), ("y", 0.1, -20)]
    assert main(["simulate", str(folder), "--quantized", "--machine", "ethos-u55-128"]) == 0
