"""Payload metrics: the run's own score when it gives one, else derived from rows; checks."""

from __future__ import annotations

import polars as pl

from crucible_batch.metrics.answer_grains import ANSWER
from crucible_batch.metrics.answer_nulls import (
    ABSTAINED,
    CONTEXTS_PROVIDED,
    NO_ANSWER_STAGE,
    REPORTED_RETRIEVAL,
    where,
)
from crucible_batch.metrics.answers import no_assertions, total, unjudged
from crucible_batch.metrics.claims import GROUNDED_SHARE, ON_GROUNDED
from crucible_batch.metrics.metric import Example, Metric
from crucible_batch.metrics.nulls import RESULT_NULLS, Null
from crucible_batch.metrics.retrieval_terms import precisions_at


def given(name: str) -> pl.Expr:
    """The run's own score of a result."""
    return pl.col(f"given_{name}")


def derived(name: str, item: tuple[Null, ...], later: tuple[Null, ...]) -> tuple[Null, ...]:
    """The null rules of a metric that is derived where the run gives no score.

    In a run that gives scores, one that is not there is missing: it may not become "n/a".
    """
    item_rules = where(item, given(name).is_null() & ~pl.col(f"gives_{name}"))
    reported = where(
        tuple(Null("not_reported", null.expr) for null in item),
        given(name).is_null() & pl.col(f"gives_{name}"),
    )
    return (*item_rules, *RESULT_NULLS, *reported, *where(later, given(name).is_null()))


def answer_relevancy() -> Metric:
    """How well the answer fits the question, as the run says."""
    name = "answer_relevancy"
    return Metric(
        name=name,
        title="Answer relevancy",
        group="payloads",
        grain=ANSWER,
        expr=given(name),
        nulls=(
            *RESULT_NULLS,
            *where((NO_ANSWER_STAGE, ABSTAINED), given(name).is_null()),
            Null("not_reported", given(name).is_null()),
        ),
        uses_judge=True,
        summary="How well the answer fits the question, as the run reports it.",
        formula="the number the run gives",
        source="ragas answer relevancy",
        example=Example.of(0.9, given_answer_relevancy=0.9),
    )


def faithfulness() -> Metric:
    """The run's own faithfulness, else groundedness."""
    name = "faithfulness"
    return Metric(
        name=name,
        title="Faithfulness",
        group="payloads",
        grain=ANSWER,
        expr=pl.coalesce(given(name), GROUNDED_SHARE),
        nulls=derived(name, (), ON_GROUNDED),
        uses_judge=True,
        summary="The run's own faithfulness, else the share of claims that are grounded.",
        formula="the number the run gives, else claims grounded / claims",
        source="ragas faithfulness",
        example=Example.of(0.75, n_claims=4, claims_grounded=3),
    )


def context_recall() -> Metric:
    """Share of assertions that the retrieved evidence supports."""
    name = "context_recall"
    # Blank contexts are no context: nothing can be supported by them (ragas#813).
    no_context = pl.col("retrieval_reported") & (pl.col("n_contexts") == 0)
    in_context = pl.when(no_context).then(0).otherwise(pl.col("in_context"))
    return Metric(
        name=name,
        title="Context recall",
        group="payloads",
        grain=ANSWER,
        expr=pl.coalesce(given(name), in_context / total()),
        nulls=derived(
            name,
            (no_assertions(),),
            (
                CONTEXTS_PROVIDED,
                Null("not_judged", pl.col("context_unjudged") > 0),
                unjudged()[1],
            ),
        ),
        uses_judge=True,
        summary="The run's own context recall, else the share of assertions the evidence supports.",
        formula="the number the run gives, else assertions the evidence supports / assertions",
        source="ragas context recall",
        example=Example.of(0.5, must_supported=1, must_missing=1, in_context=1, n_contexts=3),
    )


def context_precision() -> Metric:
    """How high the relevant contexts stand among those retrieved."""
    name = "context_precision"
    positions = pl.col("context_relevant")
    found = positions.list.len()
    unanswerable = Null("unanswerable", ~pl.col("answerable") & (pl.col("n_qrels") == 0))
    no_relevant = Null("no_relevant_judged", (pl.col("n_placed") > 0) & (pl.col("n_relevant") == 0))
    return Metric(
        name=name,
        title="Context precision",
        group="payloads",
        grain=ANSWER,
        expr=pl.coalesce(
            given(name), pl.when(found > 0).then(precisions_at(positions) / found).otherwise(0.0)
        ),
        nulls=derived(
            name,
            (unanswerable, no_relevant),
            (
                CONTEXTS_PROVIDED,
                REPORTED_RETRIEVAL,
                Null("no_qrels", pl.col("n_qrels") == 0),
                Null("unplaced", pl.col("n_placed") == 0),
            ),
        ),
        uses_judge=True,
        summary="The run's own context precision, else the mean precision at each relevant context"
        " retrieved; 0 when none was.",
        formula="the number the run gives, else Σ precision at each relevant context / relevant"
        " contexts",
        source="ragas context precision",
        example=Example.of(
            5 / 6, context_relevant=[1, 3], n_contexts=3, n_relevant=4, n_qrels=9, n_placed=9
        ),
    )


def check_pass_rate() -> Metric:
    """Share of the runner's checks that passed."""
    passed, failed, unknown = (pl.col(f"checks_{s}") for s in ("passed", "failed", "unknown"))
    return Metric(
        name="check_pass_rate",
        title="Checks passed",
        group="payloads",
        grain=ANSWER,
        expr=passed / (passed + failed),
        nulls=(
            *RESULT_NULLS,
            Null("not_reported", passed + failed + unknown == 0),
            # A check that could not run may not raise the score by leaving it.
            Null("not_judged", unknown > 0),
        ),
        summary="Share of the runner's deterministic checks that passed.",
        formula="checks passed / (checks passed + checks failed)",
        source="Crucible, checks",
        example=Example.of(0.75, checks_passed=3, checks_failed=1),
    )


METRICS = (
    answer_relevancy(),
    faithfulness(),
    context_recall(),
    context_precision(),
    check_pass_rate(),
)
"""The payload metrics."""
