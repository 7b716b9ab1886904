"""Expressions have the values that the specification gives them (NNEF 2.0 section 2.4)."""

from __future__ import annotations

import math
from itertools import compress, product

import pytest

from tosajit.frontends.nnef.syntax.parser import parse
from tosajit.frontends.nnef.syntax.source import Source
from tosajit.frontends.nnef.values import packs
from tosajit.frontends.nnef.values.arithmetic import NoValue
from tosajit.frontends.nnef.values.evaluate import Scope, evaluate
from tosajit.frontends.nnef.values.value import LONGEST_PACK, LONGEST_TEXT, Value, ValueFault, type_of

SCOPE = Scope(
    symbols={
        "n": 5, "r": 2.5, "yes": True, "no": False, "word": "abc", "null": None, "empty": (),
        "p": (3, 1, 2), "q": (10, 20, 30), "reals": (1.0, 2.0), "truths": (True, False, True),
        "words": ("a", "b", "a"), "same": (7, 7), "one": (4,),
    },
    types={"T": "real", "U": "int"},
    shapes={"x": (2, 3, 4), "missing": None},
    sizes={"xs": 3},
)  # fmt: skip


def value(text: str) -> Value:
    (operator,) = parse(Source("main", f"operator op {{ @using {{ it = {text}; }} }}")).operators
    return evaluate(operator.using[0].value, SCOPE)


VALUES: list[tuple[str, Value]] = [
    ("7 / 2", 3),
    ("-7 / 2", -4),
    ("7 / -2", -4),
    ("-7 / -2", 3),
    ("7.0 / 2.0", 3.5),
    ("1.0 / 0.0", math.inf),
    ("7 \\ 2", 4),
    ("-7 \\ 2", -3),
    ("7 \\ -2", -3),
    ("6 \\ 2", 3),
    ("7.0 \\ 2.0", 4.0),
    ("7 % 3", 1),
    ("-7 % 3", -1),
    ("7 % -3", 1),
    ("-7 % -3", -1),
    ("4611686018427387905 % 9223372036854775807", 4611686018427387905),
    ("-4611686018427387905 % 9223372036854775807", -4611686018427387905),
    ("9223372036854775806 + 1", 2**63 - 1),
    ("-9223372036854775807 - 1", -(2**63)),
    ("(-2) ** 63", -(2**63)),
    ("1 ** 64", 1),
    ("(-1) ** 65", -1),
    ("0 ** 99", 0),
    ("(-2.0) ** 3.0", -8.0),
    ("0.0 ** 0.5", 0.0),
    ("-1.0 / 0.0", -math.inf),
    ("1.0 / -0.0", -math.inf),
    ("1.0 / (0.0 <? -0.0)", -math.inf),
    ("1.0 / (-0.0 <? 0.0)", math.inf),
    ("1.0 / (0.0 >? -0.0)", -math.inf),
    ("1.0 / (-0.0 >? 0.0)", math.inf),
    ("2.5 >? r", 2.5),
    ("3.5 >? r", 3.5),
    ("2 ** 10", 1024),
    ("2.0 ** -1.0", 0.5),
    ("0 ** 0", 1),
    ("1 <? 2", 1),
    ("1 >? 2", 2),
    ("1.5 <? r", 1.5),
    ("-n", -5),
    ("+n", 5),
    ("!yes", False),
    ("yes && no", False),
    ("yes || no", True),
    ("yes ^ yes", False),
    ("no => no", True),
    ("yes => no", False),
    ("1 < 2", True),
    ("2 <= 1", False),
    ("'a' < 'b'", True),
    ("'b' >= 'a'", True),
    ("'b' <= 'a'", False),
    ("'a' < 'a'", False),
    ("'a' > 'a'", False),
    ("'a' <= 'a'", True),
    ("'a' >= 'a'", True),
    ("1 < 1", False),
    ("1 <= 1", True),
    ("1.0 > 1.0", False),
    ("1.0 >= 1.0", True),
    ("word == 'abc'", True),
    ("1 != 1", False),
    ("n is 5", True),
    ("pi > 3.0", True),
    ("inf > 1e300", True),
    ("-inf < 0.0", True),
    ("[]", ()),
    ("[1, n]", (1, 5)),
    ("[p.., n]", (3, 1, 2, 5)),
    ("[n..(3)]", (5, 5, 5)),
    ("[n..(0)]", ()),
    ("[n..(yes)]", (5,)),
    ("[n..(no)]", ()),
    ("[0:4]", (0, 1, 2, 3)),
    ("[0:7:3]", (0, 3, 6)),
    ("[3:0]", ()),
    ("[3:-1:-1]", (3, 2, 1, 0)),
    ("[0, 2:n, p..]", (0, 2, 3, 4, 3, 1, 2)),
    ("[(p, q)..]", (3, 10, 1, 20, 2, 30)),
    ("p[0]", 3),
    ("p[-1]", 2),
    ("p[[2, 0]]", (2, 3)),
    ("p[1:]", (1, 2)),
    ("p[:2]", (3, 1)),
    ("p[::-1]", (2, 1, 3)),
    ("p[2:0:-1]", (2, 1)),
    ("p[0::2]", (3, 2)),
    ("p[truths]", (3, 2)),
    ("p[p > 1]", (3, 2)),
    ("p[:]", (3, 1, 2)),
    ("word[1]", "b"),
    ("word[0:2]", "ab"),
    ("word[[0, 2]]", "ac"),
    ("p[-1:]", (2,)),
    ("p[0] <- 9", (9, 1, 2)),
    ("p[-1] <- 9", (3, 1, 9)),
    ("p[[0, 2]] <- [8, 9]", (8, 1, 9)),
    ("p[[0, 1]] <- 0", (0, 0, 2)),
    ("[0 ..(3)][[1]] <- one", (0, 4, 0)),
    ("p + q", (13, 21, 32)),
    ("p * 2", (6, 2, 4)),
    ("-p", (-3, -1, -2)),
    ("p > 1", (True, False, True)),
    ("p is 1", (False, True, False)),
    ("p + ..", 6),
    ("p * ..", 6),
    ("empty + ..", 0),
    ("empty * ..", 1),
    ("truths && ..", False),
    ("truths || ..", True),
    ("empty && ..", True),
    ("empty || ..", False),
    ("p <? ..", 1),
    ("p >? ..", 3),
    ("q < ..", True),
    ("p < ..", False),
    ("same <= ..", True),
    ("same < ..", False),
    ("[3, 2, 2] >= ..", True),
    ("[3, 2, 2] > ..", False),
    ("empty < ..", True),
    ("p != ..", True),
    ("words != ..", False),
    ("same == ..", True),
    ("p == ..", False),
    ("empty != ..", True),
    ("same := ..", 7),
    ("p := ..", None),
    ("empty := ..", None),
    ("p + .. + 42", 48),
    ("p + ...", (3, 4, 6)),
    ("p * ...", (3, 3, 6)),
    ("p <? ...", (3, 1, 1)),
    ("p >? ...", (3, 3, 3)),
    ("truths && ...", (True, False, False)),
    ("empty + ...", ()),
    ("1 in p", True),
    ("p in [1, 2]", (False, True, True)),
    ("'a' in words", True),
    ("1 in empty", False),
    ("yes ? 1 : 2", 1),
    ("no ? 1 : 2", 2),
    ("no ? 1", None),
    ("yes ? p : q", (3, 1, 2)),
    ("truths ? p : q", (3, 20, 2)),
    ("truths ? p : 0", (3, 0, 2)),
    ("yes ? 1 : n / 0", 1),
    ("null ?? 3", 3),
    ("n ?? 3", 5),
    ("null ?? p", (3, 1, 2)),
    ("?null", False),
    ("?n", True),
    ("?p", True),
    ("null + 1", None),
    ("-null", None),
    ("[null, 1]", None),
    ("[null ..(2)]", None),
    ("[1 ..(null)]", None),
    ("[(p, null)..]", None),
    ("[p..(3)]", (3, 1, 2)),
    ("[5:0:-2]", (5, 3, 1)),
    ("[4:0:-2]", (4, 2)),
    ("[1:6:2]", (1, 3, 5)),
    ("[0:-9000000000000000000]", ()),
    ("p[null]", None),
    ("p[null:]", None),
    ("null && no", None),
    ("null ? 1 : 2", None),
    ("?null ? null : 0", 0),
    ("null in p", None),
    ("sqrt(null)", None),
    ("real(null)", None),
    ("n != 0 && 10 / n > 1", True),
    ("n == 0 && 10 / (n - 5) > 1", False),
    ("n == 5 || 1 / 0 > 1", True),
    ("n == 0 => 1 / 0 > 1", True),
    ("int(2.9)", 2),
    ("int(-2.9)", -2),
    ("real(3)", 3.0),
    ("bool(2)", True),
    ("int(yes)", 1),
    ("real(no)", 0.0),
    ("T(3)", 3.0),
    ("U(2.5)", 2),
    ("T()", 0.0),
    ("int()", 0),
    ("bool()", False),
    ("str()", ""),
    ("real(p)", (3.0, 1.0, 2.0)),
    ("sqrt(4.0)", 2.0),
    ("abs(-3)", 3),
    ("abs(-3.5)", 3.5),
    ("sign(-3)", -1),
    ("sign(2.5)", 1.0),
    ("sign(0)", 0),
    ("sign(0.0)", 0.0),
    ("sign(1.0)", 1.0),
    ("sign(-0.5)", -1.0),
    ("sign(1)", 1),
    ("round(inf)", math.inf),
    ("round(0.5)", 1.0),
    ("floor(-inf)", -math.inf),
    ("ceil(inf)", math.inf),
    ("round(2.5)", 3.0),
    ("round(-2.5)", -3.0),
    ("round(0.49999999999999994)", 0.0),
    ("floor(-1.5)", -2.0),
    ("ceil(-1.5)", -1.0),
    ("frac(1.75)", 0.75),
    ("frac(-0.25)", 0.75),
    ("exp(1e9)", math.inf),
    ("sqrt(reals)[0]", 1.0),
    ("x.shape", (2, 3, 4)),
    ("x.rank", 3),
    ("xs.size", 3),
    ("missing.shape", None),
    ("x.shape[1:] * ..", 12),
    ('"a = {n + 2}, {p}, {yes}"', "a = 7, [3, 1, 2], true"),
    ("'{null}'", "null"),
]


@pytest.mark.parametrize(("text", "expected"), VALUES, ids=[text for text, _ in VALUES])
def test_an_expression_is_worth(text: str, expected: Value) -> None:
    found = value(text)
    assert found == expected
    if expected is not None and not isinstance(expected, tuple):
        assert found is not None
        assert not isinstance(found, tuple)
        assert type_of(found) == type_of(expected)


FAULTS = [
    ("1 + 2.0", "`+` takes operands of one type, not int and real"),
    ("yes + no", "`+` does not take bool"),
    ("1 && 2", "`&&` does not take int"),
    ("word * word", "`*` does not take str"),
    ("1 % 0", "1 % 0 divides by zero"),
    ("1 / 0", "1 / 0 divides by zero"),
    ("5.0 % 2.0", "`%` does not take real"),
    ("2 ** -1", "2 ** -1 is no integer"),
    ("3 ** 64", "3 ** 64 has more than 64 bits"),
    ("9223372036854775807 + 1", "the integer has more than 64 bits"),
    ("p + [1, 2]", "packs of 2 and 3 items do not go together"),
    ("p[3]", "index 3 is outside of a pack of 3 items"),
    ("p[-4]", "index -4 is outside of a pack of 3 items"),
    ("p[1.0]", "a subscript takes an int, not real"),
    ("p[[yes, no]]", "a mask of 2 items does not go with a pack of 3"),
    ("n[0]", "this takes a pack, not int"),
    ("[1, 2.0]", "the items of a pack are of one type, not int and real"),
    ("[p]", "packs cannot be nested"),
    ("[n..]", "`..` expands a pack, not int"),
    ("[n..(-1)]", "an item cannot be repeated -1 times"),
    ("[(p, [1])..]", "a zip expression takes packs of one length"),
    ("[0:5:0]", "the stride of a range must not be 0"),
    ("p[::0]", "the stride of a range must not be 0"),
    ("p[[0, 1]] <- [1, 2, 3]", "3 items do not go to 2 places"),
    ("empty <? ..", "`<?` has no value for an empty pack"),
    ("1 in 2", "`in` takes a pack on its right, not int"),
    ("1 ? 2 : 3", "the condition of `?` is a bool, not int"),
    ("truths ? p", "a select by a pack of conditions needs a value"),
    ("int(inf)", "inf has no integer"),
    ("int(word)", "str cannot be cast to int"),
    ("sqrt(4)", "`sqrt` does not take int"),
    ("sqrt(-1.0)", "sqrt(-1.0) is no real number"),
    ("V(1)", "`V` is neither a type nor a built-in function"),
    ("absent", "`absent` has no value here"),
    ("n.shape", "`n` is not a tensor"),
    ("x.size", "`x` is not a pack of tensors"),
    ("x[0, 1]", "this has a value only where tensors are indexed"),
    ("!n", "`!` does not take int"),
    ("-yes", "`-` does not take bool"),
    (f"[1 ..({LONGEST_PACK + 1})]", f"a pack has at most {LONGEST_PACK} items"),
    ("[0:9000000000000000000]", "a pack has at most"),
    (f"[0:{LONGEST_PACK + 1}]", f"a pack has at most {LONGEST_PACK} items, not {LONGEST_PACK + 1}"),
    (f"[7:{7 + 3 * LONGEST_PACK + 1}:3]", f"a pack has at most {LONGEST_PACK} items, not {LONGEST_PACK + 1}"),
    (f"[{LONGEST_PACK + 1}:0:-1]", f"a pack has at most {LONGEST_PACK} items, not {LONGEST_PACK + 1}"),
    ("-9223372036854775807 - 2", "the integer has more than 64 bits"),
    ("(-2) ** 64", "-2 ** 64 has more than 64 bits"),
    ("2 ** 63", "the integer has more than 64 bits"),
    ("1 ** -1", "1 ** -1 is no integer"),
    ("p[truths[:2]]", "a mask of 2 items does not go with a pack of 3"),
    ("[p..(2)]", "a pack of 3 items is said to have 2"),
    ("(-2.0) ** 0.5", "-2.0 ** 0.5 is no real number"),
    ("10.0 ** 400.0", "10.0 ** 400.0 is too large"),
]


@pytest.mark.parametrize(
    "text", ["0.0 / 0.0", "0.0 / -0.0", "nan / 0.0", "sign(nan)", "round(nan)", "nan >? nan"]
)
def test_what_is_no_number_stays_so(text: str) -> None:
    found = value(text.replace("nan", "(inf - inf)"))
    assert isinstance(found, float)
    assert math.isnan(found)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        (f"[0:{LONGEST_PACK}]", 0, LONGEST_PACK - 1),
        (f"[7:{7 + 3 * LONGEST_PACK - 2}:3]", 7, 7 + 3 * (LONGEST_PACK - 1)),
        (f"[{LONGEST_PACK}:0:-1]", LONGEST_PACK, 1),
        (f"[n ..({LONGEST_PACK})]", 5, 5),
    ],
)
def test_a_pack_may_be_as_long_as_the_limit(text: str, first: int, last: int) -> None:
    found = value(text)
    assert isinstance(found, tuple)
    assert (len(found), found[0], found[-1]) == (LONGEST_PACK, first, last)


def test_a_string_may_be_as_long_as_the_limit() -> None:
    longest = "a" * (LONGEST_TEXT - 1)
    assert value(f"'{longest}{{n}}'") == longest + "5"
    with pytest.raises(ValueFault, match=f"a string has at most {LONGEST_TEXT} characters"):
        value(f"'{longest}b{{n}}'")


@pytest.mark.parametrize(("text", "message"), FAULTS, ids=[text for text, _ in FAULTS])
def test_an_expression_without_a_value_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueFault) as caught:
        value(text)
    assert caught.value.message.startswith(message)


def test_a_fault_is_told_of_where_it_is() -> None:
    text = "operator op { @using { it = 1 + p[7]; } }"
    (operator,) = parse(Source("main", text)).operators
    with pytest.raises(ValueFault) as caught:
        evaluate(operator.using[0].value, SCOPE)
    span = caught.value.span
    assert text[span.start : span.stop] == "p[7]"


@pytest.mark.parametrize("length", range(4))
def test_subscripts_and_ranges_are_those_of_python(length: int) -> None:
    pack: packs.Pack = tuple(range(10, 10 + length))
    for place in range(-length - 2, length + 3):
        for index in (place, (place, place)):
            if -length <= place < length:
                expected = pack[place] if isinstance(index, int) else (pack[place],) * 2
                assert packs.item_at(pack, index) == expected
            else:
                with pytest.raises(NoValue, match=f"index {place} is outside of a pack of {length} items"):
                    packs.item_at(pack, index)
    ends = (None, *range(-length - 1, length + 2))
    for first, last, stride in product(ends, ends, (None, 1, 2, -1, -2)):
        assert packs.part(pack, first, last, stride) == pack[slice(first, last, stride)]


@pytest.mark.parametrize("mask", list(product((False, True), repeat=3)))
def test_masks_take_what_they_are_true_for(mask: tuple[bool, ...]) -> None:
    assert packs.item_at((7, 8, 9), mask) == tuple(compress((7, 8, 9), mask))
    assert packs.item_at("abc", mask) == "".join(compress("abc", mask))
    with pytest.raises(NoValue, match="a mask of 3 items does not go with a pack of 2"):
        packs.item_at((7, 8), mask)
