"""Kernels as native objects: compiled once by Numba, cached on disk, loaded by llvmlite without Numba.

A kernel is named by a hash of all that its machine code depends on. Its text is kept beside the object:
`<name>.py`, `<name>.o`. An object ends in its length and checksum, so that a damaged file is compiled again;
`cache.py` sees to it that it is the user's.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any

import numpy as np

from tiling.records import dataclass
from tosajit.kernels import cache, loader, ready
from tosajit.kernels.cores import cores
from tosajit.kernels.sets.cpus import Cpu, host
from tosajit.kernels.sets.registry import cpu
from tosajit.kernels.showing import Progress, shown
from tosajit.kernels.versions import compiler
from tosajit.log import LOG

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Kernel:
    """A loaded kernel: a C function `void (int64 args)` at `address`."""

    address: int
    digest: str
    code: bytes = field(repr=False)
    """The object file."""


def compile_kernel(source: str) -> Kernel:
    """Return the kernel that the module text `source` defines as `kernel(args)`."""
    return compile_kernels((source,))[0]


def compile_kernels(
    sources: Sequence[str], progress: Progress | bool | None = None, processes: int = 4
) -> tuple[Kernel, ...]:
    """Return one kernel per source; `progress(done, total)` counts those that have to be compiled."""
    digests = [digest(source) for source in sources]
    with _lock:
        known = sum(name in _loaded for name in digests)
        missing = {
            d: s for d, s in zip(digests, sources, strict=True) if d not in _loaded and not _found(d, s)
        }
        found = len(digests) - known - len(missing)
        LOG.debug(
            "%d kernels: %d loaded, %d in the cache, %d missing", len(digests), known, found, len(missing)
        )
        if missing:
            with shown(progress) as tell:
                _compile_missing(missing, tell, processes)
        return tuple(_loaded[d] for d in digests)


def is_there(source: str) -> bool:
    """Whether a kernel need not be compiled, unless it is found to be damaged."""
    name = digest(source)
    return name in _loaded or cache.has(f"{name}.o") or _ready(name, source)


def prepare(sources: Sequence[str]) -> None:
    """Begin to compile what the cache lacks, in another process; `compile_kernels` will want it soon."""
    from tosajit.kernels import helpers

    missing = {digest(source): source for source in sources if not is_there(source)}
    if missing and cores() > 1 and not cache.cache_fault():
        helpers.offer(missing, _weight, 1)


def compile_beside(sources: Sequence[str], stopped: Callable[[], bool]) -> None:
    """Compile what is missing in another process, and load it; what that leaves is compiled here.

    Others may compile at the same time, as nothing is locked meanwhile.
    """
    from tosajit.kernels import helpers

    missing = {digest(source): source for source in sources if not is_there(source)}
    if missing and not cache.cache_fault():
        helpers.offer(missing, _weight, 1, lasting=True)
        helpers.wait(missing, stopped)
    for source in sources:
        if stopped():
            return
        compile_kernels((source,), False)


def digest(source: str) -> str:
    """Name a kernel by all that its machine code depends on."""
    return _digest(source, cpu(), compiler())


def _digest(source: str, cpu: Cpu, compiler: bytes) -> str:
    text = hashlib.blake2b(source.encode(), digest_size=16, key=_environment(cpu, compiler))
    text.update(_library_digest(frozenset(_imports(source))))
    return text.hexdigest()


def loaded(name: str) -> Kernel:
    """Return the kernel of this digest, which has been loaded."""
    return _loaded[name]


def adopt(name: str, code: bytes) -> None:
    """Load an object that is kept elsewhere than in the cache; raises ValueError if it cannot be loaded."""
    with _lock:
        if name in _loaded:
            return
        if not is_object_for(code, host().triple):
            raise ValueError(f"kernel {name} is for another kind of machine")
        try:
            _link(name, code)
        except RuntimeError as error:
            raise ValueError(f"kernel {name} does not link: {error}") from error


def placed(numbers: NDArray[np.int64], calls: Sequence[tuple[int, str]]) -> NDArray[np.int64]:
    """Return numbers with the addresses of loaded kernels in their places."""
    made = numbers.copy()
    for place, name in calls:
        made[place] = _loaded[name].address
    return made


def platform() -> tuple[str, str, list[str]]:
    """What objects are for: the triple, the CPU and its features, by LLVM's names."""
    return host().triple, cpu().name, sorted(cpu().features)


def environment() -> bytes:
    """Identify what compiles and for which CPU."""
    return _environment(cpu(), compiler())


# Compiling.

HELPER_WORTH = 4
"""Kernels for which one more process pays: it needs most of a second to start."""
PATIENCE_SECONDS, LOOK_SECONDS = 60.0, 0.02
"""How long a kernel is waited for that another process compiles, and how often one looks."""
COMPILER, ANSWERS = "native", {"sets/registry", "sets/machine"}
"""What compiles, and what tells it of the CPU, which is a part of names."""
LIBRARY = Path(__file__).parent


def _compile_missing(missing: dict[str, str], progress: Progress, processes: int) -> None:
    from tosajit.kernels import helpers

    total, began = len(missing), perf_counter()
    alone = bool(cache.cache_fault())  # helpers hand over what they make in the cache
    helpers.offer(missing, _weight, 0 if alone else min(processes - 1, cores() - 1, total // HELPER_WORTH))
    try:
        while name := helpers.take(missing):
            progress(total - helpers.unfinished(missing) - 1, total)
            if code := compile_into_cache(name, missing[name]):
                _link(name, code)
        helpers.finish(missing)
    finally:
        helpers.withdraw(missing)
    helped = [name for name in missing if name not in _loaded and _load(name)]
    for name in missing:
        if name not in _loaded:
            _link(name, _compiled(name, missing[name]))
    seconds = perf_counter() - began
    LOG.info("%d kernels compiled in %.0f ms, %d of them by helpers", total, 1000 * seconds, len(helped))
    progress(total, total)


def _weight(source: str) -> int:
    """Estimate the work of compiling: the length of the text and of what it imports."""
    return len(source) + sum(len(_module_text(name)) // 4 for name in _library(source))


def compile_into_cache(name: str, source: str, folder: Path | None = None) -> bytes:
    """Compile a kernel, and keep its text and object; nothing if another process is at it."""
    if not cache.claim(name, folder):
        return b""
    try:
        if name not in _useless and (code := _sound(cache.read(f"{name}.o", folder))):
            return code  # another process has made it since we looked
        return _compile(name, source, folder)
    finally:
        cache.release(name, folder)


def _compiled(name: str, source: str) -> bytes:
    """Compile a kernel, or wait until another process has; not for ever, it may have been stopped."""
    end = perf_counter() + PATIENCE_SECONDS
    while perf_counter() < end:
        if code := compile_into_cache(name, source):
            return code
        sleep(LOOK_SECONDS)
    return _compile(name, source, None)


def _compile(name: str, source: str, folder: Path | None) -> bytes:
    from tosajit.kernels.native import compile_object

    began, text = perf_counter(), f"{name}.py"
    cache.write(text, source.encode(), folder)
    code = compile_object(source, (folder or cache.cache_folder() or Path()) / text, f"kernel_{name}")
    cache.write(f"{name}.o", code + _footer(code), folder)
    LOG.info("kernel %s compiled in %.0f ms%s", name, 1000 * (perf_counter() - began), _title(source))
    return code


def _title(source: str) -> str:
    """What a kernel's text says of itself, if it does."""
    found = re.match(r'"""([^"\n]*?)\.?(?:"""|\n)', source)
    return f": {found[1]}" if found else ""


ELF, MACH_O = b"\x7fELF", b"\xcf\xfa\xed\xfe"
MAGIC = b"tosajit1"
FOOTER = len(MAGIC) + 8 + 16


def _footer(code: bytes) -> bytes:
    return MAGIC + len(code).to_bytes(8, "little") + hashlib.blake2b(code, digest_size=16).digest()


@functools.cache
def _environment(cpu: Cpu, compiler: bytes) -> bytes:
    """Identify what compiles and for which CPU; the version of macOS does not matter."""
    triple = re.sub(r"(darwin|macosx)[\d.]+", r"\1", cpu.triple)
    parts = (compiler, triple, cpu.name, cpu.switches)
    return hashlib.blake2b(repr(parts).encode(), digest_size=32).digest()


_PACKAGE = "tosajit.kernels"
_FROM = r"from tosajit\.kernels((?:\.\w+)*) import (\([^)]*\)|[^\n]*)"
_IMPORT = re.compile(rf"\s*(?:{_FROM}|import tosajit\.kernels((?:\.\w+)+))")


@functools.cache
def _library_digest(imports: frozenset[str]) -> bytes:
    """Identify the texts that a kernel with these imports depends on."""
    text = hashlib.blake2b(digest_size=16)
    for module in sorted(_needed(imports)):
        text.update(_module_text(module))
    return text.digest()


def _library(source: str) -> set[str]:
    """Return the modules of this package that a kernel depends on: those that it or the compiler imports."""
    return _needed(_imports(source))


def _needed(modules: Iterable[str]) -> set[str]:
    """Return modules and the compiler, with all that they import; the CPU, which `ANSWERS` give, is named."""
    found = {*ANSWERS}
    pending = [*modules, COMPILER]
    while pending:
        module = pending.pop()
        if module not in found:
            found.add(module)
            pending += _module_imports(module)
    return found - ANSWERS


def _imports(text: str) -> list[str]:
    """Return the modules of this package that a text imports itself."""
    names = []
    for package, imported, module in _import_statements(text):
        within = (package or module).strip(".").replace(".", "/")
        candidates = [
            within,
            *(f"{within}/{name}".strip("/") for name in re.findall(r"\w+", imported)),
        ]
        names += [name for name in candidates if _module_path(name)]
    return names


def _import_statements(text: str) -> Iterator[tuple[str, ...]]:
    """Find the statements that import from this package, by its name, which is rare in a text."""
    place = text.find(_PACKAGE)
    while place >= 0:
        found = _IMPORT.match(text, text.rfind("\n", 0, place) + 1)
        if found is not None:
            yield found.groups("")
        place = text.find(_PACKAGE, max(place + 1, found.end() if found is not None else 0))


@functools.cache
def _module_imports(module: str) -> tuple[str, ...]:
    return tuple(_imports(_module_text(module).decode()))


@functools.cache
def _module_text(module: str) -> bytes:
    path = _module_path(module)
    return path.read_bytes() if path else b""


@functools.cache
def _module_path(module: str) -> Path | None:
    paths = LIBRARY / f"{module}.py", LIBRARY / module / "__init__.py"
    return next((path for path in paths if module and path.is_file()), None)


# Loading.

_lock = threading.RLock()
if hasattr(os, "register_at_fork"):  # no child process finds the lock held by a thread that it does not have
    os.register_at_fork(
        before=_lock.acquire,
        after_in_parent=_lock.release,
        after_in_child=_lock.release,
    )
_loaded: dict[str, Kernel] = {}
_useless: set[str] = set()
"""Names of objects in the cache that cannot be loaded."""
_links = itertools.count()
_trackers: list[Any] = []
"""Machine code lives as long as its tracker; kernels are never unloaded."""


def _found(name: str, source: str) -> bool:
    """Load a kernel that is compiled already."""
    return _load(name) or _ready(name, source)


def _ready(name: str, source: str) -> bool:
    """Load a kernel that came with the package, under its own name and this one."""
    for shelf in ready.shelves(cpu(), ready.FOLDER):
        other = _digest(source, shelf.cpu, shelf.compiler)
        if code := _sound(shelf.read(other)):
            with suppress(ValueError):
                adopt(other, code)
                _loaded[name] = _loaded[other]
                LOG.debug("kernel %s came with the package, for %s", other, shelf.cpu.name)
                return True
    return False


def _sound(data: bytes) -> bytes:
    """The code of an object file, if that is not damaged and is for this process."""
    code = data[:-FOOTER]
    return code if data and data[-FOOTER:] == _footer(code) and is_object_for(code, host().triple) else b""


def _load(name: str) -> bool:
    """Load the cached object `name`; false if there is none, or one that is damaged or does not link."""
    data = cache.read(f"{name}.o")
    if not data:
        return False
    if not (code := _sound(data)):
        LOG.warning("kernel %s is damaged in the cache, and compiled again", name)
        return _refused(name)
    try:
        _link(name, code)
    except RuntimeError as error:
        LOG.warning("kernel %s of the cache does not link, and is compiled again: %s", name, error)
        return _refused(name)
    LOG.debug("kernel %s comes from the cache", name)
    return True


def _refused(name: str) -> bool:
    """Keep nobody from making an object again that cannot be loaded."""
    _useless.add(name)
    cache.remove(f"{name}.o")
    return False


_ELF = {"x86_64": 62, "aarch64": 183}
_MACH_O = {"x86_64": 0x01000007, "arm64": 0x0100000C, "aarch64": 0x0100000C}
_COFF = {"x86_64": 0x8664, "aarch64": 0xAA64, "arm64": 0xAA64}
"""The number of a machine in the header of an object."""


def is_object_for(code: bytes, triple: str) -> bool:
    """Whether an object's header says that a system can link it; at some others LLVM ends the process."""
    architecture = triple.split("-")[0]
    if "-windows-" in triple:
        return code[:2] == _COFF.get(architecture, 0).to_bytes(2, "little")
    if "-apple-" in triple:
        return code[:8] == MACH_O + _MACH_O.get(architecture, 0).to_bytes(4, "little")
    if architecture not in _ELF:
        return code.startswith(ELF)
    machine = _ELF[architecture].to_bytes(2, "little")
    return code[:6] == ELF + b"\2\1" and code[18:20] == machine and code[16:18] == b"\1\0"


def _link(name: str, code: bytes) -> None:
    """Load a kernel; raises RuntimeError if it cannot be."""
    address = loader.load(code, f"kernel_{name}")
    _loaded[name] = Kernel(_linked(name, code) if address is None else address, name, code)


@functools.cache
def _linker() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    return llvm.create_lljit_compiler()


def _linked(name: str, code: bytes) -> int:
    """Have LLVM load a kernel; return its address."""
    import llvmlite.binding as llvm

    symbol = f"kernel_{name}"
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(symbol)
    tracker = builder.link(_linker(), f"{symbol}.{next(_links)}")  # the name of one that failed stays taken
    _trackers.append(tracker)
    return int(tracker[symbol])
