from __future__ import annotations

import json
from datetime import UTC, datetime

import polars as pl
import pytest

from crucible_batch.assemble.qrels import append_qrels, plan_qrels
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.conform import complete
from crucible_batch.errors import ConflictError
from crucible_batch.store import Store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def judged(*rows):
    """Human judgments (query, doc, grade)."""
    full = [
        {
            "workspace_id": "w",
            "query_id": query,
            "target": f"doc:{doc}",
            "source": "human",
            "judge": "human",
            "doc_id": doc,
            "grade": grade,
        }
        for query, doc, grade in rows
    ]
    return pl.DataFrame(full, schema=TABLES["qrels"].schema)


@pytest.fixture
def workspace(tmp_path):
    return Store.create(tmp_path / "s", now=lambda: NOON).workspace("w", create=True)


def plan(existing, new):
    return plan_qrels(existing, new, actor="ann", now=NOON)


def test_a_new_lane_is_appended_with_its_id_time_and_event():
    done = plan(judged(), judged(("q1", "d1", 2)))
    row = done.fresh.row(0, named=True)
    assert (row["grade"], row["created_at"]) == (2, NOON)
    assert row["qrel_id"].startswith("q")
    assert len(row["qrel_id"]) == 27
    event = done.audit.row(0, named=True)
    assert (event["action"], event["target"], event["actor"]) == ("qrel.author", "q1", "ann")
    assert json.loads(event["detail"])["qrel_id"] == row["qrel_id"]


def test_the_same_grade_again_is_a_silent_no_op():
    done = plan(judged(("q1", "d1", 2)), judged(("q1", "d1", 2)))
    assert (len(done.fresh), len(done.audit), done.messages) == (0, 0, ())
    assert done.n_already_there == 1


def test_another_grade_is_a_no_op_that_says_so():
    done = plan(judged(("q1", "d1", 3)), judged(("q1", "d1", 1)))
    assert len(done.fresh) == 0
    assert done.messages == (
        "q1, doc:d1 (human, human): kept grade 3, offered 1: use crucible override qrel",
    )


def test_another_judge_is_another_lane():
    other = judged(("q1", "d1", 1)).with_columns(judge=pl.lit("ann"), author=pl.lit("ann"))
    done = plan(judged(("q1", "d1", 3)), other)
    assert done.fresh["grade"].to_list() == [1]
    assert done.messages == ()


def test_a_rows_own_author_is_the_actor_of_its_event():
    row = judged(("q1", "d1", 1)).with_columns(author=pl.lit("bob"))
    assert plan(judged(), row).audit["actor"].to_list() == ["bob"]


def test_an_identical_row_twice_counts_once():
    done = plan(judged(), judged(("q1", "d1", 2), ("q1", "d1", 2)))
    assert (len(done.fresh), done.n_already_there) == (1, 1)


def test_one_lane_with_two_grades_is_refused_with_both():
    with pytest.raises(ConflictError, match="offered twice with different content") as caught:
        plan(judged(), judged(("q1", "d1", 2), ("q1", "d1", 3)))
    assert [p.split("grade ")[1][0] for p in caught.value.problems] == ["2", "3"]


def test_row_order_does_not_matter():
    new = judged(("q2", "d1", 1), ("q1", "d2", 2), ("q1", "d1", 3))
    one, other = plan(judged(), new), plan(judged(), new.reverse())
    assert one.fresh.equals(other.fresh)
    assert one.audit.equals(other.audit)


def test_appending_writes_rows_and_events_in_one_commit(workspace):
    done = append_qrels(workspace, judged(("q1", "d1", 2), ("q2", "d1", 0)), actor="ann")
    assert (done.appended, done.already_there, done.commit) == (2, 0, 1)
    snapshot = workspace.snapshot()
    for name in ("qrels", "audit_log"):
        assert snapshot.read(name).collect()["_commit"].to_list() == [1, 1]
    row = snapshot.commits().row(0, named=True)
    assert (row["n_rows_in"], row["n_accepted"], row["n_already_there"]) == (2, 2, 0)


def test_the_same_rows_again_are_a_no_op_that_says_so(workspace):
    append_qrels(workspace, judged(("q1", "d1", 2)), actor="ann")
    again = append_qrels(workspace, judged(("q1", "d1", 2)), actor="ann")
    assert (again.appended, again.already_there, again.commit) == (0, 1, None)
    assert "already committed" in again.messages[0]
    assert workspace.snapshot().seq == 1


def test_overlapping_rows_append_what_is_new(workspace):
    append_qrels(workspace, judged(("q1", "d1", 2)), actor="ann")
    done = append_qrels(workspace, judged(("q1", "d1", 0), ("q2", "d1", 1)), actor="ann")
    assert (done.appended, done.already_there, done.commit) == (1, 1, 2)
    assert "kept grade 2, offered 0" in done.messages[0]
    grades = workspace.snapshot().read("qrels").sort("query_id").collect()["grade"]
    assert grades.to_list() == [2, 1]


def test_only_known_lanes_make_no_commit(workspace):
    append_qrels(workspace, judged(("q1", "d1", 2), ("q2", "d1", 2)), actor="ann")
    done = append_qrels(workspace, judged(("q2", "d1", 2)), actor="ann")
    assert (done.appended, done.already_there, done.commit) == (0, 1, None)
    assert workspace.snapshot().seq == 1


@pytest.mark.slow
def test_a_million_judgments_at_once_are_a_million_rows_and_events(workspace):
    n = 1_000_000
    numbers = pl.select(n=pl.int_range(n))
    text = pl.col("n").cast(pl.String)
    lanes = numbers.select(
        workspace_id=pl.lit("w"),
        query_id=pl.concat_str(pl.lit("q"), (pl.col("n") // 100).cast(pl.String)),
        target=pl.concat_str(pl.lit("doc:d"), text),
        doc_id=pl.concat_str(pl.lit("d"), text),
        source=pl.lit("human"),
        judge=pl.lit("ann"),
        author=pl.lit("ann"),
        grade=pl.col("n") % 4,
    )
    rows = complete(TABLES["qrels"], lanes)
    assert append_qrels(workspace, rows, actor="ann").appended == n
    other = rows.tail(n // 2).with_columns(grade=(pl.col("grade") + 1) % 4)
    again = append_qrels(workspace, other, actor="ann")
    assert (again.appended, again.already_there, len(again.messages)) == (0, n // 2, n // 2)
    snapshot = workspace.snapshot()
    for name in ("qrels", "audit_log"):
        keys = snapshot.keys(name).collect()
        assert (keys.height, keys.is_unique().all()) == (n, True)
