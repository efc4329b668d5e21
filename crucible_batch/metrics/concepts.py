"""Concept metrics: which entities of the item were detected, and where."""

from __future__ import annotations

import polars as pl

from crucible_batch.metrics.answer_grains import ANSWER
from crucible_batch.metrics.answer_nulls import ABSTAINED, NO_ANSWER_STAGE, where
from crucible_batch.metrics.metric import Example, Metric
from crucible_batch.metrics.nulls import RESULT_NULLS, Null

DETECTED = Null("not_reported", ~pl.col("concepts_detected"))


def concept_recall() -> Metric:
    """Share of required entities that were detected."""
    return Metric(
        name="concept_recall",
        title="Concept recall",
        group="concepts",
        grain=ANSWER,
        expr=pl.col("required_detected") / pl.col("n_required_concepts"),
        nulls=(
            Null("no_concepts", pl.col("n_required_concepts") == 0),
            *RESULT_NULLS,
            *where((NO_ANSWER_STAGE, ABSTAINED), pl.col("answer_concepts")),
            DETECTED,
        ),
        summary="Share of required entities found in the answer, or in the evidence where the run"
        " detects none in answers.",
        formula="required entities detected / required entities",
        source="Crucible, golden concepts",
        example=Example.of(0.5, n_required_concepts=2, required_detected=1),
    )


def concept_near_miss_rate() -> Metric:
    """Share of entities known to mislead that the evidence contains."""
    return Metric(
        name="concept_near_miss_rate",
        title="Concept near misses",
        group="concepts",
        grain=ANSWER,
        expr=pl.col("irrelevant_detected") / pl.col("n_irrelevant_concepts"),
        nulls=(
            Null("no_concepts", pl.col("n_irrelevant_concepts") == 0),
            *RESULT_NULLS,
            DETECTED,
            Null("not_reported", ~pl.col("evidence_concepts")),
        ),
        better="lower",
        summary="Share of entities listed as irrelevant that were found in the evidence.",
        formula="entities listed as irrelevant and detected in the evidence / entities listed as"
        " irrelevant",
        source="Crucible, golden concepts",
        example=Example.of(0.25, n_irrelevant_concepts=4, irrelevant_detected=1),
    )


METRICS = (concept_recall(), concept_near_miss_rate())
"""The concept metrics."""
