"""The sample of drawn cases that the project's tests run: of each primitive the smallest."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import archives

from jax_tests.suite import Outcome, Test, tests

ARCHIVE = Path(__file__).parents[2] / "tests" / "data" / "jax.tar.xz"
EACH = 2
"""How many cases of each primitive."""


def pack(outcomes: Sequence[Outcome], root: Path) -> None:
    """Choose among what passed, and write it into the archive, which depends on nothing but the cases."""
    by_primitive: dict[str, list[Test]] = {}
    for outcome in outcomes:
        if outcome.became == "passed":
            by_primitive.setdefault(outcome.test.primitive, []).append(outcome.test)
    chosen = [
        test.path
        for _, found in sorted(by_primitive.items())
        for test in sorted(found, key=lambda one: (one.path.stat().st_size, one.name))[:EACH]
    ]
    archives.write(ARCHIVE, root, chosen)
    print(f"sample: {len(chosen)} cases, {ARCHIVE.stat().st_size / 1e3:.0f} KB in {ARCHIVE}")


def unpack(folder: Path) -> list[Test]:
    """Unpack the archive into a folder; its cases."""
    archives.unpack(ARCHIVE, folder)
    return list(tests(folder))


@cache
def names() -> tuple[str, ...]:
    """The names of the archive's cases, without unpacking it."""
    with tarfile.open(ARCHIVE) as tar:
        return tuple(Path(name).stem for name in tar.getnames())
