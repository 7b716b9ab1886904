"""Arm's tests of PyTorch's operators: the modules, shapes and tensors of tosa-tools, run by `torch` alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from frameworks.shape_list import shape_list
from frameworks.torch.torch_op_list import TORCH_OP_LIST

_KERNELS = ((1, 1), (3, 3), (5, 5))
_RANKS = (1, 4)
"""Of operators that do not say which they take."""


class Case(NamedTuple):
    """A module with its inputs."""

    name: str
    module: Any
    inputs: tuple[Any, ...]


def cases(seed: int) -> Iterator[Case]:
    """All of them, in the order of Arm's list."""
    for name, operator in _operators():
        random = np.random.default_rng([seed, crc32(name.encode())])
        custom = operator.get("custom_shapes", {"custom_shape_only": False, "shape_list": []})
        shapes = [*([] if custom["custom_shape_only"] else shape_list), *custom["shape_list"]]
        low, high = operator.get("rank", _RANKS)
        for dtype in operator["types"]:
            for shape in shapes:
                if low <= len(shape) <= high:
                    yield from _of_shape(name, operator, shape, dtype, random)


def _operators() -> Iterator[tuple[str, dict[str, Any]]]:
    """Operators by their names; templates stand for those of several kernels."""
    for name, operator in TORCH_OP_LIST.items():
        if not operator.get("template"):
            yield name, operator
            continue
        for kernel in _KERNELS:
            yield name.replace("TEMPLATE", "x".join(map(str, kernel))), {**operator, "filter": kernel}


def _of_shape(name: str, operator: dict[str, Any], shape: Any, dtype: Any, random: Any) -> Iterator[Case]:
    module, tensors, arguments = operator["build_fcn"]
    for label, more in arguments(operator, shape, random):
        given, held = tensors(operator, shape, dtype, random)
        if given:
            size = "_".join("x".join(map(str, one)) for one in (shape if _is_nested(shape) else [shape]))
            full = f"{name}_{size or 'single'}_{str(dtype).removeprefix('torch.')}{label}"
            made = module(*(one for _, one in held), *more)
            yield Case(full, made, tuple(one for _, one in given))


def _is_nested(shape: Any) -> bool:
    return bool(shape) and isinstance(shape[0], tuple)
