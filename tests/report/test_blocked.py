"""Why there is no verdict: which run, how many results, and what can be done."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from report_tables import (
    comparison_row,
    evaluation_row,
    few_items_row,
    frame,
    metric_catalog,
    two_runs,
    unchanged_row,
)

from crucible_batch.report import (
    build_report,
    comparison_table,
    to_markdown,
    verdict_sentence,
)
from crucible_batch.report.blocked import mark, reasons

NAMING_A_RUN = (
    "runs",
    "evaluations",
    "run_metrics",
    "risk_coverage",
    "error_classes",
    "reliability_bins",
    "result_metrics",
)
LOST = "9 of 76 results errored or are missing"


def between(base: dict[str, Any], cand: dict[str, Any]):
    """The words between two runs; the evaluations differ as given."""
    rows = [evaluation_row("base", 60, **base), evaluation_row("cand", 60, **cand)]
    baseline, candidate = frame("evaluations", rows).iter_rows(named=True)
    return reasons(baseline, candidate)


def blocked_row(metric: str, reason: str) -> dict[str, Any]:
    return comparison_row(metric, verdict=None, blocked_reason=reason, p_value=None)


def sentence(known, *rows: dict[str, Any]) -> str:
    return verdict_sentence(frame("comparisons", rows), metric_catalog(), known)


@pytest.mark.parametrize(
    ("base", "cand", "said"),
    [
        ({"judge": None}, {}, "base has no verdicts to compare with those of cand by lexical@1"),
        ({}, {"judge": None}, "cand has no verdicts to compare with those of base by lexical@1"),
        (
            {},
            {"judge": "other@2"},
            "the judge differs: base by lexical@1 and cand by other@2",
        ),
    ],
)
def test_a_run_without_verdicts_is_not_called_a_judge_that_differs(base, cand, said) -> None:
    text = sentence(between(base, cand), blocked_row("accuracy", "judge_differs"))
    assert text == f"No verdict: {said}."


@pytest.mark.parametrize(
    ("base", "cand", "short", "said"),
    [
        ({}, {"status_reason": LOST}, "cand is degraded", f"cand is degraded ({LOST})"),
        ({"status_reason": LOST}, {}, "base is degraded", f"base is degraded ({LOST})"),
        (
            {"status_reason": LOST},
            {"status_reason": "1 of 2"},
            "both runs are degraded",
            f"base is degraded ({LOST}) and cand is degraded (1 of 2)",
        ),
    ],
)
def test_a_degraded_run_is_named_with_its_counts(base, cand, short, said) -> None:
    sides = [side | {"status": "degraded"} if side else {} for side in (base, cand)]
    known = between(*sides)
    row = blocked_row("accuracy", "degraded")
    assert sentence(known, row) == f"No verdict: {said}."
    assert mark(row, known).word == f"no verdict: {short}"


@pytest.mark.parametrize(
    ("status", "said"), [("running", "cand is still running"), ("failed", "cand failed")]
)
def test_a_run_that_is_not_there_yet_is_named(status: str, said: str) -> None:
    known = between({}, {"status": status})
    assert sentence(known, blocked_row("accuracy", status)) == f"No verdict: {said}."


def test_another_golden_set_comes_with_the_option_that_pairs_what_is_the_same() -> None:
    text = sentence(between({}, {}), blocked_row("accuracy", "golden_set_differs"))
    assert text == (
        "No verdict: the golden set differs; --allow-golden-change pairs the items that are the "
        "same in both."
    )


def test_beside_metrics_with_a_verdict_the_blocked_ones_are_counted_by_cause() -> None:
    known = between({}, {"judge": None})
    blocked = [blocked_row(name, "judge_differs") for name in ("accuracy", "mean_truthfulness")]
    text = sentence(known, unchanged_row("ndcg_at_10"), *blocked)
    assert text.endswith("No verdict on 2 of 3 headline metrics (cand has no verdicts).")
    # A blocked metric is told as blocked even where no item carries it: the table says so too.
    nothing = {**blocked_row("groundedness", "judge_differs"), "n_pairs": 0, "delta": None}
    text = sentence(
        known, unchanged_row("ndcg_at_10"), few_items_row("citation_recall"), *blocked, nothing
    )
    assert text.endswith(
        "No verdict on 4 of 5 headline metrics (cand has no verdicts: 3, too few items: 1)."
    )


def test_too_few_items_do_not_hide_that_the_rest_is_blocked() -> None:
    text = sentence(
        between({}, {"judge": None}),
        few_items_row("ndcg_at_10"),
        blocked_row("accuracy", "judge_differs"),
    )
    assert text == (
        "No verdict: too few items are paired (12 at most); "
        "cand has no verdicts to compare with those of base by lexical@1."
    )


def test_the_report_says_it_in_the_sentence_in_the_table_and_in_the_line() -> None:
    evaluations = [evaluation_row("cand", 60, judge=None), evaluation_row("base", 60)]
    report = build_report(
        two_runs(
            evaluations=frame("evaluations", evaluations),
            comparisons=frame(
                "comparisons",
                [blocked_row("accuracy", "judge_differs"), unchanged_row("ndcg_at_10")],
            ),
        )
    )
    assert "(cand has no verdicts)" in report.verdict
    assert report.compared[0].verdict.word == "no verdict: cand has no verdicts"
    assert report.compared[0].line.endswith("no verdict: cand has no verdicts")


def test_a_hostile_run_id_cannot_form_markup_in_the_table() -> None:
    run_id = "<b>*x*|y</b>"
    sides = [evaluation_row(name, 60) for name in ("cand", "base")]
    sides[0]["judge"] = None
    known = reasons(sides[1], {**sides[0], "run_id": run_id, "status_reason": None})
    word = mark(blocked_row("accuracy", "judge_differs"), known).word
    assert word == f"no verdict: {run_id} has no verdicts"
    inputs = two_runs(
        evaluations=frame("evaluations", sides),
        comparisons=frame("comparisons", [blocked_row("accuracy", "judge_differs")]),
    )
    hostile = {
        name: getattr(inputs, name).with_columns(run_id=renamed("run_id", run_id))
        for name in NAMING_A_RUN
    }
    compared = inputs.comparisons.with_columns(candidate_run_id=renamed("candidate_run_id", run_id))
    text = to_markdown(build_report(two_runs(run_id=run_id, comparisons=compared, **hostile)))
    (line,) = [one for one in text.splitlines() if one.startswith("| Accuracy") and "■" in one]
    assert r"\<b\>\*x\*\|y\</b\> has no verdicts" in line


def renamed(column: str, run_id: str) -> pl.Expr:
    return pl.col(column).replace("cand", run_id)


def test_no_p_is_printed_where_there_are_too_few_items_overall_or_on_a_slice() -> None:
    rows = [
        few_items_row("accuracy", p_adjusted=1.0),
        few_items_row("accuracy", slice_by="shape", slice="lookup", p_adjusted=None),
        unchanged_row("ndcg_at_10", p_adjusted=0.5),
    ]
    table = comparison_table(frame("comparisons", rows), metric_catalog()).splitlines()
    place = table[0].index("p adj.")
    column = [line[place : place + len("p adj.")].strip() for line in table[1:]]
    assert column == ["—", "—", "0.50"]
    report = build_report(two_runs(comparisons=frame("comparisons", [rows[0], rows[2]])))
    assert [(one.p_adjusted.text, one.p_note != "") for one in report.compared] == [
        ("—", False),
        ("0.50", True),
    ]
