"""Reads texts of MLIR with many functions, such as LLVM's tests of the TOSA dialect, and counts how it ends.

A function with `expected-error` in it has to be refused, or to violate the specification, for the reason that
is stated; every other one has to be read and to be valid for the profiles and extensions of the file. What
TOSA 1.0.1 lacks is counted, and so is what it forbids and LLVM does not look at.
The texts are LLVM's and no part of this project: the paths of a checkout are given.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from tosajit.checks.validation import validate
from tosajit.errors import FileError, ScriptError
from tosajit.frontends.mlir.loading import graph_of
from tosajit.profiles import EXTENSIONS, PROFILES

_PARTS = re.compile(r"^ *// -----.*$", re.MULTILINE)
_FUNCTION = re.compile(r"^ *func\.func (?:private |public )?@(\w+)", re.MULTILINE)
_COMMENTED = re.compile(r"(?:^ *//[^\n]*\n|^ *\n)*\Z", re.MULTILINE)
_TARGET = re.compile(r'^// RUN:.*-tosa-attach-target="([^"]*)".*strict-op-spec-alignment', re.MULTILINE)
_EXPECTED = re.compile(r"// expected-error(?:-re)? *(?:@[+-]?\d+)? *\{\{(.*?)\}\}\s*$", re.MULTILINE)
_LACKING = re.compile(
    r"is not an operator of TOSA|has no type|which TOSA 1\.0\.1 (?:lacks|has only)|has no such attribute"
    r"|its shape is (?:not known|\[)|extents are open|has no shape|has the type SHAPE|no node says more of it"
    r"|does not follow from the inputs|are not read|the text has no resource|there are \d+ bytes"
    r"|module are none|\(arith\.constant\) values"
)
_OTHERWISE = {
    r"isolated from above": "regions may use values from around them",
    r"contain duplicates": "a REQUIRE, which runs with checked=True find",
    r"MAX_NESTING": "LLVM allows one level less than section 2.16.1",
    r"dimension cannot be dynamic": "open extents are closed, by shapes= and by what follows",
    r"quant\.any": "quantised types are taken as the integers that hold them",
    r"inferable dimension": "the one extent of a shape that is open is what is left",
    r"element type 'ui\d+' is not legal": "integers without a sign are read as the bits that RESCALE takes",
    r"requires \[int64\]|any of \[int64\]": "i64 is narrowed where that is exact",
}
"""What LLVM refuses and we do not, by its words, and why."""
_REASONS = {
    r"MAX_LOG2_SIZE": "must take less than",
    r"MAX_(?!LOG2)[A-Z0-9_]+": "",
    r"requires .*?\[(\w+)\](?! to work)": "",
}
"""Words of LLVM's reasons, and what ours must have: the same if nothing is said."""

ENDS = ("valid", "refused as expected", "outside TOSA 1.0.1", "forbidden by TOSA 1.0.1", "otherwise", "wrong")


@dataclass(frozen=True, slots=True)
class Test:
    """A function, the part of the text that it stands in, and why it should be refused, if it should."""

    name: str
    text: str
    expected: tuple[str, ...]
    target: Mapping[str, Any]


def main() -> int:
    """Read the files; print how many functions ended how, and those that ended otherwise than expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="files such as mlir/test/Dialect/Tosa/ops.mlir")
    parser.add_argument("--reasons", action="store_true", help="print every end with its reasons")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for path in options.paths:
        ends: Counter[str] = Counter()
        for test in functions(path.read_text()):
            end, why = outcome(test)
            ends[end] += 1
            if end == "wrong" or options.reasons:
                print(f"{path.name}: {test.name}: {end}: {why} | {' | '.join(test.expected)}")
            if end not in ("valid", "refused as expected", "wrong"):
                reasons[end] += 1
        print(f"{path}: " + ", ".join(f"{ends[end]} {end}" for end in ENDS if ends[end]))
        total += ends
    for end, count in reasons.most_common():
        print(f"refused {count}: {end}")
    passed, refused = total["valid"] + total["refused as expected"], reasons.total()
    print(f"mlir: {passed:,} of {total.total():,} passed, {refused:,} refused, {total['wrong']:,} failed")
    return int(not total or total["wrong"] > 0)


def functions(text: str) -> Iterator[Test]:
    """The functions of a file, each with the part of the text that it stands in."""
    target = _target(text)
    for part in _PARTS.split(text):
        places = list(_FUNCTION.finditer(part))
        starts = [_COMMENTED.search(part, 0, one.start()).start() for one in places]  # type: ignore[union-attr]
        for one, start, end in zip(places, starts, [*starts, len(part)][1:], strict=True):
            yield Test(one[1], part, tuple(_EXPECTED.findall(part[start:end])), target)


def _target(text: str) -> dict[str, Any]:
    """The profiles and extensions that a file is checked for; all if it does not say so."""
    found = _TARGET.search(text)
    if found is None or "%" in found[1]:
        return {}
    given = dict(one.partition("=")[::2] for one in found[1].split())
    profiles = {f"PRO-{one.removeprefix('pro_').upper()}" for one in given.get("profiles", "").split(",")}
    extensions = {f"EXT-{one.upper()}" for one in given.get("extensions", "").split(",")}
    target: dict[str, Any] = {
        "profiles": profiles & set(PROFILES), "extensions": extensions & set(EXTENSIONS)
    }  # fmt: skip
    return target | ({"level": "none"} if given.get("level") == "none" else {})


def outcome(test: Test) -> tuple[str, str]:
    """How reading and checking a function ends."""
    try:
        faults = [str(one) for one in validate(graph_of(test.text.encode(), test.name), **test.target)]
    except (FileError, ScriptError) as error:
        faults = [str(error)]
    said = "; ".join(faults)
    if test.expected:
        return _judged(test, faults, said)
    if not faults:
        return "valid", ""
    if _LACKING.search(said):
        return "outside TOSA 1.0.1", said
    return ("forbidden by TOSA 1.0.1" if "[TOSA 1.0.1 section" in said else "wrong"), said


def _judged(test: Test, faults: list[str], said: str) -> tuple[str, str]:
    """How it ends for a function that is to be refused."""
    stated = " ".join(test.expected)
    if not faults:
        why = next((why for words, why in _OTHERWISE.items() if re.search(words, stated)), "")
        return ("otherwise", why) if why else ("wrong", "an error is expected")
    if _LACKING.search(said) and not _LACKING.search(stated):
        return "outside TOSA 1.0.1", said
    for words, ours in _REASONS.items():
        found = re.search(words, stated)
        if (
            found
            and "no mode has" not in said
            and (ours or found[found.re.groups].upper().replace("PRO_", "PRO-")) not in said
        ):
            return "wrong", f"another reason: {said}"
    return "refused as expected", said


if __name__ == "__main__":
    sys.exit(main())
