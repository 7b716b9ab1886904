"""What a program takes on a machine: values, tables, pages, traces and pictures.

Begin with `values.py`, what a report knows; `report.py` adds what users do with it. `data.py` is reports as
plain data and back, `text.py` and `html.py` are what terminals and notebooks show, `compare.py` several
reports beside each other, `trace.py` events for Perfetto; `page` makes pages to look around in and `plots`
pictures, of explorations too. Reports are numbers with names: neither machines nor costs nor simulators are
imported, of `sim` only `files` and `tables`.
"""

from sim.report.compare import Comparison
from sim.report.cores import CoresReport
from sim.report.report import Report
from sim.report.values import (
    CAUSES,
    ENERGIES,
    KINDS,
    LANES,
    SPENT,
    UNITS,
    Content,
    OperatorReport,
    ReportError,
    Roofline,
    Span,
    Traffic,
)

__all__ = [
    "CAUSES",
    "ENERGIES",
    "KINDS",
    "LANES",
    "SPENT",
    "UNITS",
    "Comparison",
    "Content",
    "CoresReport",
    "OperatorReport",
    "Report",
    "ReportError",
    "Roofline",
    "Span",
    "Traffic",
]
