"""Whole files: one is replaced only by one that is complete."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file; if that fails, what was there before is still there."""
    target = Path(path).resolve()
    if target.exists() and not target.is_file():  # a pipe or a terminal; a folder is an error
        target.write_bytes(data)
        return
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
