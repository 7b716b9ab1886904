"""The micro-benchmark of a core's peaks: a loop of products that touches no memory.

Of bytes it is the widest exact dot product that the chosen CPU and set have (`TOSAJIT_CPU`), of floats the
widest fused multiplication.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tosajit.kernels.sets.registry import cpu, instruction_set

ITERATIONS = 60_000
CHAINS = 12  # independent accumulators: the instruction's latency times its throughput; registers for no more

IR = """
declare {vector} @{name}({operand}, {operand}, {operand})

define i32 @peak(i64 %n, i32 %seed) {{
entry:
  %one = insertelement <{lanes} x i32> undef, i32 %seed, i32 0
  %words = shufflevector <{lanes} x i32> %one, <{lanes} x i32> undef, <{lanes} x i32> zeroinitializer
  %v = bitcast <{lanes} x i32> %words to {operand}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}
{products}
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
{sum}
  %total = bitcast {vector} %s{last} to <{lanes} x i32>
  %r = extractelement <{lanes} x i32> %total, i32 0
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


def build_peak(kind: str = "bytes") -> PeakLoop:
    """Compile the loop with the widest dot product of bytes, or of "floats" the widest FMA."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    chosen = cpu()
    features, isa = chosen.features, instruction_set()
    most, dots = (isa.lanes, isa.byte_dots) if isa else (16, True)
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=chosen.name, features=chosen.switches, opt=2
    )
    if kind == "floats":
        lanes = min(most, 16 if "avx512f" in features else 8 if "fma" in features else 4)
        texts, name, macs = [_fused(lanes)], f"fma of {lanes} floats", lanes
    elif not dots or {"avx512vnni", "avxvnni"}.isdisjoint(features):
        lanes = min(most, 16 if "avx512bw" in features else 8 if "avx2" in features else 0)
        if not lanes:
            raise RuntimeError(f"{chosen.name} multiplies no vectors of 256 bits")
        texts, name, macs = [_pairs(lanes)], f"vpmaddwd {'zmm' if lanes == 16 else 'ymm'}", 2 * lanes
    else:
        lanes = min(most, 16 if "avx512vnni" in features else 8)
        # LLVM 22 takes the operands of the instruction as bytes, older ones as words.
        texts = [_dots(lanes, f"<{lanes * 4} x i8>"), _dots(lanes, f"<{lanes} x i32>")]
        name, macs = f"vpdpbusd {'zmm' if lanes == 16 else 'ymm'}", 4 * lanes
    engine = llvm.create_mcjit_compiler(_module(llvm, texts), machine)
    engine.finalize_object()
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, ctypes.c_int32)(
        engine.get_function_address("peak")
    )
    return PeakLoop(name, ITERATIONS * CHAINS * macs, lambda: function(ITERATIONS, 0x01020304), engine)


def _module(llvm: object, texts: Sequence[str]) -> object:
    """The module of the first text that this LLVM takes."""
    binding: object = llvm
    error: Exception | None = None
    for text in texts:
        try:
            module = binding.parse_assembly(text)  # type: ignore[attr-defined]
            module.verify()
        except RuntimeError as reason:
            error = reason
        else:
            return module
    raise RuntimeError(f"the micro-benchmark does not compile: {error}")


def _dots(lanes: int, operand: str) -> str:
    """The loop of dot products of bytes."""
    vector, name = f"<{lanes} x i32>", f"llvm.x86.avx512.vpdpbusd.{lanes * 32}"
    product = f"call {vector} @{name}({vector} %a{{k}}, {operand} %v, {operand} %v)"
    text = _text(lanes, vector, operand, name, "add", product)
    declared = f"@{name}({operand}, {operand}, {operand})"
    return text.replace(declared, f"@{name}({vector}, {operand}, {operand})")


def _pairs(lanes: int) -> str:
    """The loop of products of int16, added in pairs and then to words."""
    vector, operand = f"<{lanes} x i32>", f"<{2 * lanes} x i16>"
    name = "llvm.x86.avx512.pmaddw.d.512" if lanes == 16 else "llvm.x86.avx2.pmadd.wd"
    # A multiplicand that changes: products that are the same in each round would be taken out of the loop.
    product = (
        f"bitcast {vector} %a{{k}} to {operand}\n"
        f"  %p{{k}} = call {vector} @{name}({operand} %q{{k}}, {operand} %v)\n"
        f"  %b{{k}} = add {vector} %a{{k}}, %p{{k}}"
    )
    text = _text(lanes, vector, operand, name, "add", product)
    text = re.sub(r"%b(\d+) = bitcast", r"%q\1 = bitcast", text)
    return text.replace(f"@{name}({operand}, {operand}, {operand})", f"@{name}({operand}, {operand})")


def _fused(lanes: int) -> str:
    """The loop of multiplications with an addition."""
    vector, name = f"<{lanes} x float>", f"llvm.fma.v{lanes}f32"
    product = f"call {vector} @{name}({vector} %v, {vector} %v, {vector} %a{{k}})"
    return _text(lanes, vector, vector, name, "fadd", product)


def _text(lanes: int, vector: str, operand: str, name: str, add: str, product: str) -> str:
    """The loop's LLVM text."""
    chains = range(CHAINS)
    phis = [f"  %a{k} = phi {vector} [ zeroinitializer, %entry ], [ %b{k}, %loop ]" for k in chains]
    products = [f"  %b{k} = {product.format(k=k)}" for k in chains]
    total = [f"  %s{k} = {add} {vector} %{f's{k - 1}' if k > 1 else 'b0'}, %b{k}" for k in chains if k]
    lines = {"phis": phis, "products": products, "sum": total}
    joined = {key: "\n".join(value) for key, value in lines.items()}
    return IR.format(lanes=lanes, vector=vector, operand=operand, name=name, last=CHAINS - 1, **joined)
