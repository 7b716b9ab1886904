"""A small vocabulary for writing vector code in LLVM's language, and turning it into Numba intrinsics."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
VOID = ir.VoidType()
Builder: TypeAlias = Any
Value: TypeAlias = Any


def vector(element: Any, lanes: int) -> Any:
    """Return the type of `lanes` elements."""
    return ir.VectorType(element, lanes)


W16, B64, H32, Q8 = vector(I32, 16), vector(I8, 64), vector(I16, 32), vector(I64, 8)
F16 = vector(ir.FloatType(), 16)
"""A 512-bit register as words, bytes, half words, quad words and floating-point numbers."""


class _Bfloat(ir.Type):  # type: ignore[misc]
    """LLVM's bfloat, which llvmlite does not name."""

    def __str__(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bfloat)

    def __hash__(self) -> int:
        return hash(_Bfloat)


BF32 = vector(_Bfloat(), 32)
"""The register as bfloat16."""


def number(value: int, type_: Any = I64) -> Value:
    """Return a constant; of a vector type, the same in all lanes."""
    if isinstance(type_, ir.VectorType):
        return ir.Constant(type_, [ir.Constant(type_.element, value)] * type_.count)
    return ir.Constant(type_, value)


def address(b: Builder, base: Value, offset: Value | int = 0, scale: int = 1) -> Value:
    """Return base + offset * scale."""
    if isinstance(offset, int):
        return b.add(base, number(offset * scale)) if offset else base
    return b.add(base, b.mul(offset, number(scale)) if scale != 1 else offset)


def load(b: Builder, where: Value, type_: Any) -> Value:
    """Load a value from an integer address of any alignment."""
    return b.load(b.inttoptr(where, type_.as_pointer()), align=1)


def store(b: Builder, value: Value, where: Value) -> None:
    """Store a value at an integer address of any alignment."""
    b.store(value, b.inttoptr(where, value.type.as_pointer()), align=1)


def splat(b: Builder, value: Value, lanes: int) -> Value:
    """Return a vector of equal elements."""
    type_ = vector(value.type, lanes)
    undefined = ir.Constant(type_, ir.Undefined)
    first = b.insert_element(undefined, value, number(0, I32))
    return b.shuffle_vector(first, undefined, number(0, vector(I32, lanes)))


def opaque(b: Builder, value: Value) -> Value:
    """Hide from LLVM what a register holds.

    A splat constant is otherwise combined ahead of each broadcast, and a constant that flips the sign of
    vpdpbusd's operand keeps LLVM 22 combining forever.
    """
    constraint = "v" if isinstance(value.type, ir.VectorType) else "r"
    return b.asm(
        ir.FunctionType(value.type, [value.type]),
        "",
        f"={constraint},0",
        [value],
        False,
    )


def instruction(b: Builder, name: str, result: Any, arguments: Sequence[Value]) -> Value:
    """Call an LLVM intrinsic function."""
    type_ = ir.FunctionType(result, [argument.type for argument in arguments])
    function = b.module.globals.get(name) or ir.Function(b.module, type_, name)
    return b.call(function, arguments)


class _LoopName(ir.MDValue):  # type: ignore[misc]
    """The identity of a loop, which LLVM wants to be distinct and to refer to itself."""

    def descr(self, buffer: Any) -> None:
        """Write the node."""
        operands = ", ".join([self.get_reference(), *(operand.get_reference() for operand in self.operands)])
        buffer += ("distinct !{ ", operands, " }\n")


def _as_written(branch: Any, module: Any) -> None:
    """Keep LLVM from unrolling a loop: these are, as far as it pays, and it takes long."""
    hint = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
    name = str(len(module.metadata))
    branch.set_metadata("llvm.loop", _LoopName(module, [hint], name=name))


def loop(
    b: Builder,
    count: Value,
    carried: Sequence[Value],
    body: Callable[[Value, Sequence[Value]], Sequence[Value]],
) -> list[Value]:
    """Run `body(index, values) -> values` for index below `count`; return the last values."""
    before = b.block
    head, inside, after = (b.append_basic_block(name) for name in ("head", "inside", "after"))
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(I64)
    values = [b.phi(value.type) for value in carried]
    b.cbranch(b.icmp_signed("<", index, count), inside, after)
    b.position_at_end(inside)
    results = body(index, values)
    following = b.add(index, number(1))
    for phi, first, then in zip([index, *values], [number(0), *carried], [following, *results], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(then, b.block)
    _as_written(b.branch(head), b.module)
    b.position_at_end(after)
    return values


Emit = Callable[..., Value | None]


def define(module: Any, name: str, arguments: int, emit: Emit) -> Any:
    """Return the private function `name` of int64 arguments; `emit(builder, *arguments)` writes it if new."""
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * arguments), name)
    function.linkage = "internal"
    b = ir.IRBuilder(function.append_basic_block("entry"))
    emit(b, *function.args)
    b.ret_void()
    return function


def procedure(name: str, arguments: int, emit: Emit, inline: bool = False) -> Callable[..., Any]:
    """Return a Numba intrinsic of int64 arguments without result, written by `emit(builder, *arguments)`."""

    def typed(typing_context: Any, *given: Any) -> Any:
        def generate(context: Any, b: Any, signature: Any, values: Any) -> Any:
            if inline:
                emit(b, *values)
            else:
                b.call(define(b.module, f"contract_{name}", arguments, emit), values)
            return context.get_dummy_value()

        return types.void(*[types.int64] * arguments), generate

    parameters = ", ".join(f"a{position}" for position in range(arguments))
    namespace = {"typed": typed}
    exec(
        f"def {name}(typing_context, {parameters}): return typed(typing_context, {parameters})",
        namespace,
    )
    return intrinsic(namespace[name])
