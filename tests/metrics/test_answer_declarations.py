from __future__ import annotations

import re

import polars as pl
import pytest
from answer_run import RESULT_METRICS, RUN_METRICS, AnswerRun

from crucible_batch.metrics import catalog
from crucible_batch.metrics.metric import AnyMetric, Metric, RunMetric
from crucible_batch.metrics.nulls import REASON
from crucible_batch.metrics.run_function import RunFunction
from crucible_batch.metrics.score import score

each = pytest.mark.parametrize("metric", catalog.ANSWER_SIDE, ids=lambda metric: metric.name)
each_result = pytest.mark.parametrize("metric", RESULT_METRICS, ids=lambda metric: metric.name)
each_run = pytest.mark.parametrize("metric", RUN_METRICS, ids=lambda metric: metric.name)


def test_names_are_unique() -> None:
    names = [metric.name for metric in catalog.ALL]
    assert len(names) == len(set(names))


@each
def test_a_declaration_says_all_that_others_print(metric: AnyMetric) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", metric.name)
    assert metric.summary.endswith(".")
    assert metric.source
    assert metric.null_rule


@each
def test_the_worked_example_is_right(metric: AnyMetric) -> None:
    rows = metric.grain.rows(*metric.example.rows)
    if isinstance(metric, RunMetric):
        assert metric.function(rows) == pytest.approx(metric.example.value, abs=1e-15)
        return
    keyed = rows.with_row_index("item_id")
    [found] = score({metric.grain.name: keyed}, [metric], ["item_id"])["value"]
    assert found == pytest.approx(metric.example.value, abs=1e-15)


@each
def test_null_rules_are_tried_from_the_item_to_the_judgments(metric: AnyMetric) -> None:
    function = metric.function if isinstance(metric, RunMetric) else None
    nulls = function.nulls if isinstance(function, RunFunction) else getattr(metric, "nulls", ())
    stages = [REASON[null.reason].stage for null in nulls]
    assert nulls
    assert stages == sorted(stages)


@each_result
def test_an_errored_and_an_absent_result_carry_nothing(metric: Metric) -> None:
    run = AnswerRun().item("gone", **ASKED).item("lost", **ASKED)
    run.result("lost", error="boom", confidence=0.5, latency_ms=1.0)
    assert run.value(metric.name, "gone") == "no_result"
    assert run.value(metric.name, "lost") == "errored"


ASKED = {
    "must": ["m"],
    "required": ["d"],
    "grades": {"d": 3},
    "concepts": {"e": "required", "f": "irrelevant"},
}


@each_run
def test_a_run_of_errors_has_no_number(metric: RunMetric) -> None:
    run = AnswerRun().item("a", **ASKED).item("b", answerable=False)
    run.result("a", error="boom", confidence=0.5, latency_ms=1.0, abstained=True)
    assert run.number(metric.name) is None


@each_run
def test_a_run_metric_does_not_depend_on_row_order(metric: RunMetric) -> None:
    run = AnswerRun()
    for n in range(8):
        run.item(f"q{n}", must=["m"], answerable=n % 3 > 0)
        verdict = {"m": "supported" if n % 2 else "missing"}
        facts = {"confidence": (n // 3) / 3, "latency_ms": float(n * 7 % 5), "abstained": n == 5}
        run.result(f"q{n}", verdicts=verdict, premise_rejected=n > 4, **facts)
    rows = run.outcomes()
    assert metric.function(rows) is not None
    assert metric.function(rows) == metric.function(rows.sample(fraction=1, shuffle=True, seed=3))


def test_the_headline_is_the_one_of_the_metric_page() -> None:
    assert {metric.name for metric in catalog.ALL if metric.headline} == {
        "accuracy",
        "groundedness",
        "citation_precision",
        "citation_recall",
        "retrieval_hit_rate",
        "recall_at_10",
        "ndcg_at_10",
        "mean_truthfulness",
    }


def test_operational_quantities_are_compared_by_ratio() -> None:
    logs = {metric.name for metric in catalog.ALL if metric.scale == "log"}
    assert logs == {"latency_ms", "prompt_tokens", "completion_tokens", "cost_usd"}


def test_the_catalog_is_a_table() -> None:
    table = catalog.to_frame()
    assert table.height == len(catalog.ALL)
    assert table.filter(pl.col("grain") == "run").height == len(RUN_METRICS)
