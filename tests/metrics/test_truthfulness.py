from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from answer_run import AnswerRun


def run_of(
    verdicts: dict[str, str], *, item: dict[str, Any] | None = None, **result: Any
) -> AnswerRun:
    """One item whose assertions are named m… and s…; `-` is one nobody judged."""
    run = AnswerRun().item(
        "q",
        must=[name for name in verdicts if name[0] == "m"],
        should=[name for name in verdicts if name[0] == "s"],
        **(item or {}),
    )
    given = {name: verdict for name, verdict in verdicts.items() if verdict != "-"}
    return run.result("q", verdicts=given, **result)


def state(run: AnswerRun) -> str | None:
    """The label, or why there is none."""
    value = run.value("mean_truthfulness")
    return value if isinstance(value, str) else run.label()


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ({"m1": "supported", "s1": "supported"}, "perfect"),
        ({"m1": "supported"}, "perfect"),
        ({"m1": "supported", "s1": "missing"}, "acceptable"),
        ({"m1": "supported", "s1": "-"}, "acceptable"),
        ({"m1": "supported", "m2": "partial"}, "acceptable"),
        ({"m1": "supported", "m2": "missing"}, "incorrect"),
        ({"m1": "contradicted", "m2": "malformed", "m3": "-"}, "incorrect"),
        ({"m1": "supported", "m2": "malformed"}, "malformed_verdict"),
        ({"m1": "supported", "m2": "-"}, "not_judged"),
        ({"s1": "supported"}, "perfect"),
        ({"s1": "partial"}, "acceptable"),
        ({"s1": "missing"}, "incorrect"),
        ({"s1": "malformed"}, "malformed_verdict"),
        ({}, "no_assertions"),
    ],
)
def test_the_label_of_an_answer_to_an_answerable_item(
    verdicts: dict[str, str], expected: str
) -> None:
    assert state(run_of(verdicts)) == expected


@pytest.mark.parametrize(
    ("verdicts", "premise_rejected", "question_type", "expected"),
    [
        ({}, True, "false_premise", "perfect"),
        ({"m1": "missing"}, True, "false_premise", "perfect"),
        ({"m1": "supported"}, None, "false_premise", "perfect"),
        ({"m1": "supported"}, False, "false_premise", "perfect"),
        ({}, False, "false_premise", "incorrect"),
        ({"m1": "partial"}, None, "false_premise", "incorrect"),
        ({}, None, "false_premise", "not_judged"),
        ({"m1": "-"}, None, "false_premise", "not_judged"),
        ({}, None, "simple", "incorrect"),
        ({}, None, None, "incorrect"),
        ({"m1": "-"}, None, "simple", "incorrect"),
        ({"m1": "malformed"}, None, "simple", "not_judged"),
        ({"m1": "supported", "m2": "-"}, None, "simple", "not_judged"),
    ],
)
def test_the_label_of_an_answer_to_an_unanswerable_item(
    verdicts: dict[str, str],
    premise_rejected: bool | None,
    question_type: str | None,
    expected: str,
) -> None:
    item = {"answerable": False, "question_type": question_type}
    assert state(run_of(verdicts, item=item, premise_rejected=premise_rejected)) == expected


@pytest.mark.parametrize("answerable", [True, False])
@pytest.mark.parametrize("result", [{"abstained": True}, {"answer": ""}, {"answer": " "}])
def test_saying_nothing_is_missing_whatever_was_judged(
    answerable: bool, result: dict[str, Any]
) -> None:
    run = run_of({"m1": "contradicted"}, item={"answerable": answerable}, **result)
    assert state(run) == "missing"
    assert run.value("mean_truthfulness") == 0.0


def test_abstaining_needs_no_assertions_to_be_labelled() -> None:
    assert state(run_of({}, abstained=True)) == "missing"


@pytest.mark.parametrize(
    ("result", "reason"), [({"error": "boom"}, "errored"), ({"answer": None}, "no_answer_stage")]
)
def test_an_error_has_no_label(result: dict[str, Any], reason: str) -> None:
    run = run_of({}, **result)
    assert state(run) == reason
    assert run.classes().row(0)[2:] == (None, None, None)


def test_an_anchor_turns_a_perfect_answer_into_an_incorrect_one() -> None:
    run = AnswerRun(concepts_detected=True).item("q", must=["a"], anchors={"a": "e"})
    assert state(run.result("q", verdicts={"a": "supported"})) == "incorrect"


@pytest.mark.parametrize(
    ("answerable", "result", "value"),
    [
        (True, {"verdicts": {"a": "supported"}}, 1.0),
        (True, {"verdicts": {"a": "partial"}}, 1.0),
        (True, {"verdicts": {"a": "missing"}}, 0.0),
        (True, {"abstained": True}, 0.0),
        (False, {"abstained": True}, 1.0),
        (False, {"answer": ""}, 0.0),
        (False, {"premise_rejected": True}, 1.0),
        (False, {"premise_rejected": False}, 0.0),
    ],
)
def test_accuracy_is_a_right_answer_or_a_right_abstention(
    answerable: bool, result: dict[str, Any], value: float
) -> None:
    run = AnswerRun().item("q", must=["a"], answerable=answerable).result("q", **result)
    assert run.value("accuracy") == value


def test_rates_of_ten_results_are_those_of_the_metric_page() -> None:
    run = AnswerRun()
    verdicts = ["supported"] * 3 + [None] * 2 + ["contradicted"] * 5
    for n, verdict in enumerate(verdicts):
        run.item(f"q{n}", must=["a"])
        run.result(f"q{n}", abstained=verdict is None, verdicts={"a": verdict} if verdict else {})
    means = run.scores().group_by("metric").agg(pl.col("value").sum() / 10).rows()
    of = dict(means)
    assert of["mean_truthfulness"] == pytest.approx(-0.2, abs=1e-15)
    rates = [of[f"{label}_rate"] for label in ("perfect", "acceptable", "missing", "incorrect")]
    assert rates == pytest.approx([0.3, 0.0, 0.2, 0.5], abs=1e-15)
