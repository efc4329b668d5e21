"""Judging assertions and claims, so that a run without verdicts can be scored."""

from __future__ import annotations

import json

import polars as pl
import pytest
from judging import Judging, item, result

from crucible_batch.assemble.judge.answers import NO_CLAIM_TEXT, NO_REFERENCE
from crucible_batch.judges import lexical
from crucible_batch.judges.prompts import prompt_version

LANE = f"m@{prompt_version('assertion', 0.0)}"


def verdict(word: str = "supported", *, context: bool = True) -> str:
    return json.dumps({"verdict": word, "context_supported": context})


def claim(*, grounded: bool = True, correct: bool = True) -> str:
    return json.dumps({"grounded": grounded, "correct": correct})


@pytest.fixture
def judging(tmp_path, judge_server) -> Judging:
    made = Judging(tmp_path, judge_server)
    made.golden()
    made.run("r", result("q0", "d1", "d2"), result("q1", "d1"))
    return made


def test_every_assertion_of_every_result_gets_a_verdict(judging, judge_server) -> None:
    judge_server.say = lambda prompt: verdict("partial" if "Fact 1." in prompt else "supported")
    done = judging.assertions("r")
    assert (done.judge, done.n_pool, done.n_ok) == (LANE, 4, 4)
    rows = judging.table("assertion_verdicts")
    assert rows.select("item_id", "assertion_id", "judge", "verdict").rows() == [
        (item_id, name, LANE, word)
        for item_id in ("q0", "q1")
        for name, word in (("a0", "supported"), ("a1", "partial"))
    ]
    assert rows["context_supported"].to_list() == [True] * 4
    assert rows["judge_model"].to_list() == ["m"] * 4
    assert rows["raw"].to_list()[0] == verdict()


def test_the_prompt_holds_answer_and_evidence_in_rank_order(judging, judge_server) -> None:
    judging.assertions("r")
    prompt = next(p for p in judge_server.prompts if "q0" in p)
    assert "So it is with q0." in prompt
    assert "[1] Text of d1.\n\n[2] Text of d2." in prompt


def test_a_run_that_came_without_verdicts_can_be_scored(judging, judge_server) -> None:
    def mean(metric: str) -> float | None:
        found = judging.bench.score("r").read("run_metrics")
        row = found.filter((pl.col("slice_by") == "all") & (pl.col("metric") == metric))
        return row["mean"][0]

    assert (mean("must_recall"), mean("groundedness")) == (None, None)
    judge_server.say = lambda prompt: claim() if '"grounded"' in prompt else verdict("partial")
    judging.assertions("r")
    judging.claims("r")
    assert (mean("must_recall"), mean("groundedness"), mean("factual_precision")) == (0.5, 1.0, 1.0)


def test_both_kinds_are_judged_under_one_name_so_that_score_can_name_it(judging) -> None:
    assert judging.assertions("r").judge == judging.claims("r").judge
    judging.assertions("r", judge="lexical")
    judging.claims("r", judge="lexical")
    found = judging.bench.score("r", judge=LANE)
    assert found.row["judge"] == LANE


def test_a_full_run_again_makes_no_call(judging, judge_server) -> None:
    judging.assertions("r")
    judging.claims("r")
    n_requests, n_commits = judge_server.n_requests, judging.n_commits
    assert judging.assertions("r").n_there == 4
    assert judging.claims("r").n_there == 2
    assert (judge_server.n_requests, judging.n_commits) == (n_requests, n_commits)


def test_malformed_stays_malformed_until_asked_again(judging, judge_server) -> None:
    judge_server.say = lambda _: "supported, I think"
    assert judging.assertions("r").n_malformed == 4
    rows = judging.table("assertion_verdicts")
    assert rows["verdict"].to_list() == ["malformed"] * 4
    assert rows["context_supported"].to_list() == [None] * 4
    assert rows["raw"].to_list() == ["supported, I think"] * 4
    again = judging.assertions("r")
    assert (again.n_calls, again.n_kept_malformed) == (0, 4)
    judge_server.say = lambda _: verdict(context=False)
    done = judging.assertions("r", retry_malformed=True)
    assert (done.n_calls, done.n_ok) == (4, 4)
    over = judging.table("judgment_overrides").select("target_column", "old", "new").unique()
    assert sorted(over.rows()) == [
        ("context_supported", "null", "false"),
        ("verdict", "malformed", "supported"),
    ]
    judged = judging.bench.score("r").read("scores")
    assert judged.filter(pl.col("metric") == "must_recall")["value"].to_list() == [1.0, 1.0]
    assert judging.assertions("r", retry_malformed=True).n_calls == 0


def test_a_malformed_claim_is_not_judged_until_asked_again(judging, judge_server) -> None:
    judge_server.say = lambda _: "yes"
    assert judging.claims("r").n_malformed == 2
    assert judging.rows("claims", "grounded", "correct") == [(None, None)] * 2
    assert judging.claims("r").n_kept_malformed == 2
    judge_server.say = lambda _: claim(grounded=False)
    assert judging.claims("r", retry_malformed=True).n_ok == 2
    over = judging.table("judgment_overrides").select("target_column", "old", "new").unique()
    assert sorted(over.rows()) == [("correct", "null", "true"), ("grounded", "null", "false")]
    assert judging.claims("r", retry_malformed=True).n_calls == 0


def test_evidence_that_is_not_reported_is_not_judged(judging, judge_server) -> None:
    judge_server.say = lambda _: '{"verdict": "supported"}'
    judging.run("bare", result("q0", retrievals=[{"doc_id": "d1"}]), retrieval_reported=True)
    assert judging.assertions("bare").n_ok == 2
    assert judging.table("assertion_verdicts")["context_supported"].to_list() == [None, None]


def test_evidence_that_is_empty_supports_nothing(judging, judge_server) -> None:
    judge_server.say = lambda _: '{"verdict": "supported"}'
    judging.run("empty", result("q0", retrievals=[]), result("q1", "d1"))
    judging.assertions("empty")
    rows = judging.table("assertion_verdicts").filter(pl.col("item_id") == "q0")
    assert rows["context_supported"].to_list() == [False, False]


def test_given_contexts_are_the_evidence(judging, judge_server) -> None:
    judging.bench.golden(item("q0", must=1, contexts=["Given text."]))
    judging.run("given", result("q0"), result("q1"))
    judging.assertions("given")
    assert any("[1] Given text." in prompt for prompt in judge_server.prompts)


def test_an_abstention_makes_no_statement_but_its_evidence_is_judged(judging, judge_server) -> None:
    judging.run("shy", result("q0", "d1", abstained=True, answer="I cannot say."))
    assert judging.assertions("shy").n_ok == 2
    assert "<answer>\n(nothing)\n</answer>" in judge_server.prompts[0]
    assert judging.claims("shy").n_pool == 0


def test_an_error_is_not_judged(judging) -> None:
    judging.run("bad", result("q0", "d1", error="timeout"), result("q1", error_kind="rate"))
    assert judging.assertions("bad").n_pool == 0
    assert judging.claims("bad").n_pool == 0


def test_an_answer_is_cut_into_sentences_where_the_run_names_no_claims(judging) -> None:
    judging.run("long", result("q0", "d1", answer="One is so. Two is not."))
    judging.claims("long")
    assert judging.rows("claims", "claim_id", "text") == [
        ("c1", "One is so."),
        ("c2", "Two is not."),
    ]


def test_the_claims_a_run_came_with_are_judged_as_they_are(judging, judge_server) -> None:
    stated = [{"claim_id": "x", "text": "Stated so.", "judge": "j@1"}, {"claim_id": "y"}]
    judging.run("own", result("q0", "d1", claims=stated))
    done = judging.claims("own")
    assert (done.n_ok, done.left_out) == (1, {NO_CLAIM_TEXT: 1})
    assert "<claim>\nStated so.\n</claim>" in judge_server.prompts[0]
    own = judging.table("claims").filter(pl.col("judge") == LANE)
    assert own.select("claim_id", "text").rows() == [("x", "Stated so.")]


def test_claims_are_held_against_reference_answer_and_assertions(judging, judge_server) -> None:
    judging.claims("r")
    assert "<reference>\n[1] So 0.\n\n[2] Fact 0.\n\n[3] Fact 1.\n</reference>" in " ".join(
        judge_server.prompts
    )


def test_a_claim_with_nothing_to_hold_it_against_is_left_out(judging) -> None:
    judging.bench.golden(item("bare"))
    judging.run("r2", result("bare"), retrieval_reported=False)
    assert judging.claims("r2").left_out == {NO_REFERENCE: 1}


def test_without_a_reference_nothing_is_said_of_correctness(judging, judge_server) -> None:
    judging.bench.golden(item("bare"))
    judge_server.say = lambda _: '{"grounded": true}'
    judging.run("r2", result("bare", "d1"))
    judging.claims("r2")
    assert judging.rows("claims", "grounded", "correct") == [(True, None)]


def test_samples_with_the_same_answer_share_a_call(judging, judge_server) -> None:
    twice = [result("q0", "d1", sample_index=n) for n in range(2)]
    judging.run("two", *twice, samples_n=2)
    done = judging.assertions("two")
    assert (done.n_pool, done.n_calls, done.n_ok) == (4, 2, 4)
    assert judge_server.n_requests == 2


def test_the_lexical_judge_needs_no_network(judging, judge_server) -> None:
    done = judging.assertions("r", judge="lexical")
    assert (done.judge, done.n_ok) == (lexical.JUDGE, 4)
    assert judging.claims("r", judge=lexical.JUDGE).n_ok == 2
    assert judging.rows("claims", "correct") == [(None,)] * 2
    assert judge_server.n_requests == 0


def test_verdicts_a_run_came_with_are_no_verdicts_of_the_judge(judging) -> None:
    judging.run("own", result("q0", "d1", verdict="supported"), result("q1"))
    assert judging.assertions("own").n_there == 0
    judging.run("same", result("q0", "d1", verdict="supported", judges=(LANE,)))
    assert judging.assertions("same").n_there == 1
