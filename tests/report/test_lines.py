"""Comparisons as lines and tables for terminals."""

from __future__ import annotations

import pytest
from report_tables import (
    comparison_row,
    few_items_row,
    frame,
    metric_catalog,
    regressed_row,
    unchanged_row,
)

from crucible_batch.report import comparison_line, comparison_table


def line(row: dict) -> str:
    full = frame("comparisons", [row]).row(0, named=True)
    return comparison_line(full, metric_catalog())


def test_a_line_reads_as_the_handbook_says() -> None:
    assert line(comparison_row()) == (
        "ndcg_at_10  0.612 → 0.648  +0.036 [+0.009, +0.064] 95 % BCa  "
        "p 0.012 (exact), Holm 0.048  21 better / 24 same / 5 worse  n 50  IMPROVED"
    )


def test_a_line_with_few_items_has_no_p_and_no_verdict() -> None:
    assert line(few_items_row()).endswith(
        "+0.30 [−0.02, +0.61] insufficient items  "
        "12 pairs (6 better / 5 same / 1 worse), no verdict"
    )


def test_a_blocked_row_says_why_and_keeps_its_delta() -> None:
    text = line(
        comparison_row(verdict=None, blocked_reason="degraded", p_value=None, p_adjusted=None)
    )
    assert "+0.036 [+0.009, +0.064]" in text
    assert text.endswith("n 50  no verdict: a run is degraded")
    assert "p " not in text.split("BCa")[1].split("better")[0]


def test_a_verdict_that_names_no_change_is_not_shouted() -> None:
    assert line(unchanged_row("ndcg_at_10")).endswith("no significant change")


def test_a_caveat_stands_beside_its_verdict() -> None:
    text = line(regressed_row("ndcg_at_10", unequal_judging=True, ci_label="small sample"))
    assert text.endswith("REGRESSED (unequal judging, small sample)")


def test_a_metric_on_the_log_scale_is_printed_as_a_factor() -> None:
    text = line(
        comparison_row(
            "latency_ms",
            mean_baseline=800,
            mean_candidate=880,
            delta=0.0953,
            ci_low=0.01,
            ci_high=0.2,
        )
    )
    assert "800\u00a0ms → 880\u00a0ms  ×1.10 [×1.01, ×1.22]" in text


def test_a_metric_without_a_direction_counts_what_moved() -> None:
    text = line(comparison_row("judged_at_10", n_better=None, n_worse=None, verdict="changed"))
    assert "26 moved / 24 same" in text


def test_clusters_are_counted_beside_pairs() -> None:
    assert "n 50 in 18 clusters" in line(comparison_row(unit="cluster", n_units=18))


def test_a_metric_that_no_item_carries_has_a_line_of_its_own() -> None:
    numbers = "mean_baseline mean_candidate delta ci_low ci_high ci_method p_value p_adjusted"
    nothing = dict.fromkeys([*numbers.split(), "n_better", "n_same", "n_worse"])
    text = line(comparison_row("groundedness", n_pairs=0, verdict="insufficient_items", **nothing))
    assert text == "groundedness  —  no pairs, no verdict"


def test_a_slice_is_named_in_its_line() -> None:
    text = line(comparison_row(slice_by="shape", slice="multi_hop"))
    assert text.startswith("ndcg_at_10 shape=multi_hop  0.612")


def test_an_undeclared_metric_is_printed_all_the_same() -> None:
    assert line(comparison_row("plugin.me.score")).startswith("plugin.me.score  0.612 → 0.648")


def test_table_columns_are_aligned() -> None:
    rows = [comparison_row(), few_items_row("groundedness"), regressed_row("recall_at_10")]
    text = comparison_table(frame("comparisons", rows), metric_catalog())
    lines = text.splitlines()
    assert len(lines) == 4
    at = lines[0].index("verdict")
    assert [one[at] for one in lines[1:]] == ["▲", "◇", "▼"]
    assert {one[at - 2 : at] for one in lines} == {"  "}


def test_the_table_of_no_comparison_is_its_header() -> None:
    text = comparison_table(frame("comparisons", []), metric_catalog())
    assert text.splitlines() == [text]
    assert text.startswith("metric")


@pytest.mark.parametrize("hostile", ["a\x1b[31mred", "a\nb", "\u202egpj.exe"])
def test_a_hostile_slice_cannot_move_the_cursor_or_turn_the_text(hostile: str) -> None:
    text = line(comparison_row(slice_by="tag", slice=hostile))
    assert not {"\x1b", "\n", "\u202e"} & set(text)


def test_a_table_too_wide_for_the_terminal_takes_two_lines_per_row() -> None:
    rows = frame("comparisons", [comparison_row(), few_items_row()])
    wide = comparison_table(rows, metric_catalog())
    assert max(map(len, wide.splitlines())) > 80
    narrow = comparison_table(rows, metric_catalog(), width=80).splitlines()
    assert max(map(len, narrow)) <= 80
    assert len(narrow) == 2 * len(wide.splitlines())
    assert wide.split() == " ".join(narrow).split()
    assert comparison_table(rows, metric_catalog(), width=200) == wide
