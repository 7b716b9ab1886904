"""How a module nests what it gives, in the texts that PyTorch writes of it, and what results are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tosajit.files.document import Field, document

_DEEPEST = 64


def result_names(tree: str, fields: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    """What results are called, by their places; `fields` are those of named tuples by their types."""
    spec = list(document(tree, "out_spec").items)
    if len(spec) != 2:
        document(tree, "out_spec").fail("expected a version and a tree")
    return [name_of(path) for path in _paths(spec[1], (), fields or {})]


def name_of(path: Sequence[str]) -> str:
    """What the result at a place is called."""
    named = bool(path) and not path[0].isdigit()
    return "_".join(path if named else ("output", *path))


def _paths(
    spec: Field, path: tuple[str, ...], fields: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, ...]]:
    if len(path) > _DEEPEST:
        spec.fail(f"expected at most {_DEEPEST} levels")
    if spec["type"].is_null:
        yield path
        return
    children = list(spec["children_spec"].items)
    keys = _keys(spec, len(children), fields)
    for key, child in zip(keys, children, strict=True):
        yield from _paths(child, (*path, key), fields)


def _keys(spec: Field, count: int, fields: Mapping[str, Sequence[str]]) -> list[str]:
    """What leads to each part of a result."""
    numbers = [str(number) for number in range(count)]
    match spec["type"].text:
        case "builtins.dict" | "collections.OrderedDict":
            inside = document(spec["context"].text, spec["context"].place)
            keys = [str(one.value) for one in inside.items]
        case "collections.namedtuple":
            keys = list(fields.get(spec["context"].text, numbers))
        case _:
            keys = numbers
    if len(keys) != count:
        spec["context"].fail(f"expected {count} keys")
    return keys
