"""The primitives that array kernels are written with, as LLVM does them on any CPU.

Addresses and counts are numbers, and nothing has to be aligned. A register has 4 bytes for each lane of its
set, seen as lanes of i8, i16, i32, i64, f32, f16 or bf16. A mask is a number with a bit for each lane; its
ones have no gaps, and those behind the last lane count for nothing. Sets of instructions derive from
`Vectors` and replace what they do better.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from llvmlite import ir

from tosajit.kernels.sets.description import InstructionSet
from tosajit.kernels.sets.values import BYTES, I1, I8, I32, I64, KINDS, Number, Register, Value, constant

VOID = ir.VoidType()
vector = ir.VectorType
PAGE = 4096
"""Bytes of the smallest pages that any system has."""
Block = Callable[[], None]


class Vectors:
    """Writes a kernel for a set of instructions, one instruction after the other."""

    @staticmethod
    def describe(features: Collection[str]) -> InstructionSet | None:
        """The set that it is for, on a CPU with these features."""
        raise NotImplementedError

    def __init__(self, b: Any, isa: InstructionSet) -> None:
        self.b, self.isa = b, isa

    # Numbers.

    def number(self, value: Number) -> Value:
        """Return an int as a number of the kernel."""
        return value if isinstance(value, Value) else self._value(constant(value))

    def loaded(self, where: Number) -> Value:
        """Load an int64."""
        return self._load(where, I64)

    def loaded_word(self, where: Number) -> Value:
        """Load an int32, sign extended."""
        return self._value(self.b.sext(self._load(where, I32).raw, I64))

    def choose(self, condition: Value, yes: Value, no: Number) -> Value:
        """Return one of two numbers or registers; of registers, lane by lane if the condition is one."""
        return self._value(self.b.select(condition.raw, yes.raw, yes._raw(no)))

    def least(self, first: Value, second: Number) -> Value:
        """Return the lesser number, or lane by lane the lesser."""
        return self.choose(first < second, first, second)

    def greater(self, first: Register, second: Register) -> Register:
        """Return the greater, lane by lane; of float32 the second one if either is NaN."""
        raw = first.raw, second.raw
        more = (self.b.fcmp_ordered if first._floats() else self.b.icmp_signed)(">", *raw)
        return self._value(self.b.select(more, *raw))

    def unordered(self, first: Register, second: Register) -> Register:
        """Return -1 as i32 in the lanes where one of two registers of float32 is NaN, 0 in the others."""
        either = self.b.fcmp_unordered("uno", first.raw, second.raw)
        return self._value(self.b.sext(either, self._type("i32", first.lanes)))

    def least_unsigned(self, first: Value, second: Value) -> Value:
        """Return the lesser, of numbers that count as unsigned."""
        return self.choose(self._value(self.b.icmp_unsigned("<", first.raw, second.raw)), first, second)

    def equal(self, first: Value, second: Number) -> Value:
        """Return whether two numbers are equal."""
        return self._value(self.b.icmp_signed("==", first.raw, first._raw(second)))

    # Control.

    def loop(
        self,
        count: Number,
        carried: Sequence[Value],
        body: Callable[[Value, Sequence[Value]], Sequence[Value]],
    ) -> list[Value]:
        """Run `body(index, values) -> values` for index below `count`; return the last values."""
        b, before, count = self.b, self.b.block, self.number(count)
        head, inside, after = (b.append_basic_block(name) for name in ("head", "inside", "after"))
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(I64)
        values = [b.phi(value.raw.type) for value in carried]
        b.cbranch(b.icmp_signed("<", index, count.raw), inside, after)
        b.position_at_end(inside)
        results = body(self._value(index), [self._value(value) for value in values])
        following = b.add(index, constant(1))
        firsts, lasts = ([value.raw for value in group] for group in (carried, results))
        for phi, first, then in zip(
            [index, *values], [constant(0), *firsts], [following, *lasts], strict=True
        ):
            phi.add_incoming(first, before)
            phi.add_incoming(then, b.block)
        _as_written(b.branch(head), b.module)
        b.position_at_end(after)
        return [self._value(value) for value in values]

    def each(self, count: Number, body: Callable[[Value], None]) -> None:
        """Run `body(index)` for index below `count`."""

        def run(index: Value, _: Sequence[Value]) -> Sequence[Value]:
            body(index)
            return []

        self.loop(count, [], run)

    def when(self, condition: Value, yes: Block, no: Block | None = None) -> None:
        """Run one of two blocks, or none."""
        if no is None:
            with self.b.if_then(condition.raw):
                yes()
            return
        with self.b.if_else(condition.raw) as (first, second):
            with first:
                yes()
            with second:
                no()

    def usually(self, condition: Value, value: Number, otherwise: Callable[[], Value]) -> Value:
        """Return a number that is known, or seldom one that has to be computed."""
        b, before = self.b, self.b.block
        number = self.number(value).raw
        with b.if_then(b.not_(condition.raw), likely=False):
            computed, last = otherwise().raw, b.block
        result = b.phi(I64)
        result.add_incoming(number, before)
        result.add_incoming(computed, last)
        return self._value(result)

    def switch(self, choice: Value, cases: Mapping[int, Block]) -> None:
        """Run the block of a number, which has to be among them."""
        b = self.b
        default, after = b.append_basic_block("default"), b.append_basic_block("after")
        switch = b.switch(choice.raw, default)
        for number, run in cases.items():
            block = b.append_basic_block("case")
            switch.add_case(constant(number), block)
            b.position_at_end(block)
            run()
            b.branch(after)
        b.position_at_end(default)
        b.unreachable()
        b.position_at_end(after)

    def call(self, name: str, body: Callable[..., None], *arguments: Value) -> None:
        """Call `body(vectors, *arguments)`, which the module has once, as the function `name`."""
        module = self.b.module
        if name not in module.globals:
            function = ir.Function(module, ir.FunctionType(VOID, [I64] * len(arguments)), name)
            function.linkage = "internal"
            own = type(self)(ir.IRBuilder(function.append_basic_block("entry")), self.isa)
            body(own, *(own._value(argument) for argument in function.args))
            own.b.ret_void()
        self.b.call(module.globals[name], [argument.raw for argument in arguments])

    # Registers.

    def load(self, where: Number, kind: str, lanes: int | None = None) -> Register:
        """Load a register, or so many lanes."""
        return self._load(where, self._type(kind, lanes))

    def store(self, register: Register, where: Number) -> None:
        """Store a register."""
        pointer = self.b.inttoptr(self.number(where).raw, register.raw.type.as_pointer())
        self.b.store(register.raw, pointer, align=1)

    def constant(self, value: int, kind: str, lanes: int | None = None) -> Register:
        """Return a register with the same number in all lanes."""
        return self._value(constant(value, self._type(kind, lanes)))

    def broadcast(self, where: Number) -> Register:
        """Return the word at an address in all lanes, as i32."""
        return self._value(self._splat(self._load(where, I32).raw, self.isa.lanes))

    def steps_at_once(self, kind: str, panels: int) -> int:
        """Return how many steps of products of a kind a tile of so many panels best takes at once."""
        return 1

    def broadcasts_at_once(self, kind: str, panels: int) -> int:
        """Return how many words in a row are best broadcast together for them."""
        return self.steps_at_once(kind, panels)

    def begin_step(self, kind: str) -> None:
        """Keep loads of a step of products behind those of the step before, where that is better."""

    def broadcasts(self, where: Number, steps: int, kind: str) -> list[Register]:
        """Return words in a row, each in all lanes."""
        first = self.number(where)
        return [self.view(self.broadcast(first + 4 * step), kind) for step in range(steps)]

    def splat(self, number: Value, kind: str, lanes: int | None = None) -> Register:
        """Return the low part of a number in all lanes."""
        type = self._type(kind, lanes)
        return self._value(self._splat(self.b.trunc(number.raw, type.element), type.count))

    def view(self, register: Register, kind: str) -> Register:
        """Return a register with its bits seen as lanes of another kind."""
        element = register.raw.type.element
        size = 4 if isinstance(element, ir.FloatType) else element.width // 8
        lanes = register.lanes * size // BYTES[kind]
        return self._value(self.b.bitcast(register.raw, self._type(kind, lanes)))

    def down(self, register: Value, bits: Number) -> Register:
        """Shift right, with zeros from the left."""
        return self._value(self.b.lshr(register.raw, register._raw(bits)))

    def extended(self, register: Register, kind: str) -> Register:
        """Return lanes with their sign extended."""
        return self._value(self.b.sext(register.raw, self._type(kind, register.lanes)))

    def converted(self, register: Register, kind: str) -> Register:
        """Return integers as the nearest floating-point numbers."""
        return self._value(self.b.sitofp(register.raw, self._type(kind, register.lanes)))

    def truncated(self, register: Register) -> Register:
        """Return float32 without its fraction, as words."""
        return self._value(self.b.fptosi(register.raw, self._type("i32", register.lanes)))

    def shortened(self, register: Register, kind: str) -> Register:
        """Return the low bits of lanes."""
        return self._value(self.b.trunc(register.raw, self._type(kind, register.lanes)))

    def opaque(self, register: Register) -> Register:
        """Hide from LLVM what a register or a number is, where it would combine it ahead of each use."""
        return register

    def kept(self, where: Value) -> Value:
        """Return an address that is best kept in a register, rather than made of others again and again."""
        return where

    def fetch(self, where: Value) -> None:
        """Have a line of memory in the second-level cache soon; there need not be one at the address."""
        pointer = self.b.inttoptr(where.raw, I8.as_pointer())
        read, near, data = (constant(number, I32) for number in (0, 2, 1))
        self._call("llvm.prefetch.p0", VOID, [pointer, read, near, data])

    def fetch_to_write(self, where: Value) -> None:
        """Have a line of memory in the first-level cache soon, and in no other core's."""
        pointer = self.b.inttoptr(where.raw, I8.as_pointer())
        write, near, data = (constant(number, I32) for number in (1, 3, 1))
        self._call("llvm.prefetch.p0", VOID, [pointer, write, near, data])

    def lanes_of(self, register: Register) -> int:
        """Return how many lanes a register has."""
        return register.lanes

    # Permuting.

    def shuffled(self, first: Register, second: Register, lanes: Sequence[int]) -> Register:
        """Return chosen lanes of two registers; those of the second count on."""
        mask = ir.Constant(ir.VectorType(I32, len(lanes)), [constant(lane, I32) for lane in lanes])
        return self._value(self.b.shuffle_vector(first.raw, second.raw, mask))

    def zipped(self, first: Register, second: Register) -> tuple[Register, Register]:
        """Return the lanes of two registers in turn, as two registers."""
        count = first.lanes
        turns = [lane // 2 + count * (lane % 2) for lane in range(2 * count)]
        return self.shuffled(first, second, turns[:count]), self.shuffled(first, second, turns[count:])

    def joined(self, registers: Sequence[Register]) -> Register:
        """Return one register of bytes of words, or two as one."""
        first, *others = registers
        return self.shuffled(first, others[0], range(2 * self.isa.lanes)) if others else first

    # Parts of registers.

    def below(self, count: Value) -> Value:
        """Return the mask of the lanes below `count`, 0 to 64."""
        return self.between(self.number(0), count)

    def between(self, low: Value, high: Value) -> Value:
        """Return the mask of the lanes from low, below 64, and below high, if there are any."""
        ones = self.number(-1)
        last = self.choose(high > 0, self.down(ones, (64 - high) & 63), 0)
        return last & (ones << low)

    def load_part(
        self, where: Value, mask: Value, kind: str, other: Register | None = None, lanes: int | None = None
    ) -> Register:
        """Load the lanes of a mask; the others are 0, or those of a register.

        No page is touched that has none of them.
        """
        type = self._type(kind, lanes)
        rest = constant(0, type) if other is None else other.raw
        within = (where & (PAGE - 1)) <= PAGE - type.count * type.element.width // 8
        b = self.b
        bits = mask.raw if type.count == 64 else b.trunc(mask.raw, ir.IntType(type.count))
        some = b.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))
        with b.if_else(b.and_(within.raw, some)) as (yes, no):
            with yes:
                lane = b.bitcast(bits, vector(I1, type.count))
                first, first_block = b.select(lane, self._get(where.raw, type), rest), b.block
            with no:
                second, second_block = self._by_bytes(where, mask, rest), b.block
        loaded = b.phi(type)
        loaded.add_incoming(first, first_block)
        loaded.add_incoming(second, second_block)
        return self._value(loaded)

    def _by_bytes(self, where: Value, mask: Value, rest: Any) -> Any:
        type = rest.type
        room = self._room(type)
        self._put(rest, room)
        first, size = self._extent(mask, type)
        self._copy(self.b.add(room, first), self.b.add(where.raw, first), size)
        return self._get(room, type)

    def store_part(self, register: Register, where: Value, mask: Value) -> None:
        """Store the lanes of a mask and touch no other byte."""
        every = (1 << register.lanes) - 1 if register.lanes < 64 else -1
        self.when(
            self.equal(mask & every, every),
            lambda: self.store(register, where),
            lambda: self._store_bytes(register, where, mask),
        )

    def _store_bytes(self, register: Register, where: Value, mask: Value) -> None:
        room = self._room(register.raw.type)
        self._put(register.raw, room)
        first, size = self._extent(mask, register.raw.type)
        self._copy(self.b.add(where.raw, first), self.b.add(room, first), size)

    # Products.

    def dot_bytes(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of four bytes to each word; those of `left` count from -isa.bias."""
        halves = [self.view(register, "i16") for register in (left, right)]
        for pair in ([half << 8 >> 8 for half in halves], [half >> 8 for half in halves]):
            total = self.dot_halves(total, *pair)
        return total

    def dot_halves(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of two int16 to each word."""
        words = [self.view(register, "i32") for register in (left, right)]
        first, second = ([word << 16 >> 16 for word in words], [word >> 16 for word in words])
        return total + (first[0] * first[1] + second[0] * second[1])

    def fused(self, total: Register, left: Register, right: Register) -> Register:
        """Return total + left * right of float32, rounded once where the CPU does so at once."""
        return self.instruction("llvm.fmuladd", total, [left, right, total])

    def dot_pairs(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of two bfloat16 to each float32, where the set has `bf16_pairs`."""
        raise NotImplementedError(f"{self.isa.name} does not multiply pairs of bfloat16")

    def dot_float16(self, total: Register, left: Register, right: Register) -> Register:
        """Add products of two float16 to each float32, where the set has `half_rows`.

        On the left, both are in each word; on the right, all of the first come before those of the second.
        """
        for halves in self._in_turn(left, right):
            total = self.fused(total, *(self.widened(one) for one in halves))
        return total

    def _in_turn(self, left: Register, right: Register) -> Iterator[tuple[Register, Register]]:
        """Give the first float16 of pairs on the left with those on the right, and then the second ones."""
        lanes, (pairs, columns) = self.isa.lanes, (self.view(one, "f16") for one in (left, right))
        for place in range(2):
            first = place * lanes
            yield (
                self.shuffled(pairs, pairs, range(place, 2 * lanes, 2)),
                self.shuffled(columns, columns, range(first, first + lanes)),
            )

    def widened(self, register: Register) -> Register:
        """Return float16 as float32."""
        return self._value(self.b.fpext(register.raw, self._type("f32", register.lanes)))

    def multiply_pairs(self, total: Register, left: Register, right: Register) -> Register:
        """Add the products of two rows and two columns of eight bytes to blocks of sums: `row_pairs`.

        Each 16 bytes are two rows, or two columns, and four sums: the first row's are first.
        """
        raise NotImplementedError(f"{self.isa.name} does not multiply pairs of rows")

    def start_matrices(self, heights: Collection[tuple[int, Value]]) -> None:
        """Let registers of rows have some rows, and the others all, by their numbers; see `Matrices`."""
        raise NotImplementedError(f"{self.isa.name} has no registers of rows")

    def end_matrices(self) -> None:
        """Give the registers of rows back."""
        raise NotImplementedError(f"{self.isa.name} has no registers of rows")

    def load_rows(self, number: int, where: Value, pitch: Number) -> None:
        """Load a register of rows, which are so many bytes apart."""
        raise NotImplementedError(f"{self.isa.name} has no registers of rows")

    def store_rows(self, number: int, where: Value, pitch: Number) -> None:
        """Store a register of rows, so many bytes apart."""
        raise NotImplementedError(f"{self.isa.name} has no registers of rows")

    def clear_rows(self, number: int) -> None:
        """Let a register of rows be zeros."""
        raise NotImplementedError(f"{self.isa.name} has no registers of rows")

    def multiply_rows(self, kind: str, total: int, left: int, right: int) -> None:
        """Add the products of rows of A and columns of B, of a type, to the sums of another register.

        Subnormal bfloat16, products and sums of these count as zero.
        """
        raise NotImplementedError(f"{self.isa.name} has no registers of rows")

    def looked_up(self, table: Sequence[Register], index: Register) -> Register:
        """Return entries of a table of 256 bytes by bytes, where the set has `byte_tables`."""
        raise NotImplementedError(f"{self.isa.name} has no tables of bytes")

    def high_products(self, left: Register, right: Register) -> Register:
        """Return the upper halves of products of int16, where the set has `byte_lines`."""
        raise NotImplementedError(f"{self.isa.name} has no lines of bytes")

    def unpacked(self, low: Register, high: Register) -> tuple[Register, Register]:
        """Return int16 of lower and upper bytes, in two registers that `packed` takes."""
        raise NotImplementedError(f"{self.isa.name} has no lines of bytes")

    def packed(self, first: Register, second: Register) -> Register:
        """Return int16 as the nearest bytes, in the order that they had before they were `unpacked`."""
        raise NotImplementedError(f"{self.isa.name} has no lines of bytes")

    def even_products(self, left: Register, right: Register) -> Register:
        """Return the products of the lower words of quad words, which count as unsigned."""
        low = self.constant(0xFFFFFFFF, "i64")
        return (left & low) * (right & low)

    def sum(self, words: Register) -> Value:
        """Return the sum of the words, sign extended."""
        name = f"llvm.vector.reduce.add.v{words.lanes}i32"
        return self._value(self.b.sext(self._call(name, I32, [words.raw]), I64))

    def narrow(self, words: Register, low: Value, high: Value) -> Register:
        """Return words as bytes within limits, which are bytes."""
        wide = [self._splat(self.b.trunc(limit.raw, I32), words.lanes) for limit in (low, high)]
        for name, limit in zip(("smax", "smin"), wide, strict=True):
            words = self.instruction(f"llvm.{name}", words, [words, self._value(limit)])
        return self._value(self.b.trunc(words.raw, self._type("i8", words.lanes)))

    def narrow_all(self, words: Sequence[Register], low: Value, high: Value) -> list[Register]:
        """Return registers of words as bytes within limits, a register each."""
        return [self.narrow(register, low, high) for register in words]

    # LLVM.

    def instruction(self, name: str, result: Register, arguments: Sequence[Register]) -> Register:
        """Call the function that LLVM has for vectors like `result`."""
        element = result.raw.type.element
        kind = "f32" if isinstance(element, ir.FloatType) else f"i{element.width}"
        raw = [argument.raw for argument in arguments]
        return self._value(self._call(f"{name}.v{result.lanes}{kind}", result.raw.type, raw))

    def _call(self, name: str, result: Any, arguments: Sequence[Any]) -> Any:
        module = self.b.module
        type = ir.FunctionType(result, [argument.type for argument in arguments])
        return self.b.call(module.globals.get(name) or ir.Function(module, type, name), arguments)

    def _value(self, raw: Any) -> Value:
        return Value(self.b, raw)

    def _type(self, kind: str, lanes: int | None = None) -> Any:
        return ir.VectorType(KINDS[kind], lanes or self.isa.register_bytes // BYTES[kind])

    def _load(self, where: Number, type: Any) -> Value:
        return self._value(self._get(self.number(where).raw, type))

    def _get(self, where: Any, type: Any) -> Any:
        return self.b.load(self.b.inttoptr(where, type.as_pointer()), align=1)

    def _put(self, raw: Any, where: Any) -> None:
        self.b.store(raw, self.b.inttoptr(where, raw.type.as_pointer()), align=1)

    def _splat(self, raw: Any, lanes: int) -> Any:
        type = ir.VectorType(raw.type, lanes)
        undefined = ir.Constant(type, ir.Undefined)
        first = self.b.insert_element(undefined, raw, constant(0, I32))
        return self.b.shuffle_vector(first, undefined, constant(0, ir.VectorType(I32, lanes)))

    def _room(self, type: Any) -> Any:
        with self.b.goto_entry_block():
            block = self.b.alloca(type)
        return self.b.ptrtoint(block, I64)

    def _extent(self, mask: Value, type: Any) -> tuple[Any, Any]:
        """Return the first byte of the lanes of a mask, and how many bytes they are."""
        size = constant(type.element.width // 8)
        lanes = mask if type.count == 64 else mask & ((1 << type.count) - 1)
        count = self.b.ctpop(lanes.raw)
        none = self.b.icmp_signed("==", count, constant(0))
        first = self.b.select(none, constant(0), self.b.cttz(lanes.raw, constant(0, I1)))
        return self.b.mul(first, size), self.b.mul(count, size)

    def _copy(self, target: Any, source: Any, size: Any) -> None:
        pointers = [self.b.inttoptr(place, I8.as_pointer()) for place in (target, source)]
        name = "llvm.memcpy.p0.p0.i64"
        self._call(name, VOID, [*pointers, size, constant(0, I1)])


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
