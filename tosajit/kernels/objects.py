"""Kernels as native objects: compiled once by Numba, cached on disk, loaded by llvmlite without importing Numba."""

import functools
import hashlib
import importlib.util
import os
import re
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

MAGIC = b"tosajit1"
FOOTER = len(MAGIC) + 8 + 16
LIBRARY = Path(__file__).parent
COMPILER = "tosajit.kernels.native"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A loaded kernel: a C function `void (int64 args)` at `address`."""

    address: int
    digest: str


def compile_kernel(source: str) -> Kernel:
    """Return the kernel that the module text `source` defines as `kernel(args)`."""
    return compile_kernels((source,))[0]


def compile_kernels(sources: Sequence[str], progress: Progress | None = None) -> tuple[Kernel, ...]:
    """Return one kernel per source; `progress(done, total)` counts those that had to be compiled."""
    digests = [digest(source) for source in sources]
    with _lock:
        missing = {d: s for d, s in zip(digests, sources, strict=True) if d not in _loaded and not _load(d)}
        for done, (name, source) in enumerate(missing.items()):
            if progress:
                progress(done, len(missing))
            _compile(name, source)
        if progress and missing:
            progress(len(missing), len(missing))
        return tuple(_loaded[d] for d in digests)


def digest(source: str) -> str:
    """Name a kernel by all that its machine code depends on."""
    text = hashlib.blake2b(source.encode(), digest_size=16, key=_environment())
    for module in sorted(_imports(f"{source} {COMPILER}")):
        text.update(_library_text(module))
    return text.hexdigest()


def cache_folder() -> Path:
    """Return the folder of compiled kernels: $TOSAJIT_CACHE, or the platform's user cache."""
    if named := os.environ.get("TOSAJIT_CACHE"):
        return Path(named)
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "tosajit" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tosajit"


_lock = threading.RLock()
_loaded: dict[str, Kernel] = {}
_trackers: list[Any] = []


def _compile(name: str, source: str) -> None:
    from tosajit.kernels.native import compile_object

    path = cache_folder() / f"{name}.py"
    _write(path, source.encode())
    code = compile_object(source, path, f"kernel_{name}")
    _write(path.with_suffix(".o"), code + _footer(code))
    _link(name, code)


def _load(name: str) -> bool:
    """Load the cached object `name`; false if there is none, or a damaged one."""
    try:
        data = (cache_folder() / f"{name}.o").read_bytes()
    except OSError:
        return False
    code = data[:-FOOTER]
    if data[-FOOTER:] != _footer(code):
        return False
    _link(name, code)
    return True


def _footer(code: bytes) -> bytes:
    return MAGIC + len(code).to_bytes(8, "little") + hashlib.blake2b(code, digest_size=16).digest()


def _write(path: Path, data: bytes) -> None:
    """Write a file so that no reader ever sees a part of it; a cache that cannot be written is no error."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except OSError:
        return


@functools.cache
def _linker() -> Any:
    llvm.initialize_native_target()
    return llvm.create_lljit_compiler()


def _link(name: str, code: bytes) -> None:
    symbol = f"kernel_{name}"
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(symbol)
    tracker = builder.link(_linker(), symbol)
    _trackers.append(tracker)
    _loaded[name] = Kernel(tracker[symbol], name)


@functools.cache
def _environment() -> bytes:
    """Identify what compiles and for which core, without importing Numba."""
    features = llvm.get_host_cpu_features()
    enabled = ",".join(sorted(name for name, on in features.items() if on))
    specification = importlib.util.find_spec("numba")
    numba = b""
    if specification and specification.origin:
        numba = Path(specification.origin).with_name("_version.py").read_bytes()
    parts = (numba, llvmlite.__version__, llvm.get_process_triple(), llvm.get_host_cpu_name(), enabled)
    return hashlib.blake2b(repr(parts).encode(), digest_size=32).digest()


@functools.cache
def _library_text(module: str) -> bytes:
    return (LIBRARY / f"{module}.py").read_bytes()


def _imports(source: str) -> set[str]:
    """Return the modules of this package that a kernel's text imports, directly or not."""
    found: set[str] = set()
    pending = [source]
    while pending:
        for name in re.findall(r"tosajit\.kernels\.(\w+)", pending.pop()):
            if name not in found and (LIBRARY / f"{name}.py").exists():
                found.add(name)
                pending.append(_library_text(name).decode())
    return found
