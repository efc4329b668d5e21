"""The report: tables in, text out. One model behind HTML, Markdown and JSON."""

from __future__ import annotations

from crucible_batch.report.build import build_report
from crucible_batch.report.html import to_html
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.json import to_json
from crucible_batch.report.lines import comparison_line, comparison_table
from crucible_batch.report.markdown import to_markdown
from crucible_batch.report.model import Report
from crucible_batch.report.moved import moved_text
from crucible_batch.report.tables import comparison_latex, comparison_markdown
from crucible_batch.report.verdicts import verdict_sentence
from crucible_batch.report.words import counted_line

__all__ = [
    "Report",
    "ReportInputs",
    "build_report",
    "comparison_latex",
    "comparison_line",
    "comparison_markdown",
    "comparison_table",
    "counted_line",
    "moved_text",
    "to_html",
    "to_json",
    "to_markdown",
    "verdict_sentence",
]
