"""Prompts hold what is judged, and are named by a hash of all that shapes the answer."""

from __future__ import annotations

import pytest

from crucible_batch.judges import prompts
from crucible_batch.judges.chat import ChatJudge, Prices
from crucible_batch.judges.prompts import prompt_for, prompt_version
from crucible_batch.judges.question import AssertionQuestion, ClaimQuestion, GradeQuestion

GRADE = GradeQuestion(question="Who signs $5 deeds?", document="The {notary} signs. $question")
ASSERTION = AssertionQuestion(
    question="Who?", assertion="The notary signs.", answer="She does.", evidence=("One.", "Two.")
)
CLAIM = ClaimQuestion(question="Who?", claim="She does.", evidence=(), reference=("The notary.",))


def test_texts_stand_in_the_prompt_as_they_are() -> None:
    text = prompt_for(GRADE).user
    assert "<question>\nWho signs $5 deeds?\n</question>" in text
    assert "<document>\nThe {notary} signs. $question\n</document>" in text


def test_evidence_is_numbered_in_rank_order() -> None:
    assert "<evidence>\n[1] One.\n\n[2] Two.\n</evidence>" in prompt_for(ASSERTION).user


def test_what_is_not_there_is_said_to_be_nothing() -> None:
    assert "<evidence>\n(nothing)\n</evidence>" in prompt_for(CLAIM).user
    silent = AssertionQuestion(question="Who?", assertion="So.", answer="", evidence=None)
    assert "<answer>\n(nothing)\n</answer>" in prompt_for(silent).user


def test_a_changed_word_or_temperature_is_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {kind: prompt_version(kind, 0.0) for kind in prompts.TEMPLATES}
    assert prompt_version("qrel", 1.0) != before["qrel"]
    monkeypatch.setattr(
        prompts, "TEMPLATES", {**prompts.TEMPLATES, "qrel": prompts.GRADE.replace("far", "much")}
    )
    after = {kind: prompt_version(kind, 0.0) for kind in prompts.TEMPLATES}
    assert after["qrel"] != before["qrel"]
    assert after["assertion"] == before["assertion"]


def test_assertions_and_claims_are_judged_by_one_version_and_grades_by_their_own() -> None:
    assert prompt_version("assertion", 0.0) == prompt_version("claim", 0.0)
    assert prompt_version("qrel", 0.0) != prompt_version("claim", 0.0)


def test_evidence_that_is_empty_is_another_input_than_evidence_that_is_not_reported() -> None:
    judge = ChatJudge(model="m", temperature=0.0, max_tokens=9, prices=Prices())
    absent = ClaimQuestion(question="Who?", claim="So.", evidence=None, reference=("R.",))
    empty = ClaimQuestion(question="Who?", claim="So.", evidence=(), reference=("R.",))
    assert judge.inputs(absent) != judge.inputs(empty)
    assert judge.read(absent, '{"correct": true}') == {"correct": True}
    assert judge.read(empty, '{"correct": true}') == {"correct": True, "grounded": False}


def test_a_cost_is_known_only_with_prices_and_tokens() -> None:
    assert Prices(2.0, 8.0).cost(500_000, 250_000) == 3.0
    assert Prices(2.0, 8.0).cost(None, 1) is None
    assert Prices().cost(1, 1) is None


def test_an_estimate_counts_the_longest_answer() -> None:
    judge = ChatJudge(model="m", temperature=0.0, max_tokens=9, prices=Prices(0.0, 1_000_000.0))
    estimate = judge.estimate(GRADE)
    assert estimate.completion_tokens == 9
    assert estimate.cost_usd == 9.0
    size = len(prompts.SYSTEM.encode()) + len(prompt_for(GRADE).user.encode())
    assert 3 * (estimate.prompt_tokens - 1) < size <= 3 * estimate.prompt_tokens
