"""pytrec_eval-terrier as a second opinion: every query and shared metric, to 1e-9."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import pytrec_eval
from trec_files import nested, read_qrels, read_run

from crucible_batch.metrics.retrieval_scores import retrieval_scores

CUTS = (1, 5, 10, 30, 100, 1000)
FAMILIES = {
    "ndcg_cut": "ndcg",
    "P": "precision",
    "recall": "recall",
    "map_cut": "average_precision",
    "success": "hit",
}
WHOLE = {
    "ndcg": "ndcg",
    "map": "average_precision",
    "recip_rank": "mrr",
    "Rprec": "r_precision",
    "bpref": "bpref",
    "num_ret": "n_retrieved",
    "num_rel": "n_relevant",
    "num_rel_ret": "n_relevant_retrieved",
}
NAMES = WHOLE | {f"{p}_{k}": f"{ours}_at_{k}" for p, ours in FAMILIES.items() for k in CUTS}
DL = ("BM25", "BM25_RM3", "D_BERT_KD_TASB", "OPEN_AI_ADA2", "SPLADE_P_P_ENSEMBLE_DISTIL")


def rank_scores(run: pl.DataFrame) -> pl.DataFrame:
    """Scores that float32 holds exactly: pytrec_eval's own order, without its rounding of ties."""
    order = run.sort("query_id", "score", "doc_id", descending=[False, True, True])
    return order.with_columns(score=-pl.int_range(pl.len()).over("query_id").cast(pl.Float64))


def compare(run: pl.DataFrame, qrels: pl.DataFrame, level: int) -> None:
    measures = {*WHOLE, *(f"{p}.{','.join(map(str, CUTS))}" for p in FAMILIES)}
    grades = nested(qrels, "grade")
    evaluator = pytrec_eval.RelevanceEvaluator(grades, measures, relevance_level=level)
    theirs = evaluator.evaluate(nested(rank_scores(run), "score"))
    scores = retrieval_scores(run, qrels, list(NAMES.values()), relevant_at=level, trec_compat=True)
    ours = {(q, m): v for q, m, v in scores.select("query_id", "metric", "value").iter_rows()}
    assert len(theirs) > 1
    for query, values in theirs.items():
        for name, metric in NAMES.items():
            assert abs(ours[query, metric] - values[name]) <= 1e-9, (query, name)


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("year", ["dl19", "dl20"])
@pytest.mark.parametrize("name", DL)
def test_deep_learning_runs_agree_per_query(cases: Path, year: str, name: str, level: int) -> None:
    folder = cases / "data" / "dl_passage"
    run = read_run(folder / f"run.{name}.{year}.trec")
    compare(run, read_qrels(folder / f"qrels.{year}-passage.txt"), level)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        ("qrels.test", "results.test"),
        ("qrels.test", "results.trunc"),
        ("qrels.rel_level", "results.test"),
    ],
)
def test_trec_evals_own_files_agree_per_query(
    cases: Path, qrels: str, run: str, level: int
) -> None:
    folder = cases / "data" / "trec_eval"
    compare(read_run(folder / run), read_qrels(folder / qrels), level)
