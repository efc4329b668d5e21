from __future__ import annotations

import shutil
from dataclasses import replace

import polars as pl
import pytest

from crucible_batch.contracts import TABLES, Column, Kind
from crucible_batch.errors import StoreError, UnknownNameError
from crucible_batch.store import About, Plan, Store, content_fingerprint


def append(workspace, key, *, about=None, **plan):
    return workspace.commit(
        lambda snapshot: Plan(**plan), kind="test", idempotency_key=key, about=about
    )


def load(workspace, frame, run, part=None):
    bulk = workspace.stage_frame("results", frame, run, part)
    append(workspace, f"{run}/{part}", bulk=[bulk], about=About(subject=run, part=part))


def test_a_snapshot_does_not_see_later_commits(workspace, qrels):
    append(workspace, "a", events={"qrels": qrels("q1")})
    before = workspace.snapshot()
    append(workspace, "b", events={"qrels": qrels("q2")})
    assert before.read("qrels").collect()["query_id"].to_list() == ["q1"]
    assert len(before.commits()) == 1
    assert len(workspace.snapshot().read("qrels").collect()) == 2


def test_a_pin_shows_an_earlier_moment_across_tables(store, workspace, qrels, results):
    append(workspace, "a", events={"qrels": qrels("q1")})
    load(workspace, results("i1"), "r1")
    append(workspace, "b", events={"qrels": qrels("q2")})
    assert len(store.table("qrels", "w", pin=1).collect()) == 1
    assert len(store.table("results", "w", pin=1).collect()) == 0
    assert len(store.table("results", "w", pin=2).collect()) == 1


def test_bulk_rows_get_their_commit_from_the_path(workspace, results):
    load(workspace, results("i1"), "r1")
    load(workspace, results("i1", run="r2"), "r2")
    rows = workspace.snapshot().read("results").sort("run_id").collect()
    assert rows.select("run_id", "_commit").rows() == [("r1", 1), ("r2", 2)]
    assert "_commit" not in pl.read_parquet_schema(workspace.layout.commit(1) / "results.parquet")


def test_reading_a_run_opens_its_own_files_only(workspace, results):
    load(workspace, results("i1"), "r1")
    load(workspace, results("i1", run="r2"), "r2")
    snapshot = workspace.snapshot()
    (workspace.layout.commit(1) / "results.parquet").unlink()
    assert snapshot.read("results", subject="r2").collect()["run_id"].to_list() == ["r2"]
    assert snapshot.read("results", subject="r3").collect().is_empty()


def test_parts_of_a_run_read_as_one_table_or_one_by_one(workspace, results):
    load(workspace, results("i1", "i2"), "r1", "1")
    load(workspace, results("i3"), "r1", "2")
    snapshot = workspace.snapshot()
    assert snapshot.parts("results", "r1") == ("1", "2")
    assert len(snapshot.read("results", subject="r1").collect()) == 3
    assert snapshot.read("results", subject="r1", part="2").collect()["item_id"].to_list() == ["i3"]


def test_event_rows_of_a_run_are_found_wherever_they_were_committed(workspace):
    schema = TABLES["run_events"].schema
    for seq in (1, 2):
        row = {"workspace_id": "w", "run_id": "r1", "seq": seq, "status": "running"}
        append(workspace, f"{seq}", events={"run_events": pl.DataFrame([row], schema=schema)})
    assert len(workspace.snapshot().read("run_events", subject="r1").collect()) == 2
    with pytest.raises(StoreError, match="no rows of one run"):
        workspace.snapshot().read("golden_items", subject="r1")


def test_a_runs_fingerprint_does_not_depend_on_parts_or_order(tmp_path, results):
    frame = results("i3", "i1", "i2")
    whole = Store.create(tmp_path / "a").workspace("w", create=True)
    load(whole, frame, "r1")
    parts = Store.create(tmp_path / "b").workspace("w", create=True)
    load(parts, results("i2"), "r1", "1")
    load(parts, results("i3", "i1"), "r1", "2")
    expected = content_fingerprint(frame, TABLES["results"])
    assert whole.snapshot().fingerprint("results", subject="r1") == expected
    assert parts.snapshot().fingerprint("results", subject="r1") == expected


def test_the_fingerprint_of_a_run_without_rows_is_that_of_no_rows(workspace):
    table = TABLES["claims"]
    snapshot = workspace.snapshot()
    assert snapshot.fingerprint("claims", subject="r") == content_fingerprint([], table)
    assert snapshot.fingerprint("checks", subject="r") == content_fingerprint([], TABLES["checks"])


def test_an_unknown_table_is_named_with_its_neighbours(store, workspace):
    with pytest.raises(UnknownNameError, match="No table is called 'qrel'") as caught:
        store.table("qrel", "w")
    assert "qrels" in caught.value.fix
    with pytest.raises(UnknownNameError, match="table of the lake"):
        workspace.snapshot().read("scores")


def _later(tables):
    """The contracts of a later version: a column more in two tables, and a table more."""
    flag = Column(name="flag", kind=Kind.BOOL, description="new", default=False)
    note = Column(name="note", kind=Kind.TEXT, description="new", nullable=True)
    changed = {
        name: replace(tables[name], columns=(*tables[name].columns, flag, note), version=2)
        for name in ("qrels", "results")
    }
    new = replace(tables["chunks"], name="brand_new")
    return {**tables, **changed, "brand_new": new}


def test_files_of_an_earlier_version_are_read_with_defaults(store, workspace, qrels, results):
    append(workspace, "a", events={"qrels": qrels("q1")})
    load(workspace, results("i1"), "r1")
    later = Store.open(store.root, tables=_later(TABLES)).workspace("w").snapshot()
    for name in ("qrels", "results"):
        rows = later.read(name).collect()
        assert rows.select("flag", "note").rows() == [(False, None)]


def test_a_table_of_a_later_version_is_empty_until_the_next_commit_gives_it_a_file(store, qrels):
    store.workspace("w", create=True)
    later = Store.open(store.root, tables=_later(TABLES))
    workspace = later.workspace("w")
    assert workspace.snapshot().read("brand_new").collect().is_empty()
    more = qrels("q1").with_columns(flag=pl.lit(value=True), note=pl.lit(None, pl.String))
    append(workspace, "a", events={"qrels": more})
    assert (workspace.layout.commit(1) / "brand_new.parquet").is_file()
    assert later.sql("SELECT count(*) FROM brand_new", "w").item() == 0
    assert workspace.snapshot().commits()["tables"].to_list() == [["qrels"]]


def test_a_folder_that_the_listing_left_out_is_found_by_its_number(workspace, qrels, monkeypatch):
    append(workspace, "a", events={"qrels": qrels("q1")})
    append(workspace, "b", events={"qrels": qrels("q2")})
    fresh = type(workspace)("w", workspace.layout.root, TABLES, workspace.engine, workspace.now)
    import os

    real = os.scandir

    class Forgetful:
        def __init__(self, path):
            self.inner = real(path)

        def __enter__(self):
            return (e for e in self.inner.__enter__() if e.name != "c00000001")

        def __exit__(self, *error):
            return self.inner.__exit__(*error)

    monkeypatch.setattr("crucible_batch.store.history.os.scandir", Forgetful)
    assert len(fresh.snapshot().read("qrels").collect()) == 2


def test_large_and_small_files_read_as_one_table(workspace, qrels, monkeypatch):
    append(workspace, "a", events={"qrels": qrels("q1")})
    monkeypatch.setattr("crucible_batch.store.small_files.SMALL", 0)
    append(workspace, "b", events={"qrels": qrels("q2")})
    assert sorted(workspace.snapshot().read("qrels").collect()["query_id"]) == ["q1", "q2"]
    assert workspace.snapshot(1).read("qrels").collect()["query_id"].to_list() == ["q1"]
    assert workspace.snapshot().read("qrels").collect()["_commit"].sort().to_list() == [1, 2]


def test_rows_of_a_folder_that_was_exchanged_are_read_anew(workspace, qrels):
    append(workspace, "a", events={"qrels": qrels("q1")})
    workspace.snapshot().read("qrels").collect()
    old, aside = workspace.layout.commit(1), workspace.layout.staging / "x"
    shutil.copytree(old, aside)
    (aside / "qrels.parquet").unlink()
    rows = qrels("redacted").with_columns(_commit=pl.lit(1, pl.Int64))
    rows.write_parquet(aside / "qrels.parquet")
    old.rename(workspace.layout.staging / "old")
    aside.rename(old)
    assert workspace.snapshot().read("qrels").collect()["query_id"].to_list() == ["redacted"]
