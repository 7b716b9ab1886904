"""The cache of kernels in strangers' hands: what others own or can write is not run."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from tosajit import kernels
from tosajit.cli import main
from tosajit.kernels import objects
from tosajit.kernels.cache import (
    LOCKS,
    CacheWarning,
    cache_bytes,
    cache_folder,
    cached_objects,
    clear_cache,
    trim,
)

SOURCE = """
from tosajit.kernels.intrinsics import load_i64, store_i64


def kernel(args):
    store_i64(args, 1, load_i64(args, 0) * 2)
"""
EVIL = SOURCE.replace("* 2", "* 666")
RUN = f"""
import ctypes
from tosajit.kernels.objects import compile_kernel
kernel = compile_kernel({SOURCE!r})
numbers = (ctypes.c_int64 * 2)(21, 0)
ctypes.CFUNCTYPE(None, ctypes.c_int64)(kernel.address)(ctypes.addressof(numbers))
print(numbers[1])
"""
NAME = objects.digest(SOURCE)
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away or become others")


def ran(code: str = RUN, **environment: str) -> str:
    """Run code in a new process, which must come to its end with the right result; what it has warned of."""
    variables = {name: text for name, text in os.environ.items() if name != "TOSAJIT_CACHE"} | environment
    command = [sys.executable, "-W", "always", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "42\n"
    return done.stderr


def given_away(path: Path) -> str:
    os.chown(path, NOBODY, NOBODY)
    return "belongs to another user"


def writable(path: Path) -> str:
    path.chmod(path.stat().st_mode | stat.S_IWGRP)
    return "is writable by other users"


def writable_by_all(path: Path) -> str:
    path.chmod(path.stat().st_mode | stat.S_IWOTH)
    return "is writable by other users"


SPOILING = [pytest.param(given_away, marks=as_root), writable, writable_by_all]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with an object that is not what it should be."""
    monkeypatch.setenv("TOSAJIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(objects, "_loaded", {})
    objects.compile_kernel(SOURCE)
    put(tmp_path / "cache", compiled(EVIL))
    return tmp_path / "cache"


def compiled(source: str) -> bytes:
    from tosajit.kernels.native import compile_object

    return compile_object(source, Path("kernel.py"), f"kernel_{NAME}")


def put(cache: Path, code: bytes) -> None:
    """Give an object to the cache, with the right checksum."""
    (cache / f"{NAME}.o").write_bytes(code + objects._footer(code))


def test_what_lies_in_the_cache_is_run(cache: Path) -> None:
    """So it must be the user's own; all other tests here would hold without reading the cache at all."""
    with pytest.raises(AssertionError, match=str(21 * 666)):
        ran(TOSAJIT_CACHE=str(cache))


@pytest.mark.parametrize("spoil", SPOILING)
@pytest.mark.parametrize("variable", ["TOSAJIT_CACHE", "XDG_CACHE_HOME", "HOME"])
def test_a_folder_that_others_own_or_can_write_is_not_used(
    cache: Path, spoil: Callable[[Path], str], variable: str
) -> None:
    place = {
        "TOSAJIT_CACHE": cache,
        "XDG_CACHE_HOME": cache.parent / "tosajit",
        "HOME": cache.parent / ".cache" / "tosajit",
    }[variable]
    place.parent.mkdir(exist_ok=True)
    cache.rename(place)
    before, reason = sorted(place.iterdir()), spoil(place)
    named = {"TOSAJIT_CACHE": place, "XDG_CACHE_HOME": place.parent, "HOME": cache.parent}[variable]
    environment = {"XDG_CACHE_HOME": "", variable: str(named)}
    said = ran(**environment)
    assert f"{place} {reason}" in said
    assert said.count("CacheWarning: ") == 1
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize("spoil", SPOILING)
def test_an_object_that_others_own_or_can_write_is_compiled_anew(
    cache: Path, spoil: Callable[[Path], str]
) -> None:
    reason = spoil(cache / f"{NAME}.o")
    assert f"{NAME}.o {reason}" in ran(TOSAJIT_CACHE=str(cache))
    assert "CacheWarning" not in ran(TOSAJIT_CACHE=str(cache))


def test_an_object_that_is_a_link_is_compiled_anew(cache: Path) -> None:
    path = cache / f"{NAME}.o"
    path.rename(cache.parent / "evil.o")
    path.symlink_to(cache.parent / "evil.o")
    ran(TOSAJIT_CACHE=str(cache))
    assert not path.is_symlink()


def test_an_object_that_is_a_pipe_is_compiled_anew(cache: Path) -> None:
    (cache / f"{NAME}.o").unlink()
    os.mkfifo(cache / f"{NAME}.o")
    ran(TOSAJIT_CACHE=str(cache))


def assembled(text: str, triple: str = "") -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple or llvm.get_process_triple())
    machine = target.create_target_machine(reloc="pic", codemodel="small")
    return bytes(machine.emit_object(llvm.parse_assembly(text)))


CALLS = """
declare void @{callee}(i64)
@data = global [4 x i64] zeroinitializer
define void @kernel_{name}(i64 %args) {{
  %value = load i64, ptr @data
  call void @{callee}(i64 %value)
  ret void
}}
"""
BITS32 = slice(4, 5)
TYPE = slice(16, 18)
MACHINE = slice(18, 20)


def changed(place: slice, data: bytes) -> bytes:
    code = bytearray(compiled(SOURCE))
    code[place] = data
    return bytes(code)


ODD: dict[str, Callable[[], bytes]] = {
    "of AArch64": lambda: assembled(CALLS.format(name=NAME, callee="free"), "aarch64-unknown-linux-gnu"),
    "of RISC-V": lambda: assembled(CALLS.format(name=NAME, callee="free"), "riscv64-unknown-linux-gnu"),
    "of 32-bit ARM": lambda: assembled(
        CALLS.format(name=NAME, callee="free"), "armv7-unknown-linux-gnueabihf"
    ),
    "for Windows": lambda: assembled(CALLS.format(name=NAME, callee="free"), "x86_64-pc-windows-msvc"),
    "for macOS": lambda: assembled(CALLS.format(name=NAME, callee="free"), "x86_64-apple-darwin"),
    "of another machine by its header": lambda: changed(MACHINE, b"\xb7\0"),
    "of 32 bits by its header": lambda: changed(BITS32, b"\1"),
    "an executable by its header": lambda: changed(TYPE, b"\2\0"),
    "that needs what is not there": lambda: assembled(CALLS.format(name=NAME, callee="is_not_there")),
    "with another name": lambda: assembled(CALLS.format(name="other", callee="free")),
    "empty": lambda: b"",
    "text": lambda: b"int main() { return 0; }" * 20,
    "cut": lambda: compiled(SOURCE)[:100],
}


@pytest.mark.parametrize("odd", ODD)
def test_an_object_that_does_not_link_is_compiled_anew(cache: Path, odd: str) -> None:
    code = ODD[odd]()
    put(cache, code)
    ran(TOSAJIT_CACHE=str(cache))
    assert (cache / f"{NAME}.o").read_bytes() != code + objects._footer(code)
    ran(f"{RUN}\nimport sys; assert 'numba' not in sys.modules", TOSAJIT_CACHE=str(cache))


def test_an_object_that_does_not_link_harms_no_later_one(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_loaded", {})
    put(cache, ODD["that needs what is not there"]())
    for source in (SOURCE, EVIL, SOURCE + "\n"):
        assert objects.compile_kernel(source).address


FULL = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)){RUN}
"""


def test_a_full_disk_is_no_error_and_leaves_nothing(tmp_path: Path) -> None:
    """A limit of the system stands for the disk."""
    ran(FULL, TOSAJIT_CACHE=str(tmp_path / "cache"))
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [LOCKS]


def test_what_killed_processes_have_left_is_removed(cache: Path) -> None:
    put(cache, b"")
    now = time.time()
    for name, age in (("fresh", 0), ("old", 7200)):
        (cache / f".writing-{name}").write_bytes(b"part")
        os.utime(cache / f".writing-{name}", (now - age, now - age))
    ran(TOSAJIT_CACHE=str(cache))
    assert [path.name for path in cache.glob(".writing-*")] == [".writing-fresh"]


def left(path: Path, age: float = 7200) -> None:
    path.write_bytes(b"part")
    os.utime(path, (time.time() - age,) * 2)


def test_what_killed_processes_have_left_is_removed_if_the_disk_is_full(cache: Path) -> None:
    """Else it would stay there for ever, and the disk would be full."""
    put(cache, b"")
    left(cache / ".writing-old")
    ran(FULL, TOSAJIT_CACHE=str(cache))
    assert not [*cache.glob(".writing-*")]


def test_a_process_that_lives_long_removes_what_others_have_left_whenever_it_trims(cache: Path) -> None:
    for name in ("first", "second"):
        left(cache / f".writing-{name}")
        left(cache / ".writing-fresh", 0)
        trim(1 << 31)
        assert [path.name for path in cache.glob(".writing-*")] == [".writing-fresh"]


def test_a_link_among_what_is_left_is_as_old_as_itself_and_leads_nowhere(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for name, age in (("fresh", 0), ("old", 7200)):
        left(tmp_path / "other" / name, age)
        (cache / f".writing-{name}").symlink_to(tmp_path / "other" / name)
    long_ago = time.time() - 7200
    os.utime(cache / ".writing-fresh", (long_ago, long_ago), follow_symlinks=False)
    trim(1 << 31)
    assert [path.name for path in cache.glob(".writing-*")] == [".writing-old"]
    assert len([*(tmp_path / "other").iterdir()]) == 2


@pytest.mark.parametrize("spoil", SPOILING)
def test_nothing_is_removed_from_a_folder_that_others_can_write(
    cache: Path, spoil: Callable[[Path], str]
) -> None:
    left(cache / ".writing-old")
    spoil(cache)
    with pytest.warns(CacheWarning):
        trim(1 << 31)
    assert (cache / ".writing-old").exists()


@pytest.mark.parametrize("empty", [clear_cache, partial(trim, 0)])
def test_a_file_that_the_system_keeps_is_left_in_the_cache(
    empty: Callable[[], int | None], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows keeps what a process has as memory."""
    monkeypatch.setenv("TOSAJIT_CACHE", str(cache))
    kept, other = (cache / f"{digit * 32}.tjx" for digit in "ab")
    for path in (kept, other):
        path.write_bytes(b"12345")
    unlink, before = Path.unlink, len([*cache.glob("*.*")])

    def unlinked(path: Path, missing_ok: bool = False) -> None:
        if path == kept:
            raise PermissionError(13, "in use")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlinked)
    assert empty() in (before - 1, None)
    assert [path.name for path in cache.glob("*.tjx")] == [kept.name]


@pytest.mark.parametrize("empty", [clear_cache, partial(trim, 0)])
def test_a_folder_that_is_called_as_an_object_is_left_in_the_cache(
    empty: Callable[[], object], cache: Path
) -> None:
    odd, other = (cache / f"{digit * 32}.tjx" for digit in "ab")
    odd.mkdir()
    other.write_bytes(b"12345")
    empty()
    assert [path.name for path in cache.glob("*.tjx")] == [odd.name]


def test_files_that_others_delete_meanwhile_count_for_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = cache / f"{'0' * 32}.o"
    monkeypatch.setattr(kernels.cache, "_files", lambda: iter([gone]))
    assert cache_bytes() == 0
    assert [one.bytes for one in cached_objects()] == [0]


def test_the_cache_is_for_the_user_alone(tmp_path: Path) -> None:
    ran(f"import os; os.umask(0){RUN}", TOSAJIT_CACHE=str(tmp_path / "cache"))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "cache").iterdir()}
    assert (stat.S_IMODE((tmp_path / "cache").stat().st_mode), modes) == (0o700, {0o600})


HOMELESS = f"""
import os, pwd
import tosajit.cli.cache
from tosajit.cli import main
from tosajit.kernels.objects import compile_kernel
compile_kernel({EVIL!r})  # imports what can be reached as root only
for name in ("HOME", "TOSAJIT_CACHE"):
    del os.environ[name]
os.setuid(54321)
{RUN}
import contextlib, io
with contextlib.redirect_stdout(io.StringIO()) as said:
    assert main(["cache"]) == main(["cache", "clear"]) == main(["cache", "--json"]) == 0
assert "there is no home folder" in said.getvalue(), said.getvalue()
"""


@as_root
def test_a_user_without_a_home_has_no_cache_and_no_error(tmp_path: Path) -> None:
    assert "CacheWarning" not in ran(HOMELESS, XDG_CACHE_HOME="", TOSAJIT_CACHE=str(tmp_path))


@pytest.mark.parametrize("home", ["/proc/none", "/dev/null"])
def test_a_home_that_cannot_be_written_is_no_error(home: str) -> None:
    assert "CacheWarning" not in ran(HOME=home, XDG_CACHE_HOME="")


def test_a_relative_user_cache_is_not_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOSAJIT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "tosajit"
    monkeypatch.setenv("HOME", "here")
    assert cache_folder() is None


def test_the_command_says_why_there_is_no_cache(
    cache: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    cache.chmod(0o777)
    assert main(["cache"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"kernels are not cached: {cache}: it is writable by other users")
    assert main(["cache", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["folder"], found["kernels"]) == (str(cache), 0)
    assert found["fault"] in said
    assert main(["cache", "clear"]) == 0
    assert (cache / f"{NAME}.o").exists()
