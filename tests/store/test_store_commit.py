from __future__ import annotations

import stat

import polars as pl
import pytest

from crucible_batch.contracts import TABLES
from crucible_batch.errors import ConflictError, StoreError, UnknownNameError, UsageError
from crucible_batch.store import About, Counts, Plan, Store
from crucible_batch.store.doctor import diagnose


def append(workspace, key, *, about=None, **plan):
    return workspace.commit(
        lambda snapshot: Plan(**plan), kind="test", idempotency_key=key, about=about
    )


def test_a_commit_is_a_folder_of_read_only_files_named_by_the_next_number(workspace, qrels):
    done = append(workspace, "k", events={"qrels": qrels("q1")})
    assert (done.seq, done.created) == (1, True)
    files = sorted(workspace.layout.commit(1).iterdir())
    assert [file.name for file in files] == ["commits.parquet", "qrels.parquet"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o444}
    assert list(workspace.layout.staging.iterdir()) == []


def test_the_commits_row_says_what_went_in(workspace, qrels):
    append(
        workspace,
        "k",
        events={"qrels": qrels("q1", "q2")},
        counts=Counts(n_rows_in=5, n_accepted=2, n_quarantined=1, n_already_there=2),
        about=About(input_paths=["a.parquet"], input_sha256=["ff"], settings_hash="s", seed=7),
    )
    row = workspace.snapshot().commits().row(0, named=True)
    assert row["seq"] == 1
    assert row["tables"] == ["qrels"]
    assert row["contract_versions"] == ["qrels:1"]
    assert (row["n_rows_in"], row["n_accepted"], row["n_quarantined"]) == (5, 2, 1)
    assert (row["input_paths"], row["input_sha256"]) == (["a.parquet"], ["ff"])
    assert (row["settings_hash"], row["seed"], row["subject"]) == ("s", 7, None)
    assert row["created_at"] == workspace.now()


def test_an_idempotency_key_commits_once_and_says_so(workspace, qrels):
    append(workspace, "k", events={"qrels": qrels("q1")}, counts=Counts(n_accepted=1))
    again = append(workspace, "k", events={"qrels": qrels("q2")})
    assert (again.seq, again.created, again.plan) == (1, False, None)
    assert again.counts.n_accepted == 1
    assert "already committed as c00000001" in again.messages[0]
    assert workspace.snapshot().seq == 1


def test_it_can_be_asked_whether_a_key_is_committed(workspace, qrels):
    assert workspace.committed("k") is None
    append(workspace, "k", events={"qrels": qrels("q1")})
    assert workspace.committed("k") == 1


def test_a_plan_that_appends_nothing_makes_no_commit(workspace):
    done = append(workspace, "k", events={"qrels": TABLES["qrels"].empty()}, messages=("m",))
    assert (done.seq, done.created, done.messages) == (0, False, ("m",))
    assert workspace.snapshot().commits().is_empty()


def test_a_key_that_is_stored_already_is_refused_by_name_and_nothing_is_written(workspace, qrels):
    append(workspace, "a", events={"qrels": qrels("q1")})
    with pytest.raises(ConflictError, match="A key of qrels is already stored") as caught:
        append(workspace, "b", events={"qrels": qrels("q1", "q2")})
    assert '"query_id":"q1"' in caught.value.problems[0]
    assert workspace.snapshot().seq == 1
    assert list(workspace.layout.staging.iterdir()) == []


def test_a_key_that_is_in_the_plan_twice_is_refused(workspace, qrels):
    with pytest.raises(ConflictError, match="in the plan twice"):
        append(workspace, "a", events={"qrels": qrels("q1", "q1")})


def test_null_key_parts_count_as_equal(workspace):
    row = {"item_id": "i", "revision": 1, "doc_id": "d", "chunk_id": None, "kind": "required"}
    frame = pl.DataFrame([{"workspace_id": "w", **row}], schema=TABLES["golden_citations"].schema)
    append(workspace, "a", events={"golden_citations": frame})
    with pytest.raises(ConflictError, match="golden_citations"):
        append(workspace, "b", events={"golden_citations": frame})


def test_rows_of_another_workspace_are_refused(workspace, qrels):
    with pytest.raises(StoreError, match="belongs to workspace 'other'"):
        append(workspace, "a", events={"qrels": qrels("q1", workspace="other")})


def test_rows_with_other_types_are_refused(workspace, qrels):
    wrong = qrels("q1").with_columns(pl.col("grade").cast(pl.Float64))
    with pytest.raises(StoreError) as caught:
        append(workspace, "a", events={"qrels": wrong})
    assert caught.value.problems == ("column grade is Float64, not Int64",)


@pytest.mark.parametrize("name", ["results", "scores", "commits", "qrelz"])
def test_only_event_tables_take_event_rows(workspace, qrels, name):
    with pytest.raises(UnknownNameError):
        append(workspace, "a", events={name: qrels("q1")})


def test_rows_are_sorted_by_key_and_carry_their_commit(workspace, qrels):
    append(workspace, "a", events={"qrels": qrels("q3", "q1", "q2")})
    rows = pl.read_parquet(workspace.layout.commit(1) / "qrels.parquet")
    assert rows["query_id"].to_list() == ["q1", "q2", "q3"]
    assert rows["_commit"].to_list() == [1, 1, 1]


def test_a_lost_race_decides_again_on_what_is_there_now(store, workspace, qrels):
    other = Store.open(store.root).workspace("w")
    seen = []

    def decide(snapshot):
        seen.append(snapshot.seq)
        if len(seen) == 1:  # somebody else is faster
            append(other, "theirs", events={"qrels": qrels("q1")})
        there = snapshot.read("qrels").collect()["query_id"].to_list()
        return Plan(events={"qrels": qrels(*({"q1", "q2"} - set(there)))})

    done = workspace.commit(decide, kind="test", idempotency_key="mine")
    assert (done.seq, seen) == (2, [0, 1])
    assert sorted(workspace.snapshot().read("qrels").collect()["query_id"]) == ["q1", "q2"]


def test_a_lost_race_does_not_write_bulk_files_again(store, workspace, qrels, results):
    other = Store.open(store.root).workspace("w")
    bulk = workspace.stage_frame("results", results("i1"), "r1")
    inode = bulk.path.stat().st_ino
    calls = []

    def decide(snapshot):
        calls.append(snapshot.seq)
        if len(calls) == 1:
            append(other, "theirs", events={"qrels": qrels("q1")})
        return Plan(bulk=[bulk])

    workspace.commit(decide, kind="t", idempotency_key="k", about=About(subject="r1"))
    assert (workspace.layout.commit(2) / "results.parquet").stat().st_ino == inode
    assert len(calls) == 2


def test_a_lost_race_may_stage_another_file_and_read_the_first(store, workspace, qrels, results):
    other = Store.open(store.root).workspace("w")
    first = workspace.stage_frame("results", results("i1"), "r1")
    calls = []

    def decide(snapshot):
        calls.append(pl.read_parquet(first.path)["item_id"].to_list())
        if len(calls) == 1:
            append(other, "theirs", events={"qrels": qrels("q1")})
            return Plan(bulk=[first])
        return Plan(bulk=[workspace.stage_frame("results", results("i2"), "r1")])

    workspace.commit(decide, kind="t", idempotency_key="k", about=About(subject="r1"))
    assert calls == [["i1"], ["i1"]]
    assert workspace.snapshot().read("results").collect()["item_id"].to_list() == ["i2"]
    workspace.discard(first)
    problems = [finding.what for finding in diagnose(workspace)]
    assert all("qrel.author" in problem for problem in problems)
    assert list(workspace.layout.staging.iterdir()) == []


def test_a_race_lost_to_the_same_part_leaves_nothing_of_the_loser(store, workspace, results, qrels):
    other = Store.open(store.root).workspace("w")
    mine = workspace.stage_frame("results", results("i1"), "r1")
    theirs = other.stage_frame("results", results("i1"), "r1")

    def decide(snapshot):
        if snapshot.parts("results", "r1"):
            return Plan(events={"qrels": qrels("q1")})
        about = About(subject="r1")
        append(other, "theirs", bulk=[theirs], about=about)
        return Plan(bulk=[mine], events={"qrels": qrels("q1")})

    workspace.commit(decide, kind="t", idempotency_key="k", about=About(subject="r1"))
    names = [path.name for path in sorted(workspace.layout.commit(2).iterdir())]
    assert names == ["commits.parquet", "qrels.parquet"]


def test_a_part_is_committed_once(workspace, results):
    about = About(subject="r1", part="1")
    for key in ("a", "b"):
        bulk = workspace.stage_frame("results", results("i1"), "r1", "1")
        if key == "a":
            append(workspace, key, bulk=[bulk], about=about)
    with pytest.raises(ConflictError, match="results of 'r1', part '1', is already stored"):
        append(workspace, "b", bulk=[bulk], about=about)
    assert workspace.snapshot().parts("results", "r1") == ("1",)


def test_a_bulk_file_belongs_to_the_subject_of_its_commit(workspace, results):
    bulk = workspace.stage_frame("results", results("i1"), "r1")
    with pytest.raises(StoreError, match="one subject and part"):
        append(workspace, "a", bulk=[bulk], about=About(subject="r2"))


def test_an_error_inside_decide_leaves_nothing_behind(workspace):
    def decide(snapshot):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        workspace.commit(decide, kind="t", idempotency_key="k")
    assert list(workspace.layout.staging.iterdir()) == []
    assert workspace.snapshot().seq == 0


def test_a_pin_that_is_no_commit_is_refused(workspace):
    with pytest.raises(UsageError, match="has no commit 3"):
        workspace.snapshot(3)


def test_equal_commits_of_equal_rows_have_equal_bytes(tmp_path, qrels):
    files = []
    for name, rows in (("a", qrels("q1", "q2")), ("b", qrels("q2", "q1"))):
        workspace = Store.create(tmp_path / name).workspace("w", create=True)
        append(workspace, "k", events={"qrels": rows})
        files.append((workspace.layout.commit(1) / "qrels.parquet").read_bytes())
    assert files[0] == files[1]
