"""Assertion metrics: what share of what an answer must and should say it says.

An assertion scores 1 supported, 0.5 partial, 0 missing or contradicted; should assertions weigh
half. A verdict that is absent or malformed makes the metric null: it can never raise a score.
"""

from __future__ import annotations

import polars as pl

from crucible_batch.metrics.answer_grains import ANSWER, STANDINGS
from crucible_batch.metrics.answer_nulls import ANSWERED
from crucible_batch.metrics.metric import Example, Metric
from crucible_batch.metrics.nulls import Null

SHOULD_WEIGHT = 0.5
"""What a should assertion weighs beside a must."""

BOTH = ("must", "should")


def standing(which: str, *levels: str) -> pl.Expr:
    """Assertions of `levels` (must and should without any) that stand as `which`."""
    return pl.sum_horizontal(f"{level}_{which}" for level in levels or BOTH)


def total(*levels: str) -> pl.Expr:
    """Assertions of `levels`, must and should without any."""
    return pl.sum_horizontal(f"{level}_{s}" for level in levels or BOTH for s in STANDINGS)


def points(level: str) -> pl.Expr:
    """Sum of the assertions' scores."""
    return pl.col(f"{level}_supported") + 0.5 * pl.col(f"{level}_partial")


def no_assertions(*levels: str) -> Null:
    """The item has no assertion of these levels."""
    return Null("no_assertions", total(*levels) == 0)


def unjudged(*levels: str) -> tuple[Null, ...]:
    """An assertion that counts has no verdict, or one that could not be read."""
    return (
        Null("not_judged", standing("unjudged", *levels) > 0),
        Null("malformed_verdict", standing("malformed", *levels) > 0),
    )


MUST_NULLS = (no_assertions("must"), *ANSWERED, *unjudged("must"))
ALL_NULLS = (no_assertions(), *ANSWERED, *unjudged())


def must_recall() -> Metric:
    """Mean score of the must assertions."""
    return Metric(
        name="must_recall",
        title="Must recall",
        group="answers",
        grain=ANSWER,
        expr=points("must") / total("must"),
        nulls=MUST_NULLS,
        uses_judge=True,
        summary="Mean score of the must assertions, partial counting half.",
        formula="Σ s over must assertions / must assertions, with s = 1 supported, 0.5 partial, 0"
        " missing or contradicted",
        source="Crucible, golden assertions; TREC RAG 2024 nugget recall",
        example=Example.of(0.5, must_supported=1, must_partial=1, must_missing=1),
    )


def must_recall_strict() -> Metric:
    """Share of must assertions that are fully supported."""
    return Metric(
        name="must_recall_strict",
        title="Must recall (strict)",
        group="answers",
        grain=ANSWER,
        expr=pl.col("must_supported") / total("must"),
        nulls=MUST_NULLS,
        uses_judge=True,
        summary="Share of must assertions that are fully supported.",
        formula="must assertions that are supported / must assertions",
        source="Crucible, golden assertions; TREC RAG 2024 strict vital",
        example=Example.of(1 / 3, must_supported=1, must_partial=1, must_missing=1),
    )


def must_pass_all() -> Metric:
    """1 when every must assertion is fully supported."""
    return Metric(
        name="must_pass_all",
        title="All musts pass",
        group="answers",
        grain=ANSWER,
        expr=pl.col("must_supported") == total("must"),
        nulls=MUST_NULLS,
        uses_judge=True,
        summary="1 if every must assertion is fully supported, else 0.",
        formula="1 if all must assertions are supported, else 0",
        source="Crucible, golden assertions",
        example=Example.of(0.0, must_supported=2, must_partial=1),
    )


def assertion_score() -> Metric:
    """Mean score of all assertions, a should weighing half."""
    points_of_all = points("must") + SHOULD_WEIGHT * points("should")
    return Metric(
        name="assertion_score",
        title="Assertion score",
        group="answers",
        grain=ANSWER,
        expr=points_of_all / (total("must") + SHOULD_WEIGHT * total("should")),
        nulls=ALL_NULLS,
        uses_judge=True,
        summary="Mean score of all assertions, should assertions weighing half.",
        formula="(Σ s over must + 0.5 · Σ s over should) / (n must + 0.5 · n should), s as in"
        " must_recall",
        source="Crucible, golden assertions; TREC RAG 2024 weighted score",
        example=Example.of(
            0.5,
            must_supported=1,
            must_partial=1,
            must_missing=1,
            should_supported=1,
            should_missing=1,
        ),
    )


METRICS = (must_recall(), must_recall_strict(), must_pass_all(), assertion_score())
"""The assertion metrics."""
