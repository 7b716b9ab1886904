"""Networks in NNEF cost what they cost in TOSA, and keep the names of their text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.frontends.nnef.compose import Library, compose
from tosajit.frontends.nnef.library import Standard
from tosajit.frontends.nnef.lowering import graph_of
from tosajit.frontends.nnef.model import Model
from tosajit.operators import TRANSPOSE

Array = np.ndarray[Any, Any]

NETWORK = """
import nn;
import layout;
graph main {
    @input { x: real[1, 3, 64, 64]; }
    @output { y: real[1, 10]; }
    @variable {
        k1: real[32, 3, 11, 11]; b1: real[32]; k2: real[48, 32, 5, 5]; b2: real[48];
        k3: real[64, 48, 3, 3]; b3: real[64]; k4: real[10, 576]; b4: real[10];
    }
    @compose {
        conv1 = nn.conv{stride=4, padding=[2, 2, 2, 2]}(x, k1, b1);
        relu1 = nn.relu(conv1);
        pool1 = nn.max_pool{size=[3, 3], stride=2, padding=0}(relu1);
        conv2 = nn.conv{padding=[2, 2, 2, 2]}(pool1, k2, b2);
        relu2 = nn.relu(conv2);
        conv3 = nn.conv{padding=[1, 1, 1, 1]}(relu2, k3, b3);
        relu3 = nn.relu(conv3);
        pool3 = nn.max_pool{size=[3, 3], stride=2, padding=0}(relu3);
        flat = layout.flatten{axis=1}(pool3);
        fc4 = nn.linear(flat, k4, b4);
        y = nn.softmax(fc4);
    }
}
"""


def weights(name: str, shape: tuple[int, ...], type: str) -> Array:
    random = np.random.default_rng([ord(letter) for letter in name])
    found: Array = random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    return found.astype(np.float32)


def composed(text: str) -> Model:
    return compose(Library({"main": text}, Standard()), weights=weights)


def written_in_tosa(x: Any) -> Any:
    def kernel(name: str, *shape: int) -> tuple[Array, Array]:
        found = weights(f"k{name}", shape, "real")
        return np.ascontiguousarray(found.transpose(0, 2, 3, 1)), weights(f"b{name}", shape[:1], "real")

    value = ops.conv2d(x, *kernel("1", 32, 3, 11, 11), pad=(2, 1, 2, 1), stride=(4, 4))
    value = ops.clamp(value, min_val=0.0, max_val=np.inf)
    value = ops.max_pool2d(value, kernel=(3, 3), stride=(2, 2))
    value = ops.conv2d(value, *kernel("2", 48, 32, 5, 5), pad=(2, 2, 2, 2))
    value = ops.clamp(value, min_val=0.0, max_val=np.inf)
    value = ops.conv2d(value, *kernel("3", 64, 48, 3, 3), pad=(1, 1, 1, 1))
    value = ops.clamp(value, min_val=0.0, max_val=np.inf)
    value = ops.max_pool2d(value, kernel=(3, 3), stride=(2, 2))
    matrix = weights("k4", (10, 576), "real").reshape(10, 64, 3, 3).transpose(0, 2, 3, 1)
    rows, bias = np.ascontiguousarray(matrix).reshape(10, 1, 1, 576), weights("b4", (10,), "real")
    value = ops.reshape(ops.conv2d(ops.reshape(value, (1, 1, 1, 576)), rows, bias), (1, 10))
    powers = ops.exp(ops.sub(value, ops.reduce_max(value, axis=1)))
    return ops.mul(powers, ops.reciprocal(ops.reduce_sum(powers, axis=1)))


def test_a_network_gives_what_its_form_in_tosa_gives() -> None:
    graph = graph_of(composed(NETWORK))
    image = np.random.default_rng(0).standard_normal((1, 3, 64, 64)).astype(np.float32)
    turned = np.ascontiguousarray(image.transpose(0, 2, 3, 1))
    found, expected = tj.compile(graph)(image), tj.compile(tj.trace(written_in_tosa, turned))(turned)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_only_what_enters_and_what_becomes_flat_is_transposed() -> None:
    graph = graph_of(composed(NETWORK))
    assert sum(isinstance(node.operator, TRANSPOSE) for node in graph.nodes) == 2
    names = {name for node in graph.nodes for name in node.outputs}
    assert names >= {"conv1", "relu1", "pool1", "conv2", "relu2", "conv3", "relu3", "fc4", "y"}


@pytest.mark.parametrize("machine", ["systolic-32", "ethos-u65-256"])
def test_a_network_takes_the_cycles_of_its_form_in_tosa(machine: str) -> None:
    graph = graph_of(composed(NETWORK))
    other = tj.trace(written_in_tosa, np.zeros((1, 64, 64, 3), np.float32))
    found, expected = (tj.simulate(one, machine=machine).cycles for one in (graph, other))
    assert found == pytest.approx(expected, rel=0.02)


def test_a_known_normalization_goes_into_the_convolution_before_it() -> None:
    text = """
    import nn;
    graph main {
        @input { x: real[1, 3, 8, 8]; }
        @output { y: real[1, 4, 8, 8]; }
        @variable { k: real[4, 3, 3, 3]; m: real[4]; v: real[4]; }
        @compose {
            c = nn.conv{padding=[1, 1, 1, 1]}(x, k);
            n = nn.batch_norm(c, m, v);
            y = nn.relu(n);
        }
    }
    """
    model = compose(Library({"main": text}, Standard()), weights=lambda *given: np.abs(weights(*given)))
    opcodes = [
        node.operator.opcode for node in graph_of(model).nodes if not node.operator.opcode.startswith("CONST")
    ]
    assert opcodes == ["TRANSPOSE", "CONV2D", "CLAMP", "TRANSPOSE"]


def test_all_that_has_no_form_is_refused_at_once() -> None:
    text = """
    import image;
    graph main {
        @input { x: real[1, 2, 8, 8]; rois: real[3, 4]; index: int[3]; }
        @output { a: real[3, 2, 4, 4]; b: real[3, 2, 2, 2]; }
        @compose {
            a = image.max_roi_pool{output_size=[4, 4]}(x, rois, index);
            b = image.avg_roi_pool{output_size=[2, 2]}(x, rois, index);
        }
    }
    """
    with pytest.raises(tj.ModelError) as caught:
        graph_of(composed(text))
    refused = [(one.node, one.operator) for one in caught.value.refusals]
    assert refused == [("a", "image.max_roi_pool"), ("b", "image.avg_roi_pool")]


def test_what_a_user_writes_is_a_custom_operator() -> None:
    text = """
    operator twice {
        @input { x: real[s..]; }
        @output { y: real[s..]; }
        @lower { y[i..] = x[i..] + x[i..], i < s; }
    }
    graph main {
        @input { x: real[4]; }
        @output { y: real[4]; }
        @compose { y = twice(x); }
    }
    """
    graph = graph_of(composed(text))
    (node,) = [node for node in graph.nodes if node.operator.opcode == "CUSTOM"]
    assert node.outputs == ("y",)
