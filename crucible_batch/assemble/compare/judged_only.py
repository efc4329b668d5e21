"""Retrieval metrics over judged documents alone: what unequal judging cannot have done.

Both rankings lose their unjudged documents and close up. A ranking whose documents are all judged
is not scored again: it is the same ranking.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from crucible_batch.assemble.compare.sides import Side
from crucible_batch.assemble.compare.values import Floats, item_values
from crucible_batch.assemble.evaluate.ruler import Ruler
from crucible_batch.assemble.evaluate.subject import KEY, Bucket, buckets, load_subject
from crucible_batch.metrics.facts import expected_results
from crucible_batch.metrics.grains import RANKING
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.result_rankings import result_rankings
from crucible_batch.metrics.score import score
from crucible_batch.settings import Settings
from crucible_batch.store import Snapshot


def judged_only_values(
    snapshot: Snapshot,
    one: Side,
    ruler: Ruler,
    items: pl.Series,
    metrics: Iterable[Metric],
    settings: Settings,
) -> Mapping[str, Floats]:
    """Per-item values of retrieval metrics without unjudged documents.

    Args:
        snapshot: What both sides were scored with.
        one: The run.
        ruler: Its grades.
        items: The items wanted, each once.
        metrics: Metrics that rest on judgments.
        settings: Settings of the workspace.

    Returns:
        By metric the mean over the samples of each item, NaN where none carries it.
    """
    asked = tuple(metrics)
    subject = load_subject(snapshot, one.row["run_id"])
    parts = [
        _scores(read(), ruler, one, asked, subject.row)
        for read in buckets(subject, ruler, settings.machine.bucket_rows)
    ]
    found = item_values(pl.concat(parts).lazy(), items)
    return {name: values.mean for name, values in found}


def _scores(
    bucket: Bucket,
    ruler: Ruler,
    one: Side,
    metrics: tuple[Metric, ...],
    run: Mapping[str, object],
) -> pl.DataFrame:
    ids = bucket.golden.items["item_id"].implode()
    grades = ruler.grades.filter(pl.col("query_id").is_in(ids))
    judged = grades.select("doc_id", item_id="query_id")
    rankings = result_rankings(
        expected_results(bucket.golden.items, bucket.rows.results, one.evaluation.samples_n),
        bucket.rows.retrievals.join(judged, on=["item_id", "doc_id"], how="semi"),
        grades,
        ruler.judged.filter(pl.col("query_id").is_in(ids)),
        bucket.golden.citations,
        metrics=metrics,
        relevant_at=one.row["relevant_at"],
        retrieval_reported=bool(run["retrieval_reported"]),
    )
    return score({RANKING.name: rankings.frame}, metrics, KEY)
