"""What is alike but for the names of its operands is fused once, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tiling import substitute
from tiling.expr import acc, call, const, read
from tiling.forms import Forms
from tiling.fuse import fuse
from tiling.nest import Access, Axis, Nest, Reduction, Write, identity


def along(name: str, type: str = "i32") -> Access:
    return Access(name, type, (8,), identity(1))


def doubled(source: str, target: str, member: str) -> Nest:
    value = call("add_i32", read(0, "i32"), read(0, "i32"), type="i32")
    return Nest("map", (Axis("x", 8),), (along(source),), (Write(along(target), value),), members=(member,))


def summed(initial: float) -> Nest:
    write = Write(Access("y", "f32", (), ()), acc("f32"))
    reduction = Reduction("add", initial, "f32", read(0, "f32"))
    return Nest("reduce", (Axis("x", 8, True),), (along("x", "f32"),), (write,), reduction)


def test_nests_that_differ_in_names_alone_have_one_form() -> None:
    forms = Forms()
    one, other = doubled("a", "b", "first"), doubled("c", "d", "second")
    pieces = forms.piece(one), forms.piece(other)
    assert pieces[0].form is pieces[1].form
    assert (pieces[0].nest(), pieces[1].nest()) == (one, other)


def test_a_nest_that_overwrites_what_it_reads_has_another_form() -> None:
    forms = Forms()
    assert forms.piece(doubled("a", "b", "")).form is not forms.piece(doubled("a", "a", "")).form


def test_sums_that_begin_with_zeros_of_either_sign_have_forms_of_their_own() -> None:
    forms = Forms()
    positive, negative = forms.piece(summed(0.0)), forms.piece(summed(-0.0))
    assert positive.form is not negative.form
    assert negative.nest() == summed(-0.0)


def test_operands_that_array_kernels_read_belong_to_the_form() -> None:
    nest = replace(summed(0.0), prepared=(along("packed"),))
    piece = Forms().piece(nest)
    assert piece.read == {"x", "packed"}
    assert piece.nest() == nest


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Nest]:
    """The producers that are inlined from now on."""
    made: list[Nest] = []
    inline = substitute.inline

    def counting(consumer: Nest, number: int, producer: Nest, parts: bool) -> Nest | None:
        made.append(producer)
        return inline(consumer, number, producer, parts)

    monkeypatch.setattr("tiling.fuse.inline", counting)
    return made


def test_equal_steps_are_fused_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch)
    chains = [
        doubled(*names, f"{number}.{names[1]}")
        for number in range(5)
        for names in ((f"x{number}", f"y{number}"), (f"y{number}", f"z{number}"))
    ]
    groups = fuse(chains, {f"z{number}" for number in range(5)})
    assert len(made) == 1
    assert [group.members for group in groups] == [(f"{n}.y{n}", f"{n}.z{n}") for n in range(5)]
    assert [group.operands for group in groups] == [(f"x{n}", f"z{n}") for n in range(5)]
    assert len({group.writes[0].value for group in groups}) == 1


def scaled(source: str, target: str, *numbers: str) -> Nest:
    """A nest that adds up to two numbers to its operand."""
    value = read(0, "i32")
    for number, _ in enumerate(numbers, 1):
        value = call("add_i32", value, read(number, "i32"), type="i32")
    reads = (along(source), *(Access(number, "i32", (), ()) for number in numbers))
    return Nest("map", (Axis("x", 8),), reads, (Write(along(target), value),), members=(target,))


CHAINS = (("a", "b", "c", "d"), ("a", "a", "c", "d"), ("a", "b", "b", "a"), ("a", "a", "a", "a"))


def scalings() -> list[Nest]:
    """Chains of two nests, whose four constants are others, or some of them the same."""
    return [
        nest
        for number, (a, b, c, d) in enumerate(CHAINS)
        for nest in (
            scaled(f"x{number}", f"y{number}", a, b),
            scaled(f"y{number}", f"z{number}", c, d),
        )
    ]


def test_steps_are_fused_once_whichever_of_their_constants_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch)
    kept = {f"z{number}" for number in range(len(CHAINS))}
    groups = fuse(scalings(), kept, constants={"a", "b", "c", "d"})
    assert len(made) == 1
    assert list(groups) == list(fuse(scalings(), kept))


def test_a_constant_is_read_once_by_a_group() -> None:
    groups = fuse(scalings(), {f"z{number}" for number in range(len(CHAINS))}, constants={"a", "b", "c", "d"})
    assert [len(group.reads) for group in groups] == [5, 4, 3, 2]


def test_uses_of_a_constant_count_once_against_the_limit_of_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiling.fuse.MAX_OPERANDS", 6)
    chain = [scaled("x", "y", "a", "a"), scaled("y", "z", "a", "a")]
    assert len(fuse(chain, {"z"}, constants={"a"})) == 1
    assert len(fuse([scaled("x", "y", "a", "b"), scaled("y", "z", "c", "d")], {"z"}, constants={"a"})) == 2


def test_constants_are_told_from_operands_whose_names_look_like_theirs() -> None:
    forms = Forms({"a"})
    piece = forms.piece(scaled("x", "y", "a", "a"))
    assert len(piece.operands) == 4
    assert len(set(piece.operands)) == 4
    assert forms.whole(piece) == replace(scaled("x", "y", "a"), writes=forms.whole(piece).writes)
    assert forms.repeated(piece) == 1


def test_values_that_differ_keep_forms_apart() -> None:
    forms = Forms()
    nest = doubled("a", "b", "")
    other = call("add_i32", read(0, "i32"), const(1, "i32"), type="i32")
    assert forms.piece(nest).form is not forms.piece(replace(nest, writes=(Write(along("b"), other),))).form
