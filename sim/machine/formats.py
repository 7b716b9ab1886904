"""Trees of fields from and to files of people: .json, and .yaml where PyYAML is installed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim.files import read_whole, write_whole
from sim.machine.errors import MachineError, MachineFileError, shown

SUFFIXES = (".json", ".yaml", ".yml")
MOST_BYTES = 1 << 16
MOST_ALIASES = 32
MOST_VALUES = 10_000
MOST_DEPTH = 16


def parsed(
    path: Path,
    what: str = "machine",
    words: str = "name and clock_hz",
    most_bytes: int = MOST_BYTES,
    most_values: int = MOST_VALUES,
) -> dict[str, Any]:
    """The dictionary of a file, of bounded size and depth, that says what a machine or the like is."""
    suffix, text = _suffix(path, what), _text(path, what, most_bytes)
    try:
        value = _load_json(text, path) if suffix == ".json" else _load_yaml(text, path)
        _measure(value, path, what, most_values)
    except RecursionError:
        raise MachineFileError(f"is nested too deeply for a {what}", str(path)) from None
    except json.JSONDecodeError as error:
        raise MachineFileError(f"is not JSON: {error.msg}, line {error.lineno}", str(path)) from None
    except ValueError as error:
        if isinstance(error, MachineError):
            raise
        raise MachineFileError(f"has a value that cannot be read: {error}", str(path)) from None
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise MachineFileError(f"is not a table of a {what}'s fields, such as {words}", str(path))
    return value


def _suffix(path: Path, what: str = "machine") -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise MachineFileError(f"a {what}'s file ends with {', '.join(SUFFIXES)}", str(path))
    return suffix


def _text(path: Path, what: str, most: int) -> str:
    try:
        data = read_whole(path, most + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MachineFileError(f"cannot be read: {reason}", str(path)) from None
    if len(data) > most:
        raise MachineFileError(f"has more than {most} bytes, too many for a {what}", str(path))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MachineFileError(f"is not text in UTF-8: byte {error.start}", str(path)) from None


def _measure(value: object, path: Path, what: str, most: int) -> None:
    """Refuse what is too deep or too large, also when it is shared by aliases or holds itself."""
    queue, seen = [(value, 0)], 0
    while queue:
        one, depth = queue.pop()
        seen += 1
        if depth > MOST_DEPTH or seen > most:
            raise MachineFileError(f"is nested too deeply or too large for a {what}", str(path))
        if isinstance(one, dict):
            queue += [(inner, depth + 1) for inner in one.values()]
        elif isinstance(one, list | tuple | set):
            queue += [(inner, depth + 1) for inner in one]


def _yaml() -> Any:
    try:
        import yaml
    except ImportError:
        raise MachineFileError(
            "YAML needs PyYAML: pip install 'tosajit[yaml]', or use a .json file"
        ) from None
    return yaml


def _load_json(text: str, path: Path) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in table if names.count(name) > 1)
            raise MachineFileError(f"{shown(twice)} is given twice in one table", str(path))
        return table

    return json.loads(text, object_pairs_hook=once)


def _load_yaml(text: str, path: Path) -> Any:
    yaml = _yaml()

    class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
        """Safe values, few aliases, and `1e9` is a number."""

        aliases = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                self.aliases += 1
                if self.aliases > MOST_ALIASES:
                    raise MachineFileError(f"has more than {MOST_ALIASES} aliases", str(path))
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            names = [key.value for key, _ in node.value if isinstance(key.value, str)]
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise MachineFileError(f"{shown(twice)} is given twice in one table", str(path))
            return super().construct_mapping(node, deep)

    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
    )
    try:
        return yaml.load(text, Loader)  # a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise MachineFileError(f"is not YAML: {problem}{line}", str(path)) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError):  # PyYAML, of tags that do not fit
        raise MachineFileError("is not YAML: a value is not what its tag says", str(path)) from None


def yaml_text(tree: Mapping[str, Any]) -> str:
    """A tree as YAML."""
    text: str = _yaml().safe_dump(dict(tree), sort_keys=False, allow_unicode=True, width=110)
    return text


def is_json(path: Path, what: str = "machine") -> bool:
    """Whether a file is JSON, by its name; otherwise it is YAML."""
    return _suffix(path, what) == ".json"


def write(path: Path, text: str) -> None:
    """Write a file, all of it or nothing."""
    try:
        write_whole(path, text.encode("utf-8"))
    except OSError as error:
        raise MachineFileError(f"cannot be written: {error.strerror}", str(path)) from None
