"""A model from a folder, or from texts alone: its modules, its weights, and the graph they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from os.path import isdir, isfile, lexists
from pathlib import Path
from typing import TypeAlias

import numpy as np

from tosajit.arrays import Array
from tosajit.errors import FileError, InputError
from tosajit.frontends.nnef.compose import Library, compose
from tosajit.frontends.nnef.integers.walk import IntegerWalk
from tosajit.frontends.nnef.library import Standard
from tosajit.frontends.nnef.lowering import graph_of
from tosajit.frontends.nnef.syntax.source import Source
from tosajit.frontends.nnef.values.value import Value
from tosajit.frontends.nnef.weights import Stored, load_dat
from tosajit.graph import Graph
from tosajit.storage import file_errors

SUFFIX = ".sknd"
MAIN = f"main{SUFFIX}"
_LONGEST = 1 << 26
"""Bytes of a module: a text of so many takes minutes to read."""

_MOST = 1 << 32
"""Bytes of variables that are filled with a number: a short text may ask for any number of them."""

Attribute: TypeAlias = bool | int | float | str | Sequence[bool | int | float | str] | None
Weights: TypeAlias = Mapping[str, Array] | float | None
_KINDS = {"real": "f", "int": "iu", "bool": "b"}


@dataclass(frozen=True, slots=True)
class Choice:
    """Which graph of a model is taken, and what fills in what it leaves open."""

    graph: str | None = None
    """A graph of the main module; without one, the first."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    shapes: Mapping[str, Sequence[int]] | None = None
    weights: Weights = None
    """Variables by name, in place of files; or a number that all have of which there is no file."""
    stdlib: str | Path | None = None
    """A folder of standard modules in place of ours."""
    quantized: bool = False
    """Whether what `@quantize` says becomes integers."""


def load_model(path: Path, choice: Choice) -> Graph:
    """The graph of a folder with `main.sknd`, or of a text whose modules and weights are beside it."""
    folder, main = (path, MAIN) if isdir(path) else (path.parent, path.name)

    def module(name: str) -> Source | None:
        place = main if name == "main" else f"{name.replace('.', '/')}{SUFFIX}"
        return _read(folder, place)

    return _graph(module, choice, lambda graph, name: _stored(folder, f"main.{graph}.{name}.dat"))


def parse(
    text: str,
    *,
    graph: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    weights: Weights = None,
    modules: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    stdlib: str | Path | None = None,
    quantized: bool = False,
    **attributes: Attribute,
) -> Graph:
    """The graph of a text in SkriptND (NNEF 2.0).

    `modules` has the texts of the modules that it imports, by name, besides the standard ones (`stdlib` is a
    folder of others in their place). `graph` names one of its graphs (the first, if none is named), `types`
    and further keywords give its generic types and attributes values, and `shapes` says what its inputs leave
    open. `weights` has the elements of variables by their names; a number stands for all that are not there.
    `quantized` makes integers of what `@quantize` gives linear quantisations; without it, numbers are rounded
    to those that such integers stand for.

    Raises `ScriptError` with all faults of the text, and `ModelError` with everything that has no form.
    """
    texts = {"main": text, **(modules or {})}
    choice = Choice(graph, attributes, types or {}, shapes, weights, stdlib, quantized)
    sources = {name: Source(name, one) for name, one in texts.items()}
    return _graph(sources.get, choice, lambda graph, name: None)


def _graph(
    module: Callable[[str], Source | None], choice: Choice, stored: Callable[[str, str], Stored | None]
) -> Graph:
    library = Library(module, Standard(None if choice.stdlib is None else Path(choice.stdlib)))
    attributes = {name: _value(name, one) for name, one in choice.attributes.items()}

    weights = _Weights(choice, lambda name: stored(library.graph(choice.graph).operator.name, name))
    shapes = {name: tuple(one) for name, one in (choice.shapes or {}).items()}
    model = compose(
        library, choice.graph, attributes=attributes, types=choice.types, shapes=shapes, weights=weights
    )
    return graph_of(model, IntegerWalk if choice.quantized else None)


class _Weights:
    """The elements of variables: those given, those of files, or one number for all elements."""

    def __init__(self, choice: Choice, stored: Callable[[str], Stored | None]) -> None:
        given = choice.weights
        self._given = given if isinstance(given, Mapping) else {}
        self._number = None if isinstance(given, Mapping) else given
        self._stored = stored
        self._filled = 0

    def __call__(self, name: str, shape: tuple[int, ...], type: str) -> Array | None:
        """The elements of a variable; None where nothing says what they are."""
        if name in self._given:
            return _checked(name, _given(np.asarray(self._given[name]), type), shape, type)
        found = self._stored(name)
        if found is not None:
            return _checked(name, found, shape, type)
        return None if self._number is None else self._full(name, shape, type, self._number)

    def _full(self, name: str, shape: tuple[int, ...], type: str, number: float) -> Array:
        dtype = np.dtype({"real": np.float32, "int": np.int32}.get(type, np.bool_))
        self._filled += prod(shape) * dtype.itemsize
        if self._filled > _MOST:
            raise FileError(
                f"variable {name}: with shape {list(shape)}, variables take more than {_MOST} bytes"
            )
        return np.full(shape, number, dtype)


def _value(name: str, given: Attribute) -> Value:
    """The value of an attribute; arrays of NumPy and lists are packs."""
    plain = given.tolist() if isinstance(given, np.ndarray | np.generic) else given
    if plain is None or isinstance(plain, bool | int | float | str):
        return plain
    if isinstance(plain, Sequence) and all(isinstance(item, bool | int | float | str) for item in plain):
        return tuple(plain)
    raise InputError(f"attribute {name}: expected numbers, truths or texts, found {given!r}")


def _given(array: Array, type: str) -> Stored:
    """The elements of a variable from Python; real ones may be quantised: integers of up to 32 bits."""
    return Stored(array, type == "real" and array.dtype.kind in "iu" and array.dtype.itemsize < 8)


def _checked(name: str, found: Stored, shape: tuple[int, ...], type: str) -> Array:
    """The elements of a variable, if they are of its shape and type; real ones may be quantised."""
    array = found.array
    if array.shape != shape:
        raise FileError(
            f"variable {name}: its shape is {list(shape)}, but that of its elements {list(array.shape)}"
        )
    if found.quantized and type != "real":
        raise FileError(f"variable {name}: its type is {type}, but its elements stand for real numbers")
    if not found.quantized and array.dtype.kind not in _KINDS.get(type, ""):
        raise FileError(f"variable {name}: its type is {type}, but that of its elements {array.dtype}")
    return array


def _read(folder: Path, place: str) -> Source | None:
    """A module in a folder."""
    from sim.files import read_whole

    path = folder / place
    if not lexists(path):
        return None
    with file_errors(path):
        _require_file(folder, path)
        data = read_whole(path, _LONGEST + 1)
        if len(data) > _LONGEST:
            raise FileError(f"a module has at most {_LONGEST} bytes")
        try:
            return Source(place, data.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise FileError(f"byte {error.start}: expected a text in UTF-8") from None


def _stored(folder: Path, place: str) -> Stored | None:
    """The elements in a `.dat` file."""
    path = folder / place
    if not lexists(path):
        return None
    with file_errors(path):
        _require_file(folder, path)
        return load_dat(path)


def _require_file(folder: Path, path: Path) -> None:
    """Refuse what is no file, and what a link leads to elsewhere."""
    if not isfile(path):
        raise FileError("it is no regular file: a pipe, a folder, or a link that leads nowhere")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise FileError("it is a link that leads out of the folder of the model")
