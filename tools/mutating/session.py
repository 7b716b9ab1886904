"""A process in a copy of the project: `session.py suite ORDER`, or `session.py fresh ORDER`, a JSON file."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])
sys.dont_write_bytecode = True

import pytest  # noqa: E402

from mutating.forks import Notes  # noqa: E402
from mutating.mutations import Mutant  # noqa: E402
from mutating.trying import Fresh, Limits, Suite, Verdict  # noqa: E402

PRELOADED = ("hypothesis.strategies", "llvmlite.binding", "numba.extending", "numpy.typing", "pydantic")
"""What is imported before anyone listens, as that takes time."""


def main() -> None:
    """Run pytest with one of our plugins."""
    kind, path = sys.argv[1:]
    order = json.loads(Path(path).read_text(encoding="utf-8"))
    for name in PRELOADED:
        import_module(name)
    sys.path.insert(0, os.getcwd())
    plugin: Suite | Fresh
    if kind == "suite":
        files, mutants, limits, told = order
        notes = Notes(Path(told))

        def tell(verdict: Verdict) -> None:
            notes.leave(verdict.fate, verdict.test, verdict.tests, verdict.seconds)

        found = [Mutant(**mutant) for mutant in mutants]
        plugin = Suite(found, Limits(**limits), tell)
    else:
        tests, limits, told = order
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        plugin = Fresh(tests, Limits(**limits), Notes(Path(told)))
    pytest.main(["-q", "--assert=plain", "-p", "no:cacheprovider", *files], [plugin])


if __name__ == "__main__":
    main()
