"""Overrides replace a value when it is read; both rows stay, and each has its audit event."""

from __future__ import annotations

import json

import pytest
from bench import JUDGE, Bench, item, result, score_of

from crucible_batch.assemble.overrides import VALUES, override_judgment
from crucible_batch.contracts.vocabulary import OVERRIDE_COLUMNS, OVERRIDE_TABLES
from crucible_batch.errors import UsageError


@pytest.fixture
def bench(tmp_path) -> Bench:
    bench = Bench(tmp_path)
    bench.golden(item("q1", must=1))
    row = result("q1", "d1", verdict="missing")
    row["claims"] = [{"claim_id": "c1", "grounded": True, "judge": JUDGE}]
    bench.run("r", row)
    bench.qrels(("q1", "d1", 3))
    return bench


def grade(bench: Bench, new: str, *, reason: str = "looked", **where):
    where = {"query_id": "q1", "target": ("doc:d1", "d1")} | where
    return override_judgment(
        bench.store, "default", "qrels", "grade", where, new, author="ann", reason=reason
    )


def of_result(bench: Bench, table: str, column: str, new: str, **where):
    where = {"run_id": "r", "item_id": "q1", "sample_index": 0} | where
    return override_judgment(
        bench.store, "default", table, column, where, new, author="ann", reason="looked"
    )


def test_every_column_that_the_contract_names_can_be_overridden():
    assert {table for table, _ in VALUES} == set(OVERRIDE_TABLES)
    assert {column for _, column in VALUES} == set(OVERRIDE_COLUMNS)


def test_an_override_counts_and_the_row_stays_with_an_event_in_the_same_commit(bench):
    before = bench.score("r")
    done = grade(bench, "0")
    assert (done.created, done.old, done.new) == (True, "3", "0")
    assert bench.rows("qrels")[0]["grade"] == 3
    (event,) = [e for e in bench.rows("audit_log") if e["action"] == "judgment.override"]
    assert json.loads(event["target"]) == ["q1", "doc:d1", "human", "human"]
    assert json.loads(event["detail"])["reason"] == "looked"
    for table in ("judgment_overrides", "audit_log"):
        commits = bench.store.table(table).collect()["_commit"].to_list()
        assert done.commit in commits
    assert score_of(before, "ndcg_at_10", "q1") == (1.0, None)
    assert score_of(bench.score("r"), "ndcg_at_10", "q1") == (None, "no_relevant_judged")


def test_what_counts_already_is_not_written_again(bench):
    assert not grade(bench, "3").created
    assert grade(bench, "1").created
    again = grade(bench, "1")
    assert (again.created, again.old) == (False, "1")
    assert len(bench.rows("judgment_overrides")) == 1


def test_the_newest_override_counts_also_at_the_same_instant(bench):
    olds = [grade(bench, new).old for new in ("1", "0", "2", "0", "3")]
    assert olds == ["3", "1", "0", "2", "0"]
    rows = bench.rows("judgment_overrides")
    assert len({row["created_at"] for row in rows}) == len(rows) == 5
    assert score_of(bench.score("r"), "ndcg_at_10", "q1") == (1.0, None)


def test_a_verdict_and_its_evidence_are_overridden_apart(bench):
    of_result(bench, "assertion_verdicts", "verdict", "supported", assertion_id="a0")
    done = of_result(bench, "assertion_verdicts", "context_supported", "true", assertion_id="a0")
    assert (done.old, done.new) == ("null", "true")
    scored = bench.score("r")
    assert score_of(scored, "accuracy", "q1") == (1.0, None)
    assert score_of(scored, "context_recall", "q1") == (1.0, None)


def test_a_claim_is_overridden(bench):
    assert of_result(bench, "claims", "grounded", "false", claim_id="c1").old == "true"
    assert score_of(bench.score("r"), "groundedness", "q1") == (0.0, None)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"new": "4"}, "grade cannot be '4'"),
        ({"new": "1", "reason": " "}, "reason is blank"),
        ({"new": "1", "query_id": "q9"}, "no row of query_id q9"),
    ],
)
def test_what_cannot_be_overridden_is_refused(bench, change, match):
    with pytest.raises(UsageError, match=match):
        grade(bench, **change)
    assert bench.rows("judgment_overrides") == []


@pytest.mark.parametrize(
    ("change", "fix"),
    [
        ({"query_id": "q9"}, "query_id: Did you mean q1?"),
        ({"target": ("d9", "doc:d9")}, "target: Did you mean doc:d1?"),
        ({"judge": "nobody"}, "judge: There is human."),
    ],
)
def test_a_name_that_fits_nothing_is_answered_with_those_that_do(bench, change, fix):
    with pytest.raises(UsageError, match="no row of") as caught:
        grade(bench, "1", **change)
    assert caught.value.fix == fix


def test_several_lanes_have_to_be_told_apart(bench):
    bench.qrels(("q1", "d1", 1), source="llm")
    with pytest.raises(UsageError, match="has 2 rows") as caught:
        grade(bench, "0")
    assert "q1, doc:d1, llm, m@1" in caught.value.problems
    assert grade(bench, "0", judge="m@1").old == "1"
