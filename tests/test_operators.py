"""The declarations: complete, numbered as in files, and checked when they are made."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from tosajit.dtypes import INT32, INT48
from tosajit.graph.attributes import AttributeFaults
from tosajit.graph.operator import OPERATORS, Operator, error_if, known_names, read, table, write
from tosajit.operators import CLAMP, CONV2D, CUSTOM, MAX_POOL2D, RESCALE, AccType, NanMode
from tosajit.operators.table import markdown, rows, text
from tosajit.profiles import EXTENSIONS, PROFILES

SECTIONS = {
    3: 10,
    4: 4,
    5: 17,
    6: 13,
    7: 1,
    8: 3,
    9: 6,
    10: 7,
    11: 2,
    12: 1,
    13: 2,
    14: 2,
    15: 1,
    16: 2,
    17: 3,
    18: 1,
}
NEEDED = {
    "PRO-FP": 156, "PRO-INT": 133, "EXT-BF16": 60, "EXT-FP8E4M3": 25, "EXT-FP8E5M2": 25, "EXT-INT16": 18,
    "EXT-VARIABLE": 9, "EXT-INT4": 6, "EXT-FFT": 2, "EXT-CONTROLFLOW": 2,
}  # fmt: skip
SAMPLE = table("in_t out_t SIZE", "PRO-INT or EXT-INT4 and PRO-FP | some | i8 i32 7")


def test_there_are_75_operators_with_389_modes() -> None:
    assert len(OPERATORS) == 75
    assert sum(len(operator.modes) for operator in OPERATORS.values()) == 389


def test_every_section_has_its_operators_in_order() -> None:
    numbers = [tuple(map(int, operator.section.split("."))) for operator in OPERATORS.values()]
    assert numbers == sorted(numbers)
    assert Counter(section for _, section, _ in numbers) == SECTIONS
    for section, count in SECTIONS.items():
        assert [last for _, middle, last in numbers if middle == section] == list(range(1, count + 1))


def test_profiles_and_extensions_have_as_many_modes_as_the_appendix_lists() -> None:
    modes = [mode for operator in OPERATORS.values() for mode in operator.modes]
    assert Counter(one for mode in modes for needed in mode.requirement for one in needed) == NEEDED


def test_extensions_that_add_to_operators_are_shown_with_them() -> None:
    """As the appendix lists them in sections 6.2.9 to 6.2.11."""
    shown = {
        extension: [row.operator for row in rows() if extension in row.extensions] for extension in EXTENSIONS
    }
    assert shown["EXT-DYNAMIC"] == [
        *("AVG_POOL2D", "CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "MATMUL", "TRANSPOSE_CONV2D", "MUL", "TABLE"),
        *("NEGATE", "PAD", "RESHAPE", "SLICE", "TILE", "RESIZE", "RESCALE"),
    ]
    assert shown["EXT-DOUBLEROUND"] == shown["EXT-INEXACTROUND"] == ["RESCALE"]
    assert all(shown.values())


def test_31_operands_are_compile_time_constants() -> None:
    constant = [
        operand
        for operator in OPERATORS.values()
        for operand in operator.operands_read
        if operand.constant_in
    ]
    assert len(constant) + len(("CONST", "CONST_SHAPE")) == 31


@pytest.mark.parametrize(
    ("name", "number", "schema"),
    [
        ("ARGMAX", 1, "ArgMaxAttribute"),
        ("AVG_POOL2D", 2, "AvgPool2dAttribute"),
        ("FFT2D", 6, "FFT2dAttribute"),
        ("MATMUL", 7, "MatMulAttribute"),
        ("RFFT2D", 9, "RFFT2dAttribute"),
        ("INTDIV", 20, "IntDivAttribute"),
        ("LOGICAL_LEFT_SHIFT", 22, "LogicalLeftShiftAttribute"),
        ("SELECT", 45, "SelectAttribute"),
        ("CUSTOM", 69, "CustomAttribute"),
        ("VARIABLE_WRITE", 73, "VariableWriteAttribute"),
        ("CONST_SHAPE", 75, "ConstShapeAttribute"),
    ],
)
def test_operators_know_their_names_in_the_file_schema(name: str, number: int, schema: str) -> None:
    assert (OPERATORS[name].number, OPERATORS[name].schema_name) == (number, schema)


def test_attributes_are_in_the_order_of_the_file_schema() -> None:
    assert [(a.name, a.encoding, a.length) for a in CONV2D.attributes] == [
        ("pad", "int32s", 4),
        ("stride", "int32s", 2),
        ("dilation", "int32s", 2),
        ("local_bound", "bool", None),
        ("acc_type", "enum", None),
    ]
    assert [(a.name, a.encoding) for a in CLAMP.attributes] == [
        ("min_val", "number"), ("max_val", "number"), ("nan_mode", "enum"),
    ]  # fmt: skip


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_every_operator_says_in_a_line_what_it_does(operator: type[Operator]) -> None:
    assert operator.__doc__
    assert operator.__doc__.endswith(".")
    assert "\n" not in operator.__doc__


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_modes_of_an_operator_differ(operator: type[Operator]) -> None:
    assert len({mode.name for mode in operator.modes}) == len(operator.modes)
    assert len({tuple(mode.types.items()) for mode in operator.modes}) == len(operator.modes)


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_modes_name_profiles_and_extensions_that_exist(operator: type[Operator]) -> None:
    names = {one for mode in operator.modes for needed in mode.requirement for one in needed}
    assert names <= {*PROFILES, *EXTENSIONS}


def test_a_requirement_is_met_by_one_alternative_in_full() -> None:
    (mode,) = SAMPLE
    assert mode.is_in(frozenset({"PRO-INT"}))
    assert mode.is_in(frozenset({"PRO-FP", "EXT-INT4"}))
    assert not mode.is_in(frozenset({"PRO-FP"}))
    assert mode.requires == "PRO-INT or EXT-INT4 and PRO-FP"
    assert mode.extents == {"SIZE": 7}


def test_an_unknown_hook_is_an_error_at_once() -> None:
    with pytest.raises(TypeError, match=r"MISSPELT\.infr is not a hook"):

        class MISSPELT(Operator):
            section, modes = "9.9.1", SAMPLE
            input = read("in_t", "N")

            def infr(self, N: int) -> None: ...

    assert "MISSPELT" not in OPERATORS


def test_a_check_can_only_ask_for_what_is_declared() -> None:
    with pytest.raises(TypeError, match=r"CURIOUS\.too_wide asks for W, which no operand declares"):

        class CURIOUS(Operator):
            section, modes = "9.9.2", SAMPLE
            input = read("in_t", "N")
            output = write("out_t", "N")

            @error_if("input")
            def too_wide(self, W: int) -> None: ...


def test_an_operator_cannot_be_declared_twice() -> None:
    kind: Any = type(Operator)
    with pytest.raises(TypeError, match="CLAMP is declared twice"):
        kind("CLAMP", (Operator,), {"section": "2.4.1", "modes": SAMPLE, "__module__": __name__})


def test_enumerations_take_names_numbers_and_types() -> None:
    wanted: dict[str, Any] = dict(pad=(0,) * 4, stride=(1, 1), dilation=(1, 1))
    assert CONV2D(**wanted | {"acc_type": "int48"}).acc_type is AccType.INT48
    assert CONV2D(**wanted | {"acc_type": INT48}).acc_type.dtype is INT48
    assert CONV2D(**wanted | {"acc_type": 5}).acc_type.dtype is INT32
    pool = MAX_POOL2D(kernel=(1, 1), stride=(1, 1), pad=(0,) * 4, nan_mode=NanMode.IGNORE)
    assert pool.nan_mode is NanMode.IGNORE


@pytest.mark.parametrize("pad", [(0, 0), (0, 0, 0, 1.5), (0, 0, 0, 1 << 31), "none"])
def test_attributes_of_the_wrong_form_are_refused(pad: Any) -> None:
    with pytest.raises(AttributeFaults):
        MAX_POOL2D(kernel=(1, 1), stride=(1, 1), pad=pad)


GOOD: dict[str, Any] = dict(kernel=(1, 1), stride=(1, 1), pad=(0,) * 4)
SWITCH: dict[str, Any] = dict(scale32=True, per_channel=False, input_unsigned=False, output_unsigned=False)


@pytest.mark.parametrize(
    ("operator", "attributes", "message"),
    [
        (MAX_POOL2D, GOOD | {"pad": (0, 0)}, "pad: there are 2 integers, but must be 4"),
        (MAX_POOL2D, GOOD | {"pad": "none"}, "pad: 'none' is not a sequence of integers"),
        (MAX_POOL2D, GOOD | {"pad": 4}, "pad: 4 is not a sequence of integers"),
        (MAX_POOL2D, GOOD | {"pad": (0, 0, 0, 1.5)}, "pad: 1.5 is not an integer"),
        (MAX_POOL2D, GOOD | {"pad": (0, 0, 0, 1 << 31)}, "pad: 2147483648 is not an int32"),
        (MAX_POOL2D, GOOD | {"pad": (0, 0, 0, -(1 << 31) - 1)}, "pad: -2147483649 is not an int32"),
        (MAX_POOL2D, GOOD | {"nan_mode": "often"}, "nan_mode: 'often' is none of UNKNOWN, PROPAGATE, IGNORE"),
        (MAX_POOL2D, GOOD | {"nan_mode": 3}, "nan_mode: 3 is none of UNKNOWN, PROPAGATE, IGNORE"),
        (MAX_POOL2D, GOOD | {"nan": 3, "pads": 1}, "nan: there is no such attribute; pads: there is no such"),
        (MAX_POOL2D, {"pad": (0,)}, "kernel: it is missing; stride: it is missing; pad: there are 1"),
        (RESCALE, SWITCH | {"scale32": 2}, "scale32: 2 is neither true nor false"),
        (RESCALE, SWITCH | {"scale32": "true"}, "scale32: 'true' is neither true nor false"),
        (CLAMP, {"min_val": "0", "max_val": None}, "min_val: '0' is not a number; max_val: None is not"),
        (CUSTOM, {"operator_name": 1, "domain_name": b"d"}, "name: 1 is not a text; domain_name: b'd'"),
        (CUSTOM, {"operator_name": "", "domain_name": "", "implementation_attrs": 7}, ": 7 is not bytes"),
    ],
)  # fmt: skip
def test_every_fault_of_attributes_is_named(
    operator: type[Operator], attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(AttributeFaults, match=f"^{operator.opcode} .*{re.escape(message)}"):
        operator(**attributes)


def test_attributes_are_converted_where_nothing_is_lost() -> None:
    pool = MAX_POOL2D(**GOOD | {"pad": [np.int64(1), True, -(1 << 31), (1 << 31) - 1]})
    assert pool.pad == (1, 1, -(1 << 31), (1 << 31) - 1)
    assert set(map(type, pool.pad)) == {int}
    one: dict[str, Any] = dict(min_val=np.int8(3), max_val=np.float32(0.5))
    clamp = CLAMP(**one)
    assert (type(clamp.min_val), clamp.min_val, type(clamp.max_val), clamp.max_val) == (int, 3, float, 0.5)
    switches: dict[str, Any] = dict(scale32=np.True_, per_channel=0, input_unsigned=1, output_unsigned=False)
    rescale = RESCALE(**switches)
    assert (rescale.scale32, rescale.per_channel, rescale.input_unsigned) == (True, False, True)
    assert {type(value) for name, value in rescale if name in switches} == {bool}
    custom: dict[str, Any] = dict(operator_name="a", domain_name="b", implementation_attrs="é")
    assert CUSTOM(**custom).implementation_attrs == "é".encode()


def test_operators_survive_pickling() -> None:
    one = CLAMP(min_val=0, max_val=6.5)
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert repr(again) == repr(one)
    assert repr(one).startswith("CLAMP(min_val=0, max_val=6.5, nan_mode=<NanMode.PROPAGATE")
    assert again != CLAMP(min_val=0, max_val=6)
    with pytest.raises(FrozenInstanceError):
        del again.min_val


def test_operators_are_values() -> None:
    one, other = CLAMP(min_val=0, max_val=6), CLAMP(min_val=0, max_val=6)
    assert one == other
    assert hash(one) == hash(other)
    assert str(one) == "CLAMP(min_val=0, max_val=6, nan_mode=PROPAGATE)"
    with pytest.raises(FrozenInstanceError):
        one.min_val = 1  # type: ignore[misc]


def test_the_table_of_operators_has_a_row_for_each() -> None:
    assert [row.operator for row in rows()] == list(OPERATORS)
    assert (
        "| CONV2D | 2.3.3 | PRO-FP, PRO-INT | "
        "EXT-BF16, EXT-DYNAMIC, EXT-FP8E4M3, EXT-FP8E5M2, EXT-INT16, EXT-INT4 | 9 |" in markdown()
    )
    assert len(text().splitlines()) == 75


def test_the_executor_carries_out_control_flow_variables_and_custom_operators() -> None:
    executed = {name for name, operator in OPERATORS.items() if operator.is_executed}
    assert executed == {"COND_IF", "WHILE_LOOP", "VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE", "CUSTOM"}


@pytest.mark.parametrize("operator", [one for one in OPERATORS.values() if one.regions or one.products])
def test_declared_regions_are_attributes_and_declared_products_are_extents(operator: type[Operator]) -> None:
    assert set(operator.regions) <= {attribute.name for attribute in operator.attributes}
    assert set(operator.products.split()) <= known_names(operator)
