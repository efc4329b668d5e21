from __future__ import annotations

import polars as pl
import pytest
from answer_run import AnswerRun

from crucible_batch.metrics import catalog
from crucible_batch.metrics.abstention import EXAMPLE
from crucible_batch.metrics.answer_grains import OUTCOME
from crucible_batch.metrics.metric import RunMetric


def number(metric: str, outcomes: pl.DataFrame) -> float | None:
    declared = catalog.find(metric)
    assert isinstance(declared, RunMetric)
    return declared.function(outcomes)


PAGE = {
    "abstention_precision": 0.5,
    "abstention_recall": 1 / 3,
    "abstention_f1": 0.4,
    "over_refusal": 0.25,
    "false_answer": 2 / 3,
    "unanswerable_handled": 2 / 3,
    "abstention_rate": 2 / 7,
}


@pytest.mark.parametrize("metric", PAGE)
def test_the_seven_results_of_the_metric_page(metric: str) -> None:
    assert number(metric, OUTCOME.rows(*EXAMPLE)) == pytest.approx(PAGE[metric], abs=1e-15)


@pytest.mark.parametrize("metric", PAGE)
def test_row_order_does_not_matter(metric: str) -> None:
    rows = OUTCOME.rows(*EXAMPLE)
    assert number(metric, rows) == number(metric, rows.reverse())


@pytest.mark.parametrize("metric", PAGE)
def test_no_results_have_no_number(metric: str) -> None:
    assert number(metric, OUTCOME.rows()) is None


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("abstention_precision", None),
        ("abstention_recall", None),
        ("abstention_f1", None),
        ("over_refusal", 0.0),
        ("false_answer", None),
        ("unanswerable_handled", None),
        ("abstention_rate", 0.0),
    ],
)
def test_an_empty_denominator_is_null_never_zero(metric: str, value: float | None) -> None:
    assert number(metric, OUTCOME.rows({"label": "perfect"})) == value


@pytest.mark.parametrize(
    "lost", [{"error": "boom"}, {"answer": None, "abstained": None}, {"abstained": None}]
)
def test_results_that_do_not_say_whether_they_abstained_stay_out(lost: dict[str, object]) -> None:
    run = AnswerRun().item("q").item("z")
    run.result("q", abstained=True).result("z", **lost)
    assert run.number("abstention_rate") == 1.0


def test_seeing_through_a_false_premise_handles_an_unanswerable_item() -> None:
    run = AnswerRun()
    for n, rejected in enumerate([True, False]):
        run.item(f"q{n}", answerable=False, question_type="false_premise")
        run.result(f"q{n}", premise_rejected=rejected)
    assert run.number("unanswerable_handled") == 0.5


def test_an_unlabelled_answer_to_an_unanswerable_item_is_not_counted() -> None:
    run = AnswerRun().item("q", answerable=False, question_type="false_premise").result("q")
    assert run.number("unanswerable_handled") is None
