"""Declarations of source operators: what a front end takes, and how it becomes TOSA.

```python
@operator("ADD", SumOptions, types="float32 int8 int16 int32", versions=5)
def add(node: Node, options: SumOptions) -> Tensor:
    "The sum of two tensors."
    ...
```

The function writes TOSA through `tosajit.ops`; what it returns are the results of the node. A module declares
a family of operators, and importing it is all that is needed to have them. Where a package says which of its
modules declares an operator, the others are not imported for it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, TypeVar

from tiling.records import dataclass
from tosajit.frontends.frame.refusal import Refused

Treatment = Literal["lowered", "custom", "refused"]
UNWRITTEN = "no lowering is written yet"
Lowering = TypeVar("Lowering", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a front end does with an operator of its source."""

    name: str
    kind: Treatment
    summary: str
    """What the operator does, or why it is refused."""
    types: tuple[str, ...] = ()
    """The types of its first operand that can be lowered; none means all."""
    versions: tuple[int, int] = (1, 1)
    attributes: type[Any] | None = None
    typed: int = 0
    """The operand that `types` speaks of."""
    lower: Callable[..., Any] | None = None
    fold: Callable[..., Any] | None = None
    """What computes the results with NumPy where all operands are constants."""
    remedy: str = ""

    def check(self, version: int, type: str | None) -> None:
        """Refuse what is not declared."""
        if self.kind == "refused":
            raise Refused(self.summary, self.remedy)
        if not self.versions[0] <= version <= self.versions[1]:
            known = "-".join(map(str, dict.fromkeys(self.versions)))
            raise Refused(f"version {version} of the operator is not known; known is {known}")
        if type is not None and self.types and type not in self.types:
            raise Refused(f"its operand {self.typed} is {type}, but must be {' or '.join(self.types)}")

    def results(self, node: Any, is_foldable: bool) -> tuple[Any, ...]:
        """The results of a node: folded where they follow from constants, else written as TOSA."""
        values = self.fold(node) if self.fold is not None and is_foldable else None
        if values is None:
            assert self.lower is not None
            given = () if self.attributes is None else (node.attributes(self.attributes),)
            values = self.lower(node, *given)
        return values if isinstance(values, tuple) else (values,)


class Declarations(Mapping[str, Declaration]):
    """The operators of a front end, by the names that the source has for them."""

    def __init__(self, package: str, families: Mapping[str, str] | None = None) -> None:
        self._package = package
        self._modules = {name: one for one, names in (families or {}).items() for name in names.split()}
        """Those that declare operators, where that is known before they are imported."""
        self._declared: dict[str, Declaration] = {}
        self._complete = False

    def __getitem__(self, name: str) -> Declaration:
        if name in self._modules:
            import_module(f"{self._package}.{self._modules[name]}")
        else:
            self._import()
        return self._declared[name]

    def __iter__(self) -> Iterator[str]:
        self._import()
        return iter(self._declared)

    def __len__(self) -> int:
        self._import()
        return len(self._declared)

    def find(self, name: str) -> Declaration:
        """The declaration of an operator that a model has."""
        found = self.get(name)
        if found is None:
            raise Refused(UNWRITTEN)
        return found

    def operator(
        self,
        names: str,
        attributes: type[Any] | None = None,
        *,
        types: str = "",
        versions: int | tuple[int, int] = 1,
        typed: int = 0,
        fold: Callable[..., Any] | None = None,
        kind: Treatment = "lowered",
    ) -> Callable[[Lowering], Lowering]:
        """Declare operators that share a lowering; `names` and `types` are separated by spaces."""

        def declare(function: Lowering) -> Lowering:
            span = (1, versions) if isinstance(versions, int) else versions
            summary = (function.__doc__ or "").strip().split("\n")[0].rstrip(".")
            for name in names.split():
                declared = Declaration(
                    name, kind, summary, tuple(types.split()), span, attributes, typed, function, fold
                )
                self._add(declared)
            return function

        return declare

    def refuse(self, names: str, reason: str, remedy: str = "") -> None:
        """Declare operators that have no form in TOSA."""
        for name in names.split():
            self._add(Declaration(name, "refused", reason, remedy=remedy))

    def _add(self, declared: Declaration) -> None:
        if declared.name in self._declared:
            raise ValueError(f"{declared.name} is declared twice")
        self._declared[declared.name] = declared

    def _import(self) -> None:
        """Import every module of the package: each declares a family."""
        if self._complete:
            return
        package = import_module(self._package)
        for module in sorted(one.name for one in pkgutil.iter_modules(package.__path__)):
            import_module(f"{self._package}.{module}")
        self._complete = True


def columns(
    declarations: Mapping[str, Declaration], names: Sequence[str]
) -> Iterator[tuple[str, str, str, str]]:
    """Operator, what becomes of it, its types and its summary, for each operator of a source."""
    for name in names:
        found = declarations.get(name)
        if found is None:
            yield name, "refused", "", UNWRITTEN
        else:
            text = f"{found.summary}; {found.remedy}" if found.remedy else found.summary
            yield name, found.kind, " ".join(found.types), text
