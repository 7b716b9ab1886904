"""Bytecode becomes text by Arm's `tosa-opt`: its form is stable for one version of the dialect alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tosajit.errors import FileError

MAGIC = b"ML\xefR"

_OPTIONS = "--mlir-print-debuginfo", "--mlir-print-elementsattrs-with-hex-if-larger=16"
_SECONDS = 120
_GROWTH = 200
"""Letters of text for each byte of bytecode, at most: types are written out wherever they are used."""
_LEAST = 1 << 24


def text_of(data: bytes) -> bytes:
    """The text of bytecode; FileError if there is no `tosa-opt`, or if that finds something wrong."""
    program = _tosa_opt()
    most = max(_LEAST, _GROWTH * len(data))
    with tempfile.TemporaryDirectory() as folder:
        given, taken = Path(folder, "model.mlirbc"), Path(folder, "model.mlir")
        given.write_bytes(data)
        command = [program, str(given), "-o", str(taken), *_OPTIONS]
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", f'ulimit -f {most >> 9}; exec "$0" "$@"', *command],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise FileError(f"tosa-opt has not read this bytecode in {_SECONDS} seconds") from None
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").replace(str(given), "bytecode").strip().splitlines()
            raise FileError(f"tosa-opt cannot read this bytecode: {said[0] if said else done.returncode}")
        return taken.read_bytes()


def _tosa_opt() -> str:
    """Where the program is: on the path, or in the environment of Arm's tools."""
    found = shutil.which("tosa-opt")
    root = os.environ.get("TOSAJIT_ARM")
    if found is None and root:
        found = shutil.which("tosa-opt", path=str(Path(root) / "bin"))
    if found is None:
        raise FileError(
            "this is bytecode of MLIR, which needs Arm's tosa-opt: `pip install tosa-tools` in an "
            "environment on the PATH or in $TOSAJIT_ARM, "
            "or write it as text, `tosa-opt model.mlirbc -o model.mlir`"
        )
    return found
