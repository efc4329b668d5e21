"""The answer in one sentence."""

from __future__ import annotations

from report_tables import (
    HEADLINE,
    comparison_row,
    few_items_row,
    frame,
    metric_catalog,
    regressed_row,
    unchanged_row,
)

from crucible_batch.report import verdict_sentence


def sentence(*rows: dict) -> str:
    return verdict_sentence(frame("comparisons", rows), metric_catalog())


def test_an_improvement_names_its_metric_and_delta() -> None:
    text = sentence(comparison_row(), unchanged_row("accuracy"))
    assert text == (
        "Better: nDCG@10 (+0.036) improved, and none of the 2 headline metrics with a verdict "
        "regressed."
    )


def test_a_regression_is_said_first_and_never_hidden_by_an_improvement() -> None:
    assert sentence(regressed_row("accuracy"), unchanged_row("ndcg_at_10")).startswith(
        "Worse: Accuracy (−0.080) regressed"
    )
    assert sentence(regressed_row("accuracy"), comparison_row()) == (
        "Mixed: better on nDCG@10 (+0.036), worse on Accuracy (−0.080)."
    )


def test_no_difference_is_not_called_equal() -> None:
    text = sentence(*(unchanged_row(name) for name in HEADLINE))
    assert text == (
        "No difference is established on the 8 headline metrics with a verdict; "
        "that is no proof that the runs are equal."
    )


def test_equivalence_within_a_margin_is_said() -> None:
    text = sentence(unchanged_row("accuracy", verdict="equivalent", margin=0.05))
    assert text == "Equivalent within the margin on the 1 headline metric with a verdict."


def test_few_items_give_no_verdict() -> None:
    text = sentence(few_items_row("accuracy"), few_items_row("ndcg_at_10"))
    assert text == "No verdict: too few items are paired (12 at most)."


def test_a_blocked_comparison_says_why() -> None:
    blocked = {"verdict": None, "blocked_reason": "judge_differs", "p_adjusted": None}
    assert sentence(comparison_row("accuracy", **blocked)) == "No verdict: the judge differs."


def test_metrics_without_a_verdict_are_counted_with_their_reasons() -> None:
    blocked = {"verdict": None, "blocked_reason": "judge_differs", "p_adjusted": None}
    text = sentence(
        comparison_row(), few_items_row("groundedness"), comparison_row("accuracy", **blocked)
    )
    assert text.endswith(
        "No verdict on 2 of 3 headline metrics (the judge differs: 1, too few items: 1)."
    )


def test_unequal_judging_is_a_caveat_of_the_sentence() -> None:
    text = sentence(regressed_row("ndcg_at_10", unequal_judging=True))
    assert text.endswith("A regression may come from unequal judging of the two runs.")


def test_slices_and_other_metrics_do_not_decide() -> None:
    text = sentence(
        unchanged_row("accuracy"),
        regressed_row("accuracy", slice_by="shape", slice="lookup"),
        regressed_row("mrr_at_10", family="overall"),
    )
    assert text.startswith("No difference is established")


def test_no_comparison_at_all_is_no_verdict() -> None:
    assert sentence().startswith("No verdict: no item carries")
