"""Arm's framework tests as they lie in folders: what is run, on what, and what is expected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Door:
    """A front end that has tests of the suite."""

    name: str
    model: str
    """The field of a test's description that names the model's file."""
    result: str
    """The field that names the file of its result."""


DOORS = (
    Door("tflite", "tflite_model_filename", "tflite_result_npy_filename"),
    Door("tensorflow", "tf_model_filename", "tf_result_npy_filename"),
)
"""The front ends that are tested."""

STEPS = {
    "conv3d": "LiteRT has no CONV_3D of integers; floating-point sums in another order fall beside a half",
}
"""Families whose integers may differ by one step, by how their names begin, and why."""

_NAME = re.compile(r"test_tf_(?P<family>.+?)_(?P<shape>\d+(x\d+)*)_(?P<type>[a-z]+\d*)(_|$)")


@dataclass(frozen=True, slots=True)
class Test:
    """A test of one front end."""

    __test__: ClassVar[bool] = False  # pytest would take it for one of ours

    folder: Path
    door: Door
    family: str
    """The operator, as the suite calls it."""
    type: str
    model: Path
    inputs: tuple[Path, ...]
    result: Path
    shapes: tuple[tuple[int, ...], ...]
    """Those of the inputs, which the model may leave open."""

    @property
    def name(self) -> str:
        """The test's own name."""
        return self.folder.name

    @property
    def exception(self) -> str:
        """Why its integers may differ by one step; empty if they may not."""
        return next((reason for name, reason in STEPS.items() if self.family.startswith(name)), "")

    @property
    def kind(self) -> tuple[str, str, str]:
        """What the test is one of."""
        return self.door.name, self.family, self.type

    @property
    def files(self) -> tuple[Path, ...]:
        """All that it is made of."""
        return self.folder / "test.json", self.model, *self.inputs, self.result


def tests(root: Path) -> Iterator[Test]:
    """All tests below a folder, in the order of their names."""
    for description in sorted(root.glob("*/test.json")):
        about = json.loads(description.read_text())
        for door in DOORS:
            if about.get(door.result) and (description.parent / about.get(door.model, "")).is_file():
                yield _test(description.parent, door, about)


def _test(folder: Path, door: Door, about: dict[str, Any]) -> Test:
    found = _NAME.match(folder.name)
    family, kind = (found["family"], found["type"]) if found else (folder.name, "")
    inputs = tuple(folder / name for name in about["ifm_file"])
    shapes = tuple(tuple(shape) for shape in about["ifm_shape"])
    return Test(
        folder, door, family, kind, folder / about[door.model], inputs, folder / about[door.result], shapes
    )
