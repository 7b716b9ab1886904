"""Files of reports, whose errors name the file."""

from __future__ import annotations

from pathlib import Path

from sim.files import read_whole, write_whole
from sim.report.values import ReportError


def write_text(path: str | Path, text: str) -> None:
    """Write a file; if that fails, what was there before is still there."""
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # a path with a zero byte
        raise ReportError(f"{path!r}: {error}") from None


def read_text(path: str | Path) -> str:
    """The text of a regular file."""
    try:
        return read_whole(path).decode("utf-8")
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # a path with a zero byte, or bytes that are no text
        raise ReportError(f"{path}: {error}") from None


def written(text: str, path: str | Path | None) -> str:
    """A text, also written to a file if one is named."""
    if path is not None:
        write_text(path, text)
    return text
