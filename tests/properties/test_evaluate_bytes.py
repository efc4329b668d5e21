"""Marts are functions of the rows: not of their order, their files, threads, or bucket sizes."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import score_store
from bench import Bench, derived

from crucible_batch.assemble.evaluate import evaluate_run
from crucible_batch.assemble.example import example_dir
from crucible_batch.assemble.load import load_golden, load_qrels, load_run
from crucible_batch.contracts import TABLES
from crucible_batch.store import Store

pytestmark = pytest.mark.slow  # scores in processes of their own

RUNS = ["lexical-plain", "lexical-rewrite"]
GOLDEN = ("golden_items", "golden_assertions", "golden_concepts", "golden_citations")
OF_RUN = (
    "runs",
    "run_events",
    "config_snapshots",
    "results",
    "retrievals",
    "answer_citations",
    "assertion_verdicts",
    "claims",
    "detected_concepts",
)


@pytest.fixture(scope="module")
def example(tmp_path_factory) -> Store:
    """The example, loaded from its files and not scored."""
    store = Store.create(tmp_path_factory.mktemp("example") / "store")
    data = example_dir()
    load_golden(store, [data / "golden.jsonl"])
    load_qrels(store, [data / "qrels.jsonl"])
    for path in sorted((data / "runs").glob("*.jsonl")):
        load_run(store, [path])
    return store


def scored(store: Store, threads: int) -> dict[str, str]:
    """Hashes of the marts that a process with so many Polars threads writes."""
    script = Path(score_store.__file__)
    subprocess.run(
        [sys.executable, script, store.root, *RUNS],
        env=os.environ | {"POLARS_MAX_THREADS": str(threads)},
        check=True,
        capture_output=True,
    )
    return derived(store.root / "default")


def shuffled_copy(store: Store, folder: Path, seed: int) -> Store:
    """Another store loaded from the tables of one, rows shuffled and split over three files."""
    other = Store.create(folder / "store")
    load_golden(other, _files(store, folder / "golden", GOLDEN, seed))
    load_qrels(other, _files(store, folder / "qrels", ("qrels",), seed))
    for run in RUNS:
        load_run(other, _files(store, folder / run, OF_RUN, seed, run))
    return other


def _files(store: Store, folder: Path, tables, seed: int, run: str | None = None) -> list[Path]:
    folder.mkdir()
    paths = []
    for table in tables:
        rows = store.table(table).select(TABLES[table].names).collect()
        if table == "qrels":
            rows = rows.filter(pl.col("source") != "provenance")  # golden items bring these
        if run is not None and "run_id" in rows.columns:
            rows = rows.filter(pl.col("run_id") == run)
        rows = rows.sample(fraction=1.0, shuffle=True, seed=seed)
        cuts = [0, rows.height // 5, rows.height // 2, rows.height]
        for number, (start, stop) in enumerate(pairwise(cuts)):
            if stop > start:
                paths.append(folder / f"{table}-{number}.parquet")
                rows[start:stop].write_parquet(paths[-1])
    return paths[::-1]


def test_shuffled_rows_other_files_and_other_thread_counts_write_the_same_bytes(example, tmp_path):
    other = shuffled_copy(example, tmp_path, seed=5)
    one, four = scored(example, threads=1), scored(other, threads=4)
    # Six marts a run; a comparison, its items and documents; the catalog.
    assert len(one) == 16
    assert one == four


@pytest.fixture(scope="module")
def long_run(tmp_path_factory) -> Bench:
    """A run of 310 items with 1,000 documents each, some of them judged; two samples of some."""
    bench = Bench(tmp_path_factory.mktemp("long"))
    rng = np.random.default_rng(11)
    ids = [f"q{n:03}" for n in range(310)]
    rows = [{"item_id": q, "question": f"{q}?", "answerable": True, "tags": [q[-1]]} for q in ids]
    bench.golden(*rows)
    judged = [(q, f"d{d:04}", int(rng.integers(4))) for q in ids[5:] for d in range(0, 400, 40)]
    bench.qrels(*judged)
    docs = np.concatenate([rng.permutation(2_000)[:1_000] for _ in ids])
    pl.DataFrame({"item_id": ids}).select(
        "item_id", sample_index=pl.lit(0, pl.Int64), retrieval_ran=pl.lit(value=True)
    ).write_parquet(bench.folder / "results.parquet")
    pl.DataFrame(
        {
            "item_id": np.repeat(ids, 1_000),
            "sample_index": np.zeros(docs.size, np.int64),
            "rank": np.tile(np.arange(1, 1_001), len(ids)),
            "doc_id": [f"d{d:04}" for d in docs],
            "score": rng.integers(0, 50, docs.size).astype(np.float64),
        }
    ).write_parquet(bench.folder / "retrievals.parquet")
    paths = [bench.folder / f"{name}.parquet" for name in ("results", "retrievals")]
    report = load_run(bench.store, paths, run="long", golden_set="g")
    assert report.n_quarantined == 0
    return bench


def test_how_items_are_cut_into_buckets_changes_no_byte(long_run):
    found = []
    for bucket_rows in (10_000, 100_000, 2_000_000):
        long_run.settings(f"[machine]\nbucket_rows = {bucket_rows}\n")
        said: list[str] = []
        done = evaluate_run(long_run.store, "default", "long", progress=said.append)
        assert done.created
        assert len(said) == {10_000: 31, 100_000: 4, 2_000_000: 1}[bucket_rows]
        found.append(long_run.files("marts"))
        for path in done.paths.values():
            path.unlink()
    assert found[0] == found[1] == found[2]
    assert done.row["seq"] == 1  # the same hashes each time
