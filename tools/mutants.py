"""Put small faults into the sources, one at a time, and see whether the tests of the file notice."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from mutating.mutations import Mutant, mutants
from mutating.suites import suite_of

ROOT = Path(__file__).parents[1]
PACKAGES = ("tiling", "sim", "tosajit")
LEFT_OUT = ("tosajit/ops.py", "sim/report/plots/", "sim/explore/plots.py")
"""What is generated, and what draws pictures: tests look at neither's numbers."""
EQUIVALENT = Path(__file__).with_name("mutating") / "equivalent.tsv"
GOAL = 0.85


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    fate: str
    seconds: float

    @property
    def killed(self) -> bool:
        """Whether a test noticed."""
        return self.fate in ("killed", "timeout")


def main() -> int:
    """Draw mutants, try each, and print who lived."""
    options = _parser().parse_args()
    found = drawn(options.seed, options.mutants, options.only)
    reasons = equivalents()
    verdicts = []
    for number, verdict in enumerate(tried(found, options.jobs, options.timeout), 1):
        verdicts.append(verdict)
        print(
            f"{number:4}/{len(found)} {verdict.fate:9} {verdict.seconds:5.0f} s  {verdict.mutant}", flush=True
        )
    survivors = [verdict.mutant for verdict in verdicts if not verdict.killed]
    print("\nsurvivors:" if survivors else "\nno survivors")
    for mutant in survivors:
        print(f"  {mutant}\n      {reasons.get(_key(mutant), 'no test notices')}")
    explained = sum(_key(mutant) in reasons for mutant in survivors)
    share = 1 - len(survivors) / len(verdicts) if verdicts else 0.0
    killed = f"{len(verdicts) - len(survivors)} of {len(verdicts)} mutants killed ({share:.0%})"
    print(
        f"\nseed {options.seed}: {killed}, {explained} survivors explained, {len(survivors) - explained} not"
    )
    return 0 if share >= GOAL else 1


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
    parser.add_argument(
        "--timeout", type=float, default=240, metavar="S", help="seconds a mutant's tests may take"
    )
    return parser


def drawn(seed: int, count: int, only: Sequence[str] = ()) -> list[Mutant]:
    """Mutants drawn evenly from all that can be made."""
    every = [
        mutant
        for path in sources(only)
        for mutant in mutants(path, (ROOT / path).read_text(encoding="utf-8"))
    ]
    return random.Random(seed).sample(every, min(count, len(every)))


def sources(only: Sequence[str] = ()) -> list[str]:
    """The files that mutants are drawn from."""
    paths = [
        str(path.relative_to(ROOT)) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
    ]
    chosen = [path for path in paths if not path.startswith(LEFT_OUT) and suite_of(path)]
    return [path for path in chosen if not only or path.startswith(tuple(only))]


def tried(found: Sequence[Mutant], jobs: int, timeout: float) -> Iterator[Verdict]:
    """The fate of each mutant, in order."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            copies.put(_copy(Path(folder) / str(number)))

        def attempt(mutant: Mutant) -> Verdict:
            copy = copies.get()
            try:
                return _tried(mutant, copy, timeout)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(attempt, found)


def _copy(folder: Path) -> Path:
    """A copy of the project in which mutants can be tried."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, tracked.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def _tried(mutant: Mutant, copy: Path, timeout: float) -> Verdict:
    """Run the tests of a file with the mutant in it."""
    path = copy / mutant.path
    text = path.read_text(encoding="utf-8")
    command = [sys.executable, "-P", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += files_of(suite_of(mutant.path), copy)
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TOSAJIT_CACHE": _cache(copy),
        "HYPOTHESIS_PROFILE": "verdict",
    }
    began = time.monotonic()
    path.write_text(mutant.applied(text), encoding="utf-8")
    try:
        with subprocess.Popen(
            command,
            cwd=copy,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            fate = _fate(process, timeout)
    finally:
        path.write_text(text, encoding="utf-8")
    return Verdict(mutant, fate, time.monotonic() - began)


def files_of(tests: Sequence[str], root: Path) -> list[str]:
    """The files of a suite in its order, those of folders behind those that it names itself."""
    found: dict[str, None] = {}
    for test in tests:
        place = root / test
        files = sorted(place.rglob("test_*.py")) if place.is_dir() else [place] * place.exists()
        found.update(dict.fromkeys(str(file.relative_to(root)) for file in files))
    return list(found)


def _fate(process: subprocess.Popen[bytes], timeout: float) -> str:
    try:
        process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return "timeout"
    return "survived" if process.returncode == 0 else "killed"


def _cache(copy: Path) -> str:
    """A cache of kernels of its own, with links to what is known, so that a mutant cannot spoil another's."""
    folder = copy / "build" / "cache"
    shutil.rmtree(folder, ignore_errors=True)
    known = Path(os.environ.get("TOSAJIT_CACHE", Path.home() / ".cache" / "tosajit"))
    if known.is_dir():
        shutil.copytree(known, folder, copy_function=os.link)
    return str(folder)


def equivalents() -> dict[tuple[str, str, str, str], str]:
    """Why some mutants cannot be noticed: by file, line, and what is changed to what."""
    rows = [line.split("\t") for line in EQUIVALENT.read_text(encoding="utf-8").splitlines()[1:] if line]
    return {(path, line, before, after): reason for path, line, before, after, reason in rows}


def _key(mutant: Mutant) -> tuple[str, str, str, str]:
    return mutant.path, mutant.context, mutant.before, mutant.after


if __name__ == "__main__":
    sys.exit(main())
