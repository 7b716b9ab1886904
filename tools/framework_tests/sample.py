"""The sample of the framework tests that the project's tests run: the smallest of every family and type."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

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
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as tar:
        for path in files:
            content = path.read_bytes()
            about = tarfile.TarInfo(path.relative_to(root).as_posix())
            about.size = len(content)
            tar.addfile(about, io.BytesIO(content))
    for kind in sorted(smallest.keys() - {test.kind for test in chosen}):
        print(f"not in the sample: {' '.join(kind)}")
    print(
        f"sample: {len(chosen)} of {len(found):,} tests, {ARCHIVE.stat().st_size / 1e6:.1f} MB in {ARCHIVE}"
    )
    return 0


def unpack(folder: Path) -> list[Test]:
    """Unpack the archive into a folder; its tests."""
    with tarfile.open(ARCHIVE) as tar:
        # Python before 3.11.4 has no filters, and needs none for an archive of ours.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder)
    return list(tests(folder))


@cache
def names() -> tuple[str, ...]:
    """The names of the archive's tests, without unpacking it."""
    with tarfile.open(ARCHIVE) as tar:
        return tuple(Path(name).parent.name for name in tar.getnames() if name.endswith("/test.json"))
