from __future__ import annotations

import pytest
from answer_run import AnswerRun

from crucible_batch.errors import ContractError, UnknownNameError, UsageError
from crucible_batch.metrics.judgments import choose_judge

KEY = '["r","q",0,"a","j@1"]'


def judged(verdict: str = "missing", judge: str = "j@1") -> AnswerRun:
    run = AnswerRun().item("q", must=["a"])
    return run.result("q", verdicts={"a": verdict}, judge=judge, in_context={"a": False})


@pytest.mark.parametrize(
    ("present", "asked", "pinned", "chosen"),
    [
        (["a", "b"], "b", "a", "b"),
        (["a", "b"], None, "a", "a"),
        (["a"], None, None, "a"),
        (["a"], None, "gone", "a"),
        ([], None, "pinned", "pinned"),
        ([], None, None, None),
    ],
)
def test_the_judge_asked_for_comes_before_the_pinned_and_the_only_one(
    present: list[str], asked: str | None, pinned: str | None, chosen: str | None
) -> None:
    assert choose_judge(present, asked=asked, pinned=pinned) == chosen


@pytest.mark.parametrize("pinned", [None, "gone"])
def test_several_judges_without_a_pin_must_be_chosen_from(pinned: str | None) -> None:
    with pytest.raises(UsageError, match="--judge a") as error:
        choose_judge(["b", "a"], pinned=pinned)
    assert error.value.exit_code == 2


def test_a_judge_who_judged_nothing_is_refused_by_name() -> None:
    run = judged()
    run.asked = "k@1"
    with pytest.raises(UnknownNameError, match="k@1"):
        run.answers()


def test_only_verdicts_of_the_judge_who_counts_are_read() -> None:
    run = judged("missing").judged("q", verdicts={"a": "supported"}, judge="other@1")
    assert run.value("must_recall") == 0.0
    run.asked = "other@1"
    assert run.value("must_recall") == 1.0


def test_the_newest_override_replaces_a_verdict() -> None:
    run = judged().override("assertion_verdicts", "verdict", KEY, "partial")
    assert run.value("must_recall") == 0.5
    run.override("assertion_verdicts", "verdict", KEY, "supported")
    assert run.value("must_recall") == 1.0
    run.tables["overrides"].reverse()
    assert run.value("must_recall") == 1.0


def test_spaces_in_a_target_key_do_not_matter() -> None:
    spaced = '["r", "q", 0, "a", "j@1"]'
    run = judged().override("assertion_verdicts", "verdict", spaced, "supported")
    assert run.value("must_recall") == 1.0


def test_an_override_touches_its_own_row_and_column_only() -> None:
    other = KEY.replace("j@1", "other@1")
    run = judged().override("assertion_verdicts", "verdict", other, "supported")
    run.override("qrels", "grade", KEY, "3")
    run.override("assertion_verdicts", "context_supported", KEY, "true")
    assert run.value("must_recall") == 0.0
    assert run.answers()["in_context"].to_list() == [1]


def test_an_override_of_a_claim_is_read_as_true_false_or_null() -> None:
    run = AnswerRun().item("q").result("q", claims=[(False, True)])
    key = '["r","q",0,"c0","j@1"]'
    assert run.override("claims", "grounded", key, "true").value("groundedness") == 1.0
    assert run.override("claims", "grounded", key, "null").value("groundedness") == "not_judged"


@pytest.mark.parametrize(
    ("column", "key", "new", "message"),
    [
        ("verdict", KEY, "great", "a value it cannot have"),
        ("context_supported", KEY, "perhaps", "a value it cannot have"),
        ("verdict", '["q"]', "partial", "no key of"),
        ("verdict", "q", "partial", "no key of"),
    ],
)
def test_an_override_that_cannot_be_read_is_named(
    column: str, key: str, new: str, message: str
) -> None:
    with pytest.raises(ContractError, match=f"Override o0 .*{message}"):
        judged().override("assertion_verdicts", column, key, new).answers()


def test_a_run_nobody_judged_has_no_judge_and_no_warning() -> None:
    run = AnswerRun().item("q", must=["a"]).result("q")
    run.pinned = None
    assert run.run_flags.judge is None
    assert run.value("must_recall") == "not_judged"


def test_an_evaluation_names_both_judges_when_claims_have_another() -> None:
    run = judged().item("z").result("z", claims=[(True, True)], judge="other@1")
    assert run.run_flags.judge == "j@1 + other@1"
