"""Builds the `answer` and `outcome` grains: contract rows become one row of facts per result."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import polars as pl

from crucible_batch.contracts.vocabulary import LEVELS, PAYLOADS
from crucible_batch.metrics.answer_documents import (
    citation_counts,
    cited_documents,
    evidence_counts,
    retrieved_documents,
)
from crucible_batch.metrics.answer_grains import ANSWER, KEY, OUTCOME, STANDINGS
from crucible_batch.metrics.answer_nulls import first_reason
from crucible_batch.metrics.facts import Golden, RunFlags, RunRows, expected_results, is_blank
from crucible_batch.metrics.judgments import effective_claims, effective_verdicts
from crucible_batch.metrics.truthfulness import CORRECT, LABEL, UNLABELLED

ON = list(KEY)
CONTEXT_COLUMNS = ("n_qrels", "n_placed", "n_relevant")


def answer_frame(
    golden: Golden,
    rows: RunRows,
    flags: RunFlags,
    *,
    grades: pl.DataFrame,
    contexts: pl.DataFrame,
    relevant_at: int,
) -> pl.DataFrame:
    """Gather the facts that the metrics of the answer side read.

    Args:
        golden: The golden set, or one bucket of its items.
        rows: The run's rows of these items.
        flags: What holds for the whole run (not only for the bucket).
        grades: Effective grades per document, whatever the granularity: item_id, doc_id, grade.
        contexts: The `ranking` grain with its key, built from the retrieval rows whose text is not
            blank: relevant, n_relevant, n_qrels, n_placed, n_retrieved are read. Where no text is
            blank, that is the frame the retrieval metrics read.
        relevant_at: Smallest grade that counts as relevant.

    Returns:
        item_id, sample_index and the columns of the `answer` grain: one row per expected result,
        sorted by key.
    """
    expected = expected_results(golden.items, rows.results, flags.samples_n)
    keys = expected.select(KEY)
    reaction = _reaction(expected)
    retrievals = _of_answered(rows.retrievals, reaction)
    cited = cited_documents(rows, golden, grades, relevant_at)
    retrieved = retrieved_documents(retrievals, golden, cited)
    context = contexts.select(
        *KEY, *CONTEXT_COLUMNS, n_contexts="n_retrieved", context_relevant="relevant"
    )
    # A bucket without any assertion, claim, … says nothing of them, which takes a while too.
    told: list[tuple[pl.DataFrame, Callable[[], pl.DataFrame]]] = [
        (golden.assertions, lambda: _assertions(keys, golden, rows, flags)),
        (rows.claims, lambda: _claims(rows, flags)),
        (cited, lambda: citation_counts(cited, retrieved)),
        (golden.concepts, lambda: _concepts(keys, golden, rows, flags)),
        (rows.external_scores, lambda: _payloads(rows.external_scores)),
        (rows.checks, lambda: _checks(rows.checks)),
        (retrievals, lambda: evidence_counts(retrievals, retrieved)),
    ]
    parts = [reaction, context, *(make() for source, make in told if source.height)]
    per_item = golden.citations.filter(pl.col("kind") == "required")
    required = per_item.group_by("item_id").agg(n_required=pl.col("doc_id").n_unique())
    joined = reduce(lambda frame, part: frame.join(part, on=ON, how="left"), parts, keys)
    graded = grades.group_by("item_id").agg(n_graded=pl.len())
    joined = joined.join(required, on="item_id", how="left").join(graded, on="item_id", how="left")
    return _complete(joined, _flag_columns(flags)).sort(KEY)


def _of_answered(retrievals: pl.DataFrame, reaction: pl.DataFrame) -> pl.DataFrame:
    """The rankings of results with an answer: without one no document is to blame."""
    answered = reaction.filter(pl.col("has_answer_stage")).select(KEY)
    # Rankings are long: they are not searched where all results have an answer, or none has.
    if answered.height in {0, reaction.height}:
        return retrievals if answered.height else retrievals.clear()
    return retrievals.join(answered, on=ON, how="semi")


def outcome_frame(answers: pl.DataFrame) -> pl.DataFrame:
    """The `outcome` grain of an `answer` frame with its key, in its order."""
    labelled = answers.with_columns(label=LABEL, label_reason=first_reason(UNLABELLED))
    correct = pl.when(pl.col("label").is_not_null()).then(CORRECT)
    return labelled.with_columns(correct=correct).select(*KEY, *OUTCOME.columns)


def _complete(joined: pl.DataFrame, flags: dict[str, bool]) -> pl.DataFrame:
    """Every column of the grain; what no row speaks of takes the column's default."""
    columns = []
    for name, column in ANSWER.columns.items():
        if name in flags:
            columns.append(pl.lit(flags[name]).alias(name))
        elif name not in joined.columns:
            columns.append(pl.lit(column.default, dtype=column.dtype).alias(name))
        elif column.default is None or name == "abstained":
            columns.append(pl.col(name).cast(column.dtype))
        else:
            default = pl.lit(column.default, dtype=column.dtype)
            columns.append(pl.col(name).cast(column.dtype).fill_null(default))
    return joined.select(*KEY, *columns)


def _flag_columns(flags: RunFlags) -> dict[str, bool]:
    """The columns that are the same for every result of the run."""
    answers_only = flags.concept_places == {"answer"}
    return {
        "citations_reported": flags.citations_reported,
        "retrieval_reported": flags.retrieval_reported,
        "concepts_detected": flags.concepts_detected,
        "claims_reported": flags.claims_reported,
        "answer_concepts": "answer" in flags.concept_places,
        "evidence_concepts": not answers_only,
        **{f"gives_{name}": name in flags.payloads for name in PAYLOADS},
    }


def _reaction(expected: pl.DataFrame) -> pl.DataFrame:
    """State, answer, confidence and what the answer cost."""
    abstained = pl.col("abstained").fill_null(value=False)
    return expected.select(
        *KEY,
        "has_result",
        "errored",
        "answerable",
        "abstained",
        "premise_rejected",
        "retrieval_ran",
        "confidence",
        "latency_ms",
        "prompt_tokens",
        "completion_tokens",
        "cost_usd",
        # An abstention is the work of an answer stage, also when it comes without a text.
        has_answer_stage=pl.col("answer").is_not_null() | abstained,
        blank=is_blank("answer"),
        false_premise=pl.col("question_type") == "false_premise",
    )


def _assertions(keys: pl.DataFrame, golden: Golden, rows: RunRows, flags: RunFlags) -> pl.DataFrame:
    """How every assertion of the item stands, counted by level."""
    verdicts = effective_verdicts(rows.assertion_verdicts, rows.overrides, flags.verdict_judge)
    asserted = (
        keys.join(
            golden.assertions.select("item_id", "assertion_id", "level", "concept_id"), on="item_id"
        )
        .join(verdicts, on=[*ON, "assertion_id"], how="left")
        .with_columns(standing=pl.col("verdict").fill_null("unjudged"))
    )
    if flags.concepts_detected:
        asserted = _anchored(asserted, rows, flags)
    counts = [
        ((pl.col("level") == level) & (pl.col("standing") == standing))
        .sum()
        .alias(f"{level}_{standing}")
        for level in LEVELS
        for standing in STANDINGS
    ]
    return asserted.group_by(KEY).agg(
        *counts,
        in_context=pl.col("context_supported").sum(),
        context_unjudged=pl.col("context_supported").is_null().sum(),
    )


def _anchored(asserted: pl.DataFrame, rows: RunRows, flags: RunFlags) -> pl.DataFrame:
    """An assertion about a concept that was not detected is missing, never contradicted."""
    detected = _detected(rows, flags).select(
        *KEY, pl.col("entity_id").alias("concept_id"), is_detected=pl.lit(value=True)
    )
    undetected = pl.col("concept_id").is_not_null() & pl.col("is_detected").is_null()
    claimed = pl.col("standing").is_in(["supported", "partial"])
    return asserted.join(detected, on=[*ON, "concept_id"], how="left").with_columns(
        standing=pl.when(undetected & claimed).then(pl.lit("missing")).otherwise("standing")
    )


def _detected(rows: RunRows, flags: RunFlags) -> pl.DataFrame:
    """Concepts detected in the place that counts: answers if the run has any, else evidence."""
    place = "answer" if "answer" in flags.concept_places else "evidence"
    return rows.detected_concepts.filter(pl.col("place") == place)


def _claims(rows: RunRows, flags: RunFlags) -> pl.DataFrame:
    """The claims of every answer, counted by what was judged of them."""
    grounded, correct = pl.col("grounded"), pl.col("correct")
    claims = effective_claims(rows.claims, rows.overrides, flags.claim_judge)
    return claims.group_by(KEY).agg(
        n_claims=pl.len(),
        claims_grounded=grounded.sum(),
        claims_correct=correct.sum(),
        claims_neither=(~grounded & ~correct).sum(),
        claims_ungrounded_correct=(~grounded & correct).sum(),
        claims_without_grounded=grounded.is_null().sum(),
        claims_without_correct=correct.is_null().sum(),
    )


def _concepts(keys: pl.DataFrame, golden: Golden, rows: RunRows, flags: RunFlags) -> pl.DataFrame:
    """Entities the item lists, counted by relevance and whether they were detected."""
    on = [*ON, "entity_id"]
    counted = _detected(rows, flags).select(on).with_columns(in_place=pl.lit(value=True))
    evidence = rows.detected_concepts.filter(pl.col("place") == "evidence")
    in_evidence = evidence.select(on).with_columns(in_evidence=pl.lit(value=True))
    listed = keys.join(golden.concepts.select("item_id", "entity_id", "relevance"), on="item_id")
    listed = listed.join(counted, on=on, how="left").join(in_evidence, on=on, how="left")
    required, irrelevant = pl.col("relevance") == "required", pl.col("relevance") == "irrelevant"
    return listed.group_by(KEY).agg(
        n_required_concepts=required.sum(),
        required_detected=(required & pl.col("in_place").is_not_null()).sum(),
        n_irrelevant_concepts=irrelevant.sum(),
        irrelevant_detected=(irrelevant & pl.col("in_evidence").is_not_null()).sum(),
    )


def _payloads(external_scores: pl.DataFrame) -> pl.DataFrame:
    """The run's own scores, a column per payload name."""
    value = pl.col("value")
    return (
        external_scores.filter(pl.col("metric").is_in(PAYLOADS))
        .group_by(KEY)
        .agg(
            value.filter(pl.col("metric") == name).first().alias(f"given_{name}")
            for name in PAYLOADS
        )
    )


def _checks(checks: pl.DataFrame) -> pl.DataFrame:
    """Checks, counted by outcome."""
    passed = pl.col("passed")
    return checks.group_by(KEY).agg(
        checks_passed=passed.sum(),
        checks_failed=(~passed).sum(),
        checks_unknown=passed.is_null().sum(),
    )
