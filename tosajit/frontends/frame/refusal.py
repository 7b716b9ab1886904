"""Refusals: everything in a model that has no form in TOSA, collected while the rest is lowered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tosajit.errors import FileError, GraphError, ModelError, Refusal, TosaError
from tosajit.graph.extents import Open


class Refused(Exception):
    """Raised by a lowering: the operator cannot be said in TOSA, and what could be done about it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


class Refusals:
    """The refusals of a model."""

    def __init__(self) -> None:
        self._found: list[Refusal] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, node: str, operator: str, refused: Refused) -> None:
        """Note that a node is refused."""
        self._found.append(Refusal(node, operator, refused.reason, refused.remedy))

    @contextmanager
    def collecting(self, node: str, operator: str) -> Iterator[None]:
        """Note what is refused inside of `with`, and go on behind it.

        What TOSA's own rules say is the reason then. Anything else that a lowering stumbles over is a model
        that no converter has written.
        """
        try:
            yield
        except Refused as refused:
            self.add(node, operator, refused)
        except Open as open:
            self.add(node, operator, Refused(open.reason, open.remedy))
        except GraphError as error:
            self.add(node, operator, Refused("; ".join(one.reason for one in error.violations)))
        except (FileError, ModelError):
            raise
        except TosaError as error:
            self.add(node, operator, Refused(str(error)))
        except MemoryError as error:
            raise FileError(
                f"{node} ({operator}): expected a graph in proportion to its file: {error}"
            ) from None
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            text = f"its attributes or operands make no sense ({type(error).__name__}: {error})"
            self.add(node, operator, Refused(text))

    def settle(self, *before: Refusal) -> None:
        """Raise `ModelError` with all refusals, if there are any, behind what may be their reason."""
        if self._found:
            raise ModelError([*before, *self._found])
