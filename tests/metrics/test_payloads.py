from __future__ import annotations

from typing import Any

import pytest
from answer_run import AnswerRun


def test_a_score_the_run_gives_comes_before_the_derived_one() -> None:
    run = AnswerRun().item("q").result("q", claims=[(True, True)], payloads={"faithfulness": 0.25})
    assert run.value("faithfulness") == 0.25
    assert run.value("groundedness") == 1.0


def test_faithfulness_is_groundedness_when_no_score_is_given() -> None:
    run = AnswerRun().item("q").result("q", claims=[(True, True), (False, True)])
    assert run.value("faithfulness") == run.value("groundedness") == 0.5


def test_an_errored_result_keeps_no_given_score() -> None:
    run = AnswerRun().item("q").result("q", error="boom", payloads={"context_precision": 1.0})
    assert run.value("context_precision") == "errored"


def test_answer_relevancy_is_what_the_run_says_or_not_reported() -> None:
    run = AnswerRun().item("q").result("q", payloads={"answer_relevancy": 0.9})
    assert run.value("answer_relevancy") == 0.9
    assert AnswerRun().item("q").result("q").value("answer_relevancy") == "not_reported"


def recalled(
    in_context: dict[str, bool | None], *, retrieved: Any = ("d1",), **result: Any
) -> AnswerRun:
    run = AnswerRun().item("q", must=["a"], should=["b"])
    verdicts = {"a": "supported", "b": "missing"}
    return run.result("q", verdicts=verdicts, in_context=in_context, retrieved=retrieved, **result)


def test_context_recall_is_the_share_of_assertions_the_evidence_supports() -> None:
    assert recalled({"a": True, "b": False}).value("context_recall") == 0.5


def test_context_recall_is_null_when_an_assertion_was_not_compared() -> None:
    assert recalled({"a": True, "b": None}).value("context_recall") == "not_judged"


def test_blank_contexts_are_no_context() -> None:
    blank = [{"doc_id": "d1", "text": " "}]
    run = recalled({"a": True, "b": True}, retrieved=blank)
    assert run.value("context_recall") == 0.0


def test_a_context_whose_text_is_not_stored_is_a_context() -> None:
    run = recalled({"a": True, "b": True}, retrieved=[{"doc_id": "d1", "text": None}])
    assert run.value("context_recall") == 1.0


def test_given_contexts_leave_retrieval_unmeasured() -> None:
    run = recalled({"a": True, "b": True}, retrieval_ran=False)
    assert run.value("context_recall") == "contexts_provided"
    assert run.value("context_precision") == "contexts_provided"


def test_an_abstention_does_not_hide_what_was_retrieved() -> None:
    assert recalled({"a": True, "b": False}, abstained=True).value("context_recall") == 0.5


def test_a_score_that_is_left_out_of_a_run_that_gives_scores_is_missing() -> None:
    run = AnswerRun().item("q").result("q").item("z").result("z", payloads={"context_recall": 1.0})
    assert run.value("context_recall", "q") == "not_reported"
    assert AnswerRun().item("q").result("q").value("context_recall") == "no_assertions"


@pytest.mark.parametrize(
    ("retrieved", "value"),
    [
        (["r1", "x", "r2"], (1 + 2 / 3) / 2),
        (["r1", "r1", "x"], 1.0),
        (["x", "y"], 0.0),
        ([], 0.0),
        ([{"doc_id": "x", "text": ""}, "r1"], 1.0),
    ],
)
def test_context_precision_weighs_relevant_contexts_by_their_place(
    retrieved: list[Any], value: float
) -> None:
    run = AnswerRun().item("q", grades={"r1": 3, "r2": 2, "x": 1})
    assert run.result("q", retrieved=retrieved).value("context_precision") == pytest.approx(value)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({}, "no_qrels"),
        ({"answerable": False}, "unanswerable"),
        ({"grades": {"x": 1}}, "no_relevant_judged"),
    ],
)
def test_context_precision_needs_a_relevant_document(item: dict[str, Any], reason: str) -> None:
    run = AnswerRun().item("q", **item).result("q", retrieved=["x"])
    assert run.value("context_precision") == reason


@pytest.mark.parametrize(
    ("checks", "value"),
    [
        ({"json": True, "length": False}, 0.5),
        ({"json": True, "length": None}, "not_judged"),
        ({}, "not_reported"),
    ],
)
def test_checks_that_could_not_run_cannot_raise_the_pass_rate(
    checks: dict[str, bool | None], value: float | str
) -> None:
    run = AnswerRun().item("q").result("q", checks=checks)
    assert run.value("check_pass_rate") == value


def test_checks_count_without_an_answer_stage() -> None:
    run = AnswerRun().item("q").result("q", answer=None, checks={"json": True})
    assert run.value("check_pass_rate") == 1.0
