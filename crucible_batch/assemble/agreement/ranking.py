"""The order of the runs as people's grades and as a judge's grades would have it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from crucible_batch.exact import exact_mean
from crucible_batch.metrics.retrieval_scores import retrieval_scores
from crucible_batch.stats.agreement import ranking_tau

Means = dict[str, float | None]


def run_means(
    rankings: Mapping[str, pl.DataFrame], grades: pl.DataFrame, metric: str, *, relevant_at: int
) -> Means:
    """The mean of a retrieval metric of every run, by the grades of one source alone.

    Args:
        rankings: Run to query_id, sample_index, doc_id, rank.
        grades: query_id, doc_id, rating.
        metric: A retrieval metric.
        relevant_at: Smallest relevant grade.

    Returns:
        Run to its mean over the results whose query the source judged; None without any.
    """
    qrels = grades.rename({"rating": "grade"})
    return {
        run_id: exact_mean(list(_values(ranking, qrels, metric, relevant_at)))
        for run_id, ranking in sorted(rankings.items())
    }


def _values(
    ranking: pl.DataFrame, qrels: pl.DataFrame, metric: str, relevant_at: int
) -> Iterable[float]:
    for sample in ranking["sample_index"].unique().sort():
        rows = ranking.filter(pl.col("sample_index") == sample).drop("sample_index")
        judged = qrels.join(rows.select("query_id").unique(), on="query_id", how="semi")
        scores = retrieval_scores(rows, judged, metric, relevant_at=relevant_at, order="rank")
        yield from scores["value"].drop_nulls()


def means_and_tau(
    reference: Means, judge: Means
) -> tuple[float | None, dict[str, tuple[float | None, float | None]]]:
    """Kendall's tau-b over the runs that both sources measure, and all means side by side."""
    both = [
        (ours, theirs)
        for run_id, ours in reference.items()
        if ours is not None and (theirs := judge[run_id]) is not None
    ]
    tau = ranking_tau([ours for ours, _ in both], [theirs for _, theirs in both])
    return tau, {run_id: (ours, judge[run_id]) for run_id, ours in reference.items()}
