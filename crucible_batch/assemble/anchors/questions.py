"""What a judge is asked of an anchor, by its scale, and the verdict its answer is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crucible_batch.judges.question import (
    AssertionQuestion,
    ClaimQuestion,
    GradeQuestion,
    Question,
    Reply,
)

MALFORMED = "malformed"
"""The judge spoke, but not plainly."""


def question_of(anchor: Mapping[str, Any]) -> Question:
    """The question of an anchor.

    - `verdict`: does the evidence make the statement that the answer is? The assertion prompt.
    - `grounded`: does the evidence entail the answer? The claim prompt.
    - `grade`: how relevant is the evidence for the question? The grade prompt; the answer, if
      there is one, is not shown.

    Args:
        anchor: Row of `anchors`.
    """
    question, evidence, answer = anchor["question"], anchor["evidence"], anchor["answer"]
    if anchor["scale"] == "verdict":
        return AssertionQuestion(
            question=question, assertion=answer, answer=evidence, evidence=None
        )
    if anchor["scale"] == "grounded":
        return ClaimQuestion(question=question, claim=answer, evidence=(evidence,), reference=())
    return GradeQuestion(question=question, document=evidence)


def verdict_of(reply: Reply, scale: str) -> str | None:
    """The verdict as `anchor_verdicts` holds it; None: the call failed."""
    if reply.status == "failed":
        return None
    if reply.status == "malformed":
        return MALFORMED
    value = reply.values[scale]
    return str(value).lower() if isinstance(value, bool) else str(value)
