"""Claim metrics: is what the answer says grounded in the evidence, and is it true?

Precision counts claims of the answer, recall counts assertions of the item: the two never share a
denominator.
"""

from __future__ import annotations

import polars as pl

from crucible_batch.metrics.answer_grains import ANSWER
from crucible_batch.metrics.answer_nulls import ANSWERED
from crucible_batch.metrics.answers import ALL_NULLS, no_assertions, standing, total, unjudged
from crucible_batch.metrics.metric import Better, Example, Metric
from crucible_batch.metrics.nulls import Null

N_CLAIMS = pl.col("n_claims")
HAS_CLAIMS = (
    *ANSWERED,
    Null("not_reported", ~pl.col("claims_reported")),
    Null("no_claims", N_CLAIMS == 0),
)
NO_GROUNDED = Null("not_judged", pl.col("claims_without_grounded") > 0)
NO_CORRECT = Null("not_judged", pl.col("claims_without_correct") > 0)
ON_GROUNDED = (*HAS_CLAIMS, NO_GROUNDED)
ON_CORRECT = (*HAS_CLAIMS, NO_CORRECT)
ON_BOTH = (*HAS_CLAIMS, NO_GROUNDED, NO_CORRECT)

GROUNDED_SHARE = pl.col("claims_grounded") / N_CLAIMS
PRECISION = pl.col("claims_correct") / N_CLAIMS
RECALL = standing("supported") / total()


def groundedness() -> Metric:
    """Share of claims that the retrieved evidence entails."""
    return Metric(
        name="groundedness",
        title="Groundedness",
        group="claims",
        grain=ANSWER,
        expr=GROUNDED_SHARE,
        nulls=ON_GROUNDED,
        headline=True,
        uses_judge=True,
        summary="Share of the answer's claims that the retrieved evidence entails.",
        formula="claims grounded in the evidence / claims",
        source="ragas faithfulness; RAGChecker faithfulness",
        example=Example.of(0.75, n_claims=4, claims_grounded=3),
    )


def factual_precision() -> Metric:
    """Share of claims that agree with the reference."""
    return Metric(
        name="factual_precision",
        title="Factual precision",
        group="claims",
        grain=ANSWER,
        expr=PRECISION,
        nulls=ON_CORRECT,
        uses_judge=True,
        summary="Share of the answer's claims that agree with the reference.",
        formula="claims that are correct / claims",
        source="RAGChecker precision; FActScore",
        example=Example.of(0.75, n_claims=4, claims_correct=3),
    )


def factual_recall() -> Metric:
    """Share of the item's assertions that the answer supports."""
    return Metric(
        name="factual_recall",
        title="Factual recall",
        group="claims",
        grain=ANSWER,
        expr=RECALL,
        nulls=ALL_NULLS,
        uses_judge=True,
        summary="Share of must and should assertions fully supported, partial not counted.",
        formula="must and should assertions that are supported / must and should assertions",
        source="RAGChecker recall",
        example=Example.of(2 / 3, must_supported=2, should_partial=1),
    )


def factual_f1() -> Metric:
    """Harmonic mean of factual precision and recall."""
    return Metric(
        name="factual_f1",
        title="Factual F1",
        group="claims",
        grain=ANSWER,
        # Neither a correct claim nor a supported assertion is 0, as F1 has it.
        expr=pl.when(PRECISION + RECALL > 0)
        .then(2 * PRECISION * RECALL / (PRECISION + RECALL))
        .otherwise(0.0),
        nulls=(no_assertions(), *HAS_CLAIMS, NO_CORRECT, *unjudged()),
        uses_judge=True,
        summary="Harmonic mean of factual precision and factual recall.",
        formula="2 · P · R / (P + R), with P = factual_precision and R = factual_recall; 0 when"
        " both are 0",
        source="RAGChecker F1",
        example=Example.of(
            12 / 17, n_claims=4, claims_correct=3, must_supported=2, should_missing=1
        ),
    )


def claim_rate(
    name: str, title: str, column: str, *, better: Better, summary: str, formula: str, source: str
) -> Metric:
    """Share of claims in one cell of grounded against correct."""
    return Metric(
        name=name,
        title=title,
        group="claims",
        grain=ANSWER,
        expr=pl.col(column) / N_CLAIMS,
        nulls=ON_BOTH,
        better=better,
        uses_judge=True,
        summary=summary,
        formula=formula,
        source=source,
        example=Example.of(0.25, n_claims=4, **{column: 1}),
    )


METRICS = (
    groundedness(),
    factual_precision(),
    factual_recall(),
    factual_f1(),
    claim_rate(
        "hallucinated_claim_rate",
        "Hallucinated claims",
        "claims_neither",
        better="lower",
        summary="Share of claims that are neither grounded nor correct.",
        formula="claims that are neither grounded nor correct / claims",
        source="RAGChecker hallucination",
    ),
    claim_rate(
        "self_knowledge_rate",
        "Self-knowledge",
        "claims_ungrounded_correct",
        better="none",
        summary="Share of claims that are correct but not grounded: the model knew them.",
        formula="claims that are correct and not grounded / claims",
        source="RAGChecker self-knowledge",
    ),
)
"""The claim metrics."""
