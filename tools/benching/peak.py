"""The micro-benchmark of a core's int8 peak: a loop of dot-product instructions that touches no memory."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable
from dataclasses import dataclass

ITERATIONS = 60_000
CHAINS = 16  # independent accumulators: the instruction's latency times its throughput, and some

IR = """
declare <{lanes} x i32> @{name}(<{lanes} x i32>, {operand}, {operand})

define i32 @peak(i64 %n, i32 %seed) {{
entry:
  %one = insertelement <{lanes} x i32> undef, i32 %seed, i32 0
  %words = shufflevector <{lanes} x i32> %one, <{lanes} x i32> undef, <{lanes} x i32> zeroinitializer
  %v = bitcast <{lanes} x i32> %words to {operand}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}
{dots}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
{sum}
  %r = extractelement <{lanes} x i32> %s{last}, i32 0
  ret i32 %r
}}
"""


@dataclass(frozen=True, slots=True)
class PeakLoop:
    """The compiled loop: the instruction, multiplications and additions in a call, the call."""

    instruction: str
    macs: int
    call: Callable[[], object]
    keep: object


def build_peak() -> PeakLoop:
    """Compile the loop with the widest byte dot product of this CPU (VNNI)."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    lanes = 16 if features.get("avx512vnni") else 8 if features.get("avxvnni") else 0
    if not lanes:
        raise RuntimeError(f"{platform.processor() or platform.machine()} has no VNNI")
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=2
    )
    engine = llvm.create_mcjit_compiler(_module(llvm, lanes), machine)
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int32)(
        engine.get_function_address("peak")
    )
    name = "vpdpbusd zmm" if lanes == 16 else "vpdpbusd ymm"
    return PeakLoop(name, ITERATIONS * CHAINS * lanes * 4, lambda: function(ITERATIONS, 0x01020304), engine)


def _module(llvm: object, lanes: int) -> object:
    """The module; LLVM 22 takes the operands of the instruction as bytes, older ones as words."""
    binding: object = llvm
    error: Exception | None = None
    for operand in (f"<{lanes * 4} x i8>", f"<{lanes} x i32>"):
        try:
            module = binding.parse_assembly(_text(lanes, operand))  # type: ignore[attr-defined]
            module.verify()
        except RuntimeError as reason:
            error = reason
        else:
            return module
    raise RuntimeError(f"the micro-benchmark does not compile: {error}")


def _text(lanes: int, operand: str) -> str:
    """The loop's LLVM text."""
    vector, name = f"<{lanes} x i32>", f"llvm.x86.avx512.vpdpbusd.{lanes * 32}"
    chains = range(CHAINS)
    phis = [f"  %a{k} = phi {vector} [ zeroinitializer, %entry ], [ %b{k}, %loop ]" for k in chains]
    dots = [f"  %b{k} = call {vector} @{name}({vector} %a{k}, {operand} %v, {operand} %v)" for k in chains]
    total = [f"  %s{k} = add {vector} %{f's{k - 1}' if k > 1 else 'b0'}, %b{k}" for k in chains if k]
    lines = {"phis": phis, "dots": dots, "sum": total}
    joined = {key: "\n".join(value) for key, value in lines.items()}
    return IR.format(lanes=lanes, operand=operand, name=name, last=CHAINS - 1, **joined)
