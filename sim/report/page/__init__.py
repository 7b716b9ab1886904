"""Interactive HTML pages of reports and of explorations, each one file that needs nothing else.

Begin with `document.py`, which puts a page together from the scripts and styles beside it; `reports.py` and
`exploration.py` are its data. It may import what `sim.report` does.
"""

from sim.report.page.exploration import exploration_page
from sim.report.page.reports import reports_page

__all__ = ["exploration_page", "reports_page"]
