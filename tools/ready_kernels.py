"""Compile the kernels that come with the package: those of the samples, and of models that are given.

One process for each CPU compiles into an empty cache; the objects are copied to `tosajit/kernels/compiled`.
Only CPUs whose code this machine runs can be done.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tosajit" / "kernels" / "compiled"
CPUS = ("haswell", "skylake-avx512", "icelake-server", "znver4")
"""A CPU of each kind that kernels differ for."""
COMPILE = """
import sys
import tosajit as tj
for path in sys.argv[1:]:
    for threads in (1, 2):
        tj.compile(path, threads=threads)
"""


def main() -> int:
    """Compile for each CPU in turn; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path, help="models whose kernels to add")
    parser.add_argument("--cpu", action="append", help=f"a CPU (default: {', '.join(CPUS)}; can be repeated)")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tosajit import samples

    models = [samples.path(name) for name in samples.names()] + options.models
    shutil.rmtree(FOLDER, ignore_errors=True)
    for cpu in options.cpu or CPUS:
        count = compiled(cpu, models)
        print(f"{cpu}: {f'{count} kernels' if count else 'this machine cannot run its code'}", flush=True)
    return 0


def compiled(cpu: str, models: Sequence[Path]) -> int:
    """Compile the kernels of models for a CPU; returns how many there are."""
    with TemporaryDirectory() as cache:
        environment = {**os.environ, "TOSAJIT_CACHE": cache, "TOSAJIT_CPU": cpu}
        command = [sys.executable, "-c", COMPILE, *map(str, models)]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if "cannot run code for" in done.stderr:
            return 0
        if done.returncode:
            raise SystemExit(done.stderr)
        (FOLDER / cpu).mkdir(parents=True)
        objects = sorted(Path(cache).glob("*.o"))
        for path in objects:
            shutil.copyfile(path, FOLDER / cpu / path.name)
    return len(objects)


if __name__ == "__main__":
    sys.exit(main())
