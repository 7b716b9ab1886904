"""Put small faults into the sources, one at a time, and see whether the tests of the file notice."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from compileall import compile_dir
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from pathlib import Path
from queue import SimpleQueue

from mutating.forks import Notes
from mutating.mutations import Mutant, mutants
from mutating.suites import suite_of
from mutating.trying import PACKAGES, SESSION, Limits, Verdict

ROOT = Path(__file__).parents[1]
LEFT_OUT = ("tosajit/ops.py", "sim/report/plots/", "sim/explore/plots.py")
"""What is generated, and what draws pictures: tests look at neither's numbers."""
EQUIVALENT = Path(__file__).with_name("mutating") / "equivalent.tsv"
GOAL = 0.85


def main() -> int:
    """Draw mutants, try each, and print who lived."""
    options = _parser().parse_args()
    found = drawn(options.seed, options.mutants, options.only)
    limits = Limits(options.test_seconds, options.seconds, options.suite_seconds)
    verdicts = []
    for number, verdict in enumerate(tried(found, options.jobs, limits), 1):
        verdicts.append(verdict)
        print(f"{number:4}/{len(found)} {verdict}", flush=True)
    unsound = [verdict.mutant for verdict in verdicts if verdict.fate == "unsound"]
    survivors = [v.mutant for v in verdicts if not v.killed and v.fate != "unsound"]
    for title, some in (("survivors", survivors), ("not judged, as tests fail without them", unsound)):
        print(f"\n{title}: {len(some)}")
        for mutant in some:
            print(f"  {mutant}\n      {equivalents().get(_key(mutant), 'no test notices')}")
    killed = len(verdicts) - len(survivors) - len(unsound)
    share = killed / len(verdicts) if verdicts else 1.0
    explained = sum(_key(mutant) in equivalents() for mutant in survivors)
    print(f"\nseed {options.seed}: {killed} of {len(verdicts)} mutants killed ({share:.0%}), ", end="")
    print(f"{explained} survivors explained, {len(survivors) - explained} not")
    return 0 if share >= GOAL and not unsound else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--mutants", type=int, default=100, metavar="N", help="how many to draw (default 100)"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="PATH", help="files or folders to draw from"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="how many to try at once (default 2)"
    )
    for name, seconds, what in (
        ("--seconds", 60, "tests of a mutant compute"),
        ("--test-seconds", 30, "a test computes before it is said to hang"),
        ("--suite-seconds", 180, "tests of a suite compute: those behind them are left out"),
    ):
        parser.add_argument(
            name, type=float, default=seconds, metavar="S", help=f"seconds that {what} (default {seconds})"
        )
    return parser


def drawn(seed: int, count: int, only: Sequence[str] = ()) -> list[Mutant]:
    """Mutants drawn evenly from all that can be made."""
    every = _every(tuple(only))
    return random.Random(seed).sample(every, min(count, len(every)))


@cache
def _every(only: tuple[str, ...]) -> list[Mutant]:
    return [
        mutant
        for path in sources(only)
        for mutant in mutants(path, (ROOT / path).read_text(encoding="utf-8"))
    ]


def sources(only: Sequence[str] = ()) -> list[str]:
    """The files that mutants are drawn from."""
    paths = [
        str(path.relative_to(ROOT)) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
    ]
    chosen = [path for path in paths if not path.startswith(LEFT_OUT) and suite_of(path)]
    return [path for path in chosen if not only or path.startswith(tuple(only))]


def tried(found: Sequence[Mutant], jobs: int, limits: Limits) -> Iterator[Verdict]:
    """The fate of each mutant, those of one suite after each other."""
    suites: dict[tuple[str, ...], list[Mutant]] = {}
    for mutant in found:
        suites.setdefault(suite_of(mutant.path), []).append(mutant)
    verdicts: SimpleQueue[Verdict] = SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            copies.put(_copy(Path(folder) / str(number)))
        for suite, some in sorted(suites.items(), key=lambda item: -len(item[1])):
            pool.submit(_try, suite, some, limits, copies, verdicts)
        yield from (verdicts.get() for _ in found)


def _try(
    suite: Sequence[str],
    found: Sequence[Mutant],
    limits: Limits,
    copies: SimpleQueue[Path],
    verdicts: SimpleQueue[Verdict],
) -> None:
    """Try the mutants of a suite in a copy that is free."""
    copy = copies.get()
    in_session(files_of(suite, copy), found, limits, copy, verdicts)
    copies.put(copy)


def in_session(
    files: Sequence[str],
    found: Sequence[Mutant],
    limits: Limits,
    copy: Path,
    verdicts: SimpleQueue[Verdict],
) -> None:
    """Try mutants in a process of its own, and pass on what it notes."""
    told = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        order, notes = Path(folder) / "order", Notes(Path(folder) / "notes")
        notes.path.touch()
        given = [files, [asdict(mutant) for mutant in found], asdict(limits), str(notes.path)]
        order.write_text(json.dumps(given), encoding="utf-8")
        environment = {
            **os.environ,
            "PYTHONPATH": str(copy),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TOSAJIT_CACHE": _cache(copy),
            "HYPOTHESIS_PROFILE": "verdict",
        }
        command = [sys.executable, str(SESSION), "suite", str(order)]
        with subprocess.Popen(command, cwd=copy, env=environment, stdout=subprocess.DEVNULL) as process:
            running = True
            while running:
                time.sleep(0.1)
                running = process.poll() is None
                for row in notes.read()[told:]:
                    verdicts.put(Verdict(found[told], *row))
                    told += 1
    for mutant in found[told:]:
        verdicts.put(Verdict(mutant, "unsound"))


def _copy(folder: Path) -> Path:
    """A copy of the project in which mutants can be tried, compiled as far as they leave it alone."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, tracked.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    compile_dir(folder, quiet=2)
    return folder


def files_of(tests: Sequence[str], root: Path) -> list[str]:
    """The files of a suite in its order, those of folders behind those that it names itself."""
    found: dict[str, None] = {}
    for test in tests:
        place = root / test
        files = sorted(place.rglob("test_*.py")) if place.is_dir() else [place] * place.exists()
        found.update(dict.fromkeys(str(file.relative_to(root)) for file in files))
    return list(found)


def _cache(copy: Path) -> str:
    """A cache of kernels of its own, with links to what is known, so that a mutant cannot spoil another's."""
    folder = copy / "build" / "cache"
    shutil.rmtree(folder, ignore_errors=True)
    known = Path(os.environ.get("TOSAJIT_CACHE", Path.home() / ".cache" / "tosajit"))
    if known.is_dir():
        half = shutil.ignore_patterns(".writing-*")  # these are gone when they are done
        shutil.copytree(known, folder, ignore=half, copy_function=os.link)
    return str(folder)


@cache
def equivalents() -> dict[tuple[str, str, str, str], str]:
    """Why some mutants cannot be noticed: by file, line, and what is changed to what."""
    rows = [line.split("\t") for line in EQUIVALENT.read_text(encoding="utf-8").splitlines()[1:] if line]
    return {(path, line, before, after): reason for path, line, before, after, reason in rows}


def _key(mutant: Mutant) -> tuple[str, str, str, str]:
    return mutant.path, mutant.context, mutant.before, mutant.after


if __name__ == "__main__":
    sys.exit(main())
