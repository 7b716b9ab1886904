"""What `import tosajit as tj` gives: every public name is there, documented, and known to type checkers."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import tosajit as tj

SOURCE = ast.parse(Path(tj.__file__).read_text(encoding="utf-8"))
TYPED = {
    alias.asname or alias.name
    for block in SOURCE.body
    if isinstance(block, ast.If)
    for node in block.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}


@pytest.mark.parametrize("name", tj.__all__)
def test_a_public_name_is_there(name: str) -> None:
    found = getattr(tj, name)
    assert name in dir(tj)
    assert getattr(tj, name) is found
    if inspect.isclass(found) or inspect.isroutine(found) or inspect.ismodule(found):
        assert inspect.getdoc(found), f"{name} has no docstring"


def test_type_checkers_see_the_same_names() -> None:
    assert set(tj.__all__) == TYPED
    assert len(tj.__all__) == len(set(tj.__all__))


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tj.nothing  # noqa: B018


@pytest.mark.parametrize("name", [name for name in tj.__all__ if inspect.isclass(getattr(tj, name))])
def test_methods_of_public_classes_say_what_they_are_for(name: str) -> None:
    members = vars(getattr(tj, name)).items()
    public = {key: value for key, value in members if not key.startswith("_")}
    documented = {
        key: value for key, value in public.items() if inspect.isroutine(value) or isinstance(value, property)
    }
    assert [key for key, value in documented.items() if not inspect.getdoc(value)] == []


def test_errors_have_few_roots() -> None:
    errors = [getattr(tj, name) for name in tj.__all__ if name.endswith("Error")]
    assert len(errors) >= 8
    assert all(
        issubclass(error, tj.TosaError | tj.MachineError | tj.ReportError | tj.ExplorationError)
        for error in errors
    )
