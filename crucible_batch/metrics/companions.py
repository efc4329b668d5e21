"""What stands beside a retrieval metric: how far its number can be trusted.

Per result and metric: how much of what it read was judged, and by whom; whether its cut fell into
a tie; how many repeats were dropped; and the value if nothing, or everything, unjudged within its
cut-off had the top grade.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from crucible_batch.exact import exact_mean
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.ranking_frame import Rankings, columns_read
from crucible_batch.metrics.retrieval_terms import in_top
from crucible_batch.metrics.score import score

COMPANION_COLUMNS = ("n_retrieved", "n_dropped", "judged", "judged_by_llm", "tied")
"""The columns of the `ranking` grain that companions read."""

SCHEMA = {
    "slice_by": pl.String(),
    "slice": pl.String(),
    "metric": pl.String(),
    "judged_share": pl.Float64(),
    "llm_only_share": pl.Float64(),
    "n_tied_at_cut": pl.Int64(),
    "n_duplicates": pl.Int64(),
    "unjudged_low": pl.Float64(),
    "unjudged_high": pl.Float64(),
}
"""The columns of `summarise`: those of `run_metrics`."""


def companions(
    rankings: Rankings, scores: pl.DataFrame, metrics: Iterable[Metric], key: Sequence[str]
) -> pl.DataFrame:
    """Companions of every carried score of a retrieval metric.

    Args:
        rankings: What `result_rankings` built with `companions=True`.
        scores: Long scores of (at least) these metrics.
        metrics: Retrieval metrics.
        key: Columns that name a result.

    Returns:
        key, metric, n_read (documents within the cut-off), n_judged and n_by_llm of these,
        is_tied, n_dropped, low, high; sorted by key and metric. n_judged, n_by_llm, low and high
        are null for a metric that rests on no judgments, is_tied for one without a cut-off, the
        bounds also for counts.
    """
    asked = list(metrics)
    facts = pl.concat(_facts(rankings.frame, metric, key) for metric in asked)
    carried = scores.filter(pl.col("null_reason").is_null()).select(*key, "metric", "value")
    on = [*key, "metric"]
    joined = facts.join(carried, on=on, how="inner")
    joined = joined.join(_optimistic(rankings, asked, key), on=on, how="left")
    return joined.select(
        *on,
        "n_read",
        "n_judged",
        "n_by_llm",
        "is_tied",
        "n_dropped",
        # As grade 0 an unjudged document counts as it does in the metric itself.
        low=pl.when(pl.col("best").is_not_null()).then(pl.min_horizontal("value", "best")),
        high=pl.when(pl.col("best").is_not_null()).then(pl.max_horizontal("value", "best")),
    ).sort(on)


def _facts(frame: pl.DataFrame, metric: Metric, key: Sequence[str]) -> pl.DataFrame:
    """Counts within the cut-off of one metric."""
    depth = pl.col("n_retrieved")
    if metric.cut is not None:
        depth = depth.clip(upper_bound=metric.cut)
    unknown = pl.lit(None, dtype=pl.Int64)
    judged = by_llm = unknown
    if rests_on_judgments(metric):
        judged, by_llm = (
            in_top(name, pl.col("n_retrieved") if metric.cut is None else metric.cut)
            for name in ("judged", "judged_by_llm")
        )
    tied = pl.lit(None, dtype=pl.Boolean)
    if metric.cut is not None:
        tied = pl.col("tied").list.contains(metric.cut)
    return frame.select(
        *key,
        metric=pl.lit(metric.name),
        n_read=depth.cast(pl.Int64),
        n_judged=judged.cast(pl.Int64),
        n_by_llm=by_llm.cast(pl.Int64),
        is_tied=tied,
        n_dropped="n_dropped",
    )


def rests_on_judgments(metric: Metric) -> bool:
    """Whether a retrieval metric reads grades."""
    return "n_qrels" in columns_read([metric])


def _optimistic(rankings: Rankings, metrics: Iterable[Metric], key: Sequence[str]) -> pl.DataFrame:
    """Values with the unjudged at the top grade: key, metric, best."""
    bounded = [m for m in metrics if rests_on_judgments(m) and m.unit != "count"]
    parts = [
        score({m.grain.name: rankings.optimistic[cut] for m in group}, group, key)
        for cut in dict.fromkeys(m.cut for m in bounded)
        if (group := [m for m in bounded if m.cut == cut])
    ]
    return pl.concat(parts).select(*key, "metric", best="value")


def summarise(rows: pl.DataFrame, slices: pl.DataFrame) -> pl.DataFrame:
    """Companions of run means: shares over all documents read, counts, and mean bounds.

    Args:
        rows: What `companions` returned, with item_id in its key.
        slices: slice_by, slice, item_id.

    Returns:
        The columns of `SCHEMA`, sorted by slice and metric. A share without a denominator is null.
    """
    on = ["slice_by", "slice", "metric"]
    groups = (
        slices.join(rows, on="item_id")
        .group_by(on)
        .agg(
            pl.col("n_read", "n_judged", "n_by_llm", "n_dropped").sum(),
            pl.col("n_judged").count().alias("n_known"),
            pl.col("is_tied").count().alias("n_cut"),
            pl.col("is_tied").sum(),
            pl.col("low", "high").drop_nulls(),
        )
        .sort(on)
    )
    share = pl.col("n_judged") / pl.col("n_read")
    by_llm = pl.col("n_by_llm") / pl.col("n_judged")
    bounds = {
        f"unjudged_{name}": pl.Series(
            [exact_mean(values) for values in groups[name].to_list()], dtype=pl.Float64
        )
        for name in ("low", "high")
    }
    return groups.select(
        *on,
        judged_share=pl.when(pl.col("n_known") > 0, pl.col("n_read") > 0).then(share),
        llm_only_share=pl.when(pl.col("n_judged") > 0).then(by_llm),
        n_tied_at_cut=pl.when(pl.col("n_cut") > 0).then(pl.col("is_tied").cast(pl.Int64)),
        n_duplicates="n_dropped",
        **bounds,
    ).cast(pl.Schema(SCHEMA))
