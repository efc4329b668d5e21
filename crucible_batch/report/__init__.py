"""The report: tables in, text out. One model behind HTML, Markdown and JSON."""

from __future__ import annotations

from crucible_batch.report.build import build_report
from crucible_batch.report.html import to_html
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.json import to_json
from crucible_batch.report.league import League
from crucible_batch.report.league_build import build_league
from crucible_batch.report.league_html import league_html
from crucible_batch.report.league_inputs import LeagueInputs
from crucible_batch.report.league_markdown import league_markdown
from crucible_batch.report.lines import comparison_line, comparison_table
from crucible_batch.report.markdown import to_markdown
from crucible_batch.report.model import Report
from crucible_batch.report.moved import moved_text
from crucible_batch.report.tables import comparison_latex, comparison_markdown
from crucible_batch.report.verdicts import verdict_sentence
from crucible_batch.report.words import counted_line

__all__ = [
    "League",
    "LeagueInputs",
    "Report",
    "ReportInputs",
    "build_league",
    "build_report",
    "comparison_latex",
    "comparison_line",
    "comparison_markdown",
    "comparison_table",
    "counted_line",
    "league_html",
    "league_markdown",
    "moved_text",
    "to_html",
    "to_json",
    "to_markdown",
    "verdict_sentence",
]
