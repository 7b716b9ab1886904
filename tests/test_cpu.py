"""`TOSAJIT_CPU` picks the CPU and the instruction set that kernels are for, and nothing slips through."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import replace

import llvmlite.binding as llvm
import numpy as np
import pytest

import tosajit as tj
from tosajit import ops
from tosajit.errors import CompileError
from tosajit.kernels import objects, plain
from tosajit.kernels.contract.blocking import set_for
from tosajit.kernels.contract.geometry import Geometry
from tosajit.kernels.contract.source import contract_source, gather_source, tile_source
from tosajit.kernels.contract.spec import ContractSpec, Epilogue
from tosajit.kernels.native import llvm_text, target_machine
from tosajit.kernels.sets import arm, cpus
from tosajit.kernels.sets.amx import amx
from tosajit.kernels.sets.cpus import foreign, host, known, named
from tosajit.kernels.sets.machine import Machine
from tosajit.kernels.sets.registry import SETS, available_sets, compiling_for, cpu, instruction_set

X86 = pytest.mark.skipif(host().architecture != "x86_64", reason="the CPUs with names here are x86-64")
SUMS = """
from tosajit.kernels.intrinsics import *

def kernel(args):
    source, target = load_i64(args, 0), load_i64(args, 1)
    for i in range(load_i64(args, 2)):
        store_f32(target, i, load_f32(source, i) * load_f32(source, i) + load_f32(target, i))
"""


def runs(name: str) -> bool:
    return known().get(name, frozenset("?")) <= host().features


def test_the_best_set_of_this_machine_is_chosen_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TOSAJIT_CPU", raising=False)
    chosen = instruction_set()
    assert cpu() == host()
    assert chosen is not None
    assert chosen.name == available_sets()[0]
    for name in available_sets():
        monkeypatch.setenv("TOSAJIT_CPU", name)
        chosen = instruction_set()
        assert chosen is not None
        assert (chosen.name, cpu()) == (name, host())
    monkeypatch.setenv("TOSAJIT_CPU", "none")
    assert instruction_set() is None


@X86
def test_a_cpu_by_name_has_the_features_of_its_kind_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", "x86-64-v2")
    chosen = instruction_set()
    assert chosen is not None
    assert (chosen.name, available_sets()) == ("portable", ("portable",))
    assert "+sse4.2" in cpu().switches
    assert "-avx2" in cpu().switches
    assert not plain.fuses()


@X86
@pytest.mark.skipif(not runs("haswell"), reason="this machine has no AVX2")
def test_machine_code_is_for_the_chosen_cpu_and_named_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assemblies, names = {}, set()
    for choice in ("x86-64", "haswell", "haswell,-fma"):
        monkeypatch.setenv("TOSAJIT_CPU", choice)
        module = target_machine()
        assemblies[choice] = str(module.emit_assembly(parsed(llvm_text(SUMS))))
        names.add(objects.digest(SUMS))
    assert len(names) == len(assemblies)
    assert "ymm" not in assemblies["x86-64"]
    assert "ymm" in assemblies["haswell"]
    assert not any("zmm" in text for text in assemblies.values())


@X86
@pytest.mark.parametrize("name", ["skylake-avx512", "icelake-server", "sapphirerapids", "znver4"])
def test_loops_take_the_whole_registers_of_avx512(name: str) -> None:
    """LLVM halves those of Intel by itself, while the array kernels use whole ones anyway."""
    with compiling_for(foreign(host().triple, name)):
        assert "zmm" in str(target_machine().emit_assembly(parsed(llvm_text(SUMS))))


def parsed(text: str) -> llvm.ModuleRef:
    return llvm.parse_assembly(text)


@X86
@pytest.mark.skipif(not runs("haswell"), reason="this machine has no AVX2")
def test_features_are_added_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", " -fma , haswell ,+adx")
    assert cpu().features == (known()["haswell"] | {"adx"}) - {"fma"}
    assert cpu().name == "haswell"


@pytest.mark.parametrize(
    ("choice", "fault"),
    [
        (
            "hasswell",
            "TOSAJIT_CPU: no CPU or instruction set is named 'hasswell'; there are amx, avx512, avxvnni",
        ),
        ("portable,none", "TOSAJIT_CPU: portable,none names more than one set"),
        ("native,+avx99", r"TOSAJIT_CPU: \+avx99 names no feature .*; there are "),
        ("native,-avx99", "TOSAJIT_CPU: -avx99 names no feature"),
        ("native,+", r"TOSAJIT_CPU: \+ names no feature"),
    ],
)
def test_what_cannot_be_is_told_by_name(choice: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", choice)
    x = np.arange(3, dtype=np.int32)
    with pytest.raises(CompileError, match=fault):
        tj.compile(tj.trace(lambda x: ops.add(x, x), x))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is asked for the registers of AMX")
def test_amx_is_not_of_a_process_that_may_not_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def syscall(self, *numbers: int) -> int:
            asked.append(numbers)
            return -1

    asked: list[tuple[int, ...]] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Refusing())
    features = dict.fromkeys(known()["native"] | cpus.AMX, True)
    monkeypatch.setattr(cpus, "machine", lambda: Machine("x86_64-unknown-linux-gnu", "znver4", features))
    found = host.__wrapped__()
    assert asked == [(158, 0x1023, 18)]
    assert not found.features & cpus.AMX
    assert "-amx-tile" in found.switches
    assert amx(found.features) is None


@pytest.mark.skipif(amx(known()["native"]) is None, reason="this machine has no AMX that it lets us use")
def test_small_matrices_are_left_to_vectors() -> None:
    isa = amx(host().features)
    assert isa is not None
    assert isa.matrices is not None
    image, row = (
        Geometry((1, 1, 28, 28), (1, 1, 28, 28), 128, 128),
        Geometry((1, 1, 1, 1), (1, 1, 1, 1), 640, 128),
    )
    words = replace(image, element_bytes=2)
    assert set_for(isa, image, depthwise=False) is isa
    for shape in (image, Geometry((1, 1, 7, 7), (1, 1, 7, 7), 32, 64)):
        pairs = set_for(isa, replace(shape, element_bytes=2, floating=True), depthwise=False)
        assert pairs is (isa if "bf16" in isa.matrices.kinds else isa.matrices.vectors)
    few = Geometry((1, 1, 4, 4), (1, 1, 4, 4), 64, 32)
    shallow = Geometry((1, 1, 28, 28), (1, 1, 28, 28), 24, 144)
    choices = ((image, True), (words, False), (row, False), (few, False), (shallow, False))
    for shape, depthwise in choices:
        assert set_for(isa, shape, depthwise) is isa.matrices.vectors


@X86
def test_a_set_that_its_cpu_lacks_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", "x86-64,avx512")
    with pytest.raises(CompileError, match="TOSAJIT_CPU: x86-64 does not have the instructions of avx512"):
        instruction_set()


@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "arm64-apple-darwin"])
def test_arm_kernels_are_compiled_on_any_machine(triple: str) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    found = {}
    for name in ("cortex-a72", "neoverse-n1"):
        with compiling_for(foreign(triple, name)):
            isa = instruction_set()
            assert isa is not None
            assert isa.name == "neon"
            module = parsed(llvm_text(tile_source(ContractSpec(isa, "convolution"))))
            assert module.triple == triple
            found[name] = str(target_machine().emit_assembly(module))
    assert "sdot" in found["neoverse-n1"]
    assert "sdot" not in found["cortex-a72"]
    assert "smull" in found["cortex-a72"]


def test_features_of_arm_are_read_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that says nothing has NEON, which every 64-bit Arm has."""
    monkeypatch.setattr(arm, "_READERS", {sys.platform: lambda: ["dotprod"]})
    assert arm.features() == {"neon", "dotprod"}
    monkeypatch.setattr(arm, "_READERS", {})
    assert arm.features() == {"neon"}


def test_every_set_says_its_name() -> None:
    everything = frozenset().union(*named("x86_64").values(), *named("aarch64").values())
    made = {name: of(everything) for name, of in SETS.items()}
    assert {name: chosen and chosen.name for name, chosen in made.items() if chosen} == {n: n for n in made}


@X86
@pytest.mark.skipif(not runs("haswell"), reason="this machine has no AVX2")
def test_array_kernels_for_another_cpu_keep_within_its_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSAJIT_CPU", "haswell")
    isa = instruction_set()
    assert isa is not None
    assert isa.name == "avx2"
    spec = ContractSpec(isa, "convolution")
    for source in (tile_source(spec), gather_source(isa), contract_source(spec, Epilogue(rescale=True))):
        assembly = str(target_machine().emit_assembly(parsed(llvm_text(source))))
        assert "zmm" not in assembly
        assert "%k1" not in assembly
    assert "vpmaddwd" in str(target_machine().emit_assembly(parsed(llvm_text(tile_source(spec)))))
