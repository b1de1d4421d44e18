"""Pages of audits: report, record, comparison and notebook cards."""

from habitprint.report.folders import release, render_report, write_audit, write_comparison, write_record, write_report

__all__ = ["release", "render_report", "write_audit", "write_comparison", "write_record", "write_report"]
