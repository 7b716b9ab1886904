"""What breaks SkriptND's grammar is told of with its place, several faults in one run; no text does harm."""

from __future__ import annotations

import pickle
import random

import pytest

from tosajit.errors import Fault, ScriptError
from tosajit.frontends.nnef.syntax.cursor import DEEPEST
from tosajit.frontends.nnef.syntax.parser import parse
from tosajit.frontends.nnef.syntax.source import MOST_FAULTS, Source

GOOD = """version 2.0;
import nn;

operator conv {
    @dtype { T: num = real; }
    @attrib { stride: int..(d) = 1; padding: optional int..(d); }
    @input { input: T[b,c,is..(d)]; filter: T[n,c,fs..(d)]; bias: optional T[n]; }
    @using { os = (is + padding - fs) / stride + 1; [a,b..] = os; }
    @output { output: T[b,n,os..]; }
    @assert { stride > 0: "'stride' must be positive; got {stride}", stride; }
    @lower {
        output[bi,ni,i..] = bias[ni] ?? 0.0, bi < b, ni < n, i < os;
        with x = i + j: output[bi,ni,i..] += input[bi,ci,|x <> 0 : is - 1|..] * filter[ni,ci,j..],
            bi < b, ni < n, ci < c, i < os, j < fs | x > 0;
    }
}

graph main {
    @input { x: real[~|10, 3]; }
    @output { y: real; }
    @variable { w: real[8,3,3]; }
    @compose {
        a, [b, c..(2)] = first: conv<real>{stride=[1, 2 ..(1)]}(x, w, ~);
        y = with s: real[3] = 0.0 for z : c do..(i -> 2) { t = nn.add(s, z); yield t; } while more(t);
        z = if ?x then { yield y; } elif f(y) then x else c;
    }
    @update { w = nn.add(w, a); }
    @quantize { a: quant.linear{bits=8}; }
}
"""


def faults(text: str) -> tuple[Fault, ...]:
    with pytest.raises(ScriptError) as caught:
        parse(Source("main", text))
    return caught.value.faults


def fault(block: str) -> Fault:
    (found,) = faults(f"operator op {{\n{block}\n}}")
    return found


def test_the_text_that_the_others_are_made_of_is_right() -> None:
    assert len(parse(Source("main", GOOD)).operators) == 2


@pytest.mark.parametrize(
    ("block", "line", "column", "message"),
    [
        ("@using { a = ; }", 2, 14, "expected an expression, but found `;`"),
        ("@using { a = b\n}", 2, 15, "expected `;`, but found `}`"),
        ("@using { a = (b; }", 2, 16, "expected `)`, but found `;`"),
        ("@using { if = b; }", 2, 10, "expected a name, but found `if`"),
        ("@using { a = 'text; }", 2, 14, "the string is not closed on its line"),
        ("@using { a = $; }", 2, 14, "'$' begins nothing in this language"),
        ("@using { a = [b...]; }", 2, 16, "expected `..`, but found `...`"),
        ("@using { a = b - ..; }", 2, 14, "`-` has no fold"),
        ("@using { a = b < ...; }", 2, 14, "`<` has no cumulative fold"),
        ("@using { a = (b, c); }", 2, 20, "expected `..` behind a zip expression, but found `;`"),
        ("@using { a = b <- c; }", 2, 16, "expected an operator, but found `<-`"),
        ("@using { a = b.size - b.width; }", 2, 25, "expected `shape`, `rank` or `size`, but found `width`"),
        ("@using { a = '{b'; }", 2, 15, "`{` in the string is not closed"),
        ("@using { a = '{b c}'; }", 2, 18, "expected `}` behind the expression in the string, but found `c`"),
        ("@using { a = 99999999999999999999; }", 2, 14, "the integer has more than 64 bits"),
        ("@dtype { T: real; }", 2, 13, "expected `type`, `arith` or `num`, but found `real`"),
        ("@attrib { a int; }", 2, 13, "expected `:` behind `a`, but found `int`"),
        ("@attrib { a: 3; }", 2, 14, "expected a type, but found `3`"),
        ("@input { x: real[n; }", 2, 19, "expected `]`, but found `;`"),
        ("@assert { a > 0: a; }", 2, 18, "expected a message, but found `a`"),
        ("@compose { y = op{a: 1}(x); }", 2, 20, "expected `=` behind the attribute `a`, but found `:`"),
        ("@compose { y = { a = f(x); }; }", 2, 28, "expected `yield` at the end of the block, but found `}`"),
        ("@compose { y = if c then x; }", 2, 27,
         "expected `else` behind the branches of `if`, but found `;`"),
        ("@compose { y = if c then x else if d then x else z; }", 2, 33,
         "expected what is done otherwise, but found `if`"),
        ("@compose { y = do f(x); }", 2, 16, "nothing ends this loop"),
        ("@compose { y = for x : xs f(x); }", 2, 27, "expected `do` or `unroll`, but found `f`"),
        ("@compose { y = while c do f(x) while c; }", 2, 32,
         "expected `;` behind a loop that has a condition, but found `while`"),
        ("@compose { y = unroll f(x) while c; }", 2, 16, "a loop with a condition cannot be unrolled"),
        ("@lower { y = x[i]; }", 2, 12, "expected `[` behind the tensor, but found `=`"),
        ("@lower { y[i] -= x[i]; }", 2, 15, "expected one of = += *= &= |= <?= >?= :=, but found `-`"),
        ("@lower { y[i] = x[i], 3 < n; }", 2, 23, "expected an index, as in `i < n`, but found `3`"),
        ("@lower { y[i] = x[|i]; }", 2, 21, "expected `|` behind a checked index, but found `]`"),
        ("@lower { unroll y[i] = x[i]; }", 2, 17, "expected `..(k -> n)` behind `unroll`, but found `y`"),
        ("@quantize { a quant; }", 2, 15, "expected `:` behind `a`, but found `quant`"),
        ("@atrib { a: int; }", 2, 1, "expected a block, but found `@atrib`"),
        ("@using { a = 1; } @using { b = 1; }", 2, 19, "`@using` stands here twice"),
    ],
)  # fmt: skip
def test_a_fault_is_found_where_it_is(block: str, line: int, column: int, message: str) -> None:
    found = fault(block)
    assert (found.line, found.column, found.message) == (line, column, message)


def test_a_misspelt_block_is_suggested() -> None:
    assert fault("@atrib { a: int; }").remedy == "did you mean `@attrib`?"


def test_a_fault_shows_its_line_with_a_caret() -> None:
    assert str(fault("@using { a = b.width; }")) == (
        "main:2:16: expected `shape`, `rank` or `size`, but found `width`; "
        "names of nested tensors stand in @quantize only [NNEF 2.0 section 2.4]\n"
        "    @using { a = b.width; }\n"
        "                   ^^^^^"
    )


def test_all_faults_of_a_text_are_told_of() -> None:
    text = (
        "import 3;\n"
        "operator one { @using { a = ; b = 1; c = (2; d = 3; } @output { y: ; } }\n"
        "operator { }\n"
        "operator two { @lower { y = 1; z[i] = 2; } }\n"
    )
    assert [(one.line, one.message.split(",")[0]) for one in faults(text)] == [
        (1, "expected a name"),
        (2, "expected an expression"),
        (2, "expected `)`"),
        (2, "expected a type"),
        (3, "expected the name of the operator"),
        (4, "expected `[` behind the tensor"),
    ]


def test_faults_end_where_nobody_reads_them() -> None:
    assert len(faults("operator op { @using {" + "a = ;" * 1000 + "} }")) == MOST_FAULTS


def test_errors_survive_pickling() -> None:
    with pytest.raises(ScriptError) as caught:
        parse(Source("main", "operator"))
    assert pickle.loads(pickle.dumps(caught.value)).faults == caught.value.faults


@pytest.mark.parametrize("opening", ["(", "[", "-", "? ", "a[", "f(", "1 + (", "a ?? ", "a ** ", "| "])
def test_deep_nesting_is_refused(opening: str) -> None:
    found = faults(f"operator op {{ @using {{ a = {opening * 100_000}; }} }}")
    assert f"this is nested more than {DEEPEST} deep" in found[0].message


def test_deep_blocks_are_refused() -> None:
    found = faults("operator op { @compose { y = " + "{ y = " * 50_000 + "} }")
    assert found[0].message == f"this is nested more than {DEEPEST} deep"


def test_long_chains_are_no_nesting() -> None:
    text = f"operator op {{ @using {{ a = {' + '.join(['b'] * 5000)}; c = [{', '.join(['1'] * 5000)}]; }} }}"
    assert len(parse(Source("main", text)).operators[0].using) == 2


WORDS = GOOD.split() + list("()[]{}<>|?:;,.~=+-*/\\%!^'\"#@&") + ["..", "...", "<-", "yield", "\0", "é"]


@pytest.mark.parametrize("seed", range(300))
def test_a_damaged_text_is_refused_or_read(seed: int) -> None:
    drawn = random.Random(seed)
    text = GOOD
    for _ in range(drawn.randint(1, 6)):
        place, length = drawn.randrange(len(text)), drawn.choice([0, 1, 2, 5, 40])
        text = text[:place] + drawn.choice(["", drawn.choice(WORDS), " "]) + text[place + length :]
    found: tuple[Fault, ...] = ()
    try:
        parse(Source("main", text))
    except ScriptError as error:
        found = error.faults
    lines = text.split("\n")
    for one in found:
        assert 1 <= one.line <= len(lines)
        assert 1 <= one.column <= len(lines[one.line - 1]) + 1
