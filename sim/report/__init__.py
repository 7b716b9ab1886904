"""What a program takes on a machine: values, tables, pages, traces and pictures."""

from sim.report.compare import Comparison
from sim.report.report import (
    CAUSES,
    ENERGIES,
    KINDS,
    UNITS,
    Content,
    OperatorReport,
    Report,
    ReportError,
    Roofline,
    Span,
    Traffic,
)

__all__ = [
    "CAUSES",
    "ENERGIES",
    "KINDS",
    "UNITS",
    "Comparison",
    "Content",
    "OperatorReport",
    "Report",
    "ReportError",
    "Roofline",
    "Span",
    "Traffic",
]
