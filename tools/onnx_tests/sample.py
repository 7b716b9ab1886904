"""The samples of tests that the project's tests run: of ONNX's own, and of drawn ones."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import archives

from onnx_tests.suite import Outcome, Test, tests

DATA = Path(__file__).parents[2] / "tests" / "data"
ARCHIVES = DATA / "onnx.tar.xz", DATA / "onnx_drawn.tar.xz"


def pack(outcomes: Sequence[Outcome], root: Path, archive: Path) -> None:
    """The smallest test of every operator and type that passed; the archive depends on nothing but them."""
    smallest: dict[tuple[tuple[str, ...], str], tuple[int, str, Test]] = {}
    for outcome in outcomes:
        test = outcome.test
        if outcome.became == "passed" and not test.name.endswith("_expanded"):
            size = sum(path.stat().st_size for path in test.files)
            candidate, kind = (size, test.name, test), (test.operators, test.type)
            smallest[kind] = min(smallest.get(kind, candidate), candidate, key=lambda one: one[:2])
    chosen = sorted((test for _, _, test in smallest.values()), key=lambda test: test.name)
    archives.write(archive, root, (path for test in chosen for path in test.files))
    print(f"sample: {len(chosen)} tests, {archive.stat().st_size / 1e3:.0f} KB in {archive}")


def unpack(archive: Path, folder: Path) -> list[Test]:
    """Unpack an archive into a folder; its tests."""
    archives.unpack(archive, folder)
    return list(tests(folder))


@cache
def names(archive: Path) -> tuple[str, ...]:
    """The names of an archive's tests, without unpacking it."""
    return archives.folders(archive, "about.json")


@cache
def models() -> tuple[bytes, ...]:
    """The models of ONNX's own tests."""
    with tarfile.open(ARCHIVES[0]) as tar:
        found = (tar.extractfile(one) for one in tar.getmembers() if one.name.endswith("/model.onnx"))
        return tuple(one.read() for one in found if one is not None)
