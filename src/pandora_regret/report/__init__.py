"""The HTML page of a comparison: one file that holds all it needs and asks the network for nothing."""

from pandora_regret.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
