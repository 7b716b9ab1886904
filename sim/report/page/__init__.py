"""Pages to look around in: of reports, and of explorations; one file each, which needs nothing else."""

from sim.report.page.exploration import exploration_page
from sim.report.page.reports import reports_page

__all__ = ["exploration_page", "reports_page"]
