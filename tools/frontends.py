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


def _tool(name: str, *arguments: str) -> tuple[str, ...]:
    return str(TOOLS / name), *arguments


def _pytest(*files: str) -> tuple[str, ...]:
    """Tests of a front end that are the project's own, the slow ones too."""
    found = sorted(str(path.relative_to(TOOLS.parent)) for one in files for path in TOOLS.parent.glob(one))
    return "-m", "pytest", "-q", "--no-header", "-m", "slow or not slow", *found


DOORS = (
    Door("TFLite", "Arm's, by LiteRT", _tool("framework_operators.py", "--door", "tflite")),
    Door("TensorFlow", "Arm's, by TensorFlow", _tool("framework_operators.py", "--door", "tensorflow")),
    Door("ONNX", "ONNX's own", _tool("onnx_nodes.py")),
    Door("PyTorch", "ours, by PyTorch", _pytest("tests/test_torch*.py", "tests/test_executorch.py")),
    Door("Torch", "Arm's, by PyTorch", _tool("torch_modules.py")),
    Door("MLIR", "ours, by tosa-opt", _pytest("tests/test_mlir*.py")),
    Door("JAX", "drawn, by JAX", _tool("jax_primitives.py", "--seed", "1000", "--cases", "16")),
    Door("NNEF", "ours, by its formulas", _tool("nnef.py")),
)
"""All of them: one declaration each."""

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
    rows = [run(known[name]) for name in options.doors or known]
    print("\n".join(["", *table(rows), "", *reasons(rows), summary(rows)]))
    return int(not all(one.is_good for one in rows))


def run(door: Door) -> Row:
    """Run the tests of a front end; all that they say is kept in a file."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{door.name.lower()}.log"
    print(f"{door.name}: running, messages in {log}", flush=True)
    with log.open("w") as written:
        done = subprocess.run([sys.executable, *door.command], stdout=written, stderr=written, check=False)
    return read(door, log.read_text(errors="replace"), done.returncode)


def read(door: Door, text: str, code: int) -> Row:
    """What the messages of a front end's tests say: the last line with counts, and reasons of refusals."""
    last = next((found for line in reversed(text.splitlines()) if (found := _COUNT.findall(line))), [])
    counts: Counter[str] = Counter()
    for number, name in last:
        counts[_COLUMNS.get(name, name)] += _number(number)
    told = Counter({reason: _number(number) for number, reason in _REASON.findall(text)})
    return Row(door, counts, told, code)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def table(rows: Sequence[Row]) -> list[str]:
    """A line for each front end."""
    columns = ("passed", "refused", "failed", "not run")
    lines = [f"{'door':12}{'tests are':24}{'tests':>8}" + "".join(f"{one:>9}" for one in columns)]
    for row in rows:
        numbers = "".join(f"{row.counts[one]:9,}" for one in columns)
        broken = "" if row.counts else f"  no result (exit code {row.code})"
        lines.append(f"{row.door.name:12}{row.door.tests:24}{row.counts.total():8,}{numbers}{broken}")
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
    parser.add_argument("doors", nargs="*", type=str.lower, choices=list(known), metavar="DOOR")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
