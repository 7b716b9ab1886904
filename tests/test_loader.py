"""Objects are put into memory without LLVM, and this machine is known without it."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from tosajit.kernels import loader, shipped
from tosajit.kernels.native import target_machine
from tosajit.kernels.objects import compile_kernel
from tosajit.kernels.relocations import FORMS
from tosajit.kernels.sets import machine
from tosajit.kernels.sets.cpus import foreign
from tosajit.kernels.sets.machine import Machine
from tosajit.kernels.sets.registry import compiling_for

pytestmark = pytest.mark.skipif(loader.FORM is None, reason="this system's objects are left to LLVM")
TABLE = "private constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5]"
LISTED = (
    f"@table = {TABLE}"
    """
declare double @sqrt(double)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define private i64 @twice(i64 %value) noinline {
  %sum = add i64 %value, %value
  ret i64 %sum
}
define void @entry(i64 %address) {
  %arguments = inttoptr i64 %address to ptr
  %first = load i64, ptr %arguments
  %place = getelementptr double, ptr @table, i64 %first
  %found = load double, ptr %place
  %root = call double @sqrt(double %found)
  %second = getelementptr i64, ptr %arguments, i64 1
  store double %root, ptr %second
  %third = getelementptr i64, ptr %arguments, i64 2
  %double = call i64 @twice(i64 %first)
  store i64 %double, ptr %third
  %fourth = getelementptr i64, ptr %arguments, i64 3
  call void @llvm.memset.p0.i64(ptr %fourth, i8 1, i64 %double, i1 false)
  ret void
}
"""
)
EMPTY = "define void @entry(i64 %address) {\n  ret void\n}\n"
ONLY_LLVM: dict[str, Callable[[], bytes]] = {
    "data that are written": lambda: built("@data = global i64 1\n" + EMPTY),
    "data of a thread": lambda: built("@data = thread_local global i64 1\n" + EMPTY),
    "zeros": lambda: built("@data = global [9 x i64] zeroinitializer\n" + EMPTY),
    "data of others": lambda: built(LISTED.replace(TABLE, "external global [4 x double]")),
    "a function that is not there": lambda: built(LISTED.replace("@sqrt", "@is_not_there")),
    "another name": lambda: built(EMPTY.replace("entry", "exit")),
    "no object": lambda: b"\x7fELF",
}  # fmt: skip


def built(text: str) -> bytes:
    return bytes(target_machine().emit_object(llvm.parse_assembly(text)))


def called(address: int, *numbers: int) -> list[int]:
    words = (ctypes.c_int64 * 8)(*numbers)
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(address)(ctypes.addressof(words))
    return list(words)


def by_llvm(code: bytes, symbol: str) -> int:
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(symbol)
    kept.append(builder.link(llvm.create_lljit_compiler(), "test"))
    return int(kept[-1][symbol])


kept: list[llvm.ResourceTracker] = []


@pytest.mark.parametrize("number", [0, 3])
def test_code_calls_functions_and_reads_constants_as_linked_by_llvm(number: int) -> None:
    code = built(LISTED)
    address = loader.load(code, "entry")
    assert address is not None
    assert called(address, number) == called(by_llvm(code, "entry"), number)
    assert called(address, number)[2] == 2 * number


@pytest.mark.parametrize("fault", ONLY_LLVM)
def test_what_only_llvm_knows_is_left_to_it(fault: str) -> None:
    assert loader.load(ONLY_LLVM[fault](), "entry") is None


OTHERS = (
    "x86_64-apple-darwin arm64-apple-darwin x86_64-pc-windows-msvc aarch64-pc-windows-msvc "
    "riscv64-unknown-linux-gnu aarch64_be-unknown-linux-gnu"
).split()


@pytest.mark.parametrize("triple", OTHERS)
@pytest.mark.parametrize("form", FORMS)
def test_objects_of_other_systems_are_refused(triple: str, form: str) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine()
    code = bytes(machine.emit_object(llvm.parse_assembly(LISTED)))
    with pytest.raises(loader._Unknown, match=f"is no object of machine {FORMS[form].machine}"):
        loader.linked(code, "entry", FORMS[form])


def linked_for_arm(text: str) -> tuple[bytearray, int]:
    """A module as it is in the memory of a 64-bit Arm, and where its entry is."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    with compiling_for(foreign("aarch64-unknown-linux-gnu", "cortex-a72")):
        code = bytes(target_machine().emit_object(llvm.parse_assembly(text)))
    return loader.linked(code, "entry", FORMS["aarch64"])


def signed(word: int, low: int, size: int) -> int:
    """A field of an instruction, as a signed number."""
    field = word >> low & (1 << size) - 1
    return field - (field >> size - 1 << size)


def test_branches_of_arm_reach_functions_of_the_object_and_jumps_to_those_of_c() -> None:
    image, entry = linked_for_arm(LISTED)
    words = struct.unpack(f"<{len(image) // 4}I", image)
    jumps = [place for place in range(len(words)) if words[place : place + 2] == (0x58000050, 0xD61F0200)]
    addresses = {place + further for place in jumps for further in (2, 3)}
    code = [place for place in range(entry // 4, len(words)) if place not in addresses]
    calls = [place for place in code if words[place] >> 26 == 0b100101]
    reached = [place + signed(words[place], 0, 26) for place in calls]
    far = [place for place in reached if place in jumps]
    found = {words[place + 2] | words[place + 3] << 32 for place in far}
    library = ctypes.CDLL(None)
    pointers = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in ("sqrt", "memset")]
    assert found == set(pointers)
    assert len(reached) == 3


def test_arm_code_finds_constants_by_their_page_and_their_place_in_it() -> None:
    loads = EMPTY.replace(
        "  ret",
        "  %p = inttoptr i64 %address to ptr\n  store <4 x i32> <i32 3, i32 5, i32 7, i32 9>, ptr %p\n  ret",
    )
    image, entry = linked_for_arm(loads)
    words = struct.unpack(f"<{len(image) // 4}I", image)
    (page,) = (place for place in range(entry // 4, len(words)) if words[place] & 0x9F000000 == 0x90000000)
    pages = signed(words[page], 5, 19) << 2 | words[page] >> 29 & 3
    (load,) = (word for word in words if word & 0xFFC00000 == 0x3DC00000)
    start = ((page * 4 >> 12) + pages << 12) + (load >> 10 & 0xFFF) * 16
    assert struct.unpack_from("<4i", image, start) == (3, 5, 7, 9)


def test_a_part_of_an_object_is_none() -> None:
    code = built(LISTED)
    for size in range(0, len(code), 7):
        assert loader.load(code[:size], "entry") is None


def test_code_cannot_be_written() -> None:
    address = loader.executable(b"\xc3" * 5000)
    rights = {
        line.split()[1]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if int(line.split("-")[0], 16) <= address < int(line.split("-")[1].split()[0], 16)
    }
    assert rights == {"r-xp"}


SOURCE = """
from tosajit.kernels.intrinsics import load_i64, store_i64


def kernel(args):
    store_i64(args, 1, load_i64(args, 0) * 2)
"""
NEW = f"""
import sys
from tosajit.kernels.objects import compile_kernel
kernel = compile_kernel({SOURCE!r})
print(sorted({{"numba", "llvmlite"}} & set(sys.modules)))
"""


def imported(cache: Path) -> str:
    """What of the compiler a new process imports, to load a kernel."""
    environment = {**os.environ, "TOSAJIT_CACHE": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", NEW], env=environment, capture_output=True, text=True, check=True, timeout=200
    ).stdout.strip()


def test_a_kernel_of_the_cache_is_loaded_without_llvm(tmp_path: Path) -> None:
    assert imported(tmp_path) == "['llvmlite', 'numba']"
    assert imported(tmp_path) == "[]"


def test_kernels_are_linked_by_llvm_where_no_other_code_may_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "FORM", None)
    kernel = compile_kernel(SOURCE.replace("* 2", "* 5077"))
    assert called(kernel.address, 3)[:2] == [3, 3 * 5077]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What LLVM is asked, with an empty cache."""
    monkeypatch.setenv("TOSAJIT_CACHE", str(tmp_path))
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "none")
    made: list[str] = []

    def ask() -> Machine:
        made.append("asked")
        return Machine("x86_64-unknown-linux-gnu", "znver9", {"avx2": True, "amx-tile": False})

    monkeypatch.setattr(machine, "_asked", ask)
    return made


def found() -> Machine:
    return machine.machine.__wrapped__()


def test_what_llvm_says_of_this_machine_is_remembered(asked: list[str]) -> None:
    assert found() == found()
    assert found().switches == "-amx-tile,+avx2"
    assert asked == ["asked"]


def test_a_damaged_memory_is_no_memory(asked: list[str], tmp_path: Path) -> None:
    found()
    (path,) = tmp_path.glob("*.cpu")
    path.write_bytes(path.read_bytes().replace(b"true", b"fals"))
    assert found().features["avx2"]
    assert len(asked) == 2


def test_another_cpu_or_other_versions_are_asked_anew(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found()
    monkeypatch.setattr(machine, "_registers", lambda: [(1, 2, 3, 4)])
    found()
    monkeypatch.setattr(machine, "compiler", lambda: b"newer")
    found()
    assert len(asked) == 3


def test_the_package_may_know_the_machine(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found()
    (path,) = tmp_path.glob("*.cpu")
    shelf = tmp_path / "compiled" / "native"
    shelf.mkdir(parents=True)
    path.rename(shelf / path.name)
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "compiled")
    found()
    assert asked == ["asked"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to a core")
def test_all_cores_say_the_same() -> None:
    cores = os.sched_getaffinity(0)
    try:
        told = {json.dumps(_on(core)) for core in cores}
    finally:
        os.sched_setaffinity(0, cores)
    assert len(told) == 1


def _on(core: int) -> list[tuple[int, ...]]:
    os.sched_setaffinity(0, {core})
    return machine._registers()


def test_llvm_says_what_it_said() -> None:
    """The machine that is remembered in the cache of the tests is this one."""
    assert machine.machine() == machine._asked()
