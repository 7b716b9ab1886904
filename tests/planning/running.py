"""What a chain computes through planner, linker and driver, held against the interpreter."""

from __future__ import annotations

from math import prod

import numpy as np

from tests.planning.drawing import Chain
from tests.planning.interpreter import interpret
from tests.planning.test_fuse import arrays
from tiling.target import Target
from tosajit.compiler.options import Options
from tosajit.compiler.segment import Segment, Tensor
from tosajit.compiler.stages import since, through
from tosajit.dtypes import INT32
from tosajit.kernels.runner import Runner

Arrays = dict[str, np.ndarray]


def meaning(chain: Chain, seed: int) -> tuple[str, np.ndarray, Arrays]:
    """The last result of a chain, what the interpreter makes of it, and the inputs that were drawn for it."""
    sizes = {name: prod(shape) for name, shape in chain.shapes.items()}
    result = chain.nests[-1].writes[0].access.operand
    given = arrays(chain, seed)
    expected = interpret(chain.nests, given, sizes)[result]
    return result, expected, {name: given[name].reshape(shape) for name, shape in chain.inputs.items()}


def tensors_of(chain: Chain) -> dict[str, Tensor]:
    """The tensors of a chain."""
    return {name: Tensor(name, INT32, shape) for name, shape in chain.shapes.items()}


def check_program(chain: Chain, seed: int, target: Target) -> None:
    """Run a chain on a target."""
    if not chain.nests:
        return
    result, expected, inputs = meaning(chain, seed)
    segment = Segment("drawn", tuple(chain.nests), tensors_of(chain), tuple(inputs), (result,), {})
    runner = Runner(through(since("precompute"), segment, Options(target)))
    found = runner.run(list(inputs.values()))[0]
    np.testing.assert_array_equal(found.reshape(-1), expected)
