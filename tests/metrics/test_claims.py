from __future__ import annotations

import pytest
from answer_run import AnswerRun

Claims = list[tuple[bool | None, bool | None]]


def claiming(claims: Claims, **result: object) -> AnswerRun:
    """An item with two of three assertions supported; another result has a claim."""
    run = AnswerRun().item("q", must=["a", "b"], should=["c"])
    verdicts = {"a": "supported", "b": "supported", "c": "partial"}
    run.result("q", claims=claims, verdicts=verdicts, **result)
    return run.item("z").result("z", claims=[(True, True)])


PAGE = claiming([(True, True), (True, True), (False, True), (False, False)])


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("factual_precision", 0.75),
        ("factual_recall", 0.6667),
        ("factual_f1", 0.7059),
        ("groundedness", 0.5),
        ("hallucinated_claim_rate", 0.25),
        ("self_knowledge_rate", 0.25),
    ],
)
def test_two_claim_sets_never_share_a_denominator(metric: str, value: float) -> None:
    assert PAGE.value(metric) == pytest.approx(value, abs=5e-5)


def test_f1_is_the_harmonic_mean_to_the_last_digit() -> None:
    assert PAGE.value("factual_f1") == pytest.approx(12 / 17, abs=1e-15)


def test_f1_is_zero_when_nothing_is_right() -> None:
    run = AnswerRun().item("q", must=["a"])
    run.result("q", verdicts={"a": "missing"}, claims=[(False, False)])
    assert run.value("factual_f1") == 0.0


@pytest.mark.parametrize(
    ("claims", "groundedness", "precision", "both"),
    [
        ([(None, True)], "not_judged", 1.0, "not_judged"),
        ([(True, None)], 1.0, "not_judged", "not_judged"),
        ([(True, True), (None, None)], "not_judged", "not_judged", "not_judged"),
        ([], "no_claims", "no_claims", "no_claims"),
    ],
)
def test_claim_metrics_need_every_claim_judged_for_their_column(
    claims: Claims, groundedness: float | str, precision: float | str, both: float | str
) -> None:
    run = claiming(claims)
    assert run.value("groundedness") == groundedness
    assert run.value("factual_precision") == precision
    assert run.value("self_knowledge_rate") == run.value("hallucinated_claim_rate") == both


def test_a_run_without_any_claim_does_not_report_claims() -> None:
    assert AnswerRun().item("q").result("q").value("groundedness") == "not_reported"


def test_a_lost_verdict_makes_f1_null_whatever_the_claims_say() -> None:
    run = AnswerRun().item("q", must=["a"]).result("q", claims=[(True, True)])
    assert run.value("factual_f1") == "not_judged"


def test_claims_only_another_judge_gave_are_not_judged() -> None:
    run = AnswerRun().item("q").item("z")
    run.result("q", claims=[(True, True)], judge="other@1").result("z", claims=[(True, True)])
    assert run.value("groundedness", "q") == "not_judged"
    assert run.value("groundedness", "z") == 1.0


def test_claims_of_another_judge_stay_out_of_the_denominator() -> None:
    run = AnswerRun().item("q").result("q", claims=[(True, True)])
    run.tables["claims"].append(
        run.tables["claims"][0] | {"claim_id": "extra", "judge": "other@1", "grounded": False}
    )
    assert run.value("groundedness") == 1.0


def test_an_abstention_makes_no_claims_that_count() -> None:
    assert claiming([(True, True)], abstained=True).value("groundedness") == "abstained"
