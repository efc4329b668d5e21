"""Abstention: does the pipeline decline exactly where it should?

The positive class is an item that should be declined (answerable = false).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from crucible_batch.metrics.answer_grains import OUTCOME
from crucible_batch.metrics.answer_nulls import NO_ANSWER_STAGE
from crucible_batch.metrics.metric import Better, Example, RunMetric
from crucible_batch.metrics.nulls import RESULT_NULLS, Null
from crucible_batch.metrics.run_function import RunFunction
from crucible_batch.metrics.truthfulness import SIGNED

SHOULD, DID = ~pl.col("answerable"), pl.col("abstained")
ON_REPORTED = (*RESULT_NULLS, NO_ANSWER_STAGE, Null("not_reported", DID.is_null()))
GOOD_LABELS = [label for label, value in SIGNED.items() if value > 0]


def _row(answerable: int, abstained: int, label: str) -> dict[str, Any]:
    return {"answerable": bool(answerable), "abstained": bool(abstained), "label": label}


EXAMPLE = (
    _row(1, 0, "perfect"),
    _row(1, 0, "acceptable"),
    _row(1, 1, "missing"),
    _row(1, 0, "incorrect"),
    _row(0, 1, "missing"),
    _row(0, 0, "incorrect"),
    _row(0, 0, "perfect"),
)
"""Seven results, two of them abstentions."""


def ratio(part: pl.Expr, whole: pl.Expr) -> Callable[[pl.DataFrame], float | None]:
    """Weighted counts over counts, null on an empty denominator."""

    def number(rows: pl.DataFrame) -> float | None:
        over, under = rows.select(part.sum().alias("part"), whole.sum().alias("whole")).row(0)
        return over / under if under else None

    return number


def shown(
    name: str,
    title: str,
    part: pl.Expr,
    whole: pl.Expr,
    value: float,
    *,
    summary: str,
    formula: str,
    null_rule: str,
    better: Better = "higher",
) -> RunMetric:
    """A ratio of counts over the results that report whether they abstained."""
    return RunMetric(
        name=name,
        title=title,
        group="abstention",
        grain=OUTCOME,
        better=better,
        summary=summary,
        formula=formula,
        source="Crucible, abstention; Rajpurkar et al. 2018 (SQuAD 2.0)",
        function=RunFunction(nulls=ON_REPORTED, number=ratio(part, whole)),
        null_rule=null_rule,
        example=Example(rows=EXAMPLE, value=value),
    )


def unanswerable_handled() -> RunMetric:
    """Share of unanswerable items declined or answered by rejecting the premise."""
    handled = DID.fill_null(value=False) | pl.col("label").is_in(GOOD_LABELS).fill_null(value=False)
    return RunMetric(
        name="unanswerable_handled",
        title="Unanswerable handled",
        group="abstention",
        grain=OUTCOME,
        uses_judge=True,
        summary="Share of results to unanswerable items that abstain or see through them.",
        formula="(abstained, or truthfulness above 0) on unanswerable items / results to"
        " unanswerable items",
        source="Crucible, abstention",
        function=RunFunction(
            nulls=(
                *RESULT_NULLS,
                NO_ANSWER_STAGE,
                Null("not_judged", SHOULD & pl.col("label").is_null()),
            ),
            number=ratio(SHOULD & handled, SHOULD),
        ),
        null_rule="no labelled result to an unanswerable item",
        example=Example(rows=EXAMPLE, value=2 / 3),
    )


METRICS = (
    shown(
        "abstention_precision",
        "Abstention precision",
        SHOULD & DID,
        DID,
        0.5,
        summary="Share of abstentions that were right.",
        formula="abstained on unanswerable items / abstained",
        null_rule="nothing abstained",
    ),
    shown(
        "abstention_recall",
        "Abstention recall",
        SHOULD & DID,
        SHOULD,
        1 / 3,
        summary="Share of results to unanswerable items that abstained.",
        formula="abstained on unanswerable items / results to unanswerable items",
        null_rule="no unanswerable item",
    ),
    shown(
        "abstention_f1",
        "Abstention F1",
        2 * (SHOULD & DID).cast(pl.Int64),
        SHOULD.cast(pl.Int64) + DID.cast(pl.Int64),
        0.4,
        summary="Harmonic mean of abstention precision and recall.",
        formula="2 · TP / (abstained + results to unanswerable items), with TP = abstained on"
        " unanswerable items",
        null_rule="nothing abstained and nothing should have",
    ),
    shown(
        "over_refusal",
        "Over-refusal",
        ~SHOULD & DID,
        ~SHOULD,
        0.25,
        summary="Share of results to answerable items that abstained.",
        formula="abstained on answerable items / results to answerable items",
        null_rule="no answerable item",
        better="lower",
    ),
    shown(
        "false_answer",
        "False answers",
        SHOULD & ~DID,
        SHOULD,
        2 / 3,
        summary="Share of results to unanswerable items that answered.",
        formula="answered unanswerable items / results to unanswerable items",
        null_rule="no unanswerable item",
        better="lower",
    ),
    shown(
        "abstention_rate",
        "Abstention rate",
        DID,
        DID.is_not_null(),
        2 / 7,
        summary="Share of results that abstained, of those that report it.",
        formula="abstained / results that report whether they abstained",
        null_rule="no result reports whether it abstained",
        better="none",
    ),
    unanswerable_handled(),
)
"""The abstention metrics."""
