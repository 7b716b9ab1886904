"""Reports as plain data, JSON and CSV, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from sim.report.files import read_text
from sim.report.values import (
    CAUSES,
    DIRECTIONS,
    ENERGIES,
    LANES,
    MEMORIES,
    Account,
    Content,
    Memory,
    OperatorReport,
    ReportError,
    Roofline,
    Span,
    moved,
)
from sim.tables import csv_text

FORMAT, VERSION = "tosajit report", 1
RARE = ("peak_level2_bytes", "level2_bytes")
"""Fields that are left out where they are zero."""
Some = TypeVar("Some", bound=Account)


def to_dict(report: Account) -> dict[str, Any]:
    """Every field, and under `derived` what follows from them."""
    data: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    data |= _fields(report)
    data["operators"] = [
        _fields(operator) | {"derived": _derived_of(report, operator)} for operator in report.operators
    ]
    data["timeline"] = [_fields(span) for span in report.timeline]
    data["contents"] = [_fields(content) for content in report.contents]
    data["occupancy"] = [list(point) for point in report.occupancy]
    data["derived"] = {
        "latency_seconds": report.latency_seconds,
        "inferences_per_second": _finite(report.inferences_per_second),
        "macs": report.macs,
        "operations": report.operations,
        "causes": report.causes,
        "lanes": report.lanes,
        "utilisation": report.utilisation,
        "mac_utilisation": report.mac_utilisation,
        "offchip_bytes": report.offchip_bytes,
        "joules": report.joules,
        "average_watts": report.average_watts,
        "roofline": _roofline(report.roofline),
    }
    return data


def from_dict(kind: type[Some], data: Mapping[str, Any]) -> Some:
    """What `to_dict` gave, as such an account; what is derived is not read."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ReportError(f"not a report: expected an object with format {FORMAT!r}")
    if data.get("version") != VERSION:
        raise ReportError(f"version {data.get('version')!r} of reports cannot be read, only {VERSION}")
    try:
        values = _stripped(data, kind)
        values["operators"] = [_stripped(one, OperatorReport) for one in data["operators"]]
        values["timeline"] = [_stripped(one, Span) for one in data["timeline"]]
        values["contents"] = [_stripped(one, Content) for one in data.get("contents", ())]
        same: Any = kind  # mypy takes the hash of a class for that of its values
        made: Some = _adapter(same).validate_python(values)
        if endless := next(_endless(to_dict(made)), None):
            raise ReportError(f"malformed report: {endless} is no finite number")
        return made
    except ValidationError as error:
        raise ReportError("\n  ".join(["malformed report", *_faults(error)])) from None
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise ReportError(f"malformed report: {type(error).__name__} {error}") from None


def to_json(report: Account) -> str:
    """The dictionary as JSON, a line for each operator, span and content."""
    data = to_dict(report)
    lines = []
    for key, value in data.items():
        if key in ("operators", "timeline", "contents") and value:
            rows = ",\n  ".join(json.dumps(row, allow_nan=False) for row in value)
            lines.append(f'"{key}": [\n  {rows}\n]')
        else:
            lines.append(f'"{key}": {json.dumps(value, allow_nan=False)}')
    return "{" + ",\n".join(lines) + "}\n"


def from_json(kind: type[Some], source: str | Path) -> Some:
    """A report from JSON text (it starts with a brace) or from a file with it."""
    return from_dict(kind, json_of(source))


def json_of(source: str | Path) -> Any:
    """What JSON text (it starts with a brace) or a file with it says."""
    text = source if isinstance(source, str) and source.lstrip().startswith("{") else read_text(source)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"not JSON: {error}") from None


def to_csv(*reports: Account) -> str:
    """A table with a row for each operator of each report, and one for its total."""
    return csv_text(_csv_rows(reports))


def to_pandas(*reports: Account) -> Any:
    """The same as a table of pandas, without totals."""
    try:
        import pandas
    except ImportError:
        raise ReportError("a data frame needs pandas: pip install 'tosajit[table]'") from None
    head, *rows = _csv_rows(reports, totals=False)
    return pandas.DataFrame([[None if cell == "" else cell for cell in row] for row in rows], columns=head)


def _csv_rows(reports: Sequence[Account], totals: bool = True) -> Iterator[Sequence[Any]]:
    level2 = any(report.level2_bytes for report in reports)
    memories = [memory for memory in MEMORIES if level2 or memory != "level2"]
    spent = {part for report in reports for part in report.energy}
    energies = [part for part in ENERGIES if part in spent or part not in ("elements", "level2")]
    yield (
        *("program", "machine", "operator", "unit", "members", "cycles", *CAUSES, "macs", "operations"),
        *(f"lanes_{name}" for name in LANES),
        *(f"{memory}_{direction}_bytes" for memory in memories for direction in DIRECTIONS),
        *(f"{part}_joules" for part in energies),
        *("macs_per_offchip_byte", "macs_per_cycle", "bound_macs_per_cycle"),
    )
    for report in reports:
        name = (report.program, report.machine)
        for operator in report.operators:
            head = (*name, operator.label, operator.unit, " ".join(operator.members))
            parts = (operator, report.roofline_of(operator), operator.cycles)
            yield _row(head, *parts, memories, energies)
        if totals:
            head = (*name, "total", "", "")
            yield _row(head, report, report.roofline, report.causes, memories, energies)


def _row(
    head: tuple[str, ...],
    part: Account | OperatorReport,
    place: Roofline,
    cycles: Mapping[str, int],
    memories: Sequence[Memory],
    energies: Sequence[str],
) -> list[Any]:
    return [
        *head,
        sum(cycles.values()),
        *(cycles.get(cause, 0) for cause in CAUSES),
        part.macs,
        part.operations,
        *(part.lanes.get(name, 0) for name in LANES),
        *(moved(part.traffic, memory, direction) for memory in memories for direction in DIRECTIONS),
        *(part.energy.get(name, 0.0) for name in energies),
        "" if place.intensity is None else place.intensity,
        place.attained,
        place.bound,
    ]


def _fields(value: Account | OperatorReport | Span | Content) -> dict[str, Any]:
    names = (field.name for field in fields(value) if field.name != "origin")
    found = {name: _plain(name, getattr(value, name)) for name in names}
    return {name: one for name, one in found.items() if one or name not in RARE}


def _plain(name: str, value: Any) -> Any:
    if name == "traffic":
        return [
            {"memory": memory, "direction": direction, "kind": kind, "bytes": size}
            for (memory, direction, kind), size in value.items()
        ]
    if isinstance(value, Mapping):
        return dict(value)
    if name == "cores":
        return [to_dict(one) for one in value]
    return list(value) if isinstance(value, tuple) else value


def _derived_of(report: Account, operator: OperatorReport) -> dict[str, Any]:
    return {
        "cycles": operator.total,
        "offchip_bytes": operator.offchip_bytes,
        "joules": operator.joules,
        "roofline": _roofline(report.roofline_of(operator)),
    }


def _roofline(place: Roofline) -> dict[str, Any]:
    return {field.name: getattr(place, field.name) for field in fields(place)}


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _endless(tree: Any, path: str = "report") -> Iterator[str]:
    """The paths of numbers that JSON has none for, in what is said or follows from it."""
    match tree:
        case float() if not isfinite(tree):
            yield path
        case dict() | list():
            for name, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
                yield from _endless(value, f"{path}.{name}")


def _stripped(
    data: Mapping[str, Any], kind: type[Account | OperatorReport | Span | Content]
) -> dict[str, Any]:
    """The fields of a dataclass, traffic keyed again."""
    names = {field.name for field in fields(kind)} - {"origin"}
    values = {key: value for key, value in data.items() if key in names}
    if "traffic" in values:
        values["traffic"] = {
            (row["memory"], row["direction"], row["kind"]): row["bytes"] for row in values["traffic"]
        }
    return values


@cache
def _adapter(kind: type[Account]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _faults(error: ValidationError) -> list[str]:
    return [
        f"{'.'.join(map(str, fault['loc'])) or 'report'}: {fault['msg']}" for fault in error.errors()[:10]
    ]
