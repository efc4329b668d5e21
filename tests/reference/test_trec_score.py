"""TREC files through the store: the scores are those of `retrieval_scores` on the same files."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest
from trec_files import read_qrels, read_run

from crucible_batch.assemble.evaluate import Options, evaluate_run
from crucible_batch.assemble.load import load_golden, load_qrels, load_run
from crucible_batch.cli import main
from crucible_batch.metrics import catalog
from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.retrieval_scores import retrieval_scores
from crucible_batch.store import Store

NAMES = ("BM25", "SPLADE_P_P_ENSEMBLE_DISTIL")
ALONE = ("retrieval_hit_rate", "required_doc_recall")
METRICS = [
    metric.name
    for metric in catalog.result_metrics()
    if metric.grain is RANKING and metric.name not in ALONE
]
"""Retrieval metrics that rest on judgments alone."""


@pytest.fixture(scope="module")
def folder(cases) -> Path:
    return cases / "data" / "dl_passage"


@pytest.fixture(scope="module")
def store(folder, tmp_path_factory) -> Store:
    """DL19: topics of both runs, its judgments, and the runs."""
    made = tmp_path_factory.mktemp("dl19")
    queries = sorted({q for name in NAMES for q in read_run(_run(folder, name))["query_id"]})
    topics = made / "topics.tsv"
    topics.write_text("".join(f"{query}\tQuestion {query}?\n" for query in queries))
    store = Store.create(made / "store")
    load_golden(store, [topics], format="topics", golden_set="dl19")
    load_qrels(store, [folder / "qrels.dl19-passage.txt"], format="trec")
    for name in NAMES:
        report = load_run(store, [_run(folder, name)], format="trec", run=name, golden_set="dl19")
        assert report.n_quarantined == 0
    return store


def _run(folder: Path, name: str) -> Path:
    return folder / f"run.{name}.dl19.trec"


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_every_score_of_every_query_is_that_of_retrieval_scores(store, folder, name, level):
    done = evaluate_run(store, "default", name, options=Options(relevant_at=level))
    assert done.row["status"] == "succeeded"
    run, qrels = read_run(_run(folder, name)), read_qrels(folder / "qrels.dl19-passage.txt")
    right = retrieval_scores(run, qrels, METRICS, relevant_at=level)
    ours = done.read("scores").filter(pl.col("metric").is_in(METRICS))
    ours = ours.rename({"item_id": "query_id"}).select(right.columns)
    on = ["query_id", "metric"]
    asked = set(run["query_id"])
    right = right.filter(pl.col("query_id").is_in(asked)).sort(on)
    ours = ours.filter(pl.col("query_id").is_in(asked)).sort(on)
    assert ours.height == len(asked) * len(METRICS)
    assert ours.equals(right)


def test_the_means_of_bm25_are_the_published_ones(store):
    done = evaluate_run(store, "default", "BM25")
    rows = done.read("run_metrics").filter(pl.col("slice_by") == "all")
    mean = dict(rows.select("metric", "mean").iter_rows())
    assert round(mean["ndcg_at_10"], 4) == 0.5058  # Anserini, DL19 passage, BM25 default


def test_a_ranking_alone_has_no_answer_and_one_sample(store):
    (row,) = store.table("runs").filter(pl.col("run_id") == "BM25").collect().to_dicts()
    assert (row["samples_n"], row["retrieval_reported"]) == (1, True)
    done = evaluate_run(store, "default", "BM25")
    rows = done.read("scores").filter(pl.col("metric") == "accuracy")
    assert rows["null_reason"].unique().to_list() == ["no_answer_stage"]


def test_the_judgments_come_out_as_the_file_they_came_from(store, folder, tmp_path, monkeypatch):
    path = tmp_path / "qrels.txt"
    words = ["qrels", "export", "--format", "trec", "-o", str(path), "--root", str(store.root)]
    monkeypatch.setattr(sys, "argv", ["crucible", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in {0, None}
    key = ["query_id", "doc_id"]
    original = read_qrels(folder / "qrels.dl19-passage.txt").sort(key)
    assert read_qrels(path).equals(original)
