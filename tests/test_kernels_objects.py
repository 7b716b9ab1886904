"""Compiling, caching and loading of native kernels."""

from __future__ import annotations

import ast
import ctypes
import gc
import os
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tosajit.kernels import cache, helpers, native, objects, ready
from tosajit.kernels.cores import cores
from tosajit.kernels.inline import inline_calls
from tosajit.kernels.objects import Kernel
from tosajit.kernels.sets.registry import cpu
from tosajit.kernels.versions import compiler

SOURCE = """
from tosajit.kernels.intrinsics import load_i64, store_i64


def twice(x):
    y = x + x
    return y


def kernel(args):
    store_i64(args, 1, twice(load_i64(args, 0)))
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TOSAJIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(objects, "_loaded", {})
    yield
    ready.shelves.cache_clear()
    objects._library_digest.cache_clear()


def folder() -> Path:
    found = cache.cache_folder()
    assert found is not None
    return found


def run(kernel: Kernel, *arguments: int) -> int:
    array = np.array([*arguments, 0], np.int64)
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(kernel.address)(array.ctypes.data)
    return int(array[-1])


def variant(number: int) -> str:
    return SOURCE.replace("x + x", f"x + x + {number}")


def python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_kernel_is_a_plain_function_at_an_address() -> None:
    assert run(objects.compile_kernel(SOURCE), 21) == 42


def test_the_text_is_kept_beside_the_object() -> None:
    kernel = objects.compile_kernel(SOURCE)
    assert (folder() / f"{kernel.digest}.py").read_text() == SOURCE
    assert (folder() / f"{kernel.digest}.o").exists()


def test_a_kernel_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = objects.compile_kernel(SOURCE)
    monkeypatch.setattr(objects, "compile_into_cache", None)
    assert objects.compile_kernel(SOURCE) is first


def test_a_new_process_loads_without_numba(tmp_path: Path) -> None:
    code = f"""
import ctypes, sys
from tosajit.kernels.objects import compile_kernel
kernel = compile_kernel({SOURCE!r})
numbers = (ctypes.c_int64 * 2)(21, 0)
ctypes.CFUNCTYPE(None, ctypes.c_int64)(kernel.address)(ctypes.addressof(numbers))
print(numbers[1], "numba" in sys.modules)
"""
    assert python(code) == "42 True"
    assert python(code) == "42 False"


def test_a_new_process_compiles_known_structures_without_numba(tmp_path: Path) -> None:
    """Recognising what kernels of the library do must not import how these are written."""
    code = """
import sys
import numpy as np
import tosajit as tj
from tosajit import ops
image, weight, each = (np.ones(shape, np.float32) for shape in ((1, 4, 4, 32), (32, 1, 1, 32), (3, 3, 32, 1)))
def network(x):
    x = ops.depthwise_conv2d(ops.conv2d(x, weight), each, pad=(1, 1, 1, 1))
    return ops.transpose(ops.reshape(ops.exp(x), (16, 32)), perms=(1, 0))
tj.compile(tj.trace(network, image))
print("numba" in sys.modules)
"""
    assert python(code) == "True"
    assert python(code) == "False"


@pytest.mark.parametrize("damage", ["empty", "short", "garbage", "bit", "longer", "folder"])
def test_a_damaged_object_is_compiled_again(damage: str) -> None:
    kernel = objects.compile_kernel(SOURCE)
    path = folder() / f"{kernel.digest}.o"
    good = path.read_bytes()
    bad = {
        "empty": b"",
        "short": good[:-100],
        "garbage": b"\x7fELF" + bytes(200),
        "bit": good[:300] + bytes([good[300] ^ 1]) + good[301:],
        "longer": good + b"\n",
    }
    if damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(bad[damage])
    objects._loaded.clear()
    assert run(objects.compile_kernel(SOURCE), 21) == 42
    assert damage == "folder" or path.read_bytes() == good


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TOSAJIT_CACHE", str(tmp_path / "file"))
    assert run(objects.compile_kernel(variant(1)), 21) == 43


def test_processes_that_need_the_same_compile_it_once() -> None:
    code = f"""
from tosajit.kernels import native, objects
made, compile = [], native.compile_object
native.compile_object = lambda source, *more: made.append(source) or compile(source, *more)
print(objects.compile_kernel({SOURCE!r}).digest, len(made))
"""
    racers = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = [racer.communicate(timeout=100)[0].split() for racer in racers]
    assert len({name for name, _ in said}) == 1
    assert sum(int(count) for _, count in said) == 1
    kept = [path.suffix for path in folder().iterdir() if path.suffix != cache.MACHINE]
    assert sorted(kept) == ["", ".o", ".py"]


CLAIM = """
import os, sys
from tosajit.kernels import cache
print(cache.claim(sys.argv[1]), flush=True)
"""


def test_a_process_that_dies_while_it_compiles_holds_nobody_up() -> None:
    command = [sys.executable, "-c", f"{CLAIM}os._exit(1)", objects.digest(SOURCE)]
    assert subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout == "True\n"
    assert run(objects.compile_kernel(SOURCE), 1) == 2


def test_a_process_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    name, pipe = objects.digest(SOURCE), subprocess.PIPE
    command = [sys.executable, "-c", f"{CLAIM}input()", name]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == "True\n"
        assert not cache.claim(name)
        monkeypatch.setattr(objects, "PATIENCE_SECONDS", 0.1)
        assert run(objects.compile_kernel(SOURCE), 1) == 2
        other.communicate("\n")
    assert cache.claim(name)
    cache.release(name)


class Msvcrt(types.ModuleType):
    """Locks as Windows has them: of the byte where a file stands, which is refused if anyone has it."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.locked: set[int] = set()

    def locking(self, handle: int, mode: int, count: int) -> None:
        place = os.lseek(handle, 0, os.SEEK_CUR)
        if count != 1 or place >= 1 << 31 or (mode == self.LK_NBLCK) == (place in self.locked):
            raise PermissionError(13, "Permission denied")
        self.locked ^= {place}


def test_kernels_are_claimed_on_windows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    windows, name = Msvcrt(), objects.digest(SOURCE)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    assert cache.claim("f" * 32)  # opens the file as this system does
    monkeypatch.setattr(sys, "platform", "win32")
    assert cache.claim(name)
    assert len(windows.locked) == 1
    assert not cache.claim(name)
    cache.release(name)
    assert windows.locked == set()
    assert cache.claim("f" * 32)


def test_a_file_of_locks_that_others_could_have_made_is_not_used() -> None:
    folder().mkdir(mode=0o700, parents=True)
    (folder() / cache.LOCKS).symlink_to(folder() / "elsewhere")
    assert run(objects.compile_kernel(SOURCE), 1) == 2
    assert not (folder() / "elsewhere").exists()


def ship(place: Path, cpu: str) -> Path:
    """Compile a kernel into a folder of kernels of the package, and forget it; returns its file."""
    objects.compile_kernel(SOURCE)
    path = place / cpu / f"{objects.digest(SOURCE)}.o"
    path.parent.mkdir(parents=True)
    path.write_bytes((folder() / path.name).read_bytes())
    (path.parent / ready.COMPILER).write_text(compiler().hex())
    cache.clear_cache()
    objects._loaded.clear()
    ready.shelves.cache_clear()
    return path


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A kernel that came with the package, for a CPU of some years ago, and an empty cache."""
    monkeypatch.setattr(ready, "FOLDER", tmp_path / "compiled")
    monkeypatch.setenv("TOSAJIT_CPU", "x86-64-v2")
    return ship(tmp_path / "compiled", "x86-64-v2")


def test_kernels_that_came_with_the_package_are_compiled_by_nobody(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", "x86-64-v3")
    monkeypatch.setattr(objects, "_compile", None)  # would fail
    kernel = objects.compile_kernel(SOURCE)
    assert (run(kernel, 1), kernel.digest) == (2, shipped.stem)
    assert cache.cached_objects() == ()


def test_kernels_for_a_better_cpu_are_not_for_this_one(shipped: Path) -> None:
    shipped.parent.rename(shipped.parent.with_name("x86-64-v3"))
    assert ready.shelves(cpu(), ready.FOLDER) == ()
    objects.compile_kernel(SOURCE)
    assert len(cache.cached_objects()) == 1


def test_kernels_for_a_lesser_cpu_are_not_in_the_way_of_better_ones(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = shipped.parent.with_name("x86-64-v3")
    other.mkdir()
    (other / ready.COMPILER).write_text(compiler().hex())
    monkeypatch.setenv("TOSAJIT_CPU", "x86-64-v3")
    assert [shelf.cpu.name for shelf in ready.shelves(cpu(), ready.FOLDER)] == ["x86-64-v3"]
    objects.compile_kernel(SOURCE)
    assert len(cache.cached_objects()) == 1


def test_kernels_that_were_compiled_on_this_machine_come_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ready, "FOLDER", tmp_path / "compiled")
    ship(ready.FOLDER, "native")
    monkeypatch.setattr(objects, "_compile", None)  # would fail
    assert run(objects.compile_kernel(SOURCE), 1) == 2


def test_kernels_of_the_package_are_used_whatever_compiles_here(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "compiler", lambda: b"another version of Numba")
    monkeypatch.setattr(objects, "_compile", None)  # would fail
    assert run(objects.compile_kernel(SOURCE), 1) == 2


def test_kernels_of_another_library_are_stale(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = objects._module_text
    monkeypatch.setattr(objects, "_module_text", lambda m: text(m) + (b"#" if m == "native" else b""))
    objects._library_digest.cache_clear()
    objects.compile_kernel(SOURCE)
    assert len(cache.cached_objects()) == 1


def test_kernels_that_others_could_have_written_are_compiled(shipped: Path) -> None:
    shipped.chmod(0o666)
    with pytest.warns(cache.CacheWarning, match="is writable by other users"):
        objects.compile_kernel(SOURCE)
    assert len(cache.cached_objects()) == 1


def test_kernels_behind_a_link_are_compiled(shipped: Path) -> None:
    shipped.rename(shipped.with_suffix(".elsewhere"))
    shipped.symlink_to(shipped.with_suffix(".elsewhere"))
    objects.compile_kernel(SOURCE)
    assert len(cache.cached_objects()) == 1


def test_kernels_of_a_stranger_are_compiled(shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = os.fstat

    def strange(handle: int) -> os.stat_result:
        return os.stat_result([*about(handle)[:4], 12345, *about(handle)[5:]])

    monkeypatch.setattr(os, "fstat", strange)
    with pytest.warns(cache.CacheWarning, match="belongs to another user"):
        assert ready.shelves(cpu(), ready.FOLDER) == ()


def test_two_processes_that_find_kernels_of_the_package_compile_nothing(shipped: Path) -> None:
    code = f"""
from pathlib import Path
from tosajit.kernels import objects, ready
ready.FOLDER = Path({str(ready.FOLDER)!r})
objects._compile = None
print(objects.compile_kernel({SOURCE!r}).digest)
"""
    assert python(code).split() == python(code).split() == [shipped.stem]
    assert cache.cached_objects() == ()


def test_damaged_kernels_of_the_package_are_compiled(shipped: Path) -> None:
    whole = shipped.read_bytes()
    for damaged in (b"", whole[:-1], b"\x7fELF" + whole, bytes([*whole[:50], whole[50] ^ 1, *whole[51:]])):
        shipped.write_bytes(damaged)
        objects._loaded.clear()
        cache.clear_cache()
        assert run(objects.compile_kernel(SOURCE), 1) == 2
        assert len(cache.cached_objects()) == 1


def test_many_kernels_come_in_order_and_progress_is_told() -> None:
    seen = []
    kernels = objects.compile_kernels([variant(n) for n in range(6)], lambda *counts: seen.append(counts))
    assert [run(kernel, 1) for kernel in kernels] == [2 + n for n in range(6)]
    assert seen[0] == (0, 6)
    assert seen[-1] == (6, 6)


def test_equal_sources_are_one_kernel() -> None:
    first, second = objects.compile_kernels([SOURCE, SOURCE])
    assert first is second


def test_a_helper_that_does_not_start_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    kernels = objects.compile_kernels([variant(n) for n in range(10, 14)])
    assert [run(kernel, 0) for kernel in kernels] == [10, 11, 12, 13]


def test_the_name_depends_on_the_text() -> None:
    assert objects.digest(SOURCE + "\n") != objects.digest(SOURCE)


@pytest.mark.parametrize("module", ["intrinsics", "native", "inline"])
def test_the_name_depends_on_the_library(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    name, text = objects.digest(SOURCE), objects._module_text
    monkeypatch.setattr(objects, "_module_text", lambda m: text(m) + (b"#" if m == module else b""))
    objects._library_digest.cache_clear()
    assert objects.digest(SOURCE) != name


@pytest.mark.parametrize("module", ["sets/registry", "sets/avx2", "contract/tile", "emit"])
def test_the_name_does_not_depend_on_what_the_kernel_does_not_use(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    name, text = objects.digest(SOURCE), objects._module_text
    assert text(module)
    monkeypatch.setattr(objects, "_module_text", lambda m: text(m) + (b"#" if m == module else b""))
    objects._library_digest.cache_clear()
    assert objects.digest(SOURCE) == name


def test_the_name_of_an_array_kernel_depends_on_its_set(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SOURCE + "\nfrom tosajit.kernels.sets.avx2.vectors import VECTORS\n"
    name, text = objects.digest(source), objects._module_text
    monkeypatch.setattr(objects, "_module_text", lambda m: text(m) + (b"#" if m == "sets/avx2" else b""))
    objects._library_digest.cache_clear()
    assert objects.digest(source) != name


@pytest.mark.parametrize(
    "line",
    [
        "from tosajit.kernels.contract.tile import f",
        "from tosajit.kernels.contract.tile import (\n    f,\n)",
        "from tosajit.kernels.contract import tile as t",
        "import tosajit.kernels.contract.tile",
    ],
)
def test_imports_of_any_form_are_followed(line: str) -> None:
    modules = objects._library(f"import numpy\n\n{line}\n")
    assert {"contract/tile", "contract/products", "native", "inline"} <= modules
    assert "scalars" not in modules


def test_only_own_files_are_listed_and_cleared() -> None:
    kernel = objects.compile_kernel(SOURCE)
    stranger = folder() / "notes.txt"
    stranger.write_text("mine")
    (entry,) = cache.cached_objects()
    assert entry.digest == kernel.digest
    assert cache.cache_bytes() > entry.bytes > 0
    assert cache.clear_cache() == 2
    assert cache.cached_objects() == ()
    assert stranger.exists()


def test_an_empty_cache_is_listed_as_empty() -> None:
    assert cache.cached_objects() == ()
    assert cache.cache_bytes() == 0
    assert cache.clear_cache() == 0


def test_compiling_loads_nothing_of_arrays_or_linear_algebra(tmp_path: Path) -> None:
    code = f"""
import sys
from tosajit.kernels.objects import compile_kernel
compile_kernel({SOURCE!r})
print({{"numba.np.linalg", "numba.typed.typeddict", "scipy.linalg"}} & set(sys.modules) or "nothing")
"""
    assert python(code, TOSAJIT_CACHE=str(tmp_path / "another")) == "nothing"


def test_garbage_is_looked_for_again_after_compiling() -> None:
    objects.compile_kernel(SOURCE)
    assert gc.isenabled()


def test_what_needs_numba_at_run_time_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"scalars alone.*print"):
        objects.compile_kernel("def kernel(args):\n    print(args)\n")


def test_what_only_another_process_could_provide_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "EXTERNAL", native.EXTERNAL - {"usleep"})
    with pytest.raises(ValueError, match="usleep"):
        native.compile_object(
            "from tosajit.kernels.intrinsics import rest\ndef kernel(args):\n    rest()\n",
            Path("kernel.py"),
            "one",
        )


@pytest.mark.parametrize("statement", ["raise ValueError", "assert args"])
def test_a_kernel_cannot_raise(statement: str) -> None:
    with pytest.raises(ValueError, match="line 2: a kernel cannot raise"):
        objects.compile_kernel(f"def kernel(args):\n    {statement}\n")


def test_functions_with_loops_are_called() -> None:
    source = """
from tosajit.kernels.intrinsics import load_i64, store_i64

def total(n):
    s = 0
    for i in range(n):
        s += i
    return s

def kernel(args):
    store_i64(args, 1, total(load_i64(args, 0)))
"""
    assert run(objects.compile_kernel(source), 5) == 10


def inlined(source: str) -> str:
    return ast.unparse(inline_calls(ast.parse(source)))


def test_inlining_evaluates_arguments_once_and_renames_locals() -> None:
    text = inlined("""
def f(a, b):
    c = a + b
    return c * a
def kernel(args):
    c = 5
    return f(f(c, g(c)), c)
""")
    assert text.count("g(") == 1
    namespace = {"g": lambda x: x + 1}
    exec(text, namespace)
    assert "def f" not in text
    assert namespace["kernel"](0) == (55 + 5) * 55


def test_a_parameter_may_be_assigned() -> None:
    namespace: dict[str, Any] = {}
    exec(inlined("def f(a):\n    a = a + 1\n    return a\ndef kernel(x):\n    return f(x) + x"), namespace)
    assert namespace["kernel"](1) == 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("while f(x) < 3:\n        x = x + 1", "cannot be called in the condition of a while"),
        ("y = f(load(x)) if x else 0", "load is conditional here"),
        ("y = x and f(load(x))", "load is conditional here"),
        ("y = f(a=x)", "takes the arguments a"),
        ("y = f(x, x)", "takes the arguments a"),
    ],
)
def test_what_cannot_be_inlined_is_an_error(body: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        inlined(f"def f(a):\n    return a + 1\ndef kernel(x):\n    {body}\n")


def test_prepared_kernels_are_compiled_by_a_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    objects.prepare([variant(20)])
    helpers.finish([objects.digest(variant(20))])
    assert run(objects.compile_kernel(variant(20)), 1) == 22


def prepared(numbers: range) -> set[str]:
    """Let helpers compile variants; the digests of these."""
    names = [objects.digest(variant(n)) for n in numbers]
    objects.prepare([variant(n) for n in numbers])
    deadline = time.monotonic() + 60
    while helpers.unfinished(names) and time.monotonic() < deadline:
        time.sleep(0.01)
    return set(names)


def test_helpers_take_part() -> None:
    names = prepared(range(30, 34))
    assert {entry.digest for entry in cache.cached_objects()} >= names or cores() == 1


def test_a_helper_compiles_for_the_cpu_of_each_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    names = prepared(range(50, 54))
    monkeypatch.setenv("TOSAJIT_CPU", "x86-64-v2")
    others = prepared(range(50, 54))
    assert not names & others
    assert {entry.digest for entry in cache.cached_objects()} >= names | others or cores() == 1


def test_a_fault_in_a_kernel_is_told_also_when_a_helper_meets_it() -> None:
    sources = [variant(n).replace("x + x", "x + nothing") for n in range(40, 44)]
    with pytest.raises(Exception, match="nothing"):
        objects.compile_kernels(sources)
    assert run(objects.compile_kernel(variant(45)), 1) == 47
