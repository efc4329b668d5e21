"""Topping up the pool: every retrieved document gets its grade once, and nothing is lost."""

from __future__ import annotations

import json

import polars as pl
import pytest
from judge_server import verdict_of
from judging import Judging, item, result

from crucible_batch.assemble.judge.documents import NO_TEXT, NOTHING_TO_GO_BY
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.judges import lexical
from crucible_batch.judges.chat_client import JudgeError
from crucible_batch.judges.prompts import prompt_version
from crucible_batch.judges.verdicts import read_grade

LANE = f"m@{prompt_version('qrel', 0.0)}"


@pytest.fixture
def judging(tmp_path, judge_server) -> Judging:
    made = Judging(tmp_path, judge_server)
    made.golden()
    made.run("r", result("q0", "d1", "d2"), result("q1", "d1"))
    return made


def test_every_retrieved_document_gets_a_grade_and_an_event(judging, judge_server) -> None:
    done = judging.qrels("r")
    assert (done.judge, done.n_pool, done.n_calls, done.n_ok) == (LANE, 3, 3, 3)
    assert judge_server.n_requests == 3
    rows = judging.table("qrels")
    keys = rows.select("query_id", "target", "source", "judge", "doc_id").rows()
    assert keys == [
        ("q0", "doc:d1", "llm", LANE, "d1"),
        ("q0", "doc:d2", "llm", LANE, "d2"),
        ("q1", "doc:d1", "llm", LANE, "d1"),
    ]
    said = {
        (query, doc): read_grade(verdict_of(prompt))["grade"]
        for prompt in judge_server.prompts
        for query in ("q0", "q1")
        for doc in ("d1", "d2")
        if f"What of {query}?" in prompt and f"Text of {doc}." in prompt
    }
    assert {(q, d): g for q, d, g in rows.select("query_id", "doc_id", "grade").rows()} == said
    events = judging.table("audit_log").filter(pl.col("action") == "qrel.author")
    assert events["actor"].to_list() == [LANE] * 3


def test_calls_are_stored_with_tokens_and_cost(judging) -> None:
    done = judging.qrels("r")
    calls = judging.table("judge_calls")
    assert calls["status"].to_list() == ["ok"] * 3
    assert calls["prompt_tokens"].to_list() == [100] * 3
    assert calls["cost_usd"].to_list() == [(100 * 1.0 + 3 * 2.0) / 1_000_000] * 3
    assert (done.prompt_tokens, done.completion_tokens) == (300, 9)
    assert done.cost_usd == pytest.approx(318e-6, rel=1e-12)  # of three rounded numbers
    keys = {tuple(json.loads(key)) for key in calls["target_key"]}
    assert ("q0", "doc:d2", "llm", LANE) in keys


def test_a_full_run_again_makes_no_call_and_no_commit(judging, judge_server) -> None:
    judging.qrels("r")
    before = judging.n_commits
    again = judging.qrels("r")
    assert (again.n_there, again.n_calls, judge_server.n_requests) == (3, 0, 3)
    assert judging.n_commits == before


def test_another_run_adds_only_what_is_new(judging, judge_server) -> None:
    judging.qrels("r")
    judging.run("s", result("q0", "d2", "d3"), result("q1"))
    done = judging.qrels("r", "s")
    assert (done.n_pool, done.n_there, done.n_calls) == (4, 3, 1)
    assert "Text of d3." in judge_server.prompts[-1]


def test_depth_counts_documents_not_chunks(tmp_path, judge_server) -> None:
    judging = Judging(tmp_path, judge_server)
    judging.golden(1)
    ranking = [("d1", "c1"), ("d1", "c2"), ("d2", "c3"), ("d1", "c4"), ("d3", "c5")]
    hits = [
        {"doc_id": doc, "chunk_id": chunk, "text": f"Of {chunk}.", "score": 0.0}
        for doc, chunk in ranking
    ]
    judging.run("r", result("q0", retrievals=hits))
    assert judging.qrels("r", depth=2).n_ok == 2
    assert judging.rows("qrels", "doc_id") == [("d1",), ("d2",)]
    assert "Of c1.\n\nOf c2.\n\nOf c4." in " ".join(judge_server.prompts)


def test_the_depth_is_the_largest_cut_off_of_the_settings(judging) -> None:
    docs = [f"e{n}" for n in range(12)]
    judging.run("long", result("q0", *docs))
    assert judging.qrels("long", dry_run=True).n_pool == 10


def test_a_result_that_is_an_error_retrieved_nothing(judging) -> None:
    judging.run("bad", result("q0", "d8", error="timeout"), result("q1", "d9", error_kind="x"))
    assert judging.qrels("bad").n_pool == 0


def test_a_document_without_a_text_is_left_out_and_counted(judging, judge_server) -> None:
    bare = [{"doc_id": "d7"}, {"doc_id": "d8", "text": " "}]
    judging.run("bare", result("q0", retrievals=bare))
    done = judging.qrels("bare")
    assert (done.n_pool, done.n_calls, done.left_out) == (2, 0, {NO_TEXT: 2})
    texts = judging.bench.file(
        {"doc_id": "d7", "text": "The whole text."}, {"doc_id": "d8", "text": " \n"}
    )
    assert judging.qrels("bare", texts=[texts]).left_out == {NO_TEXT: 1}
    assert "The whole text." in judge_server.prompts[0]
    other = judging.bench.file({"doc_id": "d8.md", "text": "Another name."})
    absent = "no such document in --texts, whose ids are like d8.md"
    assert judging.qrels("bare", texts=[other]).left_out == {absent: 1}
    assert judging.qrels("bare").left_out == {NO_TEXT: 1}  # d7 has its grade, with a text or not


def test_a_chunk_grade_of_the_lane_counts_for_its_document(judging, judge_server) -> None:
    judging.bench.qrels(
        ("q0", "d1", 3),
        source="llm",
        judge=LANE,
        judge_model="m",
        prompt_version=LANE[2:],
        chunk_id="c1",
    )
    assert judging.qrels("r").n_there == 1
    assert judge_server.n_requests == 2


def test_grades_of_others_do_not_count(judging) -> None:
    judging.bench.qrels(("q0", "d1", 3))
    judging.bench.qrels(("q0", "d1", 2), source="llm")
    assert judging.qrels("r").n_ok == 3


def test_an_input_that_was_judged_is_not_paid_for_again(judging, judge_server) -> None:
    same = [{"doc_id": doc, "text": "The same text."} for doc in ("d5", "d6")]
    judging.run("s", result("q0", retrievals=same))
    done = judging.qrels("s")
    assert (done.n_calls, done.n_ok, judge_server.n_requests) == (1, 2, 1)
    grades = judging.table("qrels")["grade"].to_list()
    assert grades[0] == grades[1]
    assert sorted(judging.table("judge_calls")["prompt_tokens"].to_list()) == [0, 100]
    judging.run("t", result("q0", retrievals=[{"doc_id": "d9", "text": "The same text."}]))
    later = judging.qrels("t")
    assert (later.n_reused, later.n_calls, later.n_ok) == (1, 0, 1)
    assert judge_server.n_requests == 1


def test_malformed_is_kept_with_its_text_and_never_a_grade(judging, judge_server) -> None:
    judge_server.say = lambda _: "Final score: 10"
    done = judging.qrels("r")
    assert (done.n_ok, done.n_malformed) == (0, 3)
    assert judging.rows("qrels") == []
    assert judging.rows("judge_calls", "status", "raw") == [("malformed", "Final score: 10")] * 3
    again = judging.qrels("r")
    assert (again.n_kept_malformed, again.n_calls) == (3, 0)


def test_malformed_is_asked_again_on_demand(judging, judge_server) -> None:
    judge_server.say = lambda _: "hm"
    judging.qrels("r")
    judge_server.say = verdict_of
    done = judging.qrels("r", retry_malformed=True)
    assert (done.n_calls, done.n_ok, judge_server.n_requests) == (3, 3, 6)
    assert len(judging.rows("qrels")) == 3
    assert sorted(judging.table("judge_calls")["status"]) == ["malformed"] * 3 + ["ok"] * 3
    assert judging.qrels("r", retry_malformed=True).n_calls == 0


def test_a_failed_call_is_stored_and_made_by_the_next_command(judging, judge_server) -> None:
    judge_server.script(*["500"] * 2)
    done = judging.qrels("r", concurrency=1)
    assert (done.n_ok, done.n_failed) == (2, 1)
    assert done.failures == ('HTTP 500: {"error": "no"} (tried 2 times)',)
    assert len(judging.rows("qrels")) == 2
    again = judging.qrels("r")
    assert (again.n_there, again.n_calls, again.n_ok) == (2, 1, 1)
    assert sorted(judging.table("judge_calls")["status"]) == ["failed", "ok", "ok", "ok"]
    assert judging.qrels("r").n_calls == 0


def test_a_changed_text_is_judged_again_only_on_demand_as_an_override(
    judging, judge_server
) -> None:
    judge_server.say = lambda _: "##final score: 1"
    judging.qrels("r")
    judge_server.say = lambda _: "##final score: 3"
    texts = judging.bench.file({"doc_id": "d1", "text": "Rewritten."})
    assert judging.qrels("r", texts=[texts]).n_calls == 0
    done = judging.qrels("r", texts=[texts], rejudge_changed=True)
    assert (done.n_there, done.n_calls, done.n_ok) == (1, 2, 2)
    assert judging.table("qrels")["grade"].to_list() == [1, 1, 1]
    over = judging.table("judgment_overrides").sort("target_key")
    assert (
        over.select("target_table", "target_column", "old", "new", "author").rows()
        == [("qrels", "grade", "1", "3", LANE)] * 2
    )
    audit = judging.table("audit_log").filter(pl.col("action") == "judgment.override")
    assert audit["target"].sort().to_list() == over["target_key"].to_list()
    assert judging.qrels("r", texts=[texts], rejudge_changed=True).n_calls == 0
    back = judging.qrels("r", rejudge_changed=True)  # the first text again: known, no call
    assert (back.n_calls, back.n_reused) == (0, 2)
    assert sorted(judging.table("judgment_overrides")["new"]) == ["1", "1", "3", "3"]


def test_what_a_person_corrected_is_not_judged_again(judging, judge_server) -> None:
    judging.qrels("r")
    judging.bench.override("qrels", "grade", ["q0", "doc:d1", "llm", LANE], "0")
    texts = judging.bench.file({"doc_id": "d1", "text": "Rewritten."})
    assert judging.qrels("r", texts=[texts], rejudge_changed=True).n_calls == 1


def test_a_lane_may_be_named_in_full_but_only_one_this_package_has(judging) -> None:
    assert judging.qrels("r", judge=LANE, max_calls=0).judge == LANE
    with pytest.raises(UsageError, match=f"No prompt is called 0123456789ab.*{LANE[2:]}"):
        judging.qrels("r", judge="m@0123456789ab")
    assert judging.qrels("r", judge="vendor/x@2024", max_calls=0).judge.startswith("vendor/x@2024@")


def test_limits_stop_and_the_same_command_goes_on(judging, judge_server) -> None:
    first = judging.qrels("r", max_calls=2)
    assert (first.n_ok, first.stopped) == (2, "--max-calls 2 is reached")
    second = judging.qrels("r", max_calls=2)
    assert (second.n_ok, second.stopped) == (1, None)
    assert judge_server.n_requests == 3


def test_a_dry_run_asks_nothing_and_writes_nothing(judging, judge_server) -> None:
    before = judging.n_commits
    done = judging.qrels("r", dry_run=True)
    assert (done.n_calls, judge_server.n_requests, judging.n_commits) == (3, 0, before)
    assert done.estimate.completion_tokens == 3 * 512
    assert done.estimate.cost_usd > 3 * 512 * 2.0 / 1_000_000
    real = judging.qrels("r")
    assert real.cost_usd < done.estimate.cost_usd


def test_batches_are_committed_as_they_fill(judging) -> None:
    judging.settings(
        (judging.bench.store.root / "crucible.toml").read_text() + "commit_every = 1\n"
    )
    before = judging.n_commits
    judging.qrels("r")
    assert judging.n_commits == before + 3


def test_a_refusal_in_the_middle_keeps_what_was_judged(judging, judge_server) -> None:
    judge_server.script("ok", "401")
    with pytest.raises(JudgeError, match="cannot be asked"):
        judging.qrels("r", concurrency=1)
    assert len(judging.rows("qrels")) == 1
    assert judging.qrels("r").n_there == 1


def test_an_unknown_run_and_no_run_are_refused(judging) -> None:
    with pytest.raises(UnknownNameError, match="No run is called 'x'"):
        judging.qrels("x")
    with pytest.raises(UsageError, match="No run is named"):
        judging.qrels()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"depth": 0}, "depth is 0"),
        ({"max_calls": -1}, "max_calls is -1"),
        ({"max_cost": float("nan")}, "max_cost is nan"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"judge": " "}, "is no model id"),
        ({"judge": "a\nb"}, "is no model id"),
        ({"judge": "x" * 241}, "is no model id"),
        ({"base_url": "127.0.0.1:1/v1"}, "has to look like https://host/path"),
    ],
)
def test_options_that_mean_nothing_are_refused(judging, judge_server, options, said) -> None:
    with pytest.raises(UsageError) as caught:
        judging.qrels("r", **options)
    assert said in str(caught.value)
    assert judge_server.n_requests == 0


def test_max_cost_needs_prices(judging, judge_server) -> None:
    judging.settings(f'[judge]\nmodel = "m"\nbase_url = "{judge_server.base_url}"\n')
    with pytest.raises(UsageError, match="prices are not known"):
        judging.qrels("r", max_cost=1.0)
    done = judging.qrels("r")
    assert (done.n_ok, done.cost_usd) == (3, None)


def test_the_key_comes_from_the_environment_alone_and_is_stored_nowhere(
    judging, judge_server, monkeypatch
) -> None:
    monkeypatch.setenv("CRUCIBLE_JUDGE_KEY", "canary-key\n")
    judging.qrels("r")
    assert {headers["Authorization"] for headers in judge_server.headers} == {"Bearer canary-key"}
    files = [path for path in judging.bench.store.root.rglob("*") if path.is_file()]
    assert not [path for path in files if b"canary-key" in path.read_bytes()]
    monkeypatch.setenv("CRUCIBLE_JUDGE_KEY", "schlüssel")
    with pytest.raises(UsageError, match="no header can carry") as caught:
        judging.qrels("r", judge="other")
    assert "schl" not in str(caught.value)


def test_the_lexical_judge_grades_by_the_assertions(tmp_path) -> None:
    judging = Judging(tmp_path)
    said = [{"assertion_id": "a", "level": "must", "text": "The notary signs the deed."}]
    judging.bench.golden(item("q0", assertions=said), item("q1"))
    hits = [
        {"doc_id": "d1", "text": "In the end the notary signs the deed."},
        {"doc_id": "d2", "text": "Fees are due."},
    ]
    judging.run("r", result("q0", retrievals=hits), result("q1", "d1"))
    done = judging.qrels("r")
    assert done.judge == lexical.JUDGE
    assert judging.rows("qrels", "query_id", "doc_id", "grade") == [
        ("q0", "d1", 3),
        ("q0", "d2", 0),
    ]
    assert done.left_out == {NOTHING_TO_GO_BY: 1}
    assert done.cost_usd == 0.0
    assert (
        judging.rows("judge_calls", "status", "raw", "prompt_tokens", "cost_usd")
        == [("ok", None, None, 0.0)] * 2
    )
    assert judging.qrels("r").n_calls == 0


def test_the_lexical_judge_stops_at_max_calls_too(tmp_path) -> None:
    judging = Judging(tmp_path)
    judging.golden(1)
    judging.run("r", result("q0", "d1", "d2"))
    done = judging.qrels("r", max_calls=1)
    assert (done.n_ok, done.stopped) == (1, "--max-calls 1 is reached")
    assert judging.qrels("r", max_calls=1).stopped is None


def test_the_newest_pinned_revision_of_a_question_is_asked(judging, judge_server) -> None:
    judging.bench.golden(item("q0", must=2) | {"question": "What now of q0?"})
    judging.run("s", result("q0", "d9"))
    judging.qrels("s")
    assert "What now of q0?" in judge_server.prompts[0]
    judging.qrels("r")
    assert "What of q0?" in " ".join(judge_server.prompts[1:])


def test_judged_documents_count_in_the_next_scoring(judging) -> None:
    judging.qrels("r")
    overall = (
        judging.bench.score("r")
        .read("run_metrics")
        .filter((pl.col("slice_by") == "all") & (pl.col("metric") == "judged_at_10"))
    )
    assert overall["mean"].to_list() == [1.0]
