"""Every production of SkriptND's grammar is read as the specification says (NNEF 2.0 section 2.16)."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

import pytest

from tosajit.frontends.nnef.syntax import tree
from tosajit.frontends.nnef.syntax.parser import parse
from tosajit.frontends.nnef.syntax.source import Source


def shown(value: object) -> str:
    """A tree on one line, without places; None is `_`, and left out where it ends a record, as False is."""
    match value:
        case tree.Literal(value=literal):
            return repr(literal)
        case tree.Name(name=name):
            return name
        case tree.Parenthesised(expression=inner):
            return f"({shown(inner)})"
        case tree.Binary(operator=operator, left=left, right=right):
            return f"{{{shown(left)} {operator} {shown(right)}}}"
        case tree.Tree():
            held = [getattr(value, field.name) for field in fields(value) if field.name != "span"]
            while held and (held[-1] is None or held[-1] is False):
                held.pop()
            return f"{type(value).__name__}({', '.join(map(shown, held))})"
        case tuple():
            return f"[{', '.join(map(shown, value))}]"
        case None:
            return "_"
    return str(value)


def module(text: str) -> tree.Module:
    return parse(Source("main", text))


def operator(blocks: str) -> tree.Operator:
    (found,) = module(f"operator op {{ {blocks} }}").operators
    return found


def expression(text: str) -> str:
    return shown(operator(f"@using {{ it = {text}; }}").using[0].value)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("12", "12"),
        ("1.5", "1.5"),
        ("1.", "1.0"),
        ("2e3", "2000.0"),
        ("1.5e-3", "0.0015"),
        ("true", "True"),
        ("false", "False"),
        ("inf", "inf"),
        ("pi", "3.141592653589793"),
        ("'text'", "'text'"),
        ('"it\'s"', '"it\'s"'),
        (r"'a\'b\\c\{d\}\n'", repr("a'b\\c{d}\n")),
        ("'one'\n   \"two\"", "'onetwo'"),
        ('"a = {a + 2}, {b}"', "Format([a = , {a + 2}, , , b, ])"),
        ("x.shape", "Member(x, shape)"),
        ("x.rank - 1", "{Member(x, rank) - 1}"),
        ("x.size", "Member(x, size)"),
        ("(x)", "(x)"),
        ("[]", "List([])"),
        ("[1, two, 3]", "List([1, two, 3])"),
        ("[a, b.., c]", "List([a, Expand(b), c])"),
        ("[a..(5)]", "List([Expand(a, 5)])"),
        ("[1 ..(n)]", "List([Expand(1, n)])"),
        ("[1..(n)]", "List([Expand(1, n)])"),
        ("[0:r]", "List([Range(0, r)])"),
        ("[d-1:-1:-1]", "List([Range({d - 1}, Unary(-, 1), Unary(-, 1))])"),
        ("[0, 2:n, b..]", "List([0, Range(2, n), Expand(b)])"),
        ("[(a, b)..]", "List([Expand(Zip([a, b]))])"),
        ("a[0]", "Subscript(a, 0)"),
        ("a[-1]", "Subscript(a, Unary(-, 1))"),
        ("a[1:]", "Subscript(a, Range(1))"),
        ("a[:n]", "Subscript(a, Range(_, n))"),
        ("a[:]", "Subscript(a, Range())"),
        ("a[::-1]", "Subscript(a, Range(_, _, Unary(-, 1)))"),
        ("a[0::2]", "Subscript(a, Range(0, _, 2))"),
        ("a[1:n:2]", "Subscript(a, Range(1, n, 2))"),
        ("[0 ..(d)][axes]", "Subscript(List([Expand(0, d)]), axes)"),
        ("a[i] <- b", "Substitute(a, i, b)"),
        ("a[i] <- b * 2", "Substitute(a, i, {b * 2})"),
        ("x[i, j]", "Access(x, [i, j])"),
        ("x[i,]", "Access(x, [i])"),
        ("x[i..]", "Access(x, [Expand(i)])"),
        ("x[]", "Access(x, [])"),
        ("x[k][i, j]", "Access(Subscript(x, k), [i, j])"),
        ("x[i, :]", "Access(x, [i, Range()])"),
        ("x[|i - 1|]", "Access(x, [Bounded({i - 1})])"),
        ("x[|i <> 0 : s - 1|..]", "Access(x, [Expand(Bounded(i, 0, {s - 1}))])"),
        ("x[|i - n < 0 : s - 1|,]", "Access(x, [Bounded({i - n}, 0, {s - 1})])"),
        ("x[i[axes] <- |j|..]", "Access(x, [Expand(Substitute(i, axes, Bounded(j)))])"),
        ("x[c ? |i| : j..]", "Access(x, [Expand(Select(c, Bounded(i), j))])"),
        ("-a", "Unary(-, a)"),
        ("+a", "Unary(+, a)"),
        ("!a", "Unary(!, a)"),
        ("?a", "Unary(?, a)"),
        ("?x ? x : 0", "Select(Unary(?, x), x, 0)"),
        ("?x && c ? x : 0", "Select({Unary(?, x) && c}, x, 0)"),
        ("c ? a", "Select(c, a)"),
        ("c ? a : d ? b : e", "Select(c, a, Select(d, b, e))"),
        ("a ?? b", "Coalesce(a, b)"),
        ("a ?? b ?? c", "Coalesce(a, Coalesce(b, c))"),
        ("2 * p ?? i - 1", "Coalesce({2 * p}, {i - 1})"),
        ("x + ..", "Fold(+, x)"),
        ("x + ...", "Fold(+, x, True)"),
        ("x + .. + 42", "{Fold(+, x) + 42}"),
        ("a * b + ..", "Fold(+, {a * b})"),
        ("z := ..", "Fold(:=, z)"),
        ("axes != ..", "Fold(!=, axes)"),
        ("a == 0 && ..", "Fold(&&, {a == 0})"),
        ("real(x)", "Call(real, x)"),
        ("T()", "Call(T)"),
        ("sqrt(x ** 2)", "Call(sqrt, {x ** 2})"),
        ("dims in axes", "{dims in axes}"),
        ("shape is -1 ? 1 : shape", "Select({shape is Unary(-, 1)}, 1, shape)"),
    ],
)
def test_an_expression_means(text: str, meaning: str) -> None:
    assert expression(text) == meaning


LEVELS = ("=>", "&&", "==", "<?", "+", "*", "**")
SAME = (
    ("&&", "||"),
    ("||", "^"),
    ("<", "in"),
    ("is", "!="),
    ("<?", ">?"),
    ("+", "-"),
    ("*", "\\"),
    ("/", "%"),
)


@pytest.mark.parametrize(("loose", "tight"), list(pairwise(LEVELS)))
def test_operators_bind_in_order(loose: str, tight: str) -> None:
    assert expression(f"a {loose} b {tight} c") == f"{{a {loose} {{b {tight} c}}}}"
    assert expression(f"a {tight} b {loose} c") == f"{{{{a {tight} b}} {loose} c}}"


@pytest.mark.parametrize(("one", "other"), SAME)
def test_operators_of_a_level_group_from_the_left(one: str, other: str) -> None:
    assert expression(f"a {one} b {other} c") == f"{{{{a {one} b}} {other} c}}"
    assert expression(f"a {other} b {one} c") == f"{{{{a {other} b}} {one} c}}"


@pytest.mark.parametrize("operator", ["=>", "**"])
def test_implications_and_powers_group_from_the_right(operator: str) -> None:
    assert expression(f"a {operator} b {operator} c") == f"{{a {operator} {{b {operator} c}}}}"


def test_conditions_are_looser_than_everything_else() -> None:
    assert expression("a => b ? c + 1 : d => e") == "Select({a => b}, {c + 1}, {d => e})"
    assert expression("a && b ?? c || d") == "Coalesce({a && b}, {c || d})"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("int", "Type(int)"),
        ("optional T", "Type(T, True)"),
        ("int..", "Type(int, False, _, _, Pack())"),
        ("int..(2 * k)", "Type(int, False, _, _, Pack({2 * k}))"),
        ("real[]", "Type(real, False, _, Shape([]))"),
        ("real[m, s..]", "Type(real, False, _, Shape([Extent(m), Extent(s, False, _, Pack())]))"),
        ("real[..z]..(n)", "Type(real, False, _, Shape([Extent(z, True)]), Pack(n))"),
        ("real^(r)[s..(d)]", "Type(real, False, r, Shape([Extent(s, False, _, Pack(d))]))"),
        ("real[~|k, ~]", "Type(real, False, _, Shape([Extent(_, False, k), Extent()]))"),
        ("real[s|10 ..(3)]", "Type(real, False, _, Shape([Extent(s, False, 10, Pack(3))]))"),
        ("int[s[i] <- 1 ..]", "Type(int, False, _, Shape([Extent(Substitute(s, i, 1), False, _, Pack())]))"),
        ("static int", "Type(int)"),
        ("optional dynamic real[static n]", "Type(real, True, _, Shape([Extent(n)]))"),
        ("real[dynamic]", "Type(real, False, _, Shape([Extent(dynamic)]))"),
    ],
)  # fmt: skip
def test_a_type_means(text: str, meaning: str) -> None:
    (found,) = operator(f"@input {{ x: {text}; }}").inputs
    assert shown(found.type) == meaning


@pytest.mark.parametrize(
    ("block", "field", "meaning"),
    [
        ("@dtype { T: num; S: type = real; }", "dtypes",
         "[DtypeDefinition(T, num), DtypeDefinition(S, type, real)]"),
        ("@attrib { a: int = 42; }", "attributes", "[Parameter(a, Type(int), 42, [])]"),
        ("@output { y: real; }", "outputs", "[Parameter(y, Type(real), _, [])]"),
        ("@variable { w: real; }", "variables", "[Parameter(w, Type(real), _, [])]"),
        ("@constant { c: real = i == j ? 1.0 : 0.0, i < n, j < n; }", "constants",
         "[Parameter(c, Type(real), Select({i == j}, 1.0, 0.0), [Bound(i, n), Bound(j, n)])]"),
        ("@using { c = a; }", "using", "[Using(Target(c), a)]"),
        ("@using { c..(n) = a; }", "using", "[Using(Target(c, _, Pack(n)), a)]"),
        ("@using { [a, b..] = c; }", "using",
         "[Using(TargetList([Target(a), Target(b, _, Pack())]), c)]"),
        ("@using { [(e, f)..] = c; }", "using",
         "[Using(TargetList([Unzip([Target(e), Target(f)], Pack())]), c)]"),
        ("@assert { a > 0; }", "assertions", "[Assertion({a > 0}, _, [])]"),
        ("@assert { a > 0: 'positive', a; }", "assertions",
         "[Assertion({a > 0}, 'positive', [Detail(_, a)])]"),
        ("@assert { a > 0: 'got {a}', 'its rank': d + 1, b; }", "assertions",
         "[Assertion({a > 0}, Format([got , a, ]), [Detail(its rank, {d + 1}), Detail(_, b)])]"),
        ("@compose { y = op(x); }", "components",
         "[Component([Target(y)], Invocation(_, op, [], [], [x]))]"),
        ("@update { w = v; }", "updates", "[Component([Target(w)], Given(v))]"),
        ("@quantize { a: quant_op; b.c: m.q<real>{bits=8}; }", "quantizations",
         "[Quantization(a, quant_op, [], []), Quantization(b.c, m.q, [real], [Attribute(bits, 8)])]"),
    ],
)  # fmt: skip
def test_a_block_means(block: str, field: str, meaning: str) -> None:
    assert shown(getattr(operator(block), field)) == meaning


def part(text: str) -> str:
    """The right-hand side of a component."""
    found = operator(f"@compose {{ it = {text}; }}").components
    assert found is not None
    return shown(found[0].right)


X = "Invocation(_, f, [], [], [x])"


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("x", "Given(x)"),
        ("a < b", "Given({a < b})"),
        ("(sqrt(x))", "Given((Call(sqrt, x)))"),
        ("f(x)", X),
        ("nn.conv{padding=1, stride=[2, 2]}(x, w, ~)",
         "Invocation(_, nn.conv, [], [Attribute(padding, 1), Attribute(stride, List([2, 2]))], [x, w, _])"),
        ("op<real, T>(y)", "Invocation(_, op, [real, T], [], [y])"),
        ("label: op()", "Invocation(label, op, [], [], [])"),
        ("{ y = f(x); yield y, x; }",
         f"ComposeBlock(_, [Component([Target(y)], {X})], [y, x])"),
        ("body: { yield x; }", "ComposeBlock(body, [], [x])"),
        ("if c then f(x) else x", f"Branch([[Given(c), {X}]], Given(x))"),
        ("if c then x elif f(x) then { yield y; } else z",
         f"Branch([[Given(c), Given(x)], [{X}, ComposeBlock(_, [], [y])]], Given(z))"),
        ("for x : xs do f(x)", f"Loop([], [Scan(x, xs)], _, False, False, _, {X})"),
        ("with s = 0 do..(i -> k) f(x)", f"Loop([Carried(s, _, 0)], [], _, False, False, Count(i, k), {X})"),
        ("with s: real[n] = 0.0 for x : xs, y : ys unroll f(x)",
         "Loop([Carried(s, Type(real, False, _, Shape([Extent(n)])), 0.0)], "
         f"[Scan(x, xs), Scan(y, ys)], _, False, True, _, {X})"),
        ("for x : xs do..(i ->) f(x)", f"Loop([], [Scan(x, xs)], _, False, False, Count(i), {X})"),
        ("with s = a while f(x) do f(x)", f"Loop([Carried(s, _, a)], [], {X}, True, False, _, {X})"),
        ("with s = a, c = true do f(x) while c",
         f"Loop([Carried(s, _, a), Carried(c, _, True)], [], Given(c), False, False, _, {X})"),
    ],
)  # fmt: skip
def test_a_right_hand_side_means(text: str, meaning: str) -> None:
    assert part(text) == meaning


def test_a_left_hand_side_means() -> None:
    found = operator("@compose { a..(n), [b, c..(k)], ~ = op(x); }").components
    assert found is not None
    assert shown(found[0].left) == (
        "[Target(a, _, Pack(n)), TargetList([Target(b), Target(c, _, Pack(k))]), Target()]"
    )


@pytest.mark.parametrize("operator_text", ["=", "+=", "*=", "&=", "|=", "<?=", ">?=", ":="])
def test_every_assignment_lowers(operator_text: str) -> None:
    found = operator(f"@lower {{ y[i] {operator_text} x[i,], i < n; }}").lowerings
    assert (
        shown(found) == f"[Lowering(_, [], Subscript(y, i), {operator_text}, Access(x, [i]), [Bound(i, n)])]"
    )


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("idx[] := i, i < n | x[i,] > x[idx[],];",
         "Lowering(_, [], Access(idx, []), :=, i, [Bound(i, n)], "
         "{Access(x, [i]) > Access(x, [Access(idx, [])])})"),
        ("unroll..(k -> n) ys[k][i,] = xs[k][i,], i < m;",
         "Lowering(Count(k, n), [], Access(Subscript(ys, k), [i]), =, Access(Subscript(xs, k), [i]), "
         "[Bound(i, m)])"),
        ("with a = x[i..]: y[i..] = a, i < s;",
         "Lowering(_, [Local(a, Access(x, [Expand(i)]))], Access(y, [Expand(i)]), =, a, [Bound(i, s)])"),
    ],
)  # fmt: skip
def test_a_lowering_means(text: str, meaning: str) -> None:
    assert shown(operator(f"@lower {{ {text} }}").lowerings) == f"[{meaning}]"


@pytest.mark.parametrize("end", [":", ";", ","])
def test_values_of_a_loop_end_as_the_grammar_or_the_text_has_it(end: str) -> None:
    (found,) = operator(f"@lower {{ with a = 1, b = a {end} y[i..] = b, i < s; }}").lowerings or ()
    assert shown(found.locals) == "[Local(a, 1), Local(b, a)]"
    assert shown(found.left) == "Access(y, [Expand(i)])"


def test_a_module_has_a_version_extensions_imports_operators_and_graphs() -> None:
    found = module(
        "version 2.0; extension KHR_one, KHR_two; import nn, layout; import sub.mine;  # a comment\n"
        "operator a { } public operator b { } graph main { }"
    )
    assert found.version == (2, 0)
    assert found.extensions == ("KHR_one", "KHR_two")
    assert [one.module for one in found.imports] == ["nn", "layout", "sub.mine"]
    assert [(one.name, one.graph, one.public) for one in found.operators] == [
        ("a", False, False), ("b", False, True), ("main", True, False),
    ]  # fmt: skip


def test_blocks_that_are_left_out_differ_from_empty_ones() -> None:
    assert operator("").lowerings is None
    assert operator("@lower { }").lowerings == ()


def test_places_are_those_of_the_text() -> None:
    text = "operator op {\n  @using { a = b + cde; }\n}"
    (found,) = module(text).operators
    span = found.using[0].value.span
    assert text[span.start : span.stop] == "b + cde"
    assert text[found.span.start : found.span.stop] == text
