"""Kernels for other machines: a chosen CPU's instructions alone, and objects of each system's form.

All kernels of a model are compiled for each CPU, which takes some seconds: any of them could be the one.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from crossing.cross import compile_for, kernel_texts
from crossing.judge import assembly, inner_loops

import tosajit as tj
from tests import models
from tosajit import ops
from tosajit.graph import Graph
from tosajit.kernels import cache, objects, threads
from tosajit.kernels.native import EXTERNAL, compile_object, llvm_text, target_machine
from tosajit.kernels.sets.cpus import Cpu, foreign
from tosajit.kernels.sets.registry import compiling_for, instruction_set

LINUX, WINDOWS = "x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc"
ARM_LINUX, ARM_DARWIN, ARM_WINDOWS = (
    "aarch64-unknown-linux-gnu",
    "arm64-apple-darwin",
    "aarch64-pc-windows-msvc",
)
MASKS, WIDE, VNNI = r"%k[0-7]|%[xy]mm(1[6-9]|2\d|3[01])\b", "%zmm", r"\bvpdp"
FORBIDDEN = {
    (LINUX, "haswell"): ("avx2", f"{MASKS}|{WIDE}|{VNNI}"),
    (LINUX, "alderlake"): ("avxvnni", f"{MASKS}|{WIDE}"),
    (LINUX, "x86-64-v2"): ("portable", "%[yz]mm"),
    (ARM_LINUX, "cortex-a72"): ("neon", r"\t([su]dot|[su]mmla|bfdot|bfmmla|fmlal|ldadd|swpal|casal)\b"),
}
"""The set of a CPU, and what its machine code may not have."""


@pytest.fixture(scope="module", autouse=True)
def every_target() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


@pytest.fixture(scope="module")
def graph() -> Graph:
    return tj.load(models.folder("ds_cnn") / "model.tosa")


def assemblies(graph: Graph, cpu: Cpu) -> Iterator[str]:
    """The machine code of all kernels of a graph."""
    for text in dict.fromkeys(kernel_texts(graph, cpu)):
        with compiling_for(cpu):
            yield str(target_machine().emit_assembly(llvm.parse_assembly(llvm_text(text))))


@pytest.mark.parametrize(("triple", "name"), FORBIDDEN)
def test_no_instruction_of_another_cpu_slips_through(triple: str, name: str, graph: Graph) -> None:
    cpu, (library, forbidden) = foreign(triple, name), FORBIDDEN[triple, name]
    with compiling_for(cpu):
        isa = instruction_set()
        assert isa is not None
        assert isa.name == library
    found = list(assemblies(graph, cpu))
    assert len(found) > 5
    for text in found:
        code = "\n".join(line for line in text.splitlines() if not re.match(r"\s*[.#/]", line))
        assert not re.search(forbidden, code)


@pytest.mark.parametrize(("name", "instruction"), [("neoverse-n1", "sdot"), ("neoverse-v1", "smmla")])
def test_tiles_of_int8_are_multiplied_by_the_widest_products(name: str, instruction: str) -> None:
    code = assembly("tile_i8", foreign(ARM_LINUX, name))
    assert set(re.findall(r"\t(sdot|smmla|smull)\t", code)) == {instruction}


@pytest.mark.parametrize(
    ("procedure", "name", "instructions"),
    [
        ("tile_i16", "neoverse-n1", {"smlal", "smlal2"}),
        ("depthwise_i16", "apple-m1", {"smlal", "smlal2"}),
        ("depthwise_i8", "cortex-a72", {"smull", "smull2", "smlal", "smlal2", "sadalp"}),
    ],
)
def test_sums_of_pairs_change_no_places_in_inner_loops(
    procedure: str, name: str, instructions: set[str]
) -> None:
    loops = [" ".join(lines) for lines in inner_loops(assembly(procedure, foreign(ARM_LINUX, name)))]
    found = [set(re.findall(r"\t(sm(?:ull|lal)2?|[su]adalp|[su]?addl?p)\t", loop)) for loop in loops]
    assert instructions in found
    assert all(one <= instructions for one in found)


@pytest.mark.parametrize("procedure", ["depthwise_i8", "depthwise_rescale_i8", "depthwise_f32"])
def test_depthwise_taps_side_by_side_share_what_is_loaded(procedure: str) -> None:
    loops = list(inner_loops(assembly(procedure, foreign(ARM_LINUX, "neoverse-n1"))))
    counts = [Counter(line.split()[0] for line in lines) for lines in loops]
    found = {(one["sdot"] + one["fmla"], one["ldp"]) for one in counts}
    assert (2 * 3 * 8, 3 + 10) in found
    assert ((2 * 5 * 8, 5 + 12) in found) == ((2 * 3 * 8, 3 + 17) in found) == (procedure != "depthwise_f32")


def test_tiles_of_bfloat16_are_multiplied_by_pairs_of_rows() -> None:
    cpu = foreign(ARM_LINUX, "neoverse-v1")
    assert set(re.findall(r"\t(bf\w+|fmla)\t", assembly("tile_bf16", cpu))) == {"bfmmla"}
    assert "bfmmla" not in assembly("tile_small_bf16", cpu)


@pytest.mark.parametrize(("operator", "instruction"), [
    (ops.add, "fadd"), (ops.mul, "fmul"), (ops.sub, "fsub"), (ops.greater, "fcmgt"),
])  # fmt: skip
def test_elementwise_float16_is_computed_as_it_is(
    operator: Callable[[Any, Any], Any], instruction: str
) -> None:
    x = np.zeros(4096, np.float16)
    codes = [*assemblies(tj.trace(operator, x, x), foreign(ARM_LINUX, "neoverse-n1"))]
    found = [lines for code in codes for lines in inner_loops(code) if instruction in " ".join(lines)]
    assert any(re.search(rf"\t{instruction}\tv\d+\.8h", " ".join(lines)) for lines in found)
    assert not any("fcvt" in line for lines in found for line in lines)


def header(code: bytes) -> str:
    """What an object is: its form and its machine."""
    if code.startswith(b"\x7fELF"):
        return f"ELF {struct.unpack_from('<H', code, 18)[0]}"
    if code.startswith(b"\xcf\xfa\xed\xfe"):
        return f"Mach-O {struct.unpack_from('<I', code, 4)[0]:x}"
    return f"COFF {struct.unpack_from('<H', code)[0]:x}"


@pytest.mark.parametrize(
    ("triple", "name", "form"),
    [
        (LINUX, "haswell", "ELF 62"),
        (ARM_LINUX, "neoverse-n1", "ELF 183"),
        (ARM_DARWIN, "apple-m1", "Mach-O 100000c"),
        ("x86_64-apple-darwin", "haswell", "Mach-O 1000007"),
        (WINDOWS, "haswell", "COFF 8664"),
        (ARM_WINDOWS, "neoverse-n1", "COFF aa64"),
    ],
)
def test_objects_have_the_form_of_their_system(triple: str, name: str, form: str) -> None:
    cpu = foreign(triple, name)
    with compiling_for(cpu):
        code = compile_object(threads.SOURCE, Path("threads.py"), "kernel_threads")
    assert header(code) == form
    assert objects.is_object_for(code, triple)
    others = {LINUX, ARM_LINUX, ARM_DARWIN, WINDOWS, ARM_WINDOWS} - {triple}
    assert not any(objects.is_object_for(code, other) for other in others)
    resting = b"SwitchToThread" if "windows" in triple else b"usleep"
    assert resting in code
    assert resting.decode() in EXTERNAL
    assert b"kernel_threads" in code


COPIES = {"memcpy", "memset"}


@pytest.mark.parametrize(
    ("triple", "name", "there"),
    [
        (ARM_DARWIN, "apple-m1", COPIES | {"bzero", "usleep"}),
        (WINDOWS, "haswell", COPIES | {"SwitchToThread", "__chkstk"}),
    ],
)
def test_kernels_call_what_their_system_has(triple: str, name: str, there: set[str], graph: Graph) -> None:
    found = called(graph, foreign(triple, name))
    assert found <= there
    assert "memcpy" in found


def called(graph: Graph, cpu: Cpu) -> set[str]:
    """The functions that the kernels of a graph call, beside their own."""
    found: set[str] = set()
    for text in assemblies(graph, cpu):
        own = set(re.findall(r'^"?([\w$]+)"?:', text, re.MULTILINE))
        found |= set(re.findall(r'^\t(?:bl?|callq|jmp)\t"?([a-zA-Z_][\w$]+)', text, re.MULTILINE)) - own
    return {one.removeprefix("_" * ("darwin" in cpu.triple)) for one in found}


@pytest.mark.parametrize(
    ("triple", "name"),
    [(ARM_DARWIN, "apple-m1"), (ARM_WINDOWS, "neoverse-n1"), (ARM_LINUX, "cortex-a72"), (WINDOWS, "haswell")],
)
def test_conversions_and_tables_need_no_functions(triple: str, name: str) -> None:
    half, table = np.zeros((1, 1, 2, 8), np.float16), np.arange(-128, 128).astype(np.int8)
    weights = np.ones((5, 1, 1, 8), np.float16)
    graphs = [
        tj.trace(lambda x: ops.conv2d(x, weights, np.zeros(5, np.float16)), half),
        tj.trace(lambda x: ops.table(x, table), table),
        tj.trace(lambda x: ops.exp(x), half),
    ]
    for graph in graphs:
        assert called(graph, foreign(triple, name)) <= COPIES | {
            "bzero",
            "usleep",
            "SwitchToThread",
            "__chkstk",
        }


@pytest.mark.parametrize(
    ("triple", "name", "hint"), [(LINUX, "haswell", "pause"), (ARM_LINUX, "cortex-a72", "yield")]
)
def test_waiting_threads_tell_the_core_that_they_wait(triple: str, name: str, hint: str) -> None:
    with compiling_for(foreign(triple, name)):
        text = str(target_machine().emit_assembly(llvm.parse_assembly(llvm_text(threads.SOURCE))))
    assert re.search(rf"^\t{hint}$", text, re.MULTILINE)


def test_what_is_compiled_for_another_machine_is_found_there(tmp_path: Path, graph: Graph) -> None:
    """The names of kernels are those that the other machine looks for."""
    cpu = foreign(ARM_LINUX, "neoverse-n1")
    texts = set(kernel_texts(graph, cpu))
    assert compile_for(graph, cpu, tmp_path) == len(texts)
    assert compile_for(graph, cpu, tmp_path) == 0
    with compiling_for(cpu):
        names = {f"{objects.digest(text)}.o" for text in texts}
    assert {path.name for path in tmp_path.glob("*.o")} == names
    assert not any(cache.has(name) for name in names)


def test_an_inner_loop_is_what_has_no_other_inside() -> None:
    text = ".L1:\n\tadd\tx0, x0, x1\n.L2:\n\tsdot\tv0.4s, v1.16b, v2.4b[0]\n\tb.ne\t.L2\n\tcbnz\tx2, .L1\n"
    assert [list(loop) for loop in inner_loops(text)] == [["\tsdot\tv0.4s, v1.16b, v2.4b[0]", "\tb.ne\t.L2"]]
