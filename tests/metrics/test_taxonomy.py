from __future__ import annotations

from typing import Any

import pytest
from answer_run import AnswerRun

RIGHT, WRONG, PARTLY = {"a": "supported"}, {"a": "contradicted"}, {"a": "partial", "b": "missing"}


def verdict_of(
    *, item: dict[str, Any] | None = None, flags: dict[str, Any] | None = None, **result: Any
) -> tuple[str | None, str | None]:
    """Class and rule of one result; the item requires d1 unless it says otherwise."""
    facts: dict[str, Any] = {"must": ["a"], "required": ["d1"], "forbidden": ["bad"]}
    run = AnswerRun(**(flags or {})).item("q", **(facts | (item or {})))
    row = run.result("q", **({"retrieved": ["d1"]} | result)).classes().row(0, named=True)
    return row["error_class"], row["error_rule"]


SUPERSEDED = [{"doc_id": "d1", "superseded": True}]
CONFLICT = [{"doc_id": "d1", "conflicts_with": "d7"}]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"verdicts": RIGHT, "cites": ["d1"]}, ("correct", "correct")),
        (
            {"verdicts": RIGHT, "cites": ["d1", "bad"], "retrieved": ["d1", "bad"]},
            ("citation_error", "forbidden_citation"),
        ),
        ({"verdicts": RIGHT, "cites": ["d1", "d2"]}, ("citation_error", "dangling_citation")),
        ({"verdicts": RIGHT}, ("citation_error", "no_required_citation")),
        ({"verdicts": RIGHT, "item": {"required": []}}, ("correct", "correct")),
        (
            {"verdicts": RIGHT, "flags": {"citations_reported": False}},
            ("correct", "correct"),
        ),
        (
            {"verdicts": WRONG, "retrieved": ["d2"]},
            ("retrieval_miss", "no_required_document_retrieved"),
        ),
        ({"verdicts": WRONG, "retrieved": SUPERSEDED}, ("stale", "superseded_document")),
        (
            {"verdicts": WRONG, "retrieved": CONFLICT},
            ("conflict_mishandled", "conflicting_evidence"),
        ),
        ({"abstained": True}, ("incomplete", "abstained")),
        ({"answer": ""}, ("incomplete", "blank_answer")),
        (
            {"verdicts": PARTLY, "item": {"must": ["a", "b"]}},
            ("incomplete", "only_part_of_musts"),
        ),
        ({"verdicts": WRONG}, ("hallucination", "unsupported_answer")),
        ({"verdicts": {"a": "missing"}}, ("hallucination", "unsupported_answer")),
        ({"error": "boom"}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_the_first_rule_that_holds_decides(
    facts: dict[str, Any], expected: tuple[str | None, str | None]
) -> None:
    assert verdict_of(**facts) == expected


def test_a_superseded_document_matters_only_when_required_or_cited() -> None:
    other = ["d1", {"doc_id": "d5", "superseded": True}]
    assert verdict_of(verdicts=WRONG, retrieved=other)[0] == "hallucination"
    assert verdict_of(verdicts=WRONG, retrieved=other, cites=["d5"])[0] == "stale"


def test_what_the_run_does_not_report_is_ignored() -> None:
    flags = {"retrieval_reported": False}
    assert verdict_of(verdicts=WRONG, retrieved=[], flags=flags)[0] == "hallucination"
    assert verdict_of(verdicts=RIGHT, retrieved=[], cites=["d1"], flags=flags)[0] == "correct"


def test_given_contexts_are_no_retrieval_miss() -> None:
    assert verdict_of(verdicts=WRONG, retrieved=[], retrieval_ran=False)[0] == "hallucination"


def test_a_right_abstention_is_correct_without_citations() -> None:
    unanswerable = {"answerable": False, "must": []}
    assert verdict_of(item=unanswerable, abstained=True)[0] == "correct"


def test_a_false_answer_to_an_unanswerable_item_is_a_hallucination() -> None:
    unanswerable = {"answerable": False}
    assert verdict_of(item=unanswerable, verdicts=PARTLY)[0] == "hallucination"


def test_a_contradicted_must_is_no_omission() -> None:
    verdicts = {"a": "contradicted", "b": "supported"}
    assert verdict_of(verdicts=verdicts, item={"must": ["a", "b"]})[0] == "hallucination"


def test_should_assertions_serve_where_there_is_no_must() -> None:
    verdicts = {"a": "partial", "b": "missing"}
    item = {"must": [], "should": ["a", "b"]}
    assert verdict_of(verdicts=verdicts, item=item)[0] == "incomplete"
