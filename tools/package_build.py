"""The package's build (PEP 517): that of setuptools, and before a wheel is built its kernels are compiled.

`TOSAJIT_KERNELS` says for which CPUs; without it, for this machine's. Editable installs compile nothing.
"""

from __future__ import annotations

import os
import sysconfig
import tomllib
from collections.abc import Mapping
from typing import Any

import ready_kernels
from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = Mapping[str, Any] | None
PLATFORM = "--plat-name"


def get_requires_for_build_wheel(settings: Settings = None) -> list[str]:
    """What has to be installed to build a wheel: the package's own dependencies, if kernels are compiled."""
    project = tomllib.loads((ready_kernels.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed: list[str] = project["dependencies"] if _cpus() else []
    return [*build_meta.get_requires_for_build_wheel(settings), *needed]


def build_wheel(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Build a wheel; with kernels it is one of this platform."""
    options = dict(settings or {})
    if ready_kernels.make(_cpus()):
        given = options.get("--build-option", [])
        words = given.split() if isinstance(given, str) else [*given]
        if not any(word.startswith(PLATFORM) for word in words):
            words.append(f"{PLATFORM}={sysconfig.get_platform()}")
        options["--build-option"] = words
    name: str = build_meta.build_wheel(folder, options, metadata)
    return name


def _cpus() -> tuple[str, ...]:
    return ready_kernels.cpus(os.environ.get(ready_kernels.VARIABLE) or "host")
