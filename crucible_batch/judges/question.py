"""What a judge is asked, what it says, and what every judge can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

from crucible_batch.judges.verdicts import Values

Status = Literal["ok", "malformed", "failed"]
Evidence = tuple[str, ...] | None
"""Retrieved texts in rank order; None when the run does not report them."""


@dataclass(frozen=True, kw_only=True)
class GradeQuestion:
    """How relevant is a document for a question?

    Attributes:
        question: The question.
        document: Text of the document.
        must: What a right answer must say.
        should: What it should say.
    """

    kind: ClassVar[str] = "qrel"
    question: str
    document: str
    must: tuple[str, ...] = ()
    should: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AssertionQuestion:
    """Does an answer make a statement, and does the evidence support it?

    Attributes:
        question: The question that was answered.
        assertion: The statement.
        answer: The answer; empty when the system abstained.
        evidence: What was retrieved for it.
    """

    kind: ClassVar[str] = "assertion"
    question: str
    assertion: str
    answer: str
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class ClaimQuestion:
    """Is a claim of an answer grounded in the evidence, and correct by the reference?

    Attributes:
        question: The question that was answered.
        claim: The claim.
        evidence: What was retrieved for the answer.
        reference: Reference answer and assertions; empty when the item has neither.
    """

    kind: ClassVar[str] = "claim"
    question: str
    claim: str
    evidence: Evidence
    reference: tuple[str, ...]


Question = GradeQuestion | AssertionQuestion | ClaimQuestion


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came of one question.

    Attributes:
        status: ok; malformed: the judge spoke, but not plainly; failed: it did not answer.
        values: Columns of the judgment and their values; empty unless ok.
        raw: The judge's text, or why the call failed; None for a judge without words.
        prompt_tokens: Tokens in, None when not told.
        completion_tokens: Tokens out, None when not told.
        cost_usd: US dollars, None when not known.
        model: The model that answered, as the endpoint calls it; None when not told.
    """

    status: Status
    values: Values = field(default_factory=dict)
    raw: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    model: str | None = None


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """What a call will about take; dollars are None without prices."""

    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


class Judge(Protocol):
    """What a judge can say of itself and of a question without being asked."""

    @property
    def model(self) -> str:
        """Model id."""

    def version(self, kind: str, /) -> str:
        """Prompt version for questions of a kind: 12 hex digits."""

    def inputs(self, question: Question) -> Mapping[str, object]:
        """All that the judge reads of a question, as JSON values."""

    def can_judge(self, question: Question) -> bool:
        """Whether the question holds what the judge needs."""


def lane(judge: Judge, kind: str) -> str:
    """Text of the `judge` columns: model@prompt_version."""
    return f"{judge.model}@{judge.version(kind)}"


def settled(values: Values, question: Question) -> Values:
    """The values with what follows without asking: nothing retrieved supports nothing."""
    if isinstance(question, GradeQuestion) or question.evidence is None or question.evidence:
        return values
    name = "context_supported" if isinstance(question, AssertionQuestion) else "grounded"
    return {**values, name: False}
