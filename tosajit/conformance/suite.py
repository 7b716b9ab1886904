"""Arm's tests as values: what a test's folder says, and how its files are read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

INTEGER_PROFILES = frozenset({"tosa-pro-int"})
INTEGER_EXTENSIONS = frozenset(
    f"tosa-ext-{name}"
    for name in ("int16", "int4", "doubleround", "inexactround", "controlflow", "variable", "dynamic")
)
FLOAT_PROFILES = frozenset({"tosa-pro-fp"})
FLOAT_EXTENSIONS = frozenset(f"tosa-ext-{name}" for name in ("bf16", "fp8e4m3", "fp8e5m2", "fft"))


@dataclass(frozen=True, slots=True)
class Test:
    """One test: a graph, its inputs, and how its results are judged."""

    __test__ = False  # not a class of tests

    folder: Path
    operator: str
    negative: bool
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    tosa_file: str = "test.tosa"
    compliance: Mapping[str, Any] = field(default_factory=dict)
    profiles: frozenset[str] = frozenset()
    extensions: frozenset[str] = frozenset()
    bounds: bool = False
    fault: str = ""

    @property
    def name(self) -> str:
        """The name of the folder, which tells shapes, types and attributes."""
        return self.folder.name

    @property
    def tosa_path(self) -> Path:
        """The file of the graph."""
        return self.folder / self.tosa_file

    @property
    def description(self) -> Path:
        """The file that Arm's tools read."""
        return self.folder / "desc.json"

    def supported(self, profiles: frozenset[str], extensions: frozenset[str]) -> bool:
        """Whether one of the test's profiles and all of its extensions are wanted."""
        return (not self.profiles or bool(self.profiles & profiles)) and self.extensions <= extensions

    def load_inputs(self) -> dict[str, np.ndarray]:
        """Read the inputs from their files."""
        return {name: np.load(self.folder / file) for name, file in self.inputs.items()}


def read_test(folder: Path) -> Test:
    """Read the description of a test."""
    about = json.loads((folder / "desc.json").read_text())
    required = about.get("test_requirements", {})
    details = about.get("test_details", {})
    return Test(
        folder=folder,
        operator=details.get("operator", folder.parent.name.upper()),
        negative=about["expected_failure"],
        inputs=dict(zip(about["ifm_name"], about["ifm_file"], strict=True)),
        outputs=dict(zip(about["ofm_name"], about["ofm_file"], strict=True)),
        tosa_file=about["tosa_file"],
        compliance=about.get("meta", {}).get("compliance", {}),
        profiles=frozenset(required.get("profiles_supported", ())),
        extensions=frozenset(required.get("extensions_required", ())),
        bounds=required.get("bounds_file_required", False),
        fault=details.get("ERRORIF", ""),
    )


def find_tests(root: Path) -> list[Test]:
    """Read all tests below a folder, in the order of their paths."""
    return [read_test(path.parent) for path in sorted(root.rglob("desc.json"))]


@dataclass(frozen=True, slots=True)
class Expected:
    """What the reference model says of one output: its value, and the bounds' if the test needs them."""

    value: np.ndarray
    bounds: np.ndarray | None = None


def stored(results: Path, file: str) -> Path:
    """Where a file of the reference model is kept: as it was, or packed."""
    packed = results / f"{file}.gz"
    return packed if packed.is_file() else results / file


def pack(file: Path) -> None:
    """Pack a file of the reference model in its place."""
    file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), compresslevel=1))
    file.unlink()


def load_stored(results: Path, file: str) -> np.ndarray:
    """Read an array of the reference model."""
    path = stored(results, file)
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        return np.asarray(np.load(stream))


def load_expected(test: Test, results: Path) -> dict[str, Expected]:
    """Read the reference model's outputs of a test from the folder that it wrote them to."""
    return {
        name: Expected(
            load_stored(results, file), load_stored(results, f"bounds_{file}") if test.bounds else None
        )
        for name, file in test.outputs.items()
    }


def has_results(test: Test, results: Path) -> bool:
    """Whether the folder holds the reference model's results of the test."""
    names = [*test.outputs.values()]
    files = [*names, *(f"bounds_{name}" for name in names if test.bounds)]
    return all(stored(results, file).is_file() for file in files)
