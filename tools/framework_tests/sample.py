"""The sample of the framework tests that the project's tests run: the smallest of every family and type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import archives

from framework_tests.suite import Test, tests

ARCHIVE = Path(__file__).parents[2] / "tests" / "data" / "frameworks.tar.xz"
LIMIT = 64 << 10


def pack(found: Sequence[Test], root: Path) -> int:
    """Choose a sample and write it into the archive, which depends on nothing but the tests."""
    smallest: dict[tuple[str, str, str], tuple[int, str, Test]] = {}
    for test in found:
        size = sum(path.stat().st_size for path in test.files)
        candidate = (size, test.name, test)
        smallest[test.kind] = min(smallest.get(test.kind, candidate), candidate, key=lambda one: one[:2])
    chosen = [test for size, _, test in smallest.values() if size <= LIMIT]
    files = sorted({path for test in chosen for path in test.files})
    archives.write(ARCHIVE, root, files)
    for kind in sorted(smallest.keys() - {test.kind for test in chosen}):
        print(f"not in the sample: {' '.join(kind)}")
    print(
        f"sample: {len(chosen)} of {len(found):,} tests, {ARCHIVE.stat().st_size / 1e6:.1f} MB in {ARCHIVE}"
    )
    return 0


def unpack(folder: Path) -> list[Test]:
    """Unpack the archive into a folder; its tests."""
    archives.unpack(ARCHIVE, folder)
    return list(tests(folder))


@cache
def names() -> tuple[str, ...]:
    """The names of the archive's tests, without unpacking it."""
    return archives.folders(ARCHIVE, "test.json")
