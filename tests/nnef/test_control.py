"""Branches, loops and blocks (NNEF 2.0 section 2.10.1), and updates (section 2.11)."""

from __future__ import annotations

import pytest

from tests.nnef.composing import BINARY, graph, graph_refusal
from tosajit.errors import ScriptError
from tosajit.frontends.nnef.compose import Library, compose, composer
from tosajit.frontends.nnef.compose.loops import MOST_STEPS
from tosajit.frontends.nnef.model import (
    Body,
    Branches,
    Open,
    Operation,
    Repeat,
    Step,
    Tensor,
    operations,
    tensors_of,
)

HEAD = """graph main { @attrib { k: int = 3; yes: bool = true; w: optional int; }
    @input { x: real[6]; c: bool[]; m: bool[2,1]; o: bool[1,1]; p: int[]; q: int[]; v: optional real[6]; }
    @variable { xs: real[6]..(3); ragged: real[2]; }
    @output { y: real; } """
INT, PACK = "y: int[];", "y: real..;"


def headed(output: str) -> str:
    return HEAD.replace("y: real;", output)


def body(compose: str, output: str = "y: real;", **attributes: int | bool) -> Body:
    found = graph(f"{headed(output)} @compose {{ {compose} }} }}", **attributes).root.body
    assert found is not None
    return found


def only(compose: str, output: str = "y: real;") -> Step:
    (step,) = body(compose, output).steps
    return step


def branches(compose: str) -> Branches:
    step = only(compose)
    assert isinstance(step, Branches)
    return step


def repeat(compose: str, output: str = "y: real;") -> Repeat:
    step = only(compose, output)
    assert isinstance(step, Repeat)
    return step


def called(steps: tuple[Step, ...]) -> list[str]:
    return [step.definition.operator.name for step in steps if isinstance(step, Operation)]


def shapes(*outputs: object) -> list[tuple[object, ...]]:
    return [one.shape for one in outputs if isinstance(one, Tensor)]


def test_a_branch_by_data_keeps_all_of_its_bodies() -> None:
    found = branches("y = if less(p, q) then add(x, x) elif c then scale(x, 2.0) else x;")
    assert [called(test.steps) for test, _ in found.cases] == [["less"], []]
    assert [called(then.steps) for _, then in found.cases] == [["add"], ["scale"]]
    assert (found.otherwise.steps, len(found.otherwise.results)) == ((), 1)
    assert shapes(*found.outputs) == [(6,)]
    (tensor,) = tensors_of(found.outputs[0])
    assert (tensor.name, tensor.kind) == ("y", "output")


def test_conditions_that_are_known_are_left_out_of_a_branch() -> None:
    found = branches("y = if !yes then add(x, x) elif c then scale(x, 2.0) elif yes then x else add(x, x);")
    assert [called(then.steps) for _, then in found.cases] == [["scale"]]
    assert found.otherwise.steps == ()
    assert called(body("y = if yes then add(x, x) elif c then x else x;").steps) == ["add"]


def test_blocks_stand_for_invocations() -> None:
    found = branches(
        "y = if { a = less(p, q); yield a; } then { r = add(x, x); yield r; } else { yield x; };"
    )
    assert [called(test.steps) for test, _ in found.cases] == [["less"]]
    assert [called(then.steps) for _, then in found.cases] == [["add"]]


def test_a_block_on_its_own_is_done_in_its_place() -> None:
    steps = body("a, y = { x = scale(x, 2.0); z = add(x, x); yield x, z; };").steps
    assert called(steps) == ["scale", "add"]
    scaled, added = steps
    assert isinstance(scaled, Operation)
    assert isinstance(added, Operation)
    assert added.inputs["x"] is scaled.outputs["z"]


def test_names_of_a_block_are_its_own() -> None:
    steps = body("a = { x = scale(x, 2.0); yield x; }; y = add(a, x);").steps
    last = steps[-1]
    assert isinstance(last, Operation)
    assert tensors_of(last.inputs["y"])[0].name == "x"


def test_a_block_has_the_scope_of_its_label() -> None:
    steps = body("a = { t = scale(x, 2.0); yield t; }; y = l: { t = scale(a, 2.0); yield t; };").steps
    assert [step.label for step in steps] == ["a.t", "l.t"]


def test_branches_give_shapes_that_data_decide_where_they_differ() -> None:
    found = branches("y = if c then ragged else x;")
    assert shapes(*found.outputs) == [(Open(6),)]


def test_a_tensor_that_was_left_out_chooses_before_data_do() -> None:
    text = "y = if ?v && c then add(x, v) else x;"
    assert body(text).steps == ()
    assert called(body("y = if ?v then add(x, v) else scale(x, 1.0);").steps) == ["scale"]


def test_a_truth_that_is_known_turns_round_before_data_choose() -> None:
    assert called(body("y = if !?v then add(x, x) else scale(x, 1.0);").steps) == ["add"]
    assert called(body("y = if !!?v then add(x, x) else scale(x, 1.0);").steps) == ["scale"]


def test_a_condition_may_have_any_rank() -> None:
    assert len(branches("y = if o then add(x, x) else scale(x, 1.0);").cases) == 1


def test_a_test_for_null_leaves_the_rest_of_a_condition() -> None:
    inner = """operator op { @input { x: real[n]; c: bool[]; v: optional real[n]; } @output { y: real[n]; }
        @compose { y = if ?v && c then add(x, v) else x; } }"""
    model = graph(f"{inner} {HEAD} @compose {{ y = op(x, c, x); }} }}")
    assert model.root.body is not None
    (op,) = model.root.body.steps
    assert isinstance(op, Operation)
    assert op.body is not None
    assert isinstance(op.body.steps[0], Branches)


def test_a_scanning_loop_packs_what_its_steps_give() -> None:
    found = repeat("y = for a : xs do add(a, x);", PACK)
    assert (found.count, found.most, found.condition, found.carried) == (3, 3, None, ())
    assert [len(one.pack) for one in found.scanned] == [3]
    assert [one.tensor.shape for one in found.scanned] == [(6,)]
    (output,) = found.outputs
    assert [one.name for one in tensors_of(output)] == ["y.0", "y.1", "y.2"]
    assert called(found.body.steps) == ["add"]


def test_a_folding_loop_carries_its_variables() -> None:
    found = repeat("y = with sum: real[6] = 0.0 for a : xs do add(sum, a);")
    (carried,) = found.carried
    assert carried.tensor.shape == (6,)
    assert carried.initial.value is not None
    assert carried.initial.value.shape == (6,)
    assert shapes(*found.outputs) == [(6,)]


def test_carried_variables_come_before_packs() -> None:
    found = repeat("~, y = with sum = x for a : xs do { n = add(sum, a); yield n, yes ? sum : n; };", PACK)
    first, second = found.outputs
    assert isinstance(first, Tensor)
    assert isinstance(second, tuple)
    assert found.body.results[1] is found.carried[0].tensor


def test_a_loop_has_an_index_and_a_count_that_data_give() -> None:
    found = repeat("y = with s = 0 do..(i -> p) add(s, i);", INT)
    assert isinstance(found.count, Tensor)
    assert found.most is None
    assert found.index is not None
    assert (found.index.type, found.index.shape) == ("int", ())


def test_a_count_that_data_give_is_at_most_the_length_of_the_packs() -> None:
    found = repeat("y = for a : xs do..(p) scale(a, 2.0);", PACK)
    assert (found.most, [len(tensors_of(one)) for one in found.outputs]) == (3, [3])
    assert isinstance(found.count, Tensor)


@pytest.mark.parametrize(
    ("compose", "first"),
    [
        ("y = with s = p while less(s, q) do add(s, p);", True),
        ("y = with s = p do add(s, p) while less(s, q);", False),
    ],
)
def test_a_condition_is_tested_before_or_behind_a_step(compose: str, first: bool) -> None:
    found = repeat(compose, INT)
    assert found.tested_first is first
    assert found.condition is not None
    assert called(found.condition.steps) == ["less"]
    (test,) = found.condition.steps
    assert isinstance(test, Operation)
    assert test.inputs["x"] is found.carried[0].tensor


def test_a_condition_may_be_carried() -> None:
    found = repeat(
        "y, ~ = with s = p, t = true while t do { n = add(s, q); m = less(n, q); yield n, m; };", INT
    )
    assert found.condition is not None
    assert found.condition.results == (found.carried[1].tensor,)


def test_a_count_that_is_null_is_no_count() -> None:
    found = repeat("y = for a : xs do..(w) scale(a, 2.0);", PACK)
    assert found.count == 3


def test_a_loop_without_steps_gives_what_it_began_with() -> None:
    found = body("y, ~ = with s = x for a : xs[:0] do { n = add(s, a); yield n, a; };")
    assert found.steps == ()
    assert [one.name for one in tensors_of(found.results[0])] == ["x"]


def test_an_unrolled_loop_is_its_steps() -> None:
    steps = body("y = with sum: real[6] = 0.0 for a : xs unroll add(sum, a);").steps
    assert called(steps) == ["add", "add", "add"]
    one, other = steps[:2]
    assert isinstance(one, Operation)
    assert isinstance(other, Operation)
    assert other.inputs["x"] is one.outputs["z"]
    assert called(body("y = for a : xs unroll..(2) scale(a, 2.0);", PACK).steps) == ["scale", "scale"]


def test_the_index_of_an_unrolled_loop_is_known() -> None:
    text = "y = for a : xs unroll..(i -> 3) { t = if i == 1 then add(a, a) else a; yield t; };"
    found = body(text, PACK)
    assert called(found.steps) == ["add"]
    assert [one.name for one in tensors_of(found.results[0])][::2] == ["xs.0", "xs.2"]


def test_values_are_walked_too() -> None:
    steps = body("y = with s = x for f : [1.0, 2.0] unroll scale(s, f);").steps
    factors = [tensors_of(step.inputs["factor"])[0].value for step in steps if isinstance(step, Operation)]
    assert factors == [1.0, 2.0]


def test_steps_of_an_unrolled_loop_share_their_variables() -> None:
    text = """operator layer { @input { x: real[n]; } @output { y: real[n]; } @variable { w: real[n]; }
        @compose { y = add(x, w); } }
        graph main { @input { x: real[6]; } @output { y: real; } @compose {
            y = with s = x unroll..(3) layer(s); } }"""
    found = graph(text).root.body
    assert found is not None
    variables = [step.variables["w"] for step in found.steps if isinstance(step, Operation)]
    assert len(variables) == 3
    assert len(set(map(id, variables))) == 1


REFUSED = [
    ("y = if x then x else x;", "a condition is one bool, not real[…]"),
    ("y = if p then x else x;", "a condition is one bool, not int[…]"),
    ("y = if m then x else x;", "a condition is one bool, not bool[2, 1]"),
    ("y = if c then x else p;", "the same tensor would be real[6] and int[]"),
    ("y = if c then { yield x, x; } else x;", "the branches give 1 and 2 results"),
    ("y = if c then v else x;", "what is done by data cannot give null"),
    ("y = { yield v; };", "what a block gives may be null"),
    ("y = if w > 1 then x else x;", "the condition is null"),
    ("y = { t = add(x, x); yield t; }; z = t;", "there is no `t` here"),
    ("y = for a : xs, b : xs[:2] do add(a, b);", "the packs of a loop have 2 and 3 items"),
    ("y = for a : xs do..(4) add(a, a);", "4 steps, but packs of 3 items"),
    ("y = for a : x do add(a, a);", "a loop walks a pack"),
    ("y = with s = 0.0 for a : xs do add(s, a);", "main.add: `y` has rank 1, not 0"),
    ("y = with s = v for a : xs do add(s, a);", "a loop carries tensors, not null"),
    ("y = with s = 0.0 for a : xs do scale(a, s);", "`s` is real[], but a step gives real[6]"),
    (
        "y = with s: real[5] = x for a : xs do scale(a, s);",
        "`s` is said to be real[5], but begins as real[6]",
    ),
    ("y = for a : xs unroll..(p) add(a, a);", "the steps of an unrolled loop must be known"),
    ("y = do..(w) add(x, x);", "nothing ends this loop"),
    ("y = for a : xs unroll..(1.5) add(a, a);", "this is real, but must be int"),
    ("y = with s = x unroll..(10001) add(s, s);", "the loop has 10001 steps, but at most 10000"),
    ("y = with s = x, t = x for a : xs do add(s, a);", "the loop carries 2 tensors, but its body gives 1"),
    ("y, z = with s = x while c do { n = add(s, x); yield n, n; };", "nothing says how many items"),
]


@pytest.mark.parametrize(("compose", "message"), REFUSED)
def test_what_cannot_be_done_is_refused(compose: str, message: str) -> None:
    output = PACK if compose.startswith(("y = for", "y = do")) else "y: real;"
    found = graph_refusal(f"{headed(output)} @compose {{ {compose} }} }}")
    assert message in found.message


def test_the_limit_of_steps_is_what_its_message_says() -> None:
    assert MOST_STEPS == 10_000


def test_blocks_are_nested_only_so_deep() -> None:
    text = "x"
    for _ in range(40):
        text = f"{{ t = {text}; yield t; }}"
    assert "nested more than 32 deep" in graph_refusal(f"{HEAD} @compose {{ y = {text}; }} }}").message


@pytest.mark.parametrize("before", [0, 1, 9])
def test_what_stands_side_by_side_is_not_nested(before: int) -> None:
    found = []
    for depth in (30, 31, 32, 33):
        text = "x"
        for _ in range(depth):
            text = f"{{ t = {text}; yield t; }}"
        beside = "".join(f"s{number} = {{ t = x; yield t; }}; " for number in range(before))
        try:
            body(f"{beside}y = {text};")
            found.append(True)
        except ScriptError:
            found.append(False)
    assert found == [True, True, False, False]


def test_operators_are_nested_only_so_deep() -> None:
    text = "operator op0 { @input { x: real[n]; } @output { y: real[n]; } @compose { y = x; } }"
    for depth in range(1, 40):
        text += f"""operator op{depth} {{ @input {{ x: real[n]; }} @output {{ y: real[n]; }}
            @compose {{ y = op{depth - 1}(x); }} }}"""
    found = graph_refusal(f"{text} {HEAD} @compose {{ y = op39(x); }} }}")
    assert "nested more than 32 deep" in found.message


def test_operators_that_multiply_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composer, "MOST_OPERATIONS", 1000)
    text = "operator op0 { @input { x: real[n]; } @output { y: real[n]; } @compose { y = scale(x); } }"
    for depth in range(1, 30):
        text += f"""operator op{depth} {{ @input {{ x: real[n]; }} @output {{ y: real[n]; }}
            @compose {{ a = op{depth - 1}(x); y = op{depth - 1}(a); }} }}"""
    found = graph_refusal(f"{text} {HEAD} @compose {{ y = op29(x); }} }}")
    assert "the model has more than 1000 operations" in found.message


def test_variables_are_updated_behind_the_body() -> None:
    """Section 2.11."""
    model = graph("""graph main { @input { x: real[6]; } @output { y: real; }
        @variable { w: real[6]; v: real[6]; }
        @compose { y = add(x, w); } @update { d = scale(y, 0.5); w = add(w, d); } }""")
    root = model.root
    assert root.update is not None
    assert called(root.update.steps) == ["scale", "add"]
    assert root.updated == (root.variables["w"],)
    (last,) = [step for step in root.update.steps if step.label == "w"]
    assert isinstance(last, Operation)
    assert root.update.results == (last.outputs["z"],)


def test_an_update_sees_the_new_values_of_those_before_it() -> None:
    """Section 2.11 is silent; components are done in their order."""
    root = graph("""graph main { @input { x: real[6]; } @output { y: real; }
        @variable { m: real[6]; w: real[6]; }
        @compose { y = add(x, w); } @update { m = add(m, y); w = add(w, m); } }""").root
    assert root.update is not None
    first, second = root.update.steps
    assert isinstance(first, Operation)
    assert isinstance(second, Operation)
    assert second.inputs["y"] is first.outputs["z"]


def test_a_graph_that_is_invoked_has_a_scope_of_its_own() -> None:
    """Section 2.10."""
    text = """graph sub { @input { x: real[n]; } @output { y: real[n]; } @variable { w: real[n]; }
        @compose { y = add(x, w); } }
    graph main { @input { x: real[6]; } @output { y: real; }
        @compose { a = sub(x); b = sub(a); y = l: sub(b); } }"""
    model = compose(Library({"main": BINARY + text}), "main")
    found = [one.variables["w"] for one in operations(model.root.body) if one.variables]
    assert [one.name for variable in found for one in tensors_of(variable)] == ["sub.w", "sub.w", "l.w"]
