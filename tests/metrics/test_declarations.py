"""What every declaration must hold, whatever its family; a new metric is tested by being listed."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import polars as pl
import pytest

from crucible_batch.errors import ContractError, UnknownNameError
from crucible_batch.metrics import catalog, names
from crucible_batch.metrics.metric import AnyMetric, Example, Grain, Metric, RunMetric
from crucible_batch.metrics.nulls import REASON, Kind, Null, Stage
from crucible_batch.metrics.score import score

BY_NAME = {metric.name: metric for metric in catalog.ALL}
RESULT = {metric.name: metric for metric in catalog.result_metrics()}
HEADLINE = (
    "accuracy",
    "groundedness",
    "citation_precision",
    "citation_recall",
    "retrieval_hit_rate",
    "recall_at_10",
    "ndcg_at_10",
    "mean_truthfulness",
)


def executed(metric: AnyMetric) -> float | str | None:
    """The value of a declaration's example, or its null reason."""
    frame = metric.grain.rows(*metric.example.rows)
    if isinstance(metric, RunMetric):
        return metric.function(frame)
    (row,) = score(
        {metric.grain.name: frame.with_row_index("result")}, [metric], ["result"]
    ).iter_rows(named=True)
    return row["value"] if row["null_reason"] is None else row["null_reason"]


@pytest.mark.parametrize("name", BY_NAME)
def test_the_worked_example_has_the_value_it_claims(name: str) -> None:
    metric = BY_NAME[name]
    expected = metric.example.value
    if isinstance(expected, float):
        expected = pytest.approx(expected, abs=1e-12)
    assert executed(metric) == expected


def test_names_are_sql_identifiers_and_unique() -> None:
    assert len(BY_NAME) == len(catalog.ALL)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in BY_NAME)


@pytest.mark.parametrize("name", BY_NAME)
def test_texts_are_there_and_the_summary_is_a_sentence(name: str) -> None:
    metric = BY_NAME[name]
    assert metric.title
    assert metric.source
    assert metric.summary.endswith(".")


@pytest.mark.parametrize("name", RESULT)
def test_null_rules_go_from_the_item_to_the_judgments(name: str) -> None:
    stages = [REASON[null.reason].stage for null in RESULT[name].nulls]
    assert all(earlier <= later for earlier, later in pairwise(stages))


@pytest.mark.parametrize("name", RESULT)
def test_errors_and_missing_results_carry_no_metric(name: str) -> None:
    metric = RESULT[name]
    (row,) = metric.example.rows
    rows = metric.grain.rows({**row, "errored": True}, {**row, "has_result": False})
    scores = score({metric.grain.name: rows.with_row_index("result")}, [metric], ["result"])
    reasons = scores["null_reason"].to_list()
    kinds = [REASON[reason].stage for reason in reasons]
    assert scores["value"].to_list() == [None, None]
    assert reasons == ["errored", "no_result"] or set(kinds) == {Stage.ITEM}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_range_holds_the_example(name: str) -> None:
    metric = BY_NAME[name]
    value = metric.example.value
    if isinstance(value, float):
        assert metric.low is None or value >= metric.low
        assert metric.high is None or value <= metric.high


def test_the_headline_is_the_seven_kpis_and_mean_truthfulness() -> None:
    assert {name for name, metric in BY_NAME.items() if metric.headline} == set(HEADLINE)


def test_the_catalog_at_other_cut_offs_keeps_the_headline() -> None:
    at_three = {metric.name for metric in catalog.for_ks([3])}
    assert {"ndcg_at_3", "ndcg_at_10", "recall_at_10"} <= at_three
    assert "ndcg_at_5" not in at_three


def test_a_cut_off_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="k must be >= 1"):
        catalog.for_ks([5, 0])


def test_the_catalog_table_has_a_row_per_metric() -> None:
    table = catalog.to_frame()
    assert table["metric"].to_list() == list(BY_NAME)
    assert set(table["grain"]) <= {"result", "run"}
    assert set(table["better"]) <= {"higher", "lower", "none"}
    assert table["null_rule"].null_count() == 0


@pytest.mark.parametrize("spelled", ["ndcg_at_10", "ndcg@10", "ndcgAt10", " ndcg@10 "])
def test_a_metric_is_found_under_every_spelling(spelled: str) -> None:
    assert catalog.find(spelled).name == "ndcg_at_10"


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="ndcg_at_10"):
        catalog.find("ndgc_at_10")


def test_a_name_without_a_cut_off_stays_whole() -> None:
    assert names.split("n_tied_at_cut") == ("n_tied_at_cut", None)


TINY = Grain(name="tiny", columns={})


def tiny(expr: pl.Expr, **declared: object) -> Metric:
    facts: dict[str, Any] = {
        "name": "tiny",
        "title": "Tiny",
        "group": "claims",
        "grain": TINY,
        "nulls": (Null("no_claims", pl.col("x") == 7),),
        "summary": "Tiny.",
        "source": "test",
        "example": Example.of(0.0),
    }
    return Metric(expr=expr, **facts | declared)


FRAME = pl.DataFrame({"id": [2, 1, 3], "x": [0.5, -0.0, 7.0]})


def test_scores_are_sorted_and_a_null_has_its_reason() -> None:
    scores = score({"tiny": FRAME}, [tiny(pl.col("x"))], ["id"])
    assert scores.rows() == [
        (1, "tiny", 0.0, None),
        (2, "tiny", 0.5, None),
        (3, "tiny", None, "no_claims"),
    ]
    assert str(scores["value"][0]) == "0.0"


@pytest.mark.parametrize(
    "expr",
    [
        pl.col("x") + 1,
        pl.col("x") - 1,
        pl.lit(float("nan")),
        pl.lit(float("inf")),
        pl.lit(None, dtype=pl.Float64),
    ],
)
def test_a_value_that_breaks_the_declaration_is_refused_and_named(expr: pl.Expr) -> None:
    with pytest.raises(ContractError, match=r"tiny(.|\n)*'id': (1|2)"):
        score({"tiny": FRAME}, [tiny(expr)], ["id"])


def test_a_constant_has_a_value_for_every_result() -> None:
    scores = score({"tiny": FRAME}, [tiny(pl.lit(1.0), nulls=())], ["id"])
    assert scores["value"].to_list() == [1.0, 1.0, 1.0]


def test_a_rule_that_cannot_be_told_does_not_hold() -> None:
    frame = FRAME.with_columns(y=pl.lit(None, dtype=pl.Boolean))
    metric = tiny(pl.lit(1.0), nulls=(Null("abstained", pl.col("y")),))
    assert score({"tiny": frame}, [metric], ["id"])["value"].null_count() == 0


def test_frames_over_different_results_are_refused() -> None:
    other = Grain(name="other", columns={})
    metrics = [tiny(pl.lit(1.0)), tiny(pl.lit(1.0), grain=other, name="other")]
    with pytest.raises(ContractError, match="different results"):
        score({"tiny": FRAME, "other": FRAME.head(2)}, metrics, ["id"])


def test_a_reason_outside_the_closed_list_cannot_be_declared() -> None:
    with pytest.raises(ValueError, match="closed list"):
        Null("because", pl.lit(value=True))


def test_a_grain_refuses_facts_it_does_not_have() -> None:
    with pytest.raises(KeyError, match="relevnat"):
        next(iter(RESULT.values())).grain.rows({"relevnat": [1]})


def test_every_reason_is_not_applicable_or_missing() -> None:
    missing = {name for name, reason in REASON.items() if reason.kind is Kind.MISSING}
    assert missing == {
        "errored",
        "no_result",
        "no_qrels",
        "not_judged",
        "malformed_verdict",
        "not_reported",
        "no_confidence",
        "unplaced",
    }
