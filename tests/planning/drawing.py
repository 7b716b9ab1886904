"""Random chains of nests: views, reshapes, elementwise work, windows and reductions over small tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from hypothesis import strategies as st

from tiling.expr import acc, call, const, read
from tiling.nest import Access, Affine, Axis, Indirect, Nest, Reduction, Write, identity

Shape = tuple[int, ...]


@dataclass
class Chain:
    """Nests so far and the shapes of all values."""

    inputs: dict[str, Shape] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    nests: list[Nest] = field(default_factory=list)

    def result(self, shape: Shape) -> str:
        """A new value."""
        name = f"v{len(self.shapes)}"
        self.shapes[name] = shape
        return name


def axes(shape: Shape) -> tuple[Axis, ...]:
    """An axis a dimension."""
    return tuple(Axis(f"i{d}", e) for d, e in enumerate(shape))


def whole(name: str, shape: Shape, count: int | None = None) -> Access:
    """An access whose dimensions are the first axes."""
    return Access(name, "i32", shape, identity(len(shape), 0, len(shape) if count is None else count))


def move(chain: Chain, source: Access, shape: Shape) -> None:
    """A nest that copies."""
    name = chain.result(shape)
    chain.nests.append(
        Nest("move", axes(shape), (source,), (Write(whole(name, shape), read(0, "i32")),), None, (name,))
    )


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """One to eight nests, each reading inputs or results of earlier ones."""
    chain = Chain()
    for number in range(draw(st.integers(1, 2))):
        shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=0, max_size=3)))
        chain.inputs[f"x{number}"] = chain.shapes[f"x{number}"] = shape
    for _ in range(draw(st.integers(1, 8))):
        name = draw(st.sampled_from(sorted(chain.shapes)))
        step = draw(
            st.sampled_from([transpose, reshape, cut, reverse, pad, elementwise, window, reduce, gather])
        )
        step(draw, chain, name, chain.shapes[name])
    return chain


def transpose(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> None:
    order = draw(st.permutations(range(len(shape))))
    index = tuple(Affine(tuple(int(order[p] == d) for p in range(len(shape)))) for d in range(len(shape)))
    move(chain, Access(name, "i32", shape, index), tuple(shape[d] for d in order))


def reshape(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> None:
    size = prod(shape)
    new: list[int] = []
    while size > 1 and len(new) < 4:
        new.append(draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0])))
        size //= new[-1]
    seen = (*new, size) if size > 1 or not new else tuple(new)
    move(chain, whole(name, seen), seen)


def cut(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> None:
    first = [draw(st.integers(0, e - 1)) for e in shape]
    size = tuple(draw(st.integers(1, e - f)) for e, f in zip(shape, first, strict=True))
    index = tuple(Affine(i.coefficients, f) for i, f in zip(identity(len(shape)), first, strict=True))
    move(chain, Access(name, "i32", shape, index), size)


def reverse(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> None:
    which = [draw(st.booleans()) for _ in shape]
    index = tuple(
        Affine(tuple(-c for c in i.coefficients), e - 1) if w else i
        for i, e, w in zip(identity(len(shape)), shape, which, strict=True)
    )
    move(chain, Access(name, "i32", shape, index), shape)


def pad(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> None:
    before = [draw(st.integers(0, 2)) for _ in shape]
    size = tuple(e + b + draw(st.integers(0, 2)) for e, b in zip(shape, before, strict=True))
    index = tuple(Affine(i.coefficients, -b) for i, b in zip(identity(len(shape)), before, strict=True))
    move(chain, Access(name, "i32", shape, index, const(draw(st.integers(-5, 5)), "i32")), size)


def elementwise(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> None:
    fits = [
        n
        for n, s in chain.shapes.items()
        if len(s) == len(shape) and all(a in (1, b) for a, b in zip(s, shape, strict=True))
    ]
    other = draw(st.sampled_from(sorted(fits)))
    index = tuple(
        Affine((0,) * len(shape)) if e == 1 else i
        for e, i in zip(chain.shapes[other], identity(len(shape)), strict=True)
    )
    operation = draw(st.sampled_from(["add_i32", "sub_i32", "mul_i32", "max_i32"]))
    result = chain.result(shape)
    value = call(operation, read(0, "i32"), read(1, "i32"), type="i32")
    reads = (whole(name, shape), Access(other, "i32", chain.shapes[other], index))
    chain.nests.append(
        Nest("map", axes(shape), reads, (Write(whole(result, shape), value),), None, (result,))
    )


def window(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> None:
    """A sum over a padded window along the first axis."""
    if not shape:
        return
    taps, step, before = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(0, 2))
    count = (shape[0] + before - 1) // step + 1
    kept = (count, *shape[1:])
    size = len(kept) + 1
    first = Affine(tuple(step if p == 0 else int(p == size - 1) for p in range(size)), -before)
    index = (first, *identity(len(shape) - 1, 1, size))
    result = chain.result(kept)
    every = (*axes(kept), Axis("k", taps, True))
    source = Access(name, "i32", shape, index, const(7, "i32"))
    reduction = Reduction("add", 0, "i32", read(0, "i32"))
    chain.nests.append(
        Nest(
            "reduce", every, (source,), (Write(whole(result, kept, size), acc("i32")),), reduction, (result,)
        )
    )


def reduce(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> None:
    if not shape:
        return
    axis = draw(st.integers(0, len(shape) - 1))
    kept = tuple(e for d, e in enumerate(shape) if d != axis)
    size = len(shape)
    places = [d if d < axis else d - 1 for d in range(size)]
    places[axis] = size - 1
    index = tuple(Affine(tuple(int(places[d] == p) for p in range(size))) for d in range(size))
    operation = draw(st.sampled_from(["add", "max"]))
    reduction = Reduction(operation, 0, "i32", read(0, "i32"))
    every = (*axes(kept), Axis("k", shape[axis], True))
    result = chain.result(kept)
    write = Write(whole(result, kept, size), acc("i32"))
    chain.nests.append(
        Nest("reduce", every, (Access(name, "i32", shape, index),), (write,), reduction, (result,))
    )


def gather(draw: st.DrawFn, chain: Chain, name: str, shape: Shape) -> None:
    """Rows picked by the values of another tensor, out of range or not."""
    vectors = [n for n, s in chain.shapes.items() if len(s) == 1]
    if not shape or not vectors:
        return
    picker = draw(st.sampled_from(sorted(vectors)))
    size = (*chain.shapes[picker], *shape[1:])
    index: tuple[Affine | Indirect, ...] = (Indirect(read(1, "i32")), *identity(len(shape) - 1, 1, len(size)))
    reads = (
        Access(name, "i32", shape, index),
        Access(picker, "i32", chain.shapes[picker], identity(1, 0, len(size))),
    )
    result = chain.result(size)
    chain.nests.append(
        Nest("map", axes(size), reads, (Write(whole(result, size), read(0, "i32")),), None, (result,))
    )
