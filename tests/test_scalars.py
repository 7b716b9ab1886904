"""The scalar library against exact integers, in plain Python and compiled.

The oracles are written from the specification's text on Python's unbounded integers.
"""

from __future__ import annotations

import ast
import copy
import ctypes
import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tosajit.arrays import Array
from tosajit.kernels import scalars as scalars_module
from tosajit.kernels.objects import Kernel, compile_kernels
from tosajit.kernels.scalars import NUMBERS, requirement, requirement_text, scalar, scalar_source, scalars

NUMPY: dict[str, Any] = {
    "bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16,
    "i32": np.int32, "i64": np.int64,
}  # fmt: skip
BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 48}


def low(type: str) -> int:
    return -(1 << (BITS[type] - 1))


def high(type: str) -> int:
    return (1 << (BITS[type] - 1)) - 1


def wrap(value: int, bits: int) -> int:
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def clip(value: int, lowest: int, highest: int) -> int:
    return min(max(value, lowest), highest)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def scale(value: int, multiplier: int, shift: int, double: bool) -> int:
    round = 1 << (shift - 1)
    if double and shift > 31:
        round += (1 << 30) if value >= 0 else -(1 << 30)
    return (value * multiplier + round) >> shift


def negate(type: str) -> Callable[[int, int, int], int]:
    def oracle(value: int, input1_zp: int, output_zp: int) -> int:
        return clip(wrap(output_zp - (value - input1_zp), 32), low(type), high(type))

    return oracle


def mul_shift(a: int, b: int, shift: int) -> int:
    return wrap(a * b, 32) if shift == 0 else (a * b + (1 << (shift - 1))) >> shift


def lookup(base: int, next_: int, value: int) -> int:
    return (base << 7) + (next_ - base) * (value & 0x7F)


def blend(v00: int, v01: int, v10: int, v11: int, dy: int, dx: int, unit_y: int, unit_x: int) -> int:
    upper = v00 * (unit_y - dy) * (unit_x - dx) + v01 * (unit_y - dy) * dx
    return upper + v10 * dy * (unit_x - dx) + v11 * dy * dx


def reciprocal(value: int) -> tuple[int, int]:
    k = (value - 1).bit_length()
    return (((1 << 30) + 1) << k) // value, 30 + k


def rescale(double: bool = False) -> Callable[[int, int, int, int, int], int]:
    def oracle(value: int, input_zp: int, multiplier: int, shift: int, output_zp: int) -> int:
        return scale(value - input_zp, multiplier, shift, double) + output_zp

    return oracle


ORACLES: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": abs,
    "max": max,
    "min": min,
    "clip": clip,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "eq": lambda a, b: a == b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
SHIFTS: dict[str, Callable[[int, int, int], int]] = {
    "shl": lambda a, b, bits: wrap(a << b, bits),
    "lshr": lambda a, b, bits: wrap((a % (1 << bits)) >> b, bits),
    "ashr": lambda a, b, bits: a >> b,
    "ashr_round": lambda a, b, bits: (a >> b) + (b > 0 and (a >> (b - 1)) & 1),
}


def near(lowest: int, highest: int) -> st.SearchStrategy[int]:
    """Integers, their bounds and neighbours more often than chance has it."""
    corners = {
        lowest,
        highest,
        0,
        1,
        -1,
        lowest + 1,
        highest - 1,
        highest // 2,
        lowest // 2,
        highest // 2 + 1,
    }
    return st.sampled_from(sorted(c for c in corners if lowest <= c <= highest)) | st.integers(
        lowest, highest
    )


def of(type: str) -> st.SearchStrategy[int]:
    return near(low(type), high(type))


def evaluate(name: str, types: Sequence[str], values: Sequence[int]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's scalars warn when they wrap
        return scalar(name)(*(NUMPY[type](value) for type, value in zip(types, values, strict=True)))


def typed(kind: Iterable[str]) -> list[str]:
    return [name for name in sorted(scalars()) if name in {f"{op}_{type}" for op in kind for type in BITS}]


@pytest.mark.parametrize("name", typed(ORACLES))
@given(st.data())
@settings(max_examples=30, deadline=None)
def test_arithmetic_wraps(name: str, data: st.DataObject) -> None:
    operation, type = name.rsplit("_", 1)
    oracle = ORACLES[operation]
    count = 3 if operation == "clip" else len(inspect.signature(scalar(name)).parameters)
    values = data.draw(st.tuples(*[of(type)] * count))
    if operation == "clip" and values[1] > values[2]:
        values = values[0], values[2], values[1]
    result: Any = evaluate(name, [type] * count, values)
    expected = oracle(*values)
    if operation in ("eq", "gt", "ge"):
        assert isinstance(result, np.bool_)
        assert bool(result) == expected
    else:
        assert isinstance(result, NUMPY[type])
        assert int(result) == wrap(expected, 64 if type == "i64" else BITS[type])
        if operation in ("add", "sub"):
            assert bool(evaluate(f"{name}_ok", [type] * count, values)) == (
                low(type) <= expected <= high(type)
            )


@pytest.mark.parametrize("name", typed(SHIFTS))
@given(st.data())
@settings(max_examples=30, deadline=None)
def test_shifts(name: str, data: st.DataObject) -> None:
    operation, type = name.rsplit("_", 1)
    a, b = data.draw(of(type)), data.draw(near(0, BITS[type] - 1) | of(type))
    allowed = 0 <= b < BITS[type]
    assert bool(evaluate(f"{name}_ok", [type] * 2, (a, b))) == allowed
    result = evaluate(name, [type] * 2, (a, b))
    if allowed:
        assert int(result) == wrap(SHIFTS[operation](a, b, BITS[type]), BITS[type])


@pytest.mark.parametrize("values", [(a, b) for a in (False, True) for b in (False, True)])
def test_logic(values: tuple[bool, bool]) -> None:
    a, b = values
    names = {"and_bool": a and b, "or_bool": a or b, "xor_bool": a != b, "eq_bool": a == b, "gt_bool": a > b}
    assert {name: bool(evaluate(name, ["bool"] * 2, values)) for name in names} == names
    assert bool(evaluate("not_bool", ["bool"], [a])) == (not a)


@pytest.mark.parametrize("type", ["bool", *BITS])
def test_select(type: str) -> None:
    for condition in (False, True):
        assert evaluate(f"select_{type}", ["bool", type, type], (condition, 1, 0)) == condition


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_casts_keep_the_low_bits_and_saturation_does_not(value: int) -> None:
    for bits in (8, 16, 32, 64):
        assert int(evaluate(f"to_i{bits}", ["i64"], [value])) == wrap(value, bits)
    for bits in (8, 16):
        assert int(evaluate(f"to_u{bits}", ["i64"], [value])) == value % (1 << bits)
        assert int(evaluate(f"saturate_u{bits}", ["i64"], [value])) == clip(value, 0, (1 << bits) - 1)
    for bits in (8, 16, 32):
        half = 1 << (bits - 1)
        assert int(evaluate(f"saturate_i{bits}", ["i64"], [value])) == clip(value, -half, half - 1)
    assert bool(evaluate("to_bool", ["i64"], [value])) == (value != 0)


@given(of("i32"), of("i32") | st.integers(-20, 20))
def test_division_truncates_and_never_traps(a: int, b: int) -> None:
    allowed = b != 0 and not (a == low("i32") and b == -1)
    assert bool(evaluate("intdiv_i32_ok", ["i32"] * 2, (a, b))) == allowed
    result = int(evaluate("intdiv_i32", ["i32"] * 2, (a, b)))
    assert result == truncated(a, b) if allowed else isinstance(result, int)


@given(st.integers(1, (1 << 31) - 1), st.integers(1, (1 << 31) - 1), st.sampled_from([-1, 0, 1]))
def test_division_is_exact_around_multiples(a: int, b: int, off: int) -> None:
    multiple = clip(a // b * b + off, low("i32"), high("i32"))
    for x in (multiple, -multiple):
        assert int(evaluate("intdiv_i32", ["i32"] * 2, (x, b))) == truncated(x, b)


@given(of("i32"))
def test_counting_zeros_and_magnitude(a: int) -> None:
    assert int(evaluate("clz_i32", ["i32"], [a])) == 32 - (a % (1 << 32)).bit_length()
    assert bool(evaluate("abs_i32_ok", ["i32"], [a])) == (a != low("i32"))


@pytest.mark.parametrize("type", ["i8", "i16", "i32"])
@given(st.data())
def test_negate(type: str, data: st.DataObject) -> None:
    values = data.draw(st.tuples(*[of(type)] * 3))
    values = values if type == "i8" else (values[0], 0, 0)
    assert int(evaluate(f"negate_{type}", [type] * 3, values)) == negate(type)(*values)
    steps = (values[0] - values[1], values[1] - values[0], values[1] - values[0] + values[2])
    allowed = all(low("i32") <= step <= high("i32") for step in steps)
    assert bool(evaluate(f"negate_{type}_ok", [type] * 3, values)) == allowed


@given(of("i32"), of("i32"), near(0, 63) | of("i8"))
def test_mul_with_shift(a: int, b: int, shift: int) -> None:
    in_range = 0 <= shift <= 63
    result = mul_shift(a, b, shift) if in_range else 0
    allowed = in_range and (shift == 0 or low("i32") <= result <= high("i32"))
    types = ["i32", "i32", "i8"]
    assert bool(evaluate("mul_shift_i32_ok", types, (a, b, shift))) == allowed
    if allowed:
        assert int(evaluate("mul_shift_i32", types, (a, b, shift))) == result


@pytest.mark.parametrize("double", [False, True])
@given(st.data())
def test_scale_32(double: bool, data: st.DataObject) -> None:
    shift = data.draw(near(2, 62) | of("i8"))
    bound = 1 << clip(shift - 1, 0, 31)
    value = data.draw(near(-min(bound, 1 << 31), min(bound, 1 << 31) - 1) | of("i32"))
    multiplier = data.draw(near(0, (1 << 31) - 1) | near(1 << 30, (1 << 31) - 1) | of("i32"))
    name, types = "apply_scale_32" + "_double" * double, ["i32", "i32", "i8"]
    allowed = multiplier >= 0 and 2 <= shift <= 62 and -(1 << (shift - 1)) <= value < 1 << (shift - 1)
    assert bool(evaluate(f"{name}_ok", types, (value, multiplier, shift))) == allowed
    result = int(evaluate(name, types, (value, multiplier, shift)))
    if allowed:
        assert result == scale(value, multiplier, shift, double)


@given(of("i64") | st.integers(-70000, 70000), of("i16"), near(2, 62) | of("i8"))
def test_scale_16(value: int, multiplier: int, shift: int) -> None:
    types = ["i64", "i16", "i8"]
    valid = multiplier >= 0 and 2 <= shift <= 62
    result = scale(value, multiplier, shift, False) if valid else 0
    allowed = valid and low("i32") <= result <= high("i32")
    assert bool(evaluate("apply_scale_16_ok", types, (value, multiplier, shift))) == allowed
    if allowed:
        assert int(evaluate("apply_scale_16", types, (value, multiplier, shift))) == result


@pytest.mark.parametrize("name", ["rescale_32", "rescale_32_double", "rescale_16"])
@pytest.mark.parametrize("type", ["i8", "u8", "i16", "u16", "i32", "i64"])
@given(st.data())
@settings(max_examples=30, deadline=None)
def test_rescale(name: str, type: str, data: st.DataObject) -> None:
    span = {"u8": (0, 255), "u16": (0, 65535)}.get(type) or (low(type), high(type))
    value, input_zp = data.draw(near(*span)), data.draw(near(*span)) if type in ("i8", "u8") else 0
    multiplier = data.draw(near(0, (1 << (15 if name == "rescale_16" else 31)) - 1))
    shift, output_zp = data.draw(near(2, 62)), data.draw(near(-128, 127) | st.just(32768))
    values, types = (value, input_zp, multiplier, shift, output_zp), [type, "i32", "i32", "i8", "i32"]
    allowed = name == "rescale_16" or -(1 << min(shift - 1, 31)) <= value - input_zp < 1 << min(shift - 1, 31)
    result = rescale(name == "rescale_32_double")(*values)
    allowed = allowed and all(low("i32") <= r <= high("i32") for r in (result, result - output_zp))
    assert bool(evaluate(f"{name}_ok", types, values)) == allowed
    if allowed:
        assert int(evaluate(name, types, values)) == result


@given(near(1, (1 << 31) - 1) | st.integers(1, 1 << 13))
def test_reciprocal_scale(value: int) -> None:
    found = (
        evaluate("reciprocal_multiplier", ["i32"], [value]),
        evaluate("reciprocal_shift", ["i32"], [value]),
    )
    assert tuple(map(int, found)) == reciprocal(value)
    assert 1 << 30 <= found[0] < 1 << 31


@given(of("i16"), of("i16"), of("i16"))
def test_table_lookup(base: int, next_: int, value: int) -> None:
    allowed = -32768 <= next_ - base <= 32767
    assert bool(evaluate("table_interpolate_ok", ["i16"] * 3, (base, next_, value))) == allowed
    if allowed:
        assert int(evaluate("table_interpolate", ["i16"] * 3, (base, next_, value))) == lookup(
            base, next_, value
        )
    assert int(evaluate("table_index_i16", ["i16"], [value])) == (value + 32768) >> 7


def test_table_indices_cover_the_table() -> None:
    assert [int(evaluate("table_index_i8", ["i8"], [v])) for v in range(-128, 128)] == list(range(256))


@pytest.mark.parametrize(("name", "type"), [("resize_blend_i32", "i8"), ("resize_blend_i64", "i16")])
@given(st.data())
def test_resize_blend(name: str, type: str, data: st.DataObject) -> None:
    unit_y, unit_x = data.draw(st.tuples(*[near(1, 1 << 11)] * 2))
    weights = data.draw(near(0, unit_y - 1)), data.draw(near(0, unit_x - 1)), unit_y, unit_x
    values = data.draw(st.tuples(*[of(type)] * 4)) + weights
    assert int(evaluate(name, [type] * 4 + ["i16"] * 4, values)) == blend(*values)


def test_every_requirement_belongs_to_a_scalar_with_the_same_arguments() -> None:
    helpers = {"scale_ok", "index_ok"}
    for name in set(scalars()) - helpers:
        if name.endswith("_ok"):
            checked = name.removesuffix("_ok")
            assert requirement(checked) == name
            assert inspect.signature(scalar(checked)) == inspect.signature(scalar(name))
            assert requirement_text(checked).startswith(f"{checked} needs: ")
    assert requirement("max_i32") is None


def test_requirements_are_told_with_the_bits_of_their_types(golden: Callable[[str, str], None]) -> None:
    names = sorted(name.removesuffix("_ok") for name in scalars() if name.endswith("_ok"))
    golden("requirements", "\n".join(map(requirement_text, names)))


FUNCTIONS = [
    (file, node)
    for file in scalars_module.FILES
    for node in ast.parse((Path(scalars_module.__file__).with_name(file)).read_text()).body
    if isinstance(node, ast.FunctionDef) and not node.decorator_list and node.name != "of"
]


@pytest.mark.parametrize(("file", "node"), FUNCTIONS, ids=lambda value: getattr(value, "name", ""))
def test_the_text_of_a_scalar_is_that_of_its_function(file: str, node: ast.FunctionDef) -> None:
    """But for its docstring and annotations, and with numbers for their names."""

    class Numbers(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
            match node:
                case ast.Subscript(ast.Name(name), ast.Constant(int(place))) if name in NUMBERS:
                    return ast.parse(repr(NUMBERS[name][place]), mode="eval").body
            return self.generic_visit(node)

        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.parse(repr(NUMBERS[node.id]), mode="eval").body if node.id in NUMBERS else node

    plain = copy.deepcopy(node)
    plain.body, plain.returns = plain.body[1:], None
    for argument in plain.args.args:
        argument.annotation = None
    (found,) = ast.parse(scalars_module.definition(node.name).text).body
    assert ast.dump(found) == ast.dump(Numbers().visit(plain))


def test_the_text_holds_callees_first_and_once() -> None:
    text = scalar_source(["rescale_32", "apply_scale_32", "rescale_32"])
    assert [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)] == [
        "apply_scale_32",
        "rescale_32",
    ]


def test_an_unknown_scalar_is_named() -> None:
    with pytest.raises(KeyError, match="no scalar is named twist_i32"):
        scalar_source(["twist_i32"])


# Compiled: all integer scalars on the same values, forbidden ones too.

INTEGER = sorted(
    n for n, d in scalars().items() if not re.search(r"float|f8|f16|f32|choose|float32", n + d.text)
)
INTEGER.append("intdiv_i32")

SPECIAL = {
    "mul_shift_i32": ("i32", "i32", "i8"),
    "apply_scale_32": ("i32", "i32", "i8"),
    "apply_scale_32_double": ("i32", "i32", "i8"),
    "apply_scale_16": ("i64", "i16", "i8"),
    "rescale_32": ("i8", "i32", "i32", "i8", "i32"),
    "rescale_32_double": ("u16", "i32", "i32", "i8", "i32"),
    "rescale_16": ("i64", "i32", "i16", "i8", "i32"),
    "table_interpolate": ("i16", "i16", "i16"),
    "resize_blend_i32": ("i8",) * 4 + ("i16",) * 4,
    "resize_blend_i64": ("i16",) * 4 + ("i16",) * 4,
}


def operand_types(name: str) -> tuple[str, ...]:
    checked = name.removesuffix("_ok")
    count = len(inspect.signature(scalar(name)).parameters)
    if checked in SPECIAL:
        return SPECIAL[checked]
    suffix = checked.rsplit("_", 1)[-1]
    if checked.startswith("select_"):
        return ("bool", suffix, suffix)
    if checked.startswith(("to_", "saturate_", "fits_", "in_range", "index", "scale", "resize")):
        return ("i64",) * count if checked != "index_ok" else ("i32", "i32")
    return (suffix if suffix in (*BITS, "bool") else "i32",) * count


def kernel_source(name: str) -> str:
    types = operand_types(name)
    loads = ", ".join(f"load_{type}(p{k}, i)" for k, type in enumerate(types))
    pointers = "\n".join(f"    p{k} = load_i64(args, {k + 2})" for k in range(len(types)))
    return f"""import numpy as np

from tosajit.kernels.intrinsics import *

{scalar_source([name])}


def kernel(args):
    result = load_i64(args, 0)
    count = load_i64(args, 1)
{pointers}
    for i in range(count):
        x = {name}({loads})
        store_i64(result, i, np.int64(x))
"""


@pytest.fixture(scope="session")
def kernels() -> dict[str, Kernel]:
    return dict(zip(INTEGER, compile_kernels([kernel_source(name) for name in INTEGER]), strict=True))


def samples(type: str, count: int, generator: np.random.Generator) -> Array:
    if type == "bool":
        return generator.integers(0, 2, count).astype(np.bool_)
    information = np.iinfo(NUMPY[type])
    corners: Array = np.array([information.min, information.max, 0, 1, 2, 31, 33, 63], np.int64).astype(
        NUMPY[type]
    )
    anything = generator.integers(information.min, information.max, count, NUMPY[type], endpoint=True)
    small: Array = generator.integers(0, 70, count).astype(NUMPY[type])
    choice = generator.integers(0, 3, count)
    return np.choose(choice, [anything, small, generator.choice(corners, count)]).astype(NUMPY[type])


@pytest.mark.parametrize("name", INTEGER)
def test_compiled_equals_python(name: str, kernels: dict[str, Kernel]) -> None:
    count, generator = 120, np.random.default_rng(len(name))
    types = operand_types(name)
    arrays = [samples(type, count, generator) for type in types]
    result = np.zeros(count, np.int64)
    arguments = np.array([result.ctypes.data, count, *(array.ctypes.data for array in arrays)], np.int64)
    ctypes.CFUNCTYPE(None, ctypes.c_int64)(kernels[name].address)(arguments.ctypes.data)
    expected = [int(evaluate(name, types, [array[i] for array in arrays])) for i in range(count)]
    assert result.tolist() == expected


I32 = 1 << 31
ENDS = [
    ("add_i8_ok", "i8 i8", (100, 27), (100, 28)),
    ("add_i64_ok", "i64 i64", ((1 << 47) - 2, 1), ((1 << 47) - 1, 1)),
    ("sub_i32_ok", "i32 i32", (1 - I32, 1), (-I32, 1)),
    ("sub_i16_ok", "i16 i16", (32766, -1), (32767, -1)),
    ("abs_i32_ok", "i32", (1 - I32,), (-I32,)),
    ("clip_i8_ok", "i8 i8 i8", (0, 5, 5), (5, 5, 4)),
    ("mul_shift_i32_ok", "i32 i32 i8", (I32 - 1, I32 - 1, 0), (I32 - 1, 2, -1)),
    ("mul_shift_i32_ok", "i32 i32 i8", (I32 - 1, 2, 1), (1 << 30, 4, 1)),
    ("mul_shift_i32_ok", "i32 i32 i8", (1 << 30, 1 << 30, 63), (1, 1, 64)),
    ("mul_shift_i32_ok", "i32 i32 i8", (-I32, 1, 1), (-I32, 5, 1)),
    ("intdiv_i32_ok", "i32 i32", (-I32, 1), (-I32, -1)),
    ("intdiv_i32_ok", "i32 i32", (1 - I32, -1), (1 - I32, 0)),
    ("intdiv_i32_ok", "i32 i32", (0, -1), (0, 0)),
    ("negate_i32_ok", "i32 i32 i32", (1 - I32, 0, 0), (-I32, 0, 0)),
    ("negate_i32_ok", "i32 i32 i32", (I32 - 1, 0, -1), (I32 - 1, 0, -2)),
    ("negate_i32_ok", "i32 i32 i32", (-I32, -1, 0), (-I32, 1, -9)),
    ("shl_i8_ok", "i8 i8", (1, 7), (1, 8)),
    ("lshr_i16_ok", "i16 i16", (1, 15), (1, 16)),
    ("ashr_i32_ok", "i32 i32", (1, 0), (1, -1)),
    ("ashr_round_i32_ok", "i32 i32", (1, 31), (1, 32)),
    ("apply_scale_32_ok", "i64 i32 i8", (0, 0, 2), (0, -1, 2)),
    ("apply_scale_32_ok", "i64 i32 i8", (1, 1, 2), (2, 1, 2)),
    ("apply_scale_32_ok", "i64 i32 i8", (-2, 1, 2), (-3, 1, 2)),
    ("apply_scale_32_ok", "i64 i32 i8", (0, 1, 62), (0, 1, 63)),
    ("apply_scale_32_ok", "i64 i32 i8", (0, 1, 2), (0, 1, 1)),
    ("apply_scale_32_ok", "i64 i32 i8", (I32 - 1, 1, 40), (I32, 1, 40)),
    ("apply_scale_32_double_ok", "i64 i32 i8", (-I32, 1, 32), (-I32 - 1, 1, 34)),
    ("apply_scale_16_ok", "i64 i16 i8", (1 << 32, 1, 2), (1 << 33, 1, 2)),
    ("rescale_32_ok", "i32 i32 i32 i8 i32", ((1 << 29) - 1, 0, 1 << 30, 30, 0), (1 << 29, 0, 1 << 30, 30, 0)),
    ("rescale_32_ok", "i32 i32 i32 i8 i32", (100, 0, 1 << 30, 31, I32 - 51), (100, 0, 1 << 30, 31, I32 - 50)),
    ("rescale_32_double_ok", "i32 i32 i32 i8 i32", (100, 90, 1 << 30, 32, 0), (-I32, 1, 1 << 30, 32, 0)),
    ("rescale_32_double_ok", "i32 i32 i32 i8 i32", (4, 0, 1 << 30, 31, 7), (4, 0, 1 << 30, 31, I32 - 1)),
    ("rescale_16_ok", "i64 i64 i16 i8 i32", (5, 3, 1 << 14, 14, I32 - 3), (5, 3, 1 << 14, 14, I32 - 2)),
    ("rescale_16_ok", "i64 i64 i16 i8 i32", (5, 3, 1 << 14, 2, 0), (5, 3, -1, 2, 0)),
    ("reciprocal_multiplier_i32_ok", "i32", (-1,), (0,)),
    ("table_interpolate_ok", "i16 i16 i16", (-1, 32766, 0), (-1, 32767, 0)),
    ("table_interpolate_ok", "i16 i16 i16", (1, -32767, 0), (1, -32768, 0)),
    ("index_ok", "i32 i32", (0, 1), (-1, 1)),
    ("index_ok", "i32 i32", (6, 7), (7, 7)),
    ("first_write_ok", "i32", (0,), (1,)),
]  # fmt: skip
"""A REQUIRE, types, arguments that it allows, and others next to them that it does not."""


@pytest.mark.parametrize(("name", "types", "good", "bad"), ENDS)
def test_a_require_holds_up_to_its_end(
    name: str, types: str, good: tuple[int, ...], bad: tuple[int, ...]
) -> None:
    known = name if name in scalars() else name.replace("_i32_ok", "_ok")
    assert (evaluate(known, types.split(), good), evaluate(known, types.split(), bad)) == (True, False)


FLOATS = [np.float32(x) for x in (0.0, -0.0, 1e-45, -1e-45, 1.5, -1.5, np.inf, -np.inf, np.nan)]


@pytest.mark.parametrize("a", FLOATS)
@pytest.mark.parametrize("b", FLOATS)
def test_requires_of_floating_point_numbers(a: np.float32, b: np.float32) -> None:
    finite = bool(np.isfinite(a) and np.isfinite(b))
    with np.errstate(all="ignore"):
        for type in ("f32", "f16", "bf16"):
            assert bool(scalar(f"pow_{type}_ok")(a, b)) == (finite and (a > 0 or (a == 0 and b > 0)))
            assert bool(scalar(f"clip_{type}_ok")(np.float32(0), a, b)) == (a <= b)
            assert bool(scalar(f"clip_ignore_{type}_ok")(np.float32(0), a, b)) == (a <= b)
        for name in ("float_to_i8_ok", "float_to_i16_ok", "float_to_i32_ok"):
            assert bool(scalar(name)(a)) != bool(np.isnan(a))
