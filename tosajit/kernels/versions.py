"""Versions of what compiles, without importing it."""

import functools
import hashlib
import importlib.util
from pathlib import Path


@functools.cache
def compiler() -> bytes:
    """Identify what compiles by its versions."""
    texts = tuple(_version(name) for name in ("numba", "llvmlite"))
    return hashlib.blake2b(repr(texts).encode(), digest_size=16).digest()


def _version(package: str) -> bytes:
    """What a package's own file says of its version."""
    specification = importlib.util.find_spec(package)
    if specification and specification.origin:
        return Path(specification.origin).with_name("_version.py").read_bytes()
    return b""
