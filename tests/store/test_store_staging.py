from __future__ import annotations

import subprocess
import sys

import polars as pl
import pyarrow.parquet as pq
import pytest

from crucible_batch.contracts import TABLES
from crucible_batch.errors import ConflictError, ContractError, StoreError
from crucible_batch.store import Engine, Store, content_fingerprint
from crucible_batch.store import staging as staging_module


def pieces(folder, *frames):
    folder.mkdir()
    paths = [folder / f"{i}.parquet" for i in range(len(frames))]
    for path, frame in zip(paths, frames, strict=True):
        frame.write_parquet(path)
    return paths


def retrievals(n_items=700, depth=20):
    """Rankings of a run, shuffled."""
    rows = pl.DataFrame({"item": range(n_items)}).join(
        pl.DataFrame({"rank": range(1, depth + 1)}), how="cross"
    )
    full = rows.select(
        workspace_id=pl.lit("w"),
        run_id=pl.lit("r1"),
        item_id=pl.format("q{}", "item"),
        sample_index=pl.lit(0, pl.Int64),
        rank=pl.col("rank").cast(pl.Int64),
        doc_id=pl.format("d{}", (pl.col("item") * 7 + pl.col("rank") * 13) % 997),
        score=1.0 / pl.col("rank"),
        text=pl.when(pl.col("rank") % 3 == 0).then(pl.format("text of {}", "rank")),
    )
    schema = TABLES["retrievals"].schema
    absent = [pl.lit(None, dtype).alias(n) for n, dtype in schema.items() if n not in full.columns]
    return full.with_columns(absent).select(*schema).sample(fraction=1, shuffle=True, seed=1)


def test_staged_rows_are_sorted_sealed_and_fingerprinted(workspace, tmp_path):
    frame = retrievals(30)
    bulk = workspace.stage_bulk("retrievals", pieces(tmp_path / "p", frame), "r1")
    rows = pl.read_parquet(bulk.path)
    assert rows.equals(frame.sort("item_id", "sample_index", "rank"))
    assert bulk.n_rows == 600
    assert bulk.fingerprint == content_fingerprint(frame, TABLES["retrievals"])
    assert bulk.path.stat().st_mode & 0o777 == 0o444
    assert pl.read_parquet_metadata(bulk.path)["crucible.table"] == "retrievals"


def test_bytes_do_not_depend_on_split_order_threads_or_memory(tmp_path):
    frame = retrievals()
    splits = (
        ([frame], Engine("1GB", 2)),
        ([frame[9000:], frame[:5000], frame[5000:9000]], Engine("1GB", 1)),
        ([frame.reverse()], Engine("40MB", 2)),
    )
    seen = set()
    for i, (frames, engine) in enumerate(splits):
        store = Store.create(tmp_path / f"s{i}", engine=engine)
        workspace = store.workspace("w", create=True)
        bulk = workspace.stage_bulk("retrievals", pieces(tmp_path / f"p{i}", *frames), "r1")
        seen.add((bulk.path.read_bytes(), bulk.sha256, bulk.fingerprint))
    assert len(seen) == 1


def test_a_frame_stages_to_the_same_file_as_its_pieces(workspace, tmp_path):
    frame = retrievals(50)
    one = workspace.stage_frame("retrievals", frame, "r1")
    other = workspace.stage_bulk(
        "retrievals", pieces(tmp_path / "p", frame[:100], frame[100:]), "r1"
    )
    assert one.sha256 == other.sha256


def test_a_repeated_key_is_refused_by_name(workspace, results, monkeypatch):
    monkeypatch.setattr(staging_module, "_BATCH", 2)  # the pair lies across two batches
    with pytest.raises(ConflictError, match="results holds a key twice") as caught:
        workspace.stage_frame("results", results("i1", "i2", "i2", "i3"), "r1")
    assert "'item_id': 'i2'" in caught.value.problems[0]
    assert list(workspace.layout.staging.iterdir()) == []


def test_null_key_parts_count_as_equal(workspace):
    row = {"workspace_id": "w", "corpus_version": "v1", "entity_id": "e", "doc_id": "d"}
    frame = pl.DataFrame([row, row], schema=TABLES["mentions"].schema)
    with pytest.raises(ConflictError, match="mentions holds a key twice"):
        workspace.stage_frame("mentions", frame, "v1")


@pytest.mark.parametrize(("run", "name"), [("r2", "r1"), ("r1", "other")])
def test_rows_of_another_run_or_workspace_are_refused(workspace, results, run, name):
    frame = results("i1", run=run, workspace="w" if name == "r1" else name)
    with pytest.raises(ContractError, match="was staged for"):
        workspace.stage_frame("results", frame, "r1")


def test_a_piece_of_other_types_is_refused_with_its_name(workspace, results, tmp_path):
    wrong = results("i1").with_columns(pl.col("sample_index").cast(pl.Int32))
    with pytest.raises(ContractError) as caught:
        workspace.stage_bulk("results", pieces(tmp_path / "p", results("i0"), wrong), "r1")
    assert caught.value.problems == ("1.parquet: sample_index is Int32, not Int64",)


def test_only_bulk_tables_are_staged(workspace, qrels):
    with pytest.raises(StoreError, match="qrels is not a bulk table"):
        workspace.stage_frame("qrels", qrels("q1"), "r1")


def test_paths_with_glob_characters_and_quotes_are_taken_literally(tmp_path, results):
    workspace = Store.create(tmp_path / "it's [a]* ?").workspace("w", create=True)
    bulk = workspace.stage_frame("results", results("i1"), "r1")
    assert bulk.n_rows == 1


def test_a_table_of_no_rows_can_be_staged(workspace):
    bulk = workspace.stage_frame("results", TABLES["results"].empty(), "r1")
    assert bulk.n_rows == 0


def test_row_groups_are_smaller_where_texts_are_long(workspace, results):
    long = results(*(f"i{i:05d}" for i in range(5000)), answer="word " * 6000)
    bulk = workspace.stage_frame("results", long, "r1")
    groups = pq.ParquetFile(bulk.path).metadata
    assert groups.num_row_groups == 3  # 64 MiB of 30 kB answers: 2,048 rows each
    short = workspace.stage_frame("results", results(*(f"i{i:05d}" for i in range(5000))), "r1")
    assert pq.ParquetFile(short.path).metadata.num_row_groups == 1


def test_discarding_removes_what_was_staged(workspace, results):
    bulk = workspace.stage_frame("results", results("i1"), "r1")
    workspace.discard(bulk)
    assert list(workspace.layout.staging.iterdir()) == []


def test_staging_of_a_living_process_is_not_dead_and_of_a_killed_one_is(workspace):
    code = (
        "import sys, pathlib; from crucible_batch.store.staging import StagingArea;"
        "StagingArea(pathlib.Path(sys.argv[1])).new(); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, workspace.layout.staging],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        process.stdout.readline()
        assert workspace.staging.dead() == ()
        process.kill()
    assert len(workspace.staging.dead()) == 1


def test_quarantined_rows_lie_under_their_load(workspace):
    rows = pl.DataFrame({"_reasons": [["grade: high: 9"]], "_source_row": [3]})
    path = workspace.write_quarantine("Load/1", "qrels", rows)
    assert path == workspace.layout.quarantine("Load/1", "qrels")
    assert pl.read_parquet(path).equals(rows)
    workspace.write_quarantine("Load/1", "qrels", rows.head(0))
    assert pl.read_parquet(path).is_empty()
    assert list(workspace.layout.staging.iterdir()) == []
