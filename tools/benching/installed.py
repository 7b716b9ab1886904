"""An installation of the package as users have it, with the kernels of its wheel, and new processes of it."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benching.client import ROOT


@functools.cache
def installed() -> Path:
    """The interpreter of an environment with the package, made anew."""
    place = ROOT / "build/first"
    python = place / "bin/python"
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
    return python


def answer(python: Path, place: str, *words: str | Path) -> dict[str, Any]:
    """What a new process answers, whose cache is in a folder, and how long it took to its first result."""
    paths = {"PYTHONPATH": str(ROOT / "tools"), "XDG_CACHE_HOME": place}
    command = [str(python), str(ROOT / "tools/benching/fresh.py"), *map(str, words)]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TOSAJIT")}
    began = time.monotonic()
    run = subprocess.run(command, env={**inherited, **paths}, cwd=place, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip().splitlines()[-1])
    made: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return {**made, "seconds": made.get("finished", began) - began}
