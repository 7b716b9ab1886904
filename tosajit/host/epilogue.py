"""What a group does with the sums of its contraction, as text for the array kernels."""

from __future__ import annotations

from dataclasses import field

from tiling.expr import Expr, walk
from tiling.nest import Access, Affine, Indirect, Nest, Write
from tiling.records import dataclass, replace
from tosajit.host.match import Match
from tosajit.kernels.phase import literal
from tosajit.kernels.scalars import scalar_source


@dataclass(frozen=True, slots=True)
class Text:
    """The parts of an epilogue, and the accesses whose addresses it takes, in order."""

    body: str
    setup: str
    functions: str
    accesses: tuple[int, ...]
    """Numbers of accesses as sections count them: reads, then writes."""
    numbers: tuple[int, ...]
    """Numbers that stand behind the addresses."""


def epilogue(nest: Nest, match: Match, first_slot: int) -> Text | None:
    """The text for a nest's results; None if an operand or a result does not go with rows and columns."""
    return _Writer(nest, match, first_slot).write()


def substituted(nest: Nest, expr: Expr) -> Nest:
    """The nest with `acc` standing for a whole expression of the sum."""
    memo: dict[Expr, Expr] = {expr: Expr("acc", (), expr.type)}

    def change(item: Expr) -> Expr:
        if item not in memo:
            args = tuple(change(arg) if isinstance(arg, Expr) else arg for arg in item.args)
            memo[item] = Expr(item.op, args, item.type)
        return memo[item]

    def moved(access: Access) -> Access:
        index = tuple(Indirect(change(i.value)) if isinstance(i, Indirect) else i for i in access.index)
        return replace(access, index=index)

    writes = tuple(Write(write.access, change(write.value)) for write in nest.writes)
    return replace(nest, reads=tuple(map(moved, nest.reads)), writes=writes)


def output_steps(nest: Nest) -> tuple[int, ...]:
    """How the first result moves along the axes: the others have to follow it."""
    return nest.writes[0].access.steps(len(nest.axes))


def follows(nest: Nest, match: Match, access: Access, steps: tuple[int, ...]) -> bool:
    """Whether an access moves so along the rows and columns of one call."""
    if access.fill is not None or access.indirect:
        return False
    own = access.steps(len(nest.axes))
    kept = [axis for axis in range(nest.outer) if axis not in match.batch]
    return all(own[axis] == steps[axis] for axis in kept)


class _Unfit(Exception):
    """An access that an epilogue cannot follow."""


@dataclass
class _Writer:
    nest: Nest
    match: Match
    first_slot: int
    setup: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    accesses: list[int] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    names: dict[Expr, str] = field(default_factory=dict)

    def write(self) -> Text | None:
        """The text, if all fits."""
        column = self.match.column
        if column is not None and output_steps(self.nest)[column] != 1:
            return None
        try:
            stores = [self._store(position) for position in range(len(self.nest.writes))]
        except _Unfit:
            return None
        used = {node.op for expr in self.names for node in walk(expr) if not node.is_leaf}
        setup = list(self.setup)
        for position, name in enumerate(self.numbers):
            setup.insert(0, f"{name} = load_i64(args, {self.first_slot + len(self.accesses) + position})")
        return Text(
            "\n".join([*self.body, *stores]),
            "\n".join(setup),
            scalar_source(sorted(used)),
            tuple(self.accesses),
            tuple(self.values),
        )

    def _store(self, position: int) -> str:
        write = self.nest.writes[position]
        number = len(self.nest.reads) + position
        if not self._follows(write.access, output_steps(self.nest)):
            raise _Unfit
        value = self._value(write.value)
        return f"store_{write.access.type}({self._pointer(number)}, index, {value})"

    def _pointer(self, number: int) -> str:
        name = f"e_p{number}"
        if number not in self.accesses:
            self.setup.append(f"{name} = load_i64(args, {self.first_slot + len(self.accesses)})")
            self.accesses.append(number)
        return name

    def _place(self, access: Access) -> str:
        """Where an access is: at the element of the output, at the channel, or always at one place."""
        count = len(self.nest.axes)
        column = tuple(int(axis == self.match.column) for axis in range(count))
        for where, steps in (("0", (0,) * count), ("channel", column), ("index", output_steps(self.nest))):
            if self._follows(access, steps):
                return where
        raise _Unfit

    def _follows(self, access: Access, steps: tuple[int, ...]) -> bool:
        return follows(self.nest, self.match, access, steps)

    def _value(self, expr: Expr) -> str:
        for node in walk(expr):
            if node not in self.names:
                self.names[node] = self._text(node)
        return self.names[expr]

    def _text(self, node: Expr) -> str:
        match node.op:
            case "acc":
                return "acc"
            case "const":
                return literal(node.args[0], node.type)
            case "axis":
                raise _Unfit
            case "read":
                return self._read(node.number, node.type)
        args = ", ".join(self._value(arg) for arg in node.operands)
        name = f"e_t{len(self.names)}"
        self.body.append(f"{name} = {node.op}({args})")
        return name

    def _read(self, number: int, type: str) -> str:
        access = self.nest.reads[number]
        name = f"e_v{number}"
        if access.indirect:
            self.body.append(f"{name} = load_{type}({self._pointer(number)}, {self._indirect(access)})")
            return name
        where = self._place(access)
        line = f"{name} = load_{type}({self._pointer(number)}, {where})"
        (self.setup if where == "0" else self.body).append(line)
        return name

    def _indirect(self, access: Access) -> str:
        """The element of a table that data pick; the table must not move with the axes."""
        terms = []
        for index, stride, extent in zip(access.index, access.strides, access.shape, strict=True):
            if isinstance(index, Affine):
                if any(index.coefficients):
                    raise _Unfit
                continue
            assert isinstance(index, Indirect)
            value = self._value(index.value)
            term = f"min(max(np.int64({value}), 0), {self._number(extent - 1)})"
            terms.append(term if stride == 1 else f"{term} * {self._number(stride)}")
        return " + ".join(terms)

    def _number(self, value: int) -> str:
        name = f"e_n{len(self.numbers)}"
        self.numbers.append(name)
        self.values.append(value)
        return name
