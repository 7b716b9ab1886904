"""The sample of Arm's suite that the tests run: how it is chosen, packed and unpacked."""

from __future__ import annotations

import io
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from tosajit.conformance.suite import Test, find_tests

ARCHIVE = Path(__file__).parents[2] / "tests" / "data" / "conformance.tar.xz"
FLOAT_ARCHIVE = ARCHIVE.with_name("conformance-float.tar.xz")
ARCHIVES = (ARCHIVE, FLOAT_ARCHIVE)
SMALL = 32 << 10
LIMIT = 2 << 20

# The parts of a test's name that tell sizes, places and sets of special values, which do not make a kind.
NUMBERED = "st|pad|dilat|kern|os|axis|perm|rank|off|bor|iter|cond|out|s|sc|shift"
SIZE = re.compile(rf"(\d+(x\d+)*|({NUMBERED})[-\dx]+|is|si|full)$")
RESCALE_FLAGS = re.compile(r"(sc|pc|iu|ou)\d$")


def kind(test: Test) -> tuple[str, ...]:
    """What a test is one of: its operator, types, modes, error and extensions."""
    keep = RESCALE_FLAGS if test.operator == "RESCALE" else re.compile(r"$^")
    words = [word for word in test.name.split("_") if keep.match(word) or not SIZE.match(word)]
    return (test.operator, *words, *sorted(test.extensions))


def choose(tests: Iterable[Test], results: Path, root: Path, few: bool = False) -> list[Test]:
    """Choose the smallest and the largest of each kind's small tests; without small ones, the smallest.

    Of a `few`, only the smallest, if it is small. Tests whose results are packed are too large.
    """
    kinds: dict[tuple[str, ...], list[tuple[int, str, Test]]] = defaultdict(list)
    for test in tests:
        files = [*files_of(test), *result_files(test, results / test.folder.relative_to(root))]
        if all(path.is_file() for path in files):
            kinds[kind(test)].append((sum(path.stat().st_size for path in files), test.name, test))
    chosen: list[Test] = []
    for members in kinds.values():
        members.sort(key=lambda member: member[:2])
        small = [test for size, _, test in members if size <= SMALL]
        if few:
            chosen += small[:1]
            continue
        chosen += {small[0].folder: small[0], small[-1].folder: small[-1]}.values() if small else []
        chosen += [members[0][2]] if not small and members[0][0] <= LIMIT else []
    return sorted(chosen, key=lambda test: test.folder)


def files_of(test: Test) -> list[Path]:
    """List the files that a test is made of."""
    return [test.description, test.tosa_path, *(test.folder / file for file in test.inputs.values())]


def result_files(test: Test, results: Path) -> list[Path]:
    """List the files that the reference model made of a test."""
    if test.negative:
        return []
    names = list(test.outputs.values())
    return [results / name for name in [*names, *(f"bounds_{name}" for name in names if test.bounds)]]


def pack(tests: Sequence[Test], results: Path, root: Path, archive: Path = ARCHIVE) -> None:
    """Write tests and results into an archive, which depends on nothing but their contents."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for test in tests:
            place = test.folder.relative_to(root)
            for path in files_of(test):
                add(tar, Path("tests") / place / path.name, path)
            for path in result_files(test, results / place):
                add(tar, Path("results") / place / path.name, path)


def add(tar: tarfile.TarFile, name: Path, path: Path) -> None:
    """Add a file without its time and its owner."""
    content = path.read_bytes()
    about = tarfile.TarInfo(name.as_posix())
    about.size = len(content)
    tar.addfile(about, io.BytesIO(content))


def unpack(folder: Path, archive: Path = ARCHIVE) -> list[tuple[Test, Path]]:
    """Unpack the archive into a folder; its tests, each with the folder of its results."""
    with tarfile.open(archive) as tar:
        # Python before 3.11.4 has no filters, and needs none for an archive of ours.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder)
    return unpacked(folder)


def unpacked(folder: Path) -> list[tuple[Test, Path]]:
    """The tests of an archive that was unpacked here, each with the folder of its results."""
    tests = folder / "tests"
    return [(test, folder / "results" / test.folder.relative_to(tests)) for test in find_tests(tests)]


@cache
def names(archive: Path = ARCHIVE) -> tuple[str, ...]:
    """List the names of the archive's tests without unpacking it."""
    with tarfile.open(archive) as tar:
        return tuple(Path(name).parent.name for name in tar.getnames() if name.endswith("/desc.json"))
