"""Files are written as they were, to the byte, and damage anywhere in one is told as it was."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from hashlib import sha256

import numpy as np

import tosajit as tj
from tests.golden_networks import networks
from tests.strategies import random_graph
from tosajit import ops
from tosajit.files.npy import load_npy

Golden = Callable[[str, str], None]


def small() -> tj.Graph:
    """A graph with a constant, attributes of several kinds, and a shape."""
    weights = np.arange(24, dtype=np.int8).reshape(2, 3, 2, 2)

    def network(image: tj.Array) -> tj.Array:
        made = ops.conv2d(image, weights, np.array([5, -5], np.int32), pad=(1, 0, 1, 0), input_zp=np.int8(3))
        return ops.reshape(ops.transpose(made, perms=(0, 3, 1, 2)), (18,))

    return tj.trace(network, np.zeros((1, 4, 3, 2), np.int8))


def test_files_are_written_to_the_byte_as_they_were(golden: Golden) -> None:
    made = {name: maker() for name, maker in networks().items() if "mobilenet" not in name}
    made |= {f"random {seed}": random_graph(seed).graph for seed in range(12)}
    lines = []
    for name, graph in made.items():
        data = tj.to_bytes(graph)
        lines.append(f"{name}: {len(data)} bytes {sha256(data).hexdigest()[:16]}")
    lines.append(tj.to_bytes(small()).hex(" ", 4))
    golden("files", "\n".join(lines))


def damaged(data: bytes, step: int) -> Iterator[tuple[str, bytes]]:
    """The file cut short, and with some of its words in turn all ones, or zero."""
    for end in range(0, len(data), 2 * step + 1):
        yield f"cut at {end}", data[:end]
    for place in range(0, len(data) - 3, step):
        for what, word in (("-1", b"\xff\xff\xff\xff"), ("0", bytes(4))):
            yield f"{what} at {place}", data[:place] + word + data[place + len(word) :]


def told(data: bytes, step: int, read: Callable[[bytes], object]) -> str:
    """What reading says of each damage; the same text in a row is told once."""
    lines: list[str] = []
    before = ""
    for place, one in damaged(data, step):
        try:
            read(one)
            text = "is read"
        except (tj.TosaError, ValueError) as error:
            text = str(error).partition("\n")[0][:110]
        if text != before:
            lines.append(f"{place}: {text}")
        before = text
    return "\n".join(lines)


def read_back(data: bytes) -> object:
    """The graph of a file, which must be one that can be written again."""
    return tj.to_bytes(tj.from_bytes(data))


def arrays() -> bytes:
    """An array as NumPy writes it."""
    file = io.BytesIO()
    np.save(file, np.arange(6, dtype=np.int16).reshape(2, 3))
    return file.getvalue()


def test_damage_is_told_as_it_was(golden: Golden) -> None:
    golden("damage_tosa", told(tj.to_bytes(small()), 4, read_back))
    golden("damage_npy", told(arrays(), 1, load_npy))
