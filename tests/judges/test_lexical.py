"""The offline lexical judge: what it can tell, and what it must not pretend to tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible_batch.contracts.vocabulary import VERDICTS
from crucible_batch.judges.lexical import (
    JUDGE,
    MODEL,
    PROMPT_VERSION,
    content_words,
    grade,
    grounded,
    judge_assertion,
    sentences,
    stem,
    support,
)

FACT = "The interval is drawn 10,000 times."
TEXTS = st.text(st.sampled_from("abcdefg 0123456789.,;:!?-−\n'"), max_size=80) | st.lists(
    st.sampled_from(["not", "recall", "is", "0.25", "never.", "the", "item,", "judged"]),
    max_size=12,
).map(" ".join)


@given(TEXTS)
def test_a_statement_with_content_supports_itself(text: str) -> None:
    assert support(text, [text]) == ("supported" if content_words(text) else "missing")


@given(TEXTS)
def test_an_empty_answer_supports_nothing(text: str) -> None:
    assert judge_assertion(text, "", []) == judge_assertion(text, " \n", [""])
    assert judge_assertion(text, "", []).verdict == "missing"
    assert judge_assertion(text, "", []).context_supported is False


@given(TEXTS, TEXTS)
def test_verdicts_are_of_the_contract_and_never_contradicted(text: str, answer: str) -> None:
    verdict = judge_assertion(text, answer).verdict
    assert verdict in VERDICTS
    assert verdict != "contradicted"


@given(TEXTS, TEXTS, TEXTS)
def test_more_evidence_never_takes_support_away(text: str, one: str, two: str) -> None:
    if grounded(text, [one]):
        assert grounded(text, [two, one])


def test_without_evidence_to_look_at_the_context_is_not_judged() -> None:
    assert judge_assertion(FACT, FACT, None).context_supported is None


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("As a rule the intervals are drawn 10000 times, with replacement.", "supported"),
        ("The interval is drawn 5,000 times.", "partial"),
        ("The interval is never drawn 10,000 times.", "partial"),
        ("The interval is drawn. Items come 10,000 times.", "partial"),
        ("The interval is wide.", "missing"),
        ("Ask someone else.", "missing"),
    ],
)
def test_support_needs_words_numbers_and_polarity_in_one_place(answer: str, verdict: str) -> None:
    assert support(FACT, [answer]) == verdict


def test_a_negation_in_another_clause_does_not_count() -> None:
    text = "The ideal ranking has all judged documents, not only the retrieved ones."
    assert support("The ideal ranking has all judged documents.", [text]) == "supported"


def test_a_compound_with_no_is_no_negation() -> None:
    assert (
        support("A second load is a no-op.", ["A second load is a no-op, always."]) == "supported"
    )


def test_a_minus_sign_is_part_of_a_number() -> None:
    assert support("Incorrect is −1.", ["Incorrect is 1."]) == "partial"
    assert support("Incorrect is −1.", ["Incorrect is -1."]) == "supported"


def test_stems_join_the_forms_of_a_word() -> None:
    assert {stem(word) for word in ("judged", "judges", "judging", "judge")} == {"judg"}
    assert stem("planned") == stem("plans") == "plan"
    assert [stem(word) for word in ("recall", "class", "ndcg_at_10")] == [
        "recall",
        "class",
        "ndcg_at_10",
    ]


def test_decimals_do_not_end_a_sentence() -> None:
    assert sentences("At 0.05 it ends. Then\n\nmore") == ["At 0.05 it ends.", "Then", "more"]


MUST = ("Recall is a share.", "Recall is null without relevant documents.")
SHOULD = ("The cut-offs are 5 and 10.",)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (" ".join(MUST), 3),
        (MUST[0] + " Nothing more.", 2),
        (SHOULD[0], 2),
        ("The cut-offs are 20.", 1),
        ("Defining recall takes a while.", 1),
        ("Tea grows on hills.", 0),
    ],
)
def test_a_document_is_graded_by_what_it_holds(document: str, expected: int) -> None:
    assert grade("How is recall defined?", MUST, SHOULD, document) == expected


def test_without_must_assertions_the_should_assertions_serve_as_must() -> None:
    assert grade("Which cut-offs?", (), SHOULD, SHOULD[0]) == 3


def test_without_assertions_there_is_no_grade() -> None:
    assert grade("How is recall defined?", (), (), "Recall is defined here.") is None


@given(st.lists(TEXTS, max_size=3), st.lists(TEXTS, max_size=3), TEXTS, TEXTS)
def test_grades_lie_between_0_and_3(
    must: list[str], should: list[str], question: str, document: str
) -> None:
    found = grade(question, must, should, document)
    assert (found is None) == (not must and not should)
    assert found is None or 0 <= found <= 3


def test_the_judge_names_model_and_rules() -> None:
    assert f"{MODEL}@{PROMPT_VERSION}" == JUDGE
    assert len(PROMPT_VERSION) == 12
