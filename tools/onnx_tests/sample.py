"""The sample of ONNX's tests that the project's tests run: the smallest of every operator and type."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import archives

from onnx_tests.suite import Outcome, Test, tests

ARCHIVE = Path(__file__).parents[2] / "tests" / "data" / "onnx.tar.xz"


def pack(outcomes: Sequence[Outcome], root: Path) -> None:
    """Choose among what passed, and write it into the archive, which depends on nothing but the tests."""
    smallest: dict[tuple[tuple[str, ...], str], tuple[int, str, Test]] = {}
    for outcome in outcomes:
        test = outcome.test
        if outcome.became == "passed" and not test.name.endswith("_expanded"):
            size = sum(path.stat().st_size for path in test.files)
            candidate, kind = (size, test.name, test), (test.operators, test.type)
            smallest[kind] = min(smallest.get(kind, candidate), candidate, key=lambda one: one[:2])
    chosen = sorted((test for _, _, test in smallest.values()), key=lambda test: test.name)
    archives.write(ARCHIVE, root, (path for test in chosen for path in test.files))
    print(f"sample: {len(chosen)} tests, {ARCHIVE.stat().st_size / 1e3:.0f} KB in {ARCHIVE}")


def unpack(folder: Path) -> list[Test]:
    """Unpack the archive into a folder; its tests."""
    archives.unpack(ARCHIVE, folder)
    return list(tests(folder))


@cache
def names() -> tuple[str, ...]:
    """The names of the archive's tests, without unpacking it."""
    return archives.folders(ARCHIVE, "about.json")


@cache
def models() -> tuple[bytes, ...]:
    """The models of the archive's tests."""
    with tarfile.open(ARCHIVE) as tar:
        found = (tar.extractfile(one) for one in tar.getmembers() if one.name.endswith("/model.onnx"))
        return tuple(one.read() for one in found if one is not None)
