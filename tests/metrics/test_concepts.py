from __future__ import annotations

from answer_run import AnswerRun

CONCEPTS = {"r1": "required", "r2": "required", "ok": "acceptable", "bad": "irrelevant"}


def detecting(*detected: tuple[str, str], ran: bool = True, **result: object) -> AnswerRun:
    run = AnswerRun(concepts_detected=ran).item("q", concepts=CONCEPTS)
    return run.result("q", detected=detected, **result)


def test_concepts_of_answers_count_where_the_run_has_any() -> None:
    assert detecting(("r1", "answer"), ("r2", "evidence")).value("concept_recall") == 0.5


def test_concepts_of_the_evidence_count_otherwise() -> None:
    run = detecting(("r1", "evidence"), ("r2", "evidence"))
    assert run.value("concept_recall") == 1.0


def test_near_misses_are_looked_for_in_the_evidence_only() -> None:
    assert detecting(("bad", "evidence")).value("concept_near_miss_rate") == 1.0
    run = detecting(("bad", "answer"), ("r1", "evidence"))
    assert run.value("concept_near_miss_rate") == 0.0


def test_a_run_that_looks_at_answers_only_has_no_near_misses_to_report() -> None:
    assert detecting(("bad", "answer")).value("concept_near_miss_rate") == "not_reported"


def test_nothing_detected_is_zero_where_detection_ran_and_null_where_it_did_not() -> None:
    assert detecting().value("concept_recall") == 0.0
    assert detecting(ran=False).value("concept_recall") == "not_reported"


def test_an_item_without_concepts_is_not_asked() -> None:
    run = AnswerRun(concepts_detected=True).item("q").result("q")
    assert run.value("concept_recall") == run.value("concept_near_miss_rate") == "no_concepts"


def test_abstaining_matters_only_to_concepts_of_answers() -> None:
    assert detecting(("r1", "answer"), abstained=True).value("concept_recall") == "abstained"
    assert detecting(("r1", "evidence"), abstained=True).value("concept_recall") == 0.5
