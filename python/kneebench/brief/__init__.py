"""Room 8: the page. It reads results and the analysis, and measures nothing."""

from kneebench.brief.page import Brief as Brief
