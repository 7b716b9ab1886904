"""Runs the tests of all front ends, each against what it reads from, and prints one table of them."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

TOOLS = Path(__file__).parent
LOGS = Path("build") / "frontends"


@dataclass(frozen=True, slots=True)
class Door:
    """A front end: what it is tested with, and the command whose last counts say what became of that."""

    name: str
    tests: str
    command: tuple[str, ...]
    """Arguments of Python. It ends in a line such as `7 of 9 passed, 2 refused, 0 failed`, or as pytest does,
    and has lines such as `refused 2: reason` before it."""
    shared: bool = False
    """Whether it can run one of so many tests: all of them take long."""


def _tool(name: str, *arguments: str) -> tuple[str, ...]:
    return str(TOOLS / name), *arguments


_FRAMEWORKS = _tool("framework_operators.py", "--seed", "2026")
DOORS = (
    Door("TFLite", "Arm's, by LiteRT", (*_FRAMEWORKS, "--door", "tflite"), shared=True),
    Door("TensorFlow", "Arm's, by TensorFlow", (*_FRAMEWORKS, "--door", "tensorflow"), shared=True),
    Door("ONNX", "ONNX's own", _tool("onnx_nodes.py")),
    Door("Runtime", "drawn, by ONNX Runtime", _tool("onnx_nodes.py", "--drawn", "8", "--seed", "1000")),
    Door("PyTorch", "ours, by PyTorch", _tool("torch_modules.py", "--suite", "cases")),
    Door("Torch", "Arm's, by PyTorch", _tool("torch_modules.py")),
    Door("MLIR", "Arm's, by tosa-opt, IREE", _tool("mlir_forms.py"), shared=True),
    Door("JAX", "drawn, by JAX", _tool("jax_primitives.py", "--seed", "1000", "--cases", "16")),
    Door("NNEF", "ours, by its formulas", _tool("nnef.py")),
)
"""All of them: one declaration each."""

_CODE = re.compile(r"^exit code (-?\d+)$", re.MULTILINE)
_COUNT = re.compile(r"([\d,]+) (?:of [\d,]+ )?(passed|refused|failed|skipped|not run|errors?)\b")
_REASON = re.compile(r"^refused +([\d,]+): (.+)$", re.MULTILINE)
_COLUMNS = {"skipped": "not run", "error": "failed", "errors": "failed"}


@dataclass(frozen=True, slots=True)
class Row:
    """What became of the tests of a front end."""

    door: Door
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    code: int = 0

    @property
    def is_good(self) -> bool:
        """Whether there were tests, and none failed."""
        return self.code == 0 and self.counts["passed"] > 0 and not self.counts["failed"]


def main() -> int:
    """Run the doors that are asked for, print the table; 1 if one of them has failed."""
    known = {one.name.lower(): one for one in DOORS}
    options = _options(known)
    rows = [run(known[name], options.share, options.kept) for name in options.doors or known]
    print("\n".join(["", *table(rows), "", *reasons(rows), summary(rows)]))
    return int(not all(one.is_good for one in rows))


def run(door: Door, share: int = 1, kept: bool = False) -> Row:
    """Run the tests of a front end, or read what was said when they were run; it is kept in a file."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{door.name.lower()}.log"
    if not (kept and log.is_file() and _CODE.search(log.read_text(errors="replace"))):
        print(f"{door.name}: running, messages in {log}", flush=True)
        command = [sys.executable, *door.command, *(("--share", str(share)) if door.shared else ())]
        with log.open("w") as written:
            done = subprocess.run(command, stdout=written, stderr=written, check=False)
            written.write(f"\nexit code {done.returncode}\n")
    return read(door, log.read_text(errors="replace"))


def read(door: Door, text: str) -> Row:
    """What the messages of a front end's tests say: the last line with counts, and reasons of refusals."""
    last = next((found for line in reversed(text.splitlines()) if (found := _COUNT.findall(line))), [])
    counts: Counter[str] = Counter()
    for number, name in last:
        counts[_COLUMNS.get(name, name)] += _number(number)
    code = next((int(found) for found in _CODE.findall(text)), 1)
    told = Counter({reason: _number(number) for number, reason in _REASON.findall(text)})
    return Row(door, counts, told, code)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def table(rows: Sequence[Row]) -> list[str]:
    """A line for each front end."""
    columns = ("passed", "refused", "failed", "not run")
    lines = [f"{'door':12}{'tests are':26}{'tests':>8}" + "".join(f"{one:>9}" for one in columns)]
    for row in rows:
        numbers = "".join(f"{row.counts[one]:9,}" for one in columns)
        broken = "" if row.counts else f"  no result (exit code {row.code})"
        lines.append(f"{row.door.name:12}{row.door.tests:26}{row.counts.total():8,}{numbers}{broken}")
    return lines


def reasons(rows: Iterable[Row], most: int = 8) -> list[str]:
    """The most frequent reasons of refusals."""
    return [
        f"{row.door.name}: refused {count:,}: {reason}"
        for row in rows
        for reason, count in row.reasons.most_common(most)
    ]


def summary(rows: Sequence[Row]) -> str:
    """One line for all."""
    total = sum((one.counts for one in rows), Counter[str]())
    bad = [one.door.name for one in rows if not one.is_good]
    end = f"not good: {', '.join(bad)}" if bad else "all good"
    return (
        f"frontends: {len(rows)} doors, {total['passed']:,} of {total.total():,} passed, "
        f"{total['refused']:,} refused, {total['failed']:,} failed, {total['not run']:,} not run: {end}"
    )


def _options(known: Iterable[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=int, default=1, help="of the largest suites, one of so many tests")
    parser.add_argument("--kept", action="store_true", help="read what doors said that have been run before")
    parser.add_argument("doors", nargs="*", type=str.lower, choices=list(known), metavar="DOOR")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
