"""Whole files: one is replaced only by one that is complete."""

from __future__ import annotations

import os
from pathlib import Path

from sim.report.report import ReportError


def write_text(path: str | Path, text: str) -> None:
    """Write a file; if that fails, what was there before is still there."""
    data = text.encode("utf-8", "backslashreplace")
    try:
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
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # a path with a zero byte
        raise ReportError(f"{path!r}: {error}") from None


def read_text(path: str | Path) -> str:
    """The text of a regular file."""
    try:
        file = Path(path)
        if file.exists() and not file.is_file():
            raise ReportError(
                f"{path}: expected a file, found {'a folder' if file.is_dir() else 'a device or pipe'}"
            )
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # a path with a zero byte, or bytes that are no text
        raise ReportError(f"{path}: {error}") from None
