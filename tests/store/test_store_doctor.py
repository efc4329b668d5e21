from __future__ import annotations

import os
import shutil

import polars as pl
import pytest

from crucible_batch.assemble.qrels import append_qrels
from crucible_batch.contracts import TABLES
from crucible_batch.errors import StoreError
from crucible_batch.store import About, MartFile, Plan, Store, locks
from crucible_batch.store.doctor import diagnose, repair


@pytest.fixture
def filled(workspace, qrels, results, metrics):
    """Commit 1 and 2: judgments; 3: a run; and a published mart."""
    append_qrels(workspace, qrels("q1"), actor="ann")
    append_qrels(workspace, qrels("q2"), actor="ann")
    bulk = workspace.stage_frame("results", results("i1", "i2"), "r1")
    workspace.commit(
        lambda snapshot: Plan(bulk=[bulk]),
        kind="t",
        idempotency_key="r",
        about=About(subject="r1"),
    )
    file = MartFile(table="scores", name="r1", rows=metrics("i1"))
    workspace.publish_marts(workspace.stage_marts([file]))
    return workspace


def errors(workspace):
    return [finding.what for finding in diagnose(workspace) if finding.level == "error"]


def warnings(workspace):
    return [finding.what for finding in diagnose(workspace) if finding.level == "warn"]


def edit(path, change):
    """Change a sealed file and seal it again, as a careless hand would."""
    path.chmod(0o644)
    change(path)
    path.chmod(0o444)


def rewrite(path, change):
    footer = {
        name: text
        for name, text in pl.read_parquet_metadata(path).items()
        if name.startswith("crucible.")
    }
    edit(path, lambda p: change(pl.read_parquet(p)).write_parquet(p, metadata=footer))


def test_a_sound_workspace_has_one_finding(filled):
    (finding,) = diagnose(filled)
    assert (finding.level, finding.what) == ("ok", "workspace w is sound at commit 3")


def test_a_truncated_file_is_found(filled):
    path = filled.layout.commit(3) / "results.parquet"
    edit(path, lambda p: p.write_bytes(p.read_bytes()[:-20]))
    assert any("c00000003/results.parquet cannot be read" in what for what in errors(filled))


def test_a_file_that_is_not_parquet_is_found(filled):
    edit(filled.layout.commit(1) / "commits.parquet", lambda p: p.write_bytes(b"hello"))
    assert any("c00000001/commits.parquet cannot be read" in what for what in errors(filled))


def test_a_flipped_byte_is_found(filled):
    path = filled.layout.commit(3) / "results.parquet"

    def flip(p):
        data = bytearray(p.read_bytes())
        data[8] ^= 1
        p.write_bytes(data)

    edit(path, flip)
    assert any("c00000003/results.parquet" in what for what in errors(filled))


def test_a_missing_commit_is_found(filled):
    shutil.rmtree(filled.layout.commit(2))
    assert "lake/c00000002 is missing" in errors(filled)


def test_a_missing_file_is_found(filled):
    (filled.layout.commit(1) / "audit_log.parquet").unlink()
    assert "lake/c00000001/audit_log.parquet is missing" in errors(filled)


def test_a_missing_commits_file_is_found(filled):
    (filled.layout.commit(1) / "commits.parquet").unlink()
    assert "lake/c00000001 has no commits.parquet" in errors(filled)


def test_a_file_that_can_be_written_is_found(filled):
    (filled.layout.commit(1) / "qrels.parquet").chmod(0o644)
    assert any("c00000001/qrels.parquet is not read-only" in what for what in errors(filled))


def test_a_dropped_row_is_found(filled):
    rewrite(filled.layout.commit(3) / "results.parquet", lambda frame: frame.head(1))
    assert "lake/c00000003/results.parquet has 1 rows, its commit wrote 2" in errors(filled)


def test_a_changed_value_is_found(filled):
    path = filled.layout.commit(1) / "qrels.parquet"
    rewrite(path, lambda frame: frame.with_columns(grade=pl.lit(0, pl.Int64)))
    assert "lake/c00000001/qrels.parquet was changed after its commit" in errors(filled)


def test_a_wrong_type_is_found(filled):
    path = filled.layout.commit(1) / "qrels.parquet"
    rewrite(path, lambda frame: frame.with_columns(pl.col("grade").cast(pl.Int32)))
    assert any("column grade is Int32, not Int64" in what for what in errors(filled))


def test_rows_of_another_commit_are_found(filled):
    rewrite(
        filled.layout.commit(1) / "qrels.parquet",
        lambda frame: frame.with_columns(_commit=pl.lit(9, pl.Int64)),
    )
    assert any("c00000001/qrels.parquet holds rows of another" in what for what in errors(filled))


@pytest.mark.parametrize("name", ["extra.parquet", "note.txt"])
def test_a_foreign_file_in_a_commit_is_found(filled, name):
    (filled.layout.commit(1) / name).write_text("x")
    assert any("is no table of the lake" in what for what in errors(filled))


def test_a_table_its_commit_did_not_write_is_found(filled):
    source = filled.layout.commit(0) / "chunks.parquet"
    shutil.copy(source, filled.layout.commit(1) / "chunks.parquet")
    assert any("was not written by its commit" in what for what in errors(filled))


def test_a_foreign_folder_in_the_lake_is_found(filled):
    (filled.layout.lake / "copy of c00000001").mkdir()
    assert "lake/copy of c00000001 is no commit" in errors(filled)


def test_a_judgment_without_its_event_is_found(filled, qrels):
    rows = qrels("q9")
    filled.commit(
        lambda snapshot: Plan(events={"qrels": rows}), kind="t", idempotency_key="no audit"
    )
    assert errors(filled) == [
        f"1 judgments have no qrel.author event, e.g. {rows['qrel_id'].item()}"
    ]


def test_an_event_too_many_is_found(filled):
    events = filled.snapshot().read("audit_log").collect().head(1).drop("_commit")
    more = events.with_columns(event_id=pl.lit("again"))
    filled.commit(lambda snapshot: Plan(events={"audit_log": more}), kind="t", idempotency_key="a")
    assert any("more than one qrel.author event" in what for what in errors(filled))


def test_a_duplicated_commit_is_found_by_its_keys(filled):
    """Somebody copied a commit folder under the next number."""
    shutil.copytree(filled.layout.commit(1), filled.layout.commit(4))
    assert any("c00000004" in what for what in errors(filled))


def test_a_damaged_mart_is_found(filled):
    filled.layout.mart("scores", "r1").write_bytes(b"PAR1 no")
    assert any("marts/scores/r1.parquet cannot be read" in what for what in errors(filled))


def test_a_mart_of_another_contract_version_is_found(filled):
    path = filled.layout.mart("scores", "r1")
    pl.read_parquet(path).write_parquet(path, metadata={"crucible.version": "0"})
    assert warnings(filled) == ["marts/scores/r1.parquet is of contract version 0, not 1"]


def _evaluated(workspace, metrics):
    file = MartFile(table="scores", name="r1", rows=metrics("i1", value=0.9))
    staged = workspace.stage_marts([file], recorded=True)
    zero = {name: 0 for name, dtype in TABLES["evaluations"].schema.items() if dtype == pl.Int64}
    text = {name: "x" for name, dtype in TABLES["evaluations"].schema.items() if dtype == pl.String}
    row = {**zero, **text, "workspace_id": "w"}
    row |= {"mart_paths": staged.paths, "mart_sha256": staged.sha256}
    rows = pl.DataFrame([row], schema=TABLES["evaluations"].schema)
    workspace.commit(
        lambda snapshot: Plan(events={"evaluations": rows}), kind="e", idempotency_key="e"
    )
    return staged


def test_a_mart_that_is_not_the_recorded_one_is_found(filled, metrics):
    staged = _evaluated(filled, metrics)
    filled.publish_marts(staged)
    assert errors(filled) == []
    path = filled.layout.mart("scores", "r1")
    footer = {"crucible.version": "1"}
    pl.read_parquet(path).with_columns(value=pl.lit(0.1)).write_parquet(path, metadata=footer)
    assert errors(filled) == ["marts/scores/r1.parquet is not the file that evaluations names"]
    path.unlink()
    assert errors(filled) == ["marts/scores/r1.parquet is missing"]


def test_a_publication_left_open_is_found_and_repaired(store, filled, metrics):
    staged = _evaluated(filled, metrics)
    os.close(filled.staging._held.pop(staged.folder))  # the process dies here
    other = Store.open(store.root).workspace("w")
    assert any("1 mart files wait to be moved" in what for what in warnings(other))
    assert repair(other)[0] == "moved marts/scores/r1.parquet into place"
    assert [finding.level for finding in diagnose(other)] == ["ok"]
    assert pl.read_parquet(other.layout.mart("scores", "r1"))["value"].item() == 0.9


def test_dead_staging_is_found_and_removed_and_living_staging_stays(store, filled, results):
    dead = filled.layout.staging / "dead"
    dead.mkdir()
    (dead / "results.parquet").write_bytes(b"half")
    alive = filled.stage_frame("results", results("i1", run="r2"), "r2")
    other = Store.open(store.root).workspace("w")
    assert warnings(other) == [".staging/dead was left by a command that did not end"]
    assert repair(other) == ("removed .staging/dead",)
    assert alive.path.exists()


def test_a_stale_catalogue_is_found_and_rebuilt(filled):
    filled.layout.views.write_text("-- old")
    assert len(warnings(filled)) == 1
    assert repair(filled) == ("rebuilt catalog.duckdb and views.sql",)
    assert warnings(filled) == []


def test_repair_waits_for_writers_and_a_writer_for_repair(filled):
    with (
        locks.shared(filled.layout.lock),
        pytest.raises(StoreError, match="is in use by another command"),
        locks.exclusive(filled.layout.lock, wait=False),
    ):
        pass
    with locks.shared(filled.layout.lock), locks.shared(filled.layout.lock):
        pass  # writers share


def test_looking_changes_nothing(filled):
    def state():
        return {
            path: (path.stat().st_mtime_ns, path.stat().st_ino)
            for path in filled.layout.root.rglob("*")
        }

    before = state()
    diagnose(filled)
    assert state() == before
