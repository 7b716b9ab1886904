"""Environments of other programs that tests and tools run, where they are."""

from __future__ import annotations

import os
from pathlib import Path


def with_tensorflow() -> Path | None:
    """The Python that has TensorFlow, if it is there: TOSAJIT_FRAMEWORKS says where."""
    found = Path(os.environ.get("TOSAJIT_FRAMEWORKS", ".venv-frameworks")) / "bin" / "python"
    return found if found.is_file() else None


def with_jax() -> Path | None:
    """The Python that has JAX, if it is there: TOSAJIT_JAX says where."""
    found = Path(os.environ.get("TOSAJIT_JAX", ".venv-jax")) / "bin" / "python"
    return found if found.is_file() else None


def with_torch() -> Path | None:
    """The Python that has PyTorch, if it is there: TOSAJIT_TORCH says where."""
    found = Path(os.environ.get("TOSAJIT_TORCH", ".venv-torch")) / "bin" / "python"
    return found if found.is_file() else None


def with_executorch() -> Path | None:
    """The Python that has ExecuTorch, if it is there: TOSAJIT_EXECUTORCH says where."""
    found = Path(os.environ.get("TOSAJIT_EXECUTORCH", ".venv-executorch")) / "bin" / "python"
    return found if found.is_file() else None
