"""Chains of groups done in stripes compute what the groups compute, in less memory."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.planning.drawing import Chain, axes, chains, whole
from tests.planning.interpreter import interpret
from tests.planning.test_fuse import arrays
from tiling.cascade_stripes import Span, cascade_of, striped
from tiling.expr import acc, call, const, read
from tiling.fuse import fuse
from tiling.nest import Access, Affine, Axis, Nest, Reduction, Write, identity
from tiling.normal import normalise
from tiling.program import Operand, OperandKind

Shape = tuple[int, ...]


def window(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> str:
    """A sum over a window along rows and columns, with a padding and a fill."""
    taps, step, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    before = draw(st.integers(0, 2))
    rows = (shape[0] + before + draw(st.integers(0, 2)) - dilation * (taps - 1) - 1) // step + 1
    if rows < 1:
        return name
    kept = (rows, *shape[1:])
    count = len(kept) + 2
    first = [0] * count
    first[0], first[-2] = step, dilation
    second = [0] * count
    second[1], second[-1] = 1, 1
    index = (Affine(tuple(first), -before), Affine(tuple(second), -1), *identity(len(shape) - 2, 2, count))
    result = chain.result(kept)
    every = (*axes(kept), Axis("ky", taps, True), Axis("kx", 2, True))
    source = Access(name, "i32", shape, index, const(draw(st.integers(-3, 3)), "i32"))
    write = Write(whole(result, kept, count), acc("i32"))
    reduction = Reduction("add", 0, "i32", read(0, "i32"))
    chain.nests.append(Nest("reduce", every, (source,), (write,), reduction, (result,)))
    return result


def pointwise(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> str:
    """A contraction over channels, its rows and columns as one axis where it can be."""
    channels = draw(st.integers(1, 2))
    kept = (*shape[:-1], channels)
    count = len(kept) + 1
    weights = f"w{len(chain.inputs)}"
    chain.inputs[weights] = chain.shapes[weights] = (channels, shape[-1])
    last = tuple(int(position == count - 1) for position in range(count))
    reads = (
        Access(name, "i32", shape, (*identity(len(shape) - 1, 0, count), Affine(last))),
        Access(weights, "i32", (channels, shape[-1]), (identity(1, count - 2, count)[0], Affine(last))),
    )
    result = chain.result(kept)
    every = (*axes(kept), Axis("ic", shape[-1], True))
    value = call("mul_i32", read(0, "i32"), read(1, "i32"), type="i32")
    write = Write(whole(result, kept, count), acc("i32"))
    chain.nests.append(Nest("contract", every, reads, (write,), Reduction("add", 0, "i32", value), (result,)))
    return result


def residual(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> str:
    """The sum with an earlier value of the same shape."""
    other = draw(st.sampled_from(sorted(n for n, s in chain.shapes.items() if s == shape)))
    result = chain.result(shape)
    value = call("add_i32", read(0, "i32"), read(1, "i32"), type="i32")
    reads = (whole(name, shape), whole(other, shape))
    chain.nests.append(
        Nest("map", axes(shape), reads, (Write(whole(result, shape), value),), None, (result,))
    )
    return result


@st.composite
def networks(draw: st.DrawFn) -> Chain:
    """Two to five layers, each on the result of the one before."""
    chain = Chain()
    batch = draw(st.sampled_from([(), (), (2,)]))
    shape = (*batch, draw(st.integers(3, 14)), draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    name = "x"
    chain.inputs[name] = chain.shapes[name] = shape
    for _ in range(draw(st.integers(2, 5))):
        step = draw(st.sampled_from([window, window, pointwise, residual]))
        name = step(draw, chain, name, chain.shapes[name])
    chain.nests = [normalise(nest) for nest in chain.nests]
    return chain


def described(chain: Chain) -> dict[str, Operand]:
    kinds: dict[str, OperandKind] = dict.fromkeys(chain.inputs, "input")
    last = chain.nests[-1].writes[0].access.operand if chain.nests else ""
    kinds[last] = "output"
    return {n: Operand(n, "i32", prod(s), kinds.get(n, "temporary")) for n, s in chain.shapes.items()}


def spans(chain: Chain) -> dict[str, Span]:
    """The first and the last nest that uses each operand."""
    uses = [(name, number) for number, nest in enumerate(chain.nests) for name in nest.operands]
    return {
        name: (min(n for o, n in uses if o == name), max(n for o, n in uses if o == name)) for name, _ in uses
    }


def check(chain: Chain, seed: int, part: range, stripes: int) -> bool:
    """Whether the part could be cut; then it must compute the same."""
    operands = described(chain)
    cascade = cascade_of(chain.nests, operands, part, stripes, spans(chain))
    if cascade is None:
        return False
    found, buffers = striped(cascade, operands)
    nests = (*chain.nests[: part.start], *found, *chain.nests[part.stop :])
    changed = {name: one for name, one in operands.items() if name not in cascade.flows} | buffers
    given_arrays = arrays(chain, seed)
    sizes = {name: operand.elements for name, operand in operands.items()}
    plain = interpret(chain.nests, given_arrays, sizes)
    after = interpret(nests, given_arrays, {name: operand.elements for name, operand in changed.items()})
    for name in plain.keys() & changed.keys():
        np.testing.assert_array_equal(plain[name], after[name], err_msg="\n".join(map(str, chain.nests)))
    return True


@given(networks(), st.integers(0, 99), st.integers(1, 16), st.data())
def test_stripes_compute_what_layers_compute(
    chain: Chain, seed: int, stripes: int, data: st.DataObject
) -> None:
    if not chain.nests:
        return
    first = data.draw(st.integers(0, len(chain.nests) - 1))
    end = data.draw(st.integers(first + 1, len(chain.nests)))
    check(chain, seed, range(first, end), stripes)


@given(chains(), st.integers(0, 99), st.integers(1, 9))
def test_stripes_compute_what_any_groups_compute(chain: Chain, seed: int, stripes: int) -> None:
    if not chain.nests:
        return
    chain.nests = list(fuse(chain.nests, {chain.nests[-1].writes[0].access.operand}, frugal=True))
    for first in range(len(chain.nests)):
        for end in range(first + 1, len(chain.nests) + 1):
            check(chain, seed, range(first, end), stripes)


def test_most_networks_can_be_cut() -> None:
    seen = []

    @given(networks())
    def look(chain: Chain) -> None:
        if len(chain.nests) > 1:
            part = range(len(chain.nests) - 2, len(chain.nests))
            seen.append(cascade_of(chain.nests, described(chain), part, 4, spans(chain)) is not None)

    look()
    assert sum(seen) > len(seen) // 2
