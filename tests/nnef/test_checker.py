"""What is wrong with a text is told of before any of it is called (NNEF 2.0 chapter 2), all in one run."""

from __future__ import annotations

import pytest

from tests.nnef.composing import BINARY, CONV
from tosajit.errors import Fault, ScriptError
from tosajit.frontends.nnef.compose import Library
from tosajit.frontends.nnef.compose.checker import check
from tosajit.frontends.nnef.compose.checker.modules import check_definition
from tosajit.frontends.nnef.library import MODULES, Standard
from tosajit.frontends.nnef.syntax.source import Faults

GRAPH = "graph main { @output { y: real; } @compose { y = 1.0; } }"


def faults(text: str, **modules: str) -> tuple[Fault, ...]:
    with pytest.raises(ScriptError) as caught:
        check(Library({"main": text, **modules}, Standard()))
    return caught.value.faults


def accepted(text: str, **modules: str) -> None:
    check(Library({"main": text, **modules}, Standard()))


def in_operator(blocks: str) -> str:
    lower = "" if "@lower" in blocks or "@compose" in blocks else " @lower { y[] = 0.0; }"
    output = "" if "@output" in blocks else "@output { y: real[]; }"
    return f"{CONV}{BINARY}operator op {{ {blocks} {output}{lower} }} {GRAPH}"


@pytest.mark.parametrize("module", MODULES)
def test_the_standard_library_breaks_no_rule(module: str) -> None:
    library = Library({"main": GRAPH}, Standard())
    found = library.module(module)
    assert found is not None
    for name in found.names:
        definition = found.find(name)
        assert definition is not None
        told = Faults(definition.source)
        check_definition(definition, library, told)
        assert not told.found, name


ACCEPTED = [
    "@attrib { a: int = 1; b: int..(a) = 0; c: int = a + 1; }",
    "@attrib { r: optional int; a: int..(k) = [0:r]; }",
    "@dtype { T: num; } @attrib { a: T = 1; }",
    "@dtype { T: num; } @attrib { a: T = T(1); } @input { x: T[]; }",
    "@dtype { X: num; Y: num; } @attrib { a: X; b: Y; } @using { c = a < b; }",
    "@input { x: real[s..(d),t..]; y0: real[s..(d)]; }",
    "@input { x: real^(r)[s..(r - 1),t]; }",
    "@attrib { f: bool; } @input { x: real[s..(f)]; } @using { a = s ?? 0; }",
    "@input { x: optional real[s..]; } @using { a = ?x ? 1 : 0; b = x.rank ?? 0; }",
    "@attrib { a: optional int; } @using { b = ?a && a > 1 ? a : 0; c = a ?? 1; d = [a, 1]; }",
    "@attrib { a: optional int; } @using { b = !?a || a > 1; }",
    "@using { a = [1, 2]; [b, c..] = a; [(d, e)..] = a; f = a[0] + a[::-1][1]; g = a[a == 1]; }",
    "@using { a = (1 in [1, 2]) && 'a' < 'b'; b = 'abc'[1:]; c = [1.0] + ..; }",
    "@using { a = [] + ..; b = [[0:2].., 5 ..(2)]; c = b[0] <- 1; }",
    '@using { a = real(3) * 1.5; b = int(2.5) % 2; c = abs(-1) + sign(2); d = "{a} and {b}"; }',
    "@assert { [1, 2] > 0: 'message {1 + 1}', label: 2; }",
    "@constant { c: real[2,2] = i == j ? 1 : 0, i < 2, j < 2; }",
    "@input { x: real[n]; } @output { y: real[k|n]; } @lower { y[k] = x[i], i < n | x[i,] > 0.0; }",
    "@input { x: optional real[n]; } @output { y: real[n]; } @lower { y[i] = x[i] ?? 0.0, i < n; }",
    "@input { x: real[n]; } @output { y: int[]; } @lower { y[] = 0; y[] := i, i < n | x[i,] > x[y[],]; }",
    "@input { x: real[n]; } @output { y: real[n]; } @lower { with z = x[i]: y[i] = z * z, i < n; }",
    "@input { xs: real[n]..(k); } @output { y: real[n]..(k); }"
    " @lower { unroll..(j -> k) y[j][i] = xs[j][i], i < n; }",
    "@input { xs: real[n]..(k); } @output { y: real[n]..(k); } @lower { y[i,] = xs[i,], i < n; }",
    "@input { x: real[n,m]; } @output { y: real[n,m]; } @lower { y[i,:] = x[|i <> 0 : n - 1|,:], i < n; }",
    "@input { x: real[n]; } @compose { y = 1.0; }",
    "@input { x: real[n]; v: optional real[n]; } @output { y: real[n]; }"
    " @compose { y = if ?v then add(x, v) else x; }",
    "@input { x: real[n]; v: optional real[n]; } @output { y: real[n]; } @compose { y = add(x, v ?? x); }",
    "@variable { w: real[2]; } @output { y: real[2]; } @compose { y = w; } @update { w = add(w, y); }",
    "@input { xs: real[n]..(k); } @output { y: real[n]; } @compose {"
    " y, ~ = with s: real[n] = 0.0 for x : xs do { t = add(s, x); yield t, t; }; }",
]


@pytest.mark.parametrize("blocks", ACCEPTED)
def test_what_breaks_no_rule_is_accepted(blocks: str) -> None:
    accepted(in_operator(blocks))


REFUSED = [
    # section 2.3 and 2.13: types
    ("@attrib { a: itn; }", "there is no type `itn`", "2.3"),
    ("@dtype { T: num = bool; } @attrib { a: T; }", "`T` may be int or real, not bool", "2.13"),
    ("@dtype { T: num; T: type; }", "the type `T` is declared twice", "2.13"),
    # section 2.4: expressions
    ("@using { a = 1 + 1.0; }", "`+` takes operands of one type, not int and real", "2.4"),
    ("@using { a = true + false; }", "`+` takes int or real, not bool", "2.4"),
    ("@using { a = 1 && 2; }", "this takes bool, not int", "2.4"),
    ("@using { a = !1; }", "this takes bool, not int", "2.4"),
    ("@using { a = 1.0 % 2.0; }", "`%` takes int, not real", "2.4"),
    ("@using { a = 1 == 'a'; }", "one type, not int and str", "2.4"),
    ("@using { a = 1 in 2; }", "`in` takes a pack on its right, not int", "2.4"),
    ("@using { a = 1.0 in [2]; }", "real is never in int..", "2.4"),
    ("@using { a = 1 ? 2 : 3; }", "this takes bool, not int", "2.4"),
    ("@using { a = true ? 2 : 3.0; }", "among values of one type, not int and real", "2.4"),
    ("@using { a = 1 ?? 2; }", "what stands before `??` is never null: it is int", "2.4"),
    ("@attrib { o: optional int; } @using { a = o ?? 1.0; }", "values of one type, not optional int", "2.4"),
    ("@using { a = 1 + ..; }", "`+ ..` folds a pack, not int", "2.4"),
    ("@using { a = [true] + ..; }", "`+` takes int or real, not bool..", "2.4"),
    ("@using { a = [1, 2.0]; }", "the items of a list have one type, not int and real", "2.4"),
    ("@using { a = [[1]]; }", "packs cannot be nested", "2.4"),
    ("@using { b = 1; a = [b..]; }", "`..` expands a pack, not int", "2.4"),
    ("@using { a = [([1], 2)..]; }", "a zip expression takes packs, not int", "2.4"),
    ("@using { a = [([1], ['a'])..]; }", "packs of one type can be zipped, not int and str", "2.4"),
    ("@using { b = 1; a = b[0]; }", "this takes a pack, not int", "2.4"),
    ("@using { a = [1][0.5]; }", "an index is int, or a mask of bool.., not real", "2.4"),
    ("@using { b = [1]; a = b[0] <- 1.0; }", "items of int.. are not replaced by real", "2.4"),
    ("@using { a = sqrt(1); }", "`sqrt` takes real, not int", "2.4"),
    ("@using { a = abs(true); }", "`abs` takes int or real, not bool", "2.4"),
    ("@using { a = squrt(1.0); }", "there is no function or type `squrt`", "2.4"),
    ("@using { a = int('1'); }", "str cannot be cast to int", "2.4"),
    ("@dtype { T: type; } @attrib { t: T; } @using { a = t + t; }", "`+` takes int or real, not T", "2.4"),
    ("@dtype { T: arith; } @attrib { t: T; } @using { a = t + t; }", "`+` takes int or real, not T", "2.4"),
    ("@dtype { T: num; } @attrib { t: T; } @using { a = t + 1; }", "one type, not T and int", "2.4"),
    ("@using { a = [0:1.5]; }", "this is real, but must be int", "2.4"),
    ("@using { a = b; }", "there is no `b` here", "2.4"),
    ("@attrib { n: int; } @using { a = n.rank; }", "`n` is int, not a tensor, so it has no rank", "2.4"),
    ("@input { x: real[]; } @using { a = x.size; }", "`x` is real[…], not a pack of tensors", "2.4"),
    ("@input { x: real[]; } @using { a = x; }", "a tensor has no value before the model runs", "2.4"),
    # section 2.5: attributes
    ("@attrib { a: int; a: int; }", "`a` is declared twice", "2.5"),
    ("@attrib { a: int[]; }", "the attribute `a` is a tensor", "2.5"),
    ("@attrib { a: optional int = 1; }", "the optional attribute `a` has a default value", "2.5"),
    ("@attrib { a: int = 1.0; }", "`a` is int, but its default value real", "2.5"),
    ("@attrib { a: int = [1]; }", "`a` is no pack, but its default value is", "2.5"),
    ("@attrib { a: int = a + 1; }", "the default value of `a` depends on itself", "2.5"),
    ("@attrib { a: int = b; }", "there is no `b` here", "2.4"),
    # section 2.6: shapes
    ("@input { x: real[..n]; }", "`x` is no pack, so no extents of it are distinct", "2.6"),
    ("@input { x: real; }", "the shape of the input `x` is not said", "2.6"),
    ("@input { x: real[~]; }", "an extent of an operator's input has a name", "2.6"),
    ("@input { x: real[1.5]; }", "this is real, but must be int", "2.6"),
    ("@input { x: real[n / 2]; }", "there is no `n` here", "2.4"),
    ("@output { y: real[n]; }", "there is no `n` here", "2.4"),
    ("@output { y: real[~]; }", "an extent of `y` has no bound", "2.6.1"),
    ("@output { y: real[]..; }", "the length of the pack `y` is not said", "2.6"),
    ("@input { x: real[s..,t..]; }", "no order of inputs binds the shape of `x`", "2.6.2"),
    ("@attrib { a: int..(d) = 0; } @input { x: real[s..(d),t..]; }", "no order of inputs binds", "2.6.2"),
    # section 2.7: constants and variables
    ("@constant { c: real[2]; }", "the constant `c` has no value", "2.7"),
    ("@constant { c: int[2] = 1.5; }", "`c` is int, but its value real", "2.7"),
    ("@constant { c: int[2] = i, j < 2; }", "there is no `i` here", "2.4"),
    ("@variable { w: real[2] = 1.0; }", "the variable `w` has a value", "2.7"),
    # sections 2.8 and 2.9
    ("@attrib { n: int; } @assert { n; }", "this is int, but must be bool", "2.8"),
    ("@assert { true: '{m}'; }", "there is no `m` here", "2.4"),
    ("@using { a = b; b = 1; }", "there is no `b` here", "2.4"),
    ("@using { a = 1; a = 2; }", "`a` is declared twice", "2.5"),
    ("@using { [a, b] = 1; }", "a list takes a pack, not int", "2.9"),
    ("@using { a..(2) = 1; }", "`a` is said to be a pack, but is int", "2.9"),
    # section 2.12: lowerings
    ("@input { x: real[n]; } @lower { x[i] = 0.0, i < n; }", "assigns elements of an output", "2.12"),
    ("@output { y: real[]; z: real[]; } @lower { y[] = 0.0; }", "no formula assigns the output `z`", "2.12"),
    ("@lower { y[] = 0.0; y[] += 1.0; y[] += 1.0; }", "assigned by 3 formulas, but by two at most", "2.12"),
    ("@lower { y[] += 0.0; y[] += 1.0; }", "initialises `y` with `=`, not `+=`", "2.12"),
    ("@lower { y[] = 0.0; y[] = 1.0; }", "`y` is initialised twice", "2.12"),
    ("@lower { y[] := 0.0; }", "`:=` updates `y`, which has no first value", "2.12"),
    ("@lower { y[] = 1; }", "elements of real are assigned int", "2.12"),
    ("@lower { y[] &= true; }", "elements of real are assigned bool", "2.12"),
    ("@lower { y[] |= 1.0; }", "`|=` takes bool, not real", "2.12"),
    ("@input { x: optional real[]; } @lower { y[] = x[]; }", "what is assigned may be null", "2.12"),
    ("@lower { y[] = 0.0, i < 2, i < 3; }", "`i` has two bounds", "2.12"),
    ("@lower { y[] = 0.0, i < 2.5; }", "this is real, but must be int", "2.12"),
    ("@lower { y[] = 0.0 | 1; }", "this is int, but must be bool", "2.12"),
    ("@lower { y[] = z[]; }", "there is no `z` here", "2.4"),
    ("@input { x: real[n]; } @lower { y[] = x[0.5]; }", "an index is int, not real", "2.12"),
    # section 2.10: composition
    ("@compose { z = 1.0; }", "the output `y` is not assigned", "2.10"),
    ("@compose { y = 1; }", "the output `y` is real, but int is assigned", "2.10"),
    ("@compose { y = [1.0]; }", "the output `y` is not a pack", "2.10"),
    ("@compose { y, z = 1.0; }", "1 results go to 2 names", "2.10"),
    ("@compose { y = 1.0; y = 2.0; }", "`y` has a tensor already", "2.10"),
    ("@input { x: real[]; } @compose { x = 1.0; y = x; }", "`x` is an input, which is not assigned", "2.10"),
    ("@compose { y = adde(1.0, 2.0); }", "module `main` has no operator `adde`", "2.10"),
    ("@compose { y = add(1.0); }", "the input `y` of `add` is not given", "2.10"),
    ("@compose { y = add(1.0, ~); }", "the input `y` of `add` is not given", "2.10"),
    ("@compose { y = add(1.0, 2.0, 3.0); }", "`add` takes 2 inputs, not 3", "2.10"),
    ("@compose { y = add(1.0, 2); }", "`y` of `add` is real, not int", "2.13"),
    ("@compose { y = add(true, true); }", "`T` of `add` may be int or real, not bool", "2.13"),
    ("@compose { y = add(1.0, [2.0]); }", "the input `y` of `add` is one tensor, not real..", "2.10"),
    ("@compose { y = join(1.0); }", "the input `xs` of `join` is a pack, not real", "2.10"),
    ("@compose { y = add{n=1}(1.0, 2.0); }", "`add` has no attribute `n`", "2.10"),
    ("@compose { ys = split(1.0); y = ys[0]; }", "the attribute `n` of `split` is not given", "2.5"),
    ("@compose { ys = split{n=1, n=1}(1.0); y = ys[0]; }", "the attribute `n` is given twice", "2.10"),
    ("@compose { ys = split{n=1.0}(1.0); y = ys[0]; }", "`n` of `split` is int, not real", "2.3"),
    ("@compose { ys = split{n=[1]}(1.0); y = ys[0]; }", "`n` is no pack, but is given one", "2.5"),
    ("@compose { y = add<real,int>(1.0, 2.0); }", "`add` has 1 generic types, not 2", "2.13"),
    ("@compose { y = add<S>(1.0, 2.0); }", "there is no type `S`", "2.13"),
    ("@compose { y = lost.add(1.0, 2.0); }", "no module `lost` is imported", "2.15"),
    ("@compose { y = math.add(1.0, 2.0); }", "no module `math` is imported", "2.15"),
    ("@compose { a = add(1.0, 2.0); y = a + a; }", "tensors are computed by operators", "2.10"),
    ("@input { v: optional real[]; } @compose { y = add(1.0, v); }",
     "the input `y` of `add` may be null here", "2.10"),
    ("@input { v: optional real[]; } @compose { y = if ?v then 1.0 else add(1.0, v); }",
     "the input `y` of `add` may be null here", "2.10"),
    # section 2.10.1: control flow
    ("@compose { y = if add(1, 1) then 1.0 else 2.0; }", "a condition is one bool, not int[…]", "2.10.1"),
    ("@compose { y = if true then { yield 1.0, 2.0; } else 1.0; }", "the branches give 1 and 2", "2.10.1"),
    ("@input { v: optional real[]; } @compose { y = { yield v; }; }", "what a block gives may be", "2.10.1"),
    ("@compose { y = with s = 1.0, t = 1.0 do..(2) add(s, t); }", "the loop carries 2 tensors", "2.10.1"),
    ("@compose { y = with s: real[] = 1 do..(2) scale(s, 1.0); }", "but begins as int", "2.10.1"),
    ("@compose { y = with s = 1.0 for a : s do scale(s, 1.0); }", "there is no `s` here", "2.4"),
    ("@compose { y = with s = 1.0 for a : 1.0 do scale(s, a); }", "a loop walks a pack, not real", "2.10.1"),
    ("@compose { y = with s = 1.0 do..(2.5) scale(s); }", "this is real, but must be int", "2.10.1"),
    # section 2.11: updates
    ("@variable { w: real[]; } @compose { w = 1.0; y = w; }", "`w` is assigned in @compose", "2.11"),
    ("@variable { w: real[]; } @compose { y = w; } @update { y = w; }", "is assigned in @update", "2.11"),
]  # fmt: skip


@pytest.mark.parametrize(("blocks", "message", "section"), REFUSED)
def test_what_breaks_a_rule_is_refused_with_its_section(blocks: str, message: str, section: str) -> None:
    found = [fault for fault in faults(in_operator(blocks)) if message in fault.message]
    assert found, [fault.message for fault in faults(in_operator(blocks))]
    assert found[0].section == section
    assert found[0].text


def test_several_faults_are_told_of_at_once_each_at_its_place() -> None:
    text = """operator op {
    @attrib { a: int = 1.0; }
    @using { b = c; d = 1 + 2.0; }
    @output { y: real[e]; }
    @lower { y[i] = i, i < 3; }
}
graph main { @output { y: real; } @compose { y = opp{}(); z = 1; } }"""
    found = faults(text)
    assert [(one.line, one.column) for one in found] == [(2, 24), (3, 18), (3, 25), (4, 23), (5, 21), (7, 50)]
    assert str(found[2]).splitlines()[2].strip() == "^^^^^^^"


@pytest.mark.parametrize(
    ("blocks", "remedy"),
    [
        ("@attrib { stride: int; } @using { a = strid; }", "did you mean `stride`?"),
        ("@attrib { a: reel; }", "did you mean `real`?"),
        ("@using { a = squrt(1.0); }", "did you mean `sqrt`?"),
        ("@compose { y = addd(1.0, 2.0); }", "did you mean `add`?"),
        ("@compose { ys = split{m=1}(1.0); y = ys[0]; }", "it has n"),
        ("@using { a = 1 + 1.0; }", "write 1.0, or cast it: real(x)"),
    ],
)
def test_faults_come_with_a_remedy(blocks: str, remedy: str) -> None:
    assert remedy in {fault.remedy for fault in faults(in_operator(blocks))}


MODULE = "operator op { @output { y: real[]; } @lower { y[] = 0.0; } }"


def test_modules_are_checked_with_those_that_they_import() -> None:
    """Section 2.15."""
    accepted(f"import a; {GRAPH}", a=f"import b; {MODULE}", b=MODULE)
    (found,) = faults(f"import a; {GRAPH}", a=f"import b; {MODULE}", b=MODULE.replace("0.0", "0"))
    assert (found.module, found.section) == ("b", "2.12")


@pytest.mark.parametrize(
    ("main", "modules", "message"),
    [
        (f"import lost; {GRAPH}", {}, "there is no module `lost`"),
        (f"import mat; {GRAPH}", {}, "there is no module `mat`"),
        (MODULE, {}, "the main module defines no graph"),
        (f"{MODULE} {MODULE} {GRAPH}", {}, "`op` is defined twice"),
        (f"import a; {GRAPH}", {"a": GRAPH}, "`main` is a graph, which only the main module may define"),
        (
            f"import a; {GRAPH}",
            {"a": f"import b; {MODULE}", "b": f"import a; {MODULE}"},
            "imports `a` in turn",
        ),
        (f"import main; {GRAPH}", {}, "imports `main` in turn"),
        ("graph main { @output { y: real; } }", {}, "the graph `main` has no @compose"),
    ],
)
def test_modules_that_do_not_fit_are_refused(main: str, modules: dict[str, str], message: str) -> None:
    """Section 2.15."""
    found = [fault for fault in faults(main, **modules) if message in fault.message]
    assert found
    assert found[0].section in ("2.15", "2.10")


def test_a_misspelt_module_is_suggested() -> None:
    assert faults(f"import mat; {GRAPH}")[0].remedy == "did you mean `math`?"


def test_operators_do_not_call_each_other_in_turn() -> None:
    text = """operator a { @output { y: real[]; } @compose { y = b(); } }
    operator b { @output { y: real[]; } @compose { y = a(); } }"""
    found = faults(f"{text} {GRAPH}")
    assert [fault.message for fault in found] == ["`a` calls itself", "`b` calls itself"]


def test_modules_that_cannot_be_parsed_are_told_of_with_the_others() -> None:
    found = faults(f"import a; import b; {GRAPH}", a="operator op {", b=MODULE.replace("0.0", "0"))
    assert {fault.module for fault in found} == {"a", "b"}
