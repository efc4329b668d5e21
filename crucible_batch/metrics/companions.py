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
from crucible_batch.metrics.score import score_table

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
        scores: Long scores of the same results in at least these metrics, as `score` returns them.
        metrics: Retrieval metrics.
        key: Columns that name a result.

    Returns:
        metric, key, n_read (documents within the cut-off), n_judged and n_by_llm of these,
        is_tied, n_dropped, low, high; metric by metric, sorted by key. n_judged, n_by_llm, low and
        high are null for a metric that rests on no judgments, is_tied for one without a cut-off,
        the bounds also for counts.
    """
    asked = list(metrics)
    frame = rankings.frame.sort(key)
    values = _by_metric(scores)
    best = _optimistic(rankings, asked, key)
    return pl.concat(
        _beside(frame, metric, key, values[metric.name], best.get(metric.name)) for metric in asked
    )


def rests_on_judgments(metric: Metric) -> bool:
    """Whether a retrieval metric reads grades."""
    return "n_qrels" in columns_read([metric])


def _by_metric(scores: pl.DataFrame) -> dict[str, pl.Series]:
    """The values of every metric, in the order of the results."""
    parts = scores.select("metric", "value").partition_by("metric", as_dict=True)
    return {str(name): part["value"] for (name,), part in parts.items()}


def _beside(
    frame: pl.DataFrame,
    metric: Metric,
    key: Sequence[str],
    value: pl.Series,
    best: pl.Series | None,
) -> pl.DataFrame:
    """Companions of one metric, for the results that carry it."""
    depth, tied = pl.col("n_retrieved"), pl.lit(None, dtype=pl.Boolean)
    if metric.cut is not None:
        depth, tied = depth.clip(upper_bound=metric.cut), pl.col("tied").list.contains(metric.cut)
    judged = by_llm = low = high = pl.lit(None, dtype=pl.Float64)
    if rests_on_judgments(metric):
        judged, by_llm = in_top("judged", depth), in_top("judged_by_llm", depth)
    if best is not None:
        # As grade 0 an unjudged document counts as it does in the metric itself.
        low, high = pl.min_horizontal("value", "best"), pl.max_horizontal("value", "best")
    carried = frame.with_columns(value=value, best=best).filter(pl.col("value").is_not_null())
    return carried.select(
        pl.lit(metric.name).alias("metric"),
        *key,
        n_read=depth.cast(pl.Int64),
        n_judged=judged.cast(pl.Int64),
        n_by_llm=by_llm.cast(pl.Int64),
        is_tied=tied,
        n_dropped="n_dropped",
        low=low,
        high=high,
    )


def _optimistic(
    rankings: Rankings, metrics: Iterable[Metric], key: Sequence[str]
) -> dict[str, pl.Series]:
    """Values with the unjudged at the top grade, in the order of the results."""
    bounded = [m for m in metrics if rests_on_judgments(m) and m.unit != "count"]
    found: dict[str, pl.Series] = {}
    for cut in dict.fromkeys(m.cut for m in bounded):
        group = [m for m in bounded if m.cut == cut]
        table = score_table({group[0].grain.name: rankings.optimistic[cut]}, group, key)
        found |= {m.name: table.carried(place) for place, m in enumerate(group)}
    return found


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
