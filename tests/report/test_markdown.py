"""The Markdown form."""

from __future__ import annotations

import pytest
from report_tables import frame, one_run, run_row, two_runs

from crucible_batch.report import build_report, to_markdown
from crucible_batch.report.markdown_text import plain


@pytest.mark.parametrize(
    ("text", "inert"),
    [
        ("a|b", r"a\|b"),
        ("two\nlines", "two lines"),
        ("`code` <b> @all", r"\`code\` \<b\> \@all"),
        ("# head", r"\# head"),
        ("- item", r"\- item"),
        ("1. first", r"1\. first"),
        ("[x](javascript:y)", r"\[x\](javascript:y)"),
        ("see https://e.example", r"see https\://e.example"),
        ("www.e.example", r"www\.e.example"),
        ("nDCG at 10 is −0.036 (p 0.05)", "nDCG at 10 is −0.036 (p 0.05)"),
    ],
)
def test_text_of_others_cannot_form_markup(text: str, inert: str) -> None:
    assert plain(text) == inert


def test_every_table_has_rows_as_wide_as_its_header() -> None:
    widths: list[int] = []
    for line in to_markdown(build_report(two_runs())).splitlines():
        if not line.startswith("|"):
            widths = []
            continue
        widths.append(line.replace(r"\|", "").count("|"))
        assert len(set(widths)) == 1, line


def test_a_null_tile_has_a_dash_and_its_reason() -> None:
    empty = one_run(run_metrics=one_run().run_metrics.clear())
    line = next(
        one for one in to_markdown(build_report(empty)).splitlines() if one.startswith("| Accuracy")
    )
    assert line == "| Accuracy | — | — | 0 | 0 | not measured: not part of this evaluation |"


def test_a_run_without_a_label_has_no_empty_brackets() -> None:
    text = to_markdown(build_report(one_run(runs=frame("runs", [run_row("cand", label=None)]))))
    assert "- Run cand: ✓ succeeded; 118 of 120 results counted" in text
