"""Compile the kernels that come with the package: generic ones, those of our models, and of small networks.

The networks are of all common kinds (`kernel_networks.py`, and `varied_`, `torch_kernel_` and
`onnx_kernel_networks.py`), so that others need few more kernels. For each CPU, processes share the models and
an empty cache; the objects go to `tosajit/kernels/compiled`, and what lay there before is deleted. Only CPUs
whose code this machine runs can be done. The wheel's build does the same (`package_build.py`).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from time import perf_counter

import archives

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tosajit" / "kernels" / "compiled"
MODELS = "tosajit/samples", "tests/data"
NAMES = "kernel", "varied", "torch_kernel", "onnx_kernel"
NETWORKS = tuple(Path(__file__).with_name(f"{name}_networks.tar.xz") for name in NAMES)
VARIABLE = "TOSAJIT_KERNELS"
WORDS = {
    "none": (),
    "host": ("native",),
    "all": (
        "x86-64-v2", "x86-64-v3", "alderlake",
        "x86-64-v4", "cascadelake", "icelake-server", "znver4", "sapphirerapids",
    ),
}  # fmt: skip
"""What `TOSAJIT_KERNELS` may say beside names of CPUs; `all`: each set of features that kernels use."""
WORKERS = os.cpu_count() or 1
MINUTES = 10.0
"""Of processor time, for each process that compiles for a CPU; the wheel then has what is done."""
STOPPED = 75
"""The exit code of a process that has used them up."""
LIMIT = """
import os
import time
from threading import Thread
def watch():
    while sum(os.times()[:4]) < {seconds}:  # of all threads, and of processes that it has waited for
        time.sleep(0.1)
    os._exit({code})
Thread(target=watch, daemon=True).start()
"""
COMPILE = """
import os
import sys
from itertools import product
from pathlib import Path
import tosajit as tj
from tosajit.kernels import chained, objects, ready
from tosajit.host import transpose
from tosajit.kernels.generic.code import texts
from tosajit.kernels.sets.registry import instruction_set
from tosajit.kernels.versions import compiler
objects.cores = lambda: 1  # there is a process for each core already
ready.FOLDER = Path(sys.executable)  # which has no kernels
Path(os.environ["TOSAJIT_CACHE"], ready.COMPILER).write_text(compiler().hex())
objects.compile_kernels([*texts(), chained.text()], False)  # which run any elementwise group, and loops
if isa := instruction_set():
    objects.compile_kernels(transpose.texts(isa), False)
for path in sys.argv[1:]:
    for threads, generic in product((1, 2), ("never", "always")):
        tj.compile(path, threads=threads, progress=False, generic=generic)
    print(path, flush=True)
"""


def main() -> int:
    """Compile for each CPU in turn; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path, help="models whose kernels to add")
    parser.add_argument(
        "--cpu", action="append", help=f"a CPU, or {', '.join(WORDS)} (default: host; can be repeated)"
    )
    options = parser.parse_args()
    make(cpus(",".join(options.cpu or ["host"])), options.models)
    return 0


def cpus(text: str) -> tuple[str, ...]:
    """Return the CPUs that a list of words and names with commas between them means, each once."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    return tuple(dict.fromkeys(name for word in words for name in WORDS.get(word, (word,))))


def make(names: Sequence[str], models: Sequence[Path] = ()) -> int:
    """Compile the kernels for some CPUs, and delete all others; returns how many there are."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    with TemporaryDirectory() as place:
        for archive in NETWORKS:
            archives.unpack(archive, Path(place))
        networks = sorted(Path(place).iterdir())
        return sum(compiled(name, [*ours(), *networks, *models]) for name in names)


def ours() -> list[Path]:
    """Return our models, each as TOSA and as the file that it was made of, whose graphs differ."""
    return [path for folder in MODELS for path in sorted((ROOT / folder).glob("*/model.t*"))]


def compiled(cpu: str, models: Sequence[Path]) -> int:
    """Compile the kernels of models for a CPU; returns how many there are."""
    began = perf_counter()
    with TemporaryDirectory() as cache:
        fault = _run(cpu, models, cache)
        objects = sorted(Path(cache).glob("*.o"))
        if "cannot run code for" in fault:
            print(f"kernels for {cpu}: this machine cannot run its code", flush=True)
            return 0
        if fault:
            raise SystemExit(f"{fault}kernels for {cpu} cannot be compiled; {VARIABLE}=none leaves them out")
        (FOLDER / cpu).mkdir(parents=True)
        for path in (*objects, *Path(cache).glob("compiler"), *Path(cache).glob("*.cpu")):
            shutil.copyfile(path, FOLDER / cpu / path.name)
    print(f"kernels for {cpu}: {len(objects)} in {perf_counter() - began:.0f} s", flush=True)
    return len(objects)


def environment(cpu: str, cache: str) -> dict[str, str]:
    """Where a process compiles, and where it finds modules: a build of pip's has them on its path alone."""
    found = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return {**os.environ, "TOSAJIT_CACHE": cache, "TOSAJIT_CPU": cpu, "PYTHONPATH": found}


def _run(cpu: str, models: Sequence[Path], cache: str) -> str:
    """Compile in a process for each core, and tell how far that is; returns what went wrong."""
    began = perf_counter()
    code = LIMIT.format(seconds=60 * MINUTES, code=STOPPED) + COMPILE
    reading, writing = os.pipe()
    with open(reading, encoding="utf-8") as told, TemporaryFile("w+", encoding="utf-8") as faults:
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", code, *map(str, models[first::WORKERS])],
                cwd=ROOT, env=environment(cpu, cache), stdout=writing, stderr=faults,
            )
            for first in range(min(WORKERS, len(models)))
        ]  # fmt: skip
        os.close(writing)
        for done, _ in enumerate(told, 1):
            print(
                f"kernels for {cpu}: {done} of {len(models)} models, {perf_counter() - began:.0f} s",
                flush=True,
            )
        codes = {process.wait() for process in processes}
        if STOPPED in codes:
            print(
                f"kernels for {cpu}: stopped after {MINUTES:g} minutes of processor time, "
                "the rest is left to its first use",
                flush=True,
            )
        faults.seek(0)
        return faults.read() if codes - {0, STOPPED} else ""


if __name__ == "__main__":
    sys.exit(main())
