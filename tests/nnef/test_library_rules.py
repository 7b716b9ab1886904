"""What standard operators refuse, and what they do where the specification decides or has slips.

Each assertion of chapter 4 fails here: `REFUSED` has a call for it, with the words that tell what is wrong.
The cases of `tests.nnef.cases` are accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.nnef.cases import Case
from tests.nnef.cases.case import Attribute, Given, integers, reals, truths
from tests.nnef.interpreter import run
from tests.nnef.running import LIBRARY, composed, interpreted
from tosajit.errors import ScriptError
from tosajit.frontends.nnef.compose import Library, compose
from tosajit.frontends.nnef.library import MODULES, Standard

X, M, V, T = reals(2, 4, 6), reals(3, 4), reals(5), truths(3, 4)
IMAGE, FILTER = reals(1, 4, 6, 6), reals(4, 4, 3, 3)
Call = tuple[str, Mapping[str, Any], tuple[Any, ...], str]


def _axes(names: str, given: tuple[Given, ...] = (X,), **more: Attribute) -> list[Call]:
    """Axes that are outside, and one that stands twice, of operators that take some."""
    found: list[Call] = []
    for name in names.split():
        found.append((name, {**more, "axes": (3,)}, given, "each of 'axes' is from -3 to 2"))
        found.append((name, {**more, "axes": (-4,)}, given, "each of 'axes' is from -3 to 2"))
        twice = {key: value * 2 if isinstance(value, tuple) else value for key, value in more.items()}
        found.append((name, {**twice, "axes": (1, 1)}, given, "no axis stands twice"))
    return found


def _axis(names: str, given: tuple[Given, ...] = (X,), **more: Attribute) -> list[Call]:
    """An axis that is outside: it is found before assertions are, where dimensions are counted."""
    found: list[Call] = []
    for name in names.split():
        found.append((name, {**more, "axis": 5}, given, "index 5 is" if name == "nn.prelu" else "but takes"))
        found.append(
            (name, {**more, "axis": -4}, given, "-4 is" if name == "nn.prelu" else "-1 is no number")
        )
    return found


_REDUCTIONS = "min max sum prod mean".split()
_BINARY = "add sub mul div mod pow min max lt gt le ge eq ne".split()
_POOLS = "nn.max_pool nn.sum_pool nn.avg_pool nn.rms_pool nn.lp_pool"

REFUSED: list[Call] = [
    *_axes(
        " ".join(f"math.{one}_reduce" for one in _REDUCTIONS) + " math.moments math.argmin_nd math.argmax_nd"
    ),
    *_axes("math.any_reduce math.all_reduce", (truths(2, 3, 4),)),
    *_axes("math.lp_reduce", p=2.0),
    *_axes("layout.squeeze", (reals(1, 1, 1),)),
    *_axes("layout.tile", repeats=(2,)),
    *_axes("layout.broadcast", (reals(1, 1, 1),), shape=(2,)),
    *_axes("layout.slice", begin=(0,), end=(1,)),
    *_axes("layout.pad", padding=(0, 0)),
    *_axes(_POOLS.replace(" nn.lp_pool", ""), size=(1,)),
    *_axes("nn.lp_pool", size=(1,), p=2.0),
    *_axes("nn.local_response_norm", size=(1,)),
    *_axes("nn.l1_norm nn.l2_norm nn.softmax nn.mean_variance_norm"),
    *_axes(
        "image.nearest_downsample image.nearest_upsample image.area_downsample image.linear_upsample",
        factor=(1,),
    ),
    *_axes("image.nearest_resize image.linear_resize image.cubic_resize image.resize", size=(2,)),
    *_axes("image.rescale", factor=(2.0,)),
    *_axis("layout.unstack math.argmin math.argmax"),
    *_axis("layout.reshape", shape=(2,)),
    *_axis("layout.flatten"),
    *_axis("layout.unflatten", shape=(2,)),
    *_axis("layout.concat layout.stack", ([X],)),
    *_axis("layout.split", count=2),
    *_axis("layout.shuffle", groups=2),
    *_axis("layout.gather", (X, integers(2, low=0, high=2))),
    *_axis("layout.scatter", (X, integers(2, 4, 6, low=0, high=2), X)),
    *_axis("algo.top_k", k=1),
    *_axis("nn.prelu", (X, V)),
    *[(f"math.{one}", {}, (integers(2, 3), integers(2, 4, low=1)), "do not broadcast") for one in _BINARY],
    *[(f"math.{one}", {}, (truths(2, 3), truths(2, 4)), "do not broadcast") for one in ("and", "or", "xor")],
    ("math.add", {"rhs_align": 1}, (reals(2, 3), reals(2)), "do not broadcast"),
    ("math.select", {}, (truths(2), reals(3), reals(3)), "of c and"),
    ("math.select", {}, (truths(), reals(2), reals(3)), "of x and"),
    ("math.axpb", {}, (reals(2), reals(3), reals()), "of a and"),
    ("math.axpb", {}, (reals(2), reals(), reals(3)), "of a and"),
    ("math.axpb", {}, (reals(), reals(2), reals(3)), "of b and"),
    ("math.axpy", {}, (reals(2), reals(3), reals(), reals()), "of a and"),
    ("math.axpy", {}, (reals(), reals(), reals(2), reals(3)), "of b and"),
    ("math.axpy", {}, (reals(2), reals(), reals(3), reals()), "of a * x and"),
    ("math.clamp", {}, (reals(2), reals(3), reals()), "of a and"),
    ("math.clamp", {}, (reals(2), reals(), reals(3)), "of b and"),
    ("math.clamp", {}, (reals(), reals(2), reals(3)), "of a and"),
    ("math.lp_reduce", {"p": 0.0}, (X,), "'p' is more than 0"),
    ("layout.range", {"first": 1, "last": 5, "stride": 0}, (), "'stride' is not 0"),
    ("layout.range", {"first": 5, "last": 1}, (), "'first' is at most 'last'"),
    ("layout.range", {"first": 1, "last": 5, "stride": -1}, (), "'first' is at least 'last'"),
    ("layout.reshape", {"rank": 4, "shape": (48,)}, (X,), "'rank' is from 0 to 3"),
    ("layout.reshape", {"rank": -1, "shape": (48,)}, (X,), "'rank' is from 0 to 3"),
    ("layout.reshape", {"shape": (0, 48)}, (X,), "positive, or -1"),
    ("layout.reshape", {"shape": (-1, -1)}, (X,), "one extent at most is -1"),
    ("layout.reshape", {"shape": (-1, 7)}, (X,), "48 items do not make rows of 7"),
    ("layout.reshape", {"shape": (6, 4)}, (X,), "does not have 48 items"),
    ("layout.flatten", {"rank": 4}, (X,), "'rank' is from 0 to 3"),
    ("layout.unflatten", {"axis": 1, "shape": (-2, -2)}, (X,), "each extent is positive"),
    ("layout.unflatten", {"axis": 1, "shape": (2, 3)}, (X,), "does not have 4 items"),
    ("layout.squeeze", {"axes": (1,)}, (X,), "the extents along 'axes' are 1"),
    ("layout.unsqueeze", {"axes": (4,)}, (X,), "from -4 to 3"),
    ("layout.unsqueeze", {"axes": (0, 0)}, (X,), "no axis stands twice"),
    ("layout.split", {"axis": 1, "sizes": (1, 2)}, (X,), "the sizes make 3, not 4"),
    ("layout.split", {"axis": 1, "sizes": (5, -1)}, (X,), "no size is negative"),
    ("layout.split", {"axis": 1, "count": 3, "sizes": (2, 2)}, (X,), "2 sizes for 3 parts"),
    ("layout.split", {"axis": 1, "count": 3}, (X,), "the sizes make 3, not 4"),
    ("layout.tile", {"repeats": (1, 0, 1)}, (X,), "each of 'repeats' is positive"),
    ("layout.broadcast", {"shape": (2, 0, 6)}, (X,), "each extent is positive"),
    ("layout.broadcast", {"shape": (2, 5, 6)}, (X,), "do not become"),
    ("layout.slice", {"axes": (1,), "begin": (0,), "end": (2,), "stride": (0,)}, (X,), "no stride is 0"),
    ("layout.slice", {"axes": (1,), "begin": (-1,), "end": (2,)}, (X,), "no begin is negative"),
    ("layout.slice", {"axes": (1,), "begin": (4,), "end": (4,)}, (X,), "within the extents"),
    ("layout.slice", {"axes": (1,), "begin": (2,), "end": (1,)}, (X,), "'begin' is at most 'end'"),
    (
        "layout.slice",
        {"axes": (1,), "begin": (1,), "end": (2,), "stride": (-1,)},
        (X,),
        "'begin' is at least",
    ),
    ("layout.pad", {"padding": (0, -1), "axes": (1,)}, (X,), "no padding is negative"),
    ("layout.pad", {"padding": (0, 1), "axes": (1,), "method": "WRAP"}, (X,), "'method' is one of"),
    ("layout.transpose", {"axis": 3, "perm": ()}, (X,), "'axis' is from -3 to 2"),
    ("layout.transpose", {"axis": 1, "perm": (0, 1)}, (X,), "one of the 2 dimensions from 1 on"),
    ("layout.transpose", {"perm": (0, 1, 1)}, (X,), "no dimension stands twice"),
    ("layout.shuffle", {"axis": 1, "groups": 0}, (X,), "'groups' is positive"),
    ("layout.shuffle", {"axis": 1, "groups": 3}, (X,), "the extent 4 is a multiple of 3"),
    ("layout.gather_nd", {"batch_dims": -1}, (X, integers(2, 1, low=0, high=2)), "-1 is no number"),
    ("layout.scatter_nd", {"batch_dims": -1}, (X, integers(2, 1, low=0, high=2), X), "-1 is no number"),
    ("layout.space_to_batch", {"block_size": (4,)}, (X,), "multiples of 'block_size'"),
    ("layout.space_to_batch", {"block_size": (-1,)}, (X,), "each of 'block_size' is positive"),
    ("layout.space_to_depth", {"block_size": (4,)}, (X,), "multiples of 'block_size'"),
    ("layout.batch_to_space", {"block_size": (3,)}, (X,), "the batch of 2 is a multiple of 3"),
    ("layout.depth_to_space", {"block_size": (3,)}, (X,), "the depth of 4 is a multiple of 3"),
    *[
        (f"layout.{one}", {"block_size": (1,), "data_format": "XNC"}, (X,), "'data_format' is one of")
        for one in ("space_to_batch", "batch_to_space", "space_to_depth", "depth_to_space")
    ],
    ("linalg.matmul", {}, (reals(3, 4), reals(5, 4)), "4 items of a row do not go with 5"),
    ("linalg.matmul", {"transA": True}, (reals(3, 4), reals(4, 5)), "3 items of a row do not go with 4"),
    ("linalg.matmul", {}, (reals(2, 3, 4), reals(3, 4, 5)), "do not broadcast"),
    ("linalg.matmul", {}, (reals(2, 3, 4), reals(4, 5), reals(3, 3, 5)), "of C do not broadcast"),
    ("nn.conv", {"stride": (0, 1)}, (IMAGE, FILTER), "each stride is positive"),
    ("nn.conv", {"dilation": (0, 1)}, (IMAGE, FILTER), "each dilation is positive"),
    ("nn.conv", {"groups": -1}, (IMAGE, FILTER), "'groups' is not negative"),
    ("nn.conv", {"padding": (0, 0, 0, 0), "dilation": 3}, (IMAGE, FILTER), "more than the padded input"),
    ("nn.conv", {"groups": 3}, (IMAGE, FILTER), "4 output channels do not make 3 groups"),
    ("nn.conv", {}, (IMAGE, reals(4, 3, 3, 3)), "4 input channels are not 1 groups of 3"),
    ("nn.conv", {}, (IMAGE, FILTER, reals(3)), "3 biases do not go with 4"),
    ("nn.deconv", {"groups": 3}, (IMAGE, FILTER), "4 input channels do not make 3 groups"),
    ("nn.deconv", {"groups": -1}, (IMAGE, FILTER), "'groups' is not negative"),
    ("nn.deconv", {"stride": (0, 1)}, (IMAGE, FILTER), "each stride is positive"),
    ("nn.deconv", {"dilation": (0, 1)}, (IMAGE, FILTER), "each dilation is positive"),
    ("nn.deconv", {"output_size": (3, 3)}, (IMAGE, FILTER), "does not give"),
    *[
        (f"nn.{one}", {name: "AB"}, (IMAGE, FILTER), f"'{name}' is one of")
        for one in ("conv", "deconv")
        for name in ("padding_align", "data_format", "filter_format")
    ],
    *[
        (one, {"size": (1,), "axes": (1,), "p": 2.0, name: value}, (X,), words)
        if one == "nn.lp_pool"
        else (one, {"size": (1,), "axes": (1,), name: value}, (X,), words)
        for one in _POOLS.split()
        for name, value, words in (
            ("size", (0,), "each size is positive"),
            ("stride", (0,), "each stride is positive"),
            ("dilation", (0,), "each dilation is positive"),
            ("padding_align", "MIDDLE", "'padding_align' is one of"),
        )
    ],
    *[
        (one, {"size": (5,), "axes": (1,), "padding": (0, 0)}, (X,), "more than the padded input")
        for one in ("nn.max_pool", "nn.sum_pool", "nn.avg_pool", "nn.rms_pool")
    ],
    ("nn.lp_pool", {"size": (1,), "axes": (1,), "p": 0.0}, (X,), "'p' is more than 0"),
    ("nn.relu", {"alpha": 1.5}, (X,), "'alpha' is from 0 to 1"),
    ("nn.relu", {"alpha": -0.5}, (X,), "'alpha' is from 0 to 1"),
    ("nn.relu", {"max": 0.0}, (X,), "'max' is more than 0"),
    ("nn.thresholded_relu", {"theta": -1.0}, (X,), "'theta' is not negative"),
    ("nn.gelu", {"approximate": "ERF"}, (X,), "'approximate' is one of"),
    ("nn.batch_norm", {"epsilon": -1.0}, (X, reals(4), reals(4)), "'epsilon' is not negative"),
    ("nn.batch_norm", {"channel_axis": 2}, (X, reals(4), reals(4)), "4 means do not go with 6 channels"),
    ("nn.mean_variance_norm", {"epsilon": -1.0}, (X,), "'epsilon' is not negative"),
    *[
        ("nn.local_response_norm", {"size": (3,), name: -1.0}, (X,), f"'{name}' is not negative")
        for name in ("alpha", "beta", "bias")
    ],
    *[
        (f"nn.{one}", {"axes": (1,), name: -1.0}, (X,), f"'{name}' is not negative")
        for one in ("l1_norm", "l2_norm")
        for name in ("bias", "epsilon")
    ],
    *[
        (f"image.{one}", {"axes": (1,), "factor": (0,)}, (X,), "each factor is positive")
        for one in ("nearest_upsample", "linear_upsample")
    ],
    *[
        (f"image.{one}", {"axes": (1,), "factor": (3,)}, (X,), "multiples of 'factor'")
        for one in ("nearest_downsample", "area_downsample")
    ],
    *[
        (f"image.{one}", {"axes": (1,), "size": (0,)}, (X,), "each size is positive")
        for one in ("nearest_resize", "linear_resize", "cubic_resize", "resize")
    ],
    *[
        (f"image.{one}", {"axes": (1,), "size": (2,), "coordinate_transform": "HALF"}, (X,), "is one of")
        for one in ("nearest_resize", "linear_resize", "cubic_resize", "resize")
    ],
    *[
        (
            f"image.{one}",
            {"axes": (1,), "size": (2,), "rounding_method": "HALF"},
            (X,),
            "'rounding_method' is one of",
        )
        for one in ("nearest_resize", "resize")
    ],
    ("image.resize", {"axes": (1,), "size": (2,), "mode": "AREA"}, (X,), "'mode' is one of"),
    ("image.rescale", {"axes": (1,), "factor": (0.01,)}, (X,), "each size is positive"),
    *[
        (f"image.{one}", {"padding": "WRAP"}, (IMAGE, reals(1, 2, 2, 2)), "'padding' is one of")
        for one in ("grid_sample", "_linear_grid_sample", "_nearest_grid_sample", "_cubic_grid_sample")
    ],
    ("image.grid_sample", {"mode": "AREA"}, (IMAGE, reals(1, 2, 2, 2)), "'mode' is one of"),
    (
        "quant.zero_point_linear_quantize",
        {"zero_point": 0, "scale": 0.0, "bits": 8},
        (M,),
        "each scale is more",
    ),
    (
        "quant.zero_point_linear_quantize",
        {"zero_point": 0, "scale": 1.0, "bits": 0},
        (M,),
        "'bits' is positive",
    ),
    ("quant.min_max_linear_quantize", {"min": 0.0, "max": 1.0, "bits": 0}, (M,), "'bits' is positive"),
    ("algo.top_k", {"k": 0}, (X,), "'k' is positive"),
    *[
        ("algo.nonmax_suppress", {name: value}, (reals(1, 5, 4), reals(1, 2, 5)), f"'{name}' is")
        for name, value in (
            ("box_format", "SIZE"),
            ("iou_threshold", 1.5),
            ("iou_threshold", -0.5),
            ("max_outputs_per_class", -1),
        )
    ],
]


@pytest.mark.parametrize(("operator", "attributes", "inputs", "words"), REFUSED)
def test_a_call_is_refused(
    operator: str, attributes: dict[str, Attribute], inputs: tuple[Given, ...], words: str
) -> None:
    with pytest.raises(ScriptError) as raised:
        composed(Case(operator, inputs, np.array, attributes))
    assert words in str(raised.value)
    assert "NNEF 2.0 section 2." in str(raised.value)


def test_every_assertion_is_refused_once() -> None:
    """Operators that have assertions have calls that break them."""
    asserting = {
        f"{module}.{name}"
        for module in MODULES
        for name in Standard().names(module)
        if (found := Standard().find(module, name)) is not None and found.operator.assertions
    }
    assert {operator for operator, *_ in REFUSED} == asserting


def only(operator: str, *inputs: Given, **attributes: Attribute) -> Any:
    """The only output of a call."""
    (found,) = interpreted(Case(operator, inputs, np.array, attributes))
    return found


def test_automatic_padding_that_is_negative_is_rounded_down() -> None:
    """Section 2.4: `/` rounds down, so a filter of one with a stride of two begins at the second item."""
    x = reals(1, 1, 6)
    found = only("nn.conv", x, np.ones((1, 1, 1)), stride=(2,))
    np.testing.assert_array_equal(found, x[..., 1::2])


def test_the_lower_alignment_begins_at_the_first_item() -> None:
    x = reals(1, 1, 6)
    found = only("nn.conv", x, np.ones((1, 1, 1)), stride=(2,), padding_align="LOWER")
    np.testing.assert_array_equal(found, x[..., ::2])


def test_the_default_order_of_dimensions_is_for_the_first_axis_alone() -> None:
    """Section 4.1.5: its numbers count all dimensions, so behind another axis they are refused."""
    with pytest.raises(ScriptError, match="one of the 2 dimensions from 1 on"):
        only("layout.transpose", X, axis=1)


def test_the_nearest_item_of_a_place_before_the_first_is_the_first() -> None:
    """Section 4.5.2 would read item -1 here: what is outside goes to the end that is nearest."""
    x = reals(3)
    found = only("image.nearest_resize", x, size=(6,), rounding_method="FLOOR")
    np.testing.assert_array_equal(found, x[[0, 0, 0, 1, 1, 2]])


def test_negative_axes_are_enlarged_with_their_borders() -> None:
    """Section 4.5.1 looks for axes among dimensions without counting negative ones from the end."""
    x = reals(2, 3)
    one, other = (only("image.linear_upsample", x, axes=axes, factor=(2,)) for axes in ((1,), (-1,)))
    np.testing.assert_array_equal(one, other)


def test_a_deconvolution_needs_the_channels_of_its_filter() -> None:
    """Section 4.4.1 names its input's channels, but does not compare them; more of them would be ignored."""
    with pytest.raises(ScriptError, match="5 input channels do not go with 4 of the filter"):
        only("nn.deconv", reals(1, 5, 4, 4), reals(4, 3, 3, 3))
    with pytest.raises(ScriptError, match="2 biases do not go with 3 output channels"):
        only("nn.deconv", reals(1, 4, 4, 4), reals(4, 3, 3, 3), reals(2))


def test_rows_are_flattened_in_their_order() -> None:
    """Section 4.1.2: strides are products of the extents behind a dimension, not of those in front of it."""
    np.testing.assert_array_equal(only("layout.flatten", X), X.reshape(-1))


def test_inputs_have_default_values() -> None:
    """Section 4.4.5: an LSTM begins with zeros."""
    text = """
        import nn;
        graph main {
            @input { X: real[2,1,3]; W: real[8,3]; R: real[8,2]; B: real[8]; }
            @output { Y: real[2,1,2]; h: real[1,2]; c: real[1,2]; }
            @compose { Y, h, c = nn.lstm(X, W, R, B); }
        }
    """
    model = compose(Library({"main": text}, Standard()))
    given = {"X": reals(2, 1, 3), "W": reals(8, 3), "R": reals(8, 2), "B": reals(8)}
    zeros = np.zeros((1, 2))
    expected = interpreted(Case("nn.lstm", (*given.values(), zeros, zeros), np.array))
    for one, other in zip(run(model.root, LIBRARY, given).values(), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)
