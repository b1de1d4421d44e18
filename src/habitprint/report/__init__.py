"""Pages of audits: report, record, comparison and notebook cards."""

from habitprint.report.render import render_report, write_audit, write_comparison, write_report

__all__ = ["render_report", "write_audit", "write_comparison", "write_report"]
