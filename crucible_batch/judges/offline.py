"""The lexical judge behind the questions that every judge answers; it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping

from crucible_batch.judges import lexical
from crucible_batch.judges.question import (
    AssertionQuestion,
    GradeQuestion,
    Question,
    Reply,
    settled,
)
from crucible_batch.judges.verdicts import Values


class LexicalJudge:
    """Judges at once and without words; see `lexical` for what it cannot see."""

    model = lexical.MODEL

    def version(self, _kind: str, /) -> str:
        """One version for all kinds: a hash of the rules."""
        return lexical.PROMPT_VERSION

    def inputs(self, question: Question) -> Mapping[str, object]:
        """The texts it compares."""
        if isinstance(question, GradeQuestion):
            return {
                "question": question.question,
                "document": question.document,
                "must": list(question.must),
                "should": list(question.should),
            }
        evidence = None if question.evidence is None else list(question.evidence)
        if isinstance(question, AssertionQuestion):
            return {
                "assertion": question.assertion,
                "answer": question.answer,
                "evidence": evidence,
            }
        return {"claim": question.claim, "evidence": evidence}

    def can_judge(self, question: Question) -> bool:
        """It grades by the assertions of the item, and claims by the evidence only."""
        if isinstance(question, GradeQuestion):
            return bool(question.must or question.should)
        return isinstance(question, AssertionQuestion) or question.evidence is not None

    def answer(self, question: Question) -> Reply:
        """Judge one question; whether a claim is correct, words alone cannot tell."""
        return Reply(status="ok", values=settled(_values(question), question), cost_usd=0.0)


def _values(question: Question) -> Values:
    if isinstance(question, GradeQuestion):
        grade = lexical.grade(question.question, question.must, question.should, question.document)
        return {"grade": grade}
    if isinstance(question, AssertionQuestion):
        found = lexical.judge_assertion(question.assertion, question.answer, question.evidence)
        return {"verdict": found.verdict, "context_supported": found.context_supported}
    return {"grounded": lexical.grounded(question.claim, question.evidence or ())}
