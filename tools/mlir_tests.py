"""Reads texts of MLIR with many functions, such as LLVM's tests of the TOSA dialect, and counts how it ends.

A function with `expected-error` in front of one of its operations has to be refused, or to violate the
specification; every other one has to be read and to be valid. What TOSA 1.0.1 lacks is counted by its reason.
The texts are LLVM's and no part of this project: the paths of a checkout are given.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from tosajit.checks.validation import validate
from tosajit.errors import FileError, ScriptError
from tosajit.frontends.mlir.loading import graph_of

_PARTS = re.compile(r"^// -----.*$", re.MULTILINE)
_NAME = re.compile(r"^ *func\.func (?:private |public )?@(\w+)", re.MULTILINE)
_LACKING = re.compile(
    r"is not an operator of TOSA|has no type|which TOSA 1\.0\.1 lacks|its shape is (?:not known|\[)"
    r"|its extents are open|has the type SHAPE"
)
ENDS = ("valid", "refused as expected", "outside TOSA 1.0.1", "wrong")


def main() -> int:
    """Read the files; print how many functions ended how, and those that ended otherwise than expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="files such as mlir/test/Dialect/Tosa/ops.mlir")
    options = parser.parse_args()
    failed = 0
    for path in options.paths:
        ends: Counter[str] = Counter()
        for name, text in functions(path.read_text()):
            end, why = outcome(name, text)
            ends[end] += 1
            if end == "wrong":
                print(f"{path}: {name}: {why}")
        print(f"{path}: " + ", ".join(f"{ends[end]} {end}" for end in ENDS))
        failed += ends["wrong"]
    return 1 if failed else 0


def functions(text: str) -> Iterator[tuple[str, str]]:
    """The functions of a file, each with the part of the text that it stands in."""
    for part in _PARTS.split(text):
        for name in _NAME.findall(part):
            yield name, part


def outcome(name: str, text: str) -> tuple[str, str]:
    """How reading and checking a function ends."""
    expected = "expected-error" in text
    try:
        faults = [str(one) for one in validate(graph_of(text.encode(), name))]
    except (FileError, ScriptError) as error:
        faults = [str(error)]
    if not faults:
        return ("wrong", "an error is expected") if expected else ("valid", "")
    if _LACKING.search(faults[0]):
        return "outside TOSA 1.0.1", faults[0]
    return ("refused as expected" if expected else "wrong"), faults[0]


if __name__ == "__main__":
    sys.exit(main())
