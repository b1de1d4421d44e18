"""The report of an audit: one HTML file for people who do not know the method."""

from habitprint.report.compare import write_comparison
from habitprint.report.folder import write_audit
from habitprint.report.render import render_report, write_report

__all__ = ["render_report", "write_audit", "write_comparison", "write_report"]
