"""Nests without the names of their operands, so that what is alike in many places is worked out once.

The steps of a recurrent network are the same nests on other operands. A `Form` is such a nest, its operands
numbered in the order of their first use; equal forms of a `Forms` are one object, which makes them cheap to
compare. A `Piece` is a form with names: a nest.

Some of a step's constants may happen to be equal, and thus one operand, where those of another step are not.
So each read of a constant is an operand of its own until a piece becomes a nest again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from functools import cache

from tiling.expr import walk
from tiling.nest import Nest, Write, nest_exprs
from tiling.normal import normalise, share_reads
from tiling.records import dataclass, replace


class Use(str):
    """A constant as one read's operand: equal to itself alone, whatever it is called."""

    __slots__ = ()
    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """What a nest computes; its operands are called 0, 1, …, and it has no members."""

    nest: Nest
    reads: tuple[int, ...]
    """The operand of each read."""
    writes: tuple[int, ...]
    """The operand of each result."""
    is_read: frozenset[int]
    """All operands that are read, by array kernels too."""
    steps: int
    """How many scalar steps a point takes."""
    size: int
    """How many reads and results it has."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A nest as a form, the names of its operands, and its members."""

    form: Form
    operands: tuple[str, ...]
    members: tuple[str, ...]

    @property
    def read(self) -> frozenset[str]:
        """The operands that it reads, but for constants, which nobody writes."""
        names = [self.operands[number] for number in self.form.is_read]
        return frozenset([name for name in names if type(name) is str])

    @property
    def written(self) -> frozenset[str]:
        """The operands that it writes."""
        return frozenset([self.operands[number] for number in self.form.writes])

    def nest(self) -> Nest:
        """The nest, whose constants are called by their uses."""
        return replace(_called(self.form.nest, self.operands), members=self.members)


Made = tuple[Form, tuple[int, ...]]
"""A form, and which of the operands given each of its own is."""


class Forms:
    """All forms so far, and what has been made of them."""

    def __init__(self, constants: Collection[str] = ()) -> None:
        self._constants = frozenset(constants)
        self._forms: dict[Hashable, list[Form]] = {}
        """At most one for each key, whose hash takes longest: it is asked for once."""
        self._made: dict[Hashable, Made | None] = {}
        self._facts: dict[Hashable, bool] = {}
        self._repeated: dict[Piece, int] = {}

    def piece(self, nest: Nest) -> Piece:
        """A nest as it is, but for its constants."""
        names = [access.operand for access in nest.accesses]
        if not self._constants.isdisjoint(names):
            names = [Use(name) if name in self._constants else name for name in names]
        form, operands = self._form(nest, names)
        return Piece(form, operands, nest.members)

    def whole(self, piece: Piece) -> Nest:
        """The nest of a piece, whose equal constants are one operand."""
        names = list(map(str, piece.operands))
        every = list(dict.fromkeys(names))
        if len(every) == len(names):
            return replace(piece, operands=tuple(names)).nest()
        form, pattern = piece.form, tuple([every.index(name) for name in names])

        def shared() -> Nest:
            return share_reads(_called(form.nest, tuple(map(_name, pattern))))

        found = self._once(_called, form, (), pattern, shared)
        assert found is not None
        form, places = found
        return Piece(form, tuple([every[place] for place in places]), piece.members).nest()

    def repeated(self, piece: Piece) -> int:
        """How many of its operands are constants that others of them are, too."""
        found = self._repeated.get(piece)
        if found is None:
            constants = [str(name) for name in piece.operands if isinstance(name, Use)]
            found = self._repeated[piece] = len(constants) - len(set(constants))
        return found

    def normal(self, piece: Piece) -> Piece:
        """The normal form of a piece."""
        found = self._once(normalise, piece.form, (), (), lambda: normalise(piece.form.nest))
        assert found is not None
        form, places = found
        return Piece(form, tuple([piece.operands[place] for place in places]), piece.members)

    def joined(
        self, make: Callable[..., Nest | None], first: Piece, second: Piece, *choices: Hashable
    ) -> Piece | None:
        """The normal form of what `make` makes of two nests; the members of the second come first."""
        every = tuple(dict.fromkeys((*first.operands, *second.operands)))
        number = {name: place for place, name in enumerate(every)}
        pattern = tuple([number[name] for name in second.operands])

        def joined() -> Nest | None:
            other = _called(second.form.nest, tuple(map(_name, pattern)))
            made = make(first.form.nest, other, *choices)
            return None if made is None else normalise(made)

        found = self._once(make, first.form, second.form, (pattern, choices), joined)
        if found is None:
            return None
        form, places = found
        return Piece(form, tuple([every[place] for place in places]), second.members + first.members)

    def holds(self, fact: Callable[..., bool], piece: Piece, *choices: Hashable) -> bool:
        """Whether something is true of a nest, whatever its operands are called."""
        key = (fact, piece.form, choices)
        found = self._facts.get(key)
        if found is None:
            found = self._facts[key] = fact(piece.form.nest, *choices)
        return found

    def _once(
        self,
        make: Hashable,
        first: Hashable,
        second: Hashable,
        choices: Hashable,
        made: Callable[[], Nest | None],
    ) -> Made | None:
        """What was made of the same before, or is made now."""
        key = (make, first, second, choices)
        if key not in self._made:
            nest = made()
            if nest is None:
                self._made[key] = None
            else:
                form, operands = self._form(nest, [access.operand for access in nest.accesses])
                self._made[key] = form, tuple(map(int, operands))
        return self._made[key]

    def _form(self, nest: Nest, names: Sequence[str]) -> tuple[Form, tuple[str, ...]]:
        """The form of a nest whose accesses are to operands of these names."""
        operands = tuple(dict.fromkeys(names))
        number = {name: place for place, name in enumerate(operands)}
        numbers = tuple([number[name] for name in names])
        key = (numbers, unnamed(nest))
        found = self._forms.setdefault(key, [])
        if not found:
            found.append(_formed(nest, numbers))
        return found[0], operands


def unnamed(nest: Nest) -> Hashable:
    """All of a nest but what its operands are called, and its members."""
    seen = tuple([(one.type, one.shape, one.index, one.fill) for one in nest.accesses])
    values = tuple([write.value for write in nest.writes])
    reduction = nest.reduction
    initial = repr(reduction.initial) if reduction is not None else ""  # 0.0 and -0.0 are equal
    return nest.verb, nest.axes, seen, values, reduction, initial, len(nest.reads), nest.grain


def _formed(nest: Nest, numbers: Sequence[int]) -> Form:
    first, last = len(nest.reads), len(nest.reads) + len(nest.writes)
    return Form(
        replace(_renamed(nest, tuple(map(_name, numbers))), members=()),
        tuple(numbers[:first]),
        tuple(numbers[first:last]),
        frozenset((*numbers[:first], *numbers[last:])),
        sum(1 for _ in walk(*nest_exprs(nest))),
        last,
    )


@cache
def _name(number: int) -> str:
    """What an operand of a form is called: one object, so that accesses that keep it stay as they are."""
    return str(number)


def _called(nest: Nest, operands: Sequence[str]) -> Nest:
    """A form's nest on operands of these names."""
    return _renamed(nest, [operands[int(access.operand)] for access in nest.accesses])


def _renamed(nest: Nest, names: Sequence[str]) -> Nest:
    """The nest with other names of its operands, one for each access."""
    pairs = zip(names, nest.accesses, strict=True)
    accesses = [one if one.operand is name else replace(one, operand=name) for name, one in pairs]
    first, last = len(nest.reads), len(nest.reads) + len(nest.writes)
    return replace(
        nest,
        reads=tuple(accesses[:first]),
        writes=tuple([Write(a, w.value) for a, w in zip(accesses[first:last], nest.writes, strict=True)]),
        prepared=tuple(accesses[last:]),
    )
