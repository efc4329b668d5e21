from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time

import duckdb
import polars as pl
import pytest
from polars.exceptions import PanicException

from crucible_batch.contracts import TABLES
from crucible_batch.errors import ContractError, StoreError
from crucible_batch.store import MartFile, Plan, Store, file_sha256
from crucible_batch.store import marts as marts_module


def write(workspace, *files, recorded=False):
    staged = workspace.stage_marts(files, recorded=recorded)
    workspace.publish_marts(staged)
    return staged


def scores_file(rows, name="r1", **other):
    return MartFile(table="scores", name=name, rows=rows, **other)


def evaluation(staged, seq=1):
    values = {name: 0 for name, dtype in TABLES["evaluations"].schema.items() if dtype == pl.Int64}
    texts = {
        name: "x" for name, dtype in TABLES["evaluations"].schema.items() if dtype == pl.String
    }
    row = {**values, **texts, "workspace_id": "w", "evaluation_id": "e1", "run_id": "r1"}
    row |= {"seq": seq, "mart_paths": staged.paths, "mart_sha256": staged.sha256}
    return pl.DataFrame([row], schema=TABLES["evaluations"].schema)


def record(workspace, staged, seq=1):
    rows = evaluation(staged, seq)
    workspace.commit(
        lambda snapshot: Plan(events={"evaluations": rows}),
        kind="evaluate",
        idempotency_key=f"e{seq}",
    )


def test_a_published_mart_is_sorted_and_says_what_it_is(workspace, metrics):
    staged = write(workspace, scores_file(metrics("i2", "i1"), about={"crucible.ruler": "abc"}))
    assert staged.paths == ["marts/scores/r1.parquet"]
    path = workspace.layout.root / staged.paths[0]
    assert file_sha256(path) == staged.sha256[0]
    assert pl.read_parquet(path)["item_id"].to_list() == ["i1", "i2"]
    footer = pl.read_parquet_metadata(path)
    assert footer["crucible.table"] == "scores"
    assert footer["crucible.version"] == "1"
    assert footer["crucible.ruler"] == "abc"
    assert "crucible.package" in footer
    assert list(workspace.layout.staging.iterdir()) == []


def test_all_files_of_a_mart_read_as_one_table(store, workspace, metrics):
    write(workspace, scores_file(metrics("i1")), scores_file(metrics("i1", run="r2"), "r2"))
    assert sorted(store.table("scores", "w").collect()["run_id"]) == ["r1", "r2"]
    glob = workspace.layout.marts("scores") / "*.parquet"
    assert duckdb.sql(f"SELECT count(*) FROM '{glob}'").fetchall() == [(2,)]


def test_bytes_do_not_depend_on_row_order_or_on_how_rows_come(workspace, metrics, tmp_path):
    frame = metrics(*(f"i{i:04d}" for i in range(3000)))
    frame[:1234].write_parquet(tmp_path / "0.parquet")
    frame[1234:].write_parquet(tmp_path / "1.parquet")
    lazy = pl.scan_parquet([tmp_path / "0.parquet", tmp_path / "1.parquet"])
    hashes = {
        tuple(workspace.stage_marts([scores_file(rows)]).sha256)
        for rows in (frame, frame.reverse(), lazy)
    }
    assert len(hashes) == 1


def test_bytes_do_not_depend_on_threads(tmp_path):
    code = textwrap.dedent(
        """
        import sys, polars as pl
        from pathlib import Path
        from crucible_batch.contracts import TABLES
        from crucible_batch.store import MartFile, Store
        n = 300_000
        rows = pl.select(
            workspace_id=pl.lit("w"), evaluation_id=pl.lit("e"), run_id=pl.lit("r"),
            item_id=pl.format("i{}", pl.int_range(n)), sample_index=pl.lit(0, pl.Int64),
            metric=pl.lit("m"), value=pl.int_range(n) / 7.0, null_reason=pl.lit(None, pl.String))
        w = Store.create(sys.argv[1]).workspace("w", create=True)
        print(w.stage_marts([MartFile(table="scores", name="r", rows=rows)]).sha256)
        """
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code, tmp_path / threads],
            env={**os.environ, "POLARS_MAX_THREADS": threads},
            capture_output=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(said) == 1


def test_a_lazy_frame_out_of_order_is_refused(workspace, metrics):
    with pytest.raises(ContractError, match="not in key order"):
        workspace.stage_marts([scores_file(metrics("i2", "i1").lazy())])
    assert list(workspace.layout.staging.iterdir()) == []


def test_a_key_twice_is_refused(workspace, metrics):
    with pytest.raises(ContractError, match="A key of mart scores is there twice"):
        workspace.stage_marts([scores_file(metrics("i1", "i1"))])


def test_files_are_written_while_the_next_ones_are_made(workspace, metrics):
    def files():
        yield scores_file(metrics("i1"), name="r1")
        deadline = time.monotonic() + 60
        while not list(workspace.layout.staging.glob("*/0000.parquet")):
            assert time.monotonic() < deadline, "the first file waits for the second"
            time.sleep(0.01)
        yield scores_file(metrics("i1"), name="r2")

    assert len(workspace.stage_marts(files()).moves) == 2


def test_nothing_is_left_of_files_that_could_not_all_be_made(workspace, metrics):
    def files():
        yield scores_file(metrics("i1"))
        raise ContractError("no second file")

    with pytest.raises(ContractError, match="no second file"):
        workspace.stage_marts(files())
    assert list(workspace.layout.staging.iterdir()) == []


def cut_short(path):
    os.truncate(path, path.stat().st_size // 2)


def lose_what_stands_before_the_footer(path):
    whole = path.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    path.write_bytes(whole[:4] + bytes(len(whole) - footer - 4) + whole[-footer:])


def test_a_file_that_the_reader_panics_over_is_told(workspace, metrics, monkeypatch):
    def panic(*_):
        raise PanicException("range end index 8 out of range")

    monkeypatch.setattr(marts_module, "check_order", panic)
    with pytest.raises(StoreError, match="mart scores was not written whole"):
        workspace.stage_marts([scores_file(metrics("i1"))])


@pytest.mark.parametrize("damage", [cut_short, lose_what_stands_before_the_footer])
def test_a_file_that_a_full_disk_spoilt_is_told(workspace, metrics, monkeypatch, damage):
    write_whole = marts_module._write

    def spoilt(path, *args):
        write_whole(path, *args)
        damage(path)

    monkeypatch.setattr(marts_module, "_write", spoilt)
    with pytest.raises(StoreError, match=r"mart scores was not written whole(.|\n)*disk"):
        workspace.stage_marts([scores_file(metrics("i1"))])
    assert list(workspace.layout.staging.iterdir()) == []


def test_a_missing_column_is_refused(workspace, metrics):
    with pytest.raises(ContractError) as caught:
        workspace.stage_marts([scores_file(metrics("i1").drop("value"))])
    assert caught.value.problems == ("column value is missing, not Float64",)


def test_a_lake_table_is_no_mart(workspace, qrels):
    with pytest.raises(StoreError, match="qrels is not a mart"):
        workspace.stage_marts([MartFile(table="qrels", name="x", rows=qrels("q"))])


def test_a_variant_is_not_seen_by_a_glob_over_marts(store, workspace, metrics):
    write(workspace, scores_file(metrics("i1"), "e9", variant=True))
    assert store.table("scores", "w").collect().is_empty()
    assert len(pl.read_parquet(workspace.layout.variant("scores", "e9"))) == 1


def test_a_replaced_file_is_kept_under_its_own_id(workspace, metrics):
    write(workspace, scores_file(metrics("i1", value=0.1)))
    write(workspace, scores_file(metrics("i1", value=0.2), archive="e1"))
    kept = pl.read_parquet(workspace.layout.variant("scores", "e1"))
    now = pl.read_parquet(workspace.layout.mart("scores", "r1"))
    assert (kept["value"].item(), now["value"].item()) == (0.1, 0.2)


def test_writing_the_same_again_archives_nothing(workspace, metrics):
    write(workspace, scores_file(metrics("i1")))
    write(workspace, scores_file(metrics("i1"), archive="e1"))
    assert not workspace.layout.variant("scores", "e1").exists()


def test_columns_beyond_the_contract_show_in_a_plain_glob(workspace, metrics):
    schema = TABLES["result_metrics"].schema
    row = {"workspace_id": "w", "evaluation_id": "e", "run_id": "r", "item_id": "i"}
    frame = pl.DataFrame([{**row, "sample_index": 0, "errored": False}], schema=schema)
    frame = frame.with_columns(ndcg_at_10=pl.lit(0.5))
    write(workspace, MartFile(table="result_metrics", name="r", rows=frame))
    glob = workspace.layout.marts("result_metrics") / "*.parquet"
    assert duckdb.sql(f"SELECT ndcg_at_10 FROM '{glob}'").fetchall() == [(0.5,)]


def crash(monkeypatch, workspace, staged, after):
    """Publish, and die after some renames; the claim on the folder ends with the process."""
    real = marts_module.durable.replace
    done = []

    def dying(source, target):
        if len(done) == after:
            raise KeyboardInterrupt
        real(source, target)
        done.append(target)

    monkeypatch.setattr(marts_module.durable, "replace", dying)
    with pytest.raises(KeyboardInterrupt):
        workspace.publish_marts(staged)
    monkeypatch.setattr(marts_module.durable, "replace", real)


@pytest.mark.parametrize("after", [0, 1])
def test_a_publication_a_crash_left_open_is_found_and_finished(
    store, workspace, metrics, monkeypatch, after
):
    files = [scores_file(metrics("i1")), scores_file(metrics("i1", run="r2"), "r2")]
    staged = workspace.stage_marts(files, recorded=True)
    record(workspace, staged)
    crash(monkeypatch, workspace, staged, after)
    os.close(workspace.staging._held.pop(staged.folder))
    other = Store.open(store.root).workspace("w")
    assert [plan.paths for plan in other.pending_moves()] == [staged.paths]
    assert other.finish_moves() == tuple(staged.paths)
    assert len(store.table("scores", "w").collect()) == 2
    assert other.pending_moves() == ()


def test_a_publication_that_was_never_recorded_is_not_finished(store, workspace, metrics):
    staged = workspace.stage_marts([scores_file(metrics("i1"))], recorded=True)
    os.close(workspace.staging._held.pop(staged.folder))
    assert Store.open(store.root).workspace("w").finish_moves() == ()
    assert store.table("scores", "w").collect().is_empty()


def test_an_open_publication_never_undoes_a_later_one(store, workspace, metrics):
    old = workspace.stage_marts([scores_file(metrics("i1", value=0.1))], recorded=True)
    record(workspace, old, seq=1)
    os.close(workspace.staging._held.pop(old.folder))
    new = workspace.stage_marts([scores_file(metrics("i1", value=0.2))], recorded=True)
    record(workspace, new, seq=2)
    workspace.publish_marts(new)
    assert Store.open(store.root).workspace("w").finish_moves() == ()
    assert store.table("scores", "w").collect()["value"].item() == 0.2
