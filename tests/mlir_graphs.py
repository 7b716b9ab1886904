"""What tests of MLIR share: graphs as they are but for names, and Arm's translator."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import reference
from tosajit.graph import Block, Graph


def unnamed(graph: Graph) -> object:
    """A graph with numbers in place of the names of values and regions: two that are alike are equal."""
    return _block(graph, graph.main)


def _block(graph: Graph, block: Block) -> object:
    numbers: dict[str, int] = {}

    def signature(name: str) -> object:
        value = block.values[name]
        data = None if value.data is None else value.data.tobytes()
        return numbers.setdefault(name, len(numbers)), value.dtype, value.shape, data

    def node(number: int) -> object:
        one = block.nodes[number]
        attributes = [(name, value) for name, value in one.operator if name not in one.operator.regions]
        regions = [graph.region(name) for name in one.runs]
        inner = [_block(graph, region.blocks[0]) for region in regions if region is not None]
        return (
            one.operator.opcode,
            attributes,
            [*map(signature, one.inputs)],
            [*map(signature, one.outputs)],
            inner,
        )

    inputs = [*map(signature, block.inputs)]
    return inputs, [*map(node, range(len(block.nodes)))], [*map(signature, block.outputs)]


def translated(*arguments: str, text: bytes = b"") -> Any:
    """What Arm's `tosa-opt` makes of a text, or of what the arguments name."""
    arm = reference.tools()
    if arm is None:
        pytest.skip("Arm's tosa-opt is missing: `make test` installs it, or set TOSAJIT_ARM")
    command = [str(arm.packages / "bin" / "tosa-opt"), *arguments]
    return subprocess.run(command, input=text, capture_output=True, check=False, timeout=60)


def deserialised(path: Path, *arguments: str) -> Any:
    """A .tosa file as text or bytecode."""
    return translated("--tosa-deserialize", f"--tosa-deserialize-filename={path}", *arguments, "-")
