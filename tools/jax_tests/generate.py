"""Draws cases of each primitive and writes them: run by a Python that has JAX.

`generate.py FOLDER [--seeds FIRST COUNT] [--only REGEX]`
"""

from __future__ import annotations

import json
import re
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from drawing import options

from jax_tests.cases import CASES, Drawn
from jax_tests.written import from_array, from_function
from tosajit.frontends.jax.loading import traced
from tosajit.frontends.jax.records import Jaxpr


def main() -> None:
    """Write the cases that are asked for."""
    given = options(__doc__)
    warnings.simplefilter("ignore")
    given.folder.mkdir(parents=True, exist_ok=True)
    first, count = given.seeds
    for name in sorted(CASES):
        if re.search(given.only, name):
            for seed in range(first, first + count):
                rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
                path = given.folder / f"{name}-{seed}.json"
                path.write_text(json.dumps(written(name, CASES[name](rng))))


def written(name: str, drawn: Drawn) -> dict[str, Any]:
    """A case with what JAX computes."""
    import jax

    function = traced(drawn.function, drawn.arguments).function
    if drawn.primitive and drawn.primitive not in set(_primitives(function.body)):
        raise AssertionError(f"{name}: the case has {sorted(set(_primitives(function.body)))}")
    results = jax.tree.leaves(jax.jit(drawn.function)(*drawn.arguments))
    return {
        "function": from_function(function),
        "arguments": [from_array(np.asarray(one)) for one in jax.tree.leaves(drawn.arguments)],
        "results": [from_array(np.asarray(one)) for one in results],
    }


def _primitives(jaxpr: Jaxpr) -> Iterator[str]:
    for equation in jaxpr.equations:
        yield equation.primitive
        for value in equation.parameters.values():
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, Jaxpr):
                    yield from _primitives(one)


if __name__ == "__main__":
    main()
