from __future__ import annotations

import pytest
from answer_run import AnswerRun


def judged(must: list[str], should: list[str] | None = None, **flags: object) -> AnswerRun:
    """A run of one item with one verdict per assertion; `-` is an assertion nobody judged."""
    verdicts = {f"m{n}": v for n, v in enumerate(must)} | {
        f"s{n}": v for n, v in enumerate(should or [])
    }
    run = AnswerRun(**flags)
    run.item(
        "q",
        must=[name for name in verdicts if name[0] == "m"],
        should=[name for name in verdicts if name[0] == "s"],
    )
    return run.result("q", verdicts={k: v for k, v in verdicts.items() if v != "-"})


PAGE = judged(["supported", "partial", "missing"], ["supported", "missing"])


@pytest.mark.parametrize(
    ("metric", "value"),
    [("must_recall", 0.5), ("must_recall_strict", 1 / 3), ("assertion_score", 0.5)],
)
def test_the_example_of_the_metric_page(metric: str, value: float) -> None:
    assert PAGE.value(metric) == pytest.approx(value, abs=1e-15)


def test_one_supported_must_without_should_is_a_full_score() -> None:
    assert judged(["supported"]).value("assertion_score") == 1.0


def test_a_contradicted_assertion_scores_like_a_missing_one() -> None:
    run = judged(["supported", "contradicted"])
    assert run.value("must_recall") == judged(["supported", "missing"]).value("must_recall") == 0.5


@pytest.mark.parametrize(
    ("must", "value"), [(["supported"] * 2, 1.0), (["supported", "partial"], 0)]
)
def test_all_musts_pass_only_when_each_is_supported(must: list[str], value: float) -> None:
    assert judged(must).value("must_pass_all") == value


@pytest.mark.parametrize(
    "metric",
    ["must_recall", "must_recall_strict", "must_pass_all", "assertion_score", "factual_recall"],
)
@pytest.mark.parametrize(
    ("verdict", "reason"), [("-", "not_judged"), ("malformed", "malformed_verdict")]
)
def test_a_lost_verdict_makes_the_score_null(metric: str, verdict: str, reason: str) -> None:
    assert judged(["supported", verdict]).value(metric) == reason


def test_a_lost_should_verdict_leaves_must_recall_alone() -> None:
    run = judged(["supported"], ["malformed"])
    assert run.value("must_recall") == 1.0
    assert run.value("assertion_score") == "malformed_verdict"


def test_an_item_without_musts_has_no_must_recall_but_a_score() -> None:
    run = judged([], ["supported", "missing"])
    assert run.value("must_recall") == "no_assertions"
    assert run.value("assertion_score") == 0.5


def test_facts_of_the_item_come_before_facts_of_the_result() -> None:
    assert AnswerRun().item("q").value("must_recall") == "no_assertions"
    assert AnswerRun().item("q", must=["a"]).value("must_recall") == "no_result"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"error": "timeout"}, "errored"),
        ({"error_kind": "timeout"}, "errored"),
        ({"answer": None}, "no_answer_stage"),
        ({"answer": None, "abstained": None}, "no_answer_stage"),
        ({"abstained": True}, "abstained"),
        ({"answer": None, "abstained": True}, "abstained"),
    ],
)
def test_a_result_without_an_answer_has_no_assertion_score(
    result: dict[str, object], reason: str
) -> None:
    run = AnswerRun().item("q", must=["a"]).result("q", verdicts={"a": "supported"}, **result)
    assert run.value("must_recall") == reason


def test_a_blank_answer_is_an_answer_and_is_judged() -> None:
    run = AnswerRun().item("q", must=["a"]).result("q", answer=" \n", verdicts={"a": "missing"})
    assert run.value("must_recall") == 0.0


def anchored(verdict: str, detected: list[tuple[str, str]], *, ran: bool = True) -> AnswerRun:
    """One must assertion about the concept e1."""
    run = AnswerRun(concepts_detected=ran).item("q", must=["a"], anchors={"a": "e1"})
    return run.result("q", verdicts={"a": verdict}, detected=detected)


@pytest.mark.parametrize("verdict", ["supported", "partial"])
def test_an_assertion_whose_concept_was_not_detected_is_missing(verdict: str) -> None:
    assert anchored(verdict, [("e2", "answer")]).value("must_recall") == 0.0


def test_an_anchor_never_contradicts() -> None:
    row = anchored("supported", []).answers().row(0, named=True)
    assert (row["must_missing"], row["must_contradicted"]) == (1, 0)


def test_an_anchor_leaves_a_contradiction_standing() -> None:
    row = anchored("contradicted", []).answers().row(0, named=True)
    assert (row["must_missing"], row["must_contradicted"]) == (0, 1)


def test_an_anchor_leaves_lost_verdicts_lost() -> None:
    assert anchored("malformed", []).value("must_recall") == "malformed_verdict"


def test_a_detected_concept_leaves_the_verdict_alone() -> None:
    assert anchored("partial", [("e1", "answer")]).value("must_recall") == 0.5


def test_evidence_counts_only_in_a_run_that_detects_nothing_in_answers() -> None:
    assert anchored("supported", [("e1", "evidence")]).value("must_recall") == 1.0
    both = [("e1", "evidence"), ("e2", "answer")]
    assert anchored("supported", both).value("must_recall") == 0.0


def test_without_detection_the_plain_verdict_counts() -> None:
    assert anchored("supported", [], ran=False).value("must_recall") == 1.0


def test_samples_of_an_item_are_scored_apart() -> None:
    run = AnswerRun(samples_n=3).item("q", must=["a"])
    run.result("q", sample=0, verdicts={"a": "supported"})
    run.result("q", sample=1, verdicts={"a": "partial"})
    values = [run.value("must_recall", sample=n) for n in range(3)]
    assert values == [1.0, 0.5, "no_result"]
