"""The grains of the answer side: `answer` (one row per result) and `outcome` (what became of it).

Both hold every expected result, also those that errored or have no row. `answer` is read by the
metrics that are a number per result, `outcome` by those that are a number per run.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from crucible_batch.contracts.vocabulary import LEVELS, PAYLOADS
from crucible_batch.metrics.grains import STATE
from crucible_batch.metrics.metric import Column, Grain

KEY = ("item_id", "sample_index")
"""What names a result of one run."""

STANDINGS = ("supported", "partial", "missing", "contradicted", "malformed", "unjudged")
"""What became of an assertion: the verdicts, or no verdict at all."""


def _flag(default: bool | None, meaning: str) -> Column:
    return Column(pl.Boolean(), default, meaning)


def _count(meaning: str) -> Column:
    return Column(pl.Int64(), 0, meaning)


def _number(meaning: str) -> Column:
    return Column(pl.Float64(), None, meaning)


def _text(meaning: str) -> Column:
    return Column(pl.String(), None, meaning)


REACTION = {
    "has_answer_stage": _flag(True, "the result reports an answer or an abstention"),
    "abstained": _flag(False, "the pipeline declined to answer; null: not reported"),
}

RUN_FLAGS = {
    "citations_reported": _flag(True, "the run reports citations"),
    "retrieval_reported": _flag(True, "the run reports retrieval"),
    "concepts_detected": _flag(True, "concept detection ran"),
    "claims_reported": _flag(True, "the run has claims"),
    "answer_concepts": _flag(False, "the run has concepts detected in answers"),
    "evidence_concepts": _flag(True, "concepts were looked for in the evidence"),
}

ASSERTIONS: dict[str, Column] = {
    f"{level}_{standing}": _count(f"{level} assertions that are {standing}, anchors applied")
    for level in LEVELS
    for standing in STANDINGS
} | {
    "in_context": _count("assertions the evidence supports"),
    "context_unjudged": _count("assertions nobody compared with the evidence"),
}

CLAIMS = {
    "n_claims": _count("claims of the answer"),
    "claims_grounded": _count("claims the evidence entails"),
    "claims_correct": _count("claims that agree with the reference"),
    "claims_neither": _count("claims judged both ways that are neither"),
    "claims_ungrounded_correct": _count("claims judged both ways: correct, not grounded"),
    "claims_without_grounded": _count("claims without a verdict on the evidence"),
    "claims_without_correct": _count("claims without a verdict on the reference"),
}

CITATIONS = {
    "n_graded": _count("documents of the item that have a grade, whatever the granularity"),
    "n_required": _count("documents the item requires to be cited"),
    "n_cited": _count("distinct documents cited"),
    "cited_relevant": _count("of these, graded at least relevant_at and not forbidden"),
    "cited_judged": _count("of these, judged"),
    "cited_required": _count("of these, required"),
    "cited_forbidden": _count("of these, forbidden"),
    "cited_not_retrieved": _count("of these, not retrieved"),
}

CONCEPTS = {
    "n_required_concepts": _count("entities the item requires"),
    "required_detected": _count("of these, detected in the place that counts"),
    "n_irrelevant_concepts": _count("entities the item lists as irrelevant"),
    "irrelevant_detected": _count("of these, detected in the evidence"),
}

CONTEXTS = {
    "retrieval_ran": _flag(True, "retrieval ran for the result"),
    "n_qrels": _count("judgments of the item, of any grade"),
    "n_placed": _count("of these, with a target of the granularity"),
    "n_contexts": _count("distinct documents retrieved with a context that is not blank"),
    "n_relevant": _count("documents of the item graded at least relevant_at"),
    "context_relevant": Column(
        pl.List(pl.Int64()), [], "positions of these among the contexts, from 1"
    ),
}

PAYLOAD_GIVEN = {f"given_{name}": _number(f"the run's own {name}") for name in PAYLOADS} | {
    f"gives_{name}": _flag(False, f"the run gives {name} for some result") for name in PAYLOADS
}

CHECKS = {
    "checks_passed": _count("checks passed"),
    "checks_failed": _count("checks failed"),
    "checks_unknown": _count("checks that could not run"),
}

OPERATION = {
    "latency_ms": _number("milliseconds"),
    "prompt_tokens": _number("tokens in"),
    "completion_tokens": _number("tokens out"),
    "cost_usd": _number("US dollars"),
}

EVIDENCE = {
    "required_retrieved": _count("required documents retrieved"),
    "superseded": _flag(False, "a retrieved required or a cited document is superseded"),
    "conflicting": _flag(False, "retrieved evidence conflicts"),
}

ANSWER = Grain(
    name="answer",
    columns={
        **STATE,
        **REACTION,
        "blank": _flag(False, "the answer is blank"),
        "premise_rejected": _flag(None, "the answer rejects the premise; null: not reported"),
        "false_premise": _flag(False, "the question rests on a false premise"),
        "confidence": _number("stated confidence, 0 to 1"),
        **RUN_FLAGS,
        **ASSERTIONS,
        **CLAIMS,
        **CITATIONS,
        **CONCEPTS,
        **CONTEXTS,
        **PAYLOAD_GIVEN,
        **CHECKS,
        **OPERATION,
        **EVIDENCE,
    },
)
"""What answer, truthfulness, claim, citation, concept, payload and operational metrics read."""

OUTCOME = Grain(
    name="outcome",
    columns={
        **STATE,
        **REACTION,
        "label": _text("truthfulness label"),
        "label_reason": _text("why there is no label"),
        "correct": _flag(None, "the reaction is right; null without a label"),
        "confidence": _number("stated confidence, 0 to 1"),
        "latency_ms": _number("milliseconds"),
    },
)
"""What the metrics of a whole run read."""


def defaults(grain: Grain) -> dict[str, Any]:
    """The value of every column that stands for "nothing there"."""
    return {name: column.default for name, column in grain.columns.items()}
