"""The answer path around the corpus: statistics of policy and cache, judges and notifications."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl

from crucible_batch.assemble.drift.corpus import shifted
from crucible_batch.contracts import TABLES
from crucible_batch.exact import exact_mean
from crucible_batch.sql import query
from crucible_batch.store import MartFile, Snapshot, Workspace, file_name
from crucible_batch.watch.measured import Measured

POLICY_STATS, CACHE_STATS = TABLES["policy_stats"], TABLES["cache_stats"]


def policy_stats(decisions: pl.DataFrame) -> pl.DataFrame:
    """Verdicts of a window: how many, which share of their surface, how confident.

    Args:
        decisions: surface, verdict, confidence (null: not stated).

    Returns:
        surface, verdict, n, share, mean_confidence (null where no decision states one), sorted.
    """
    groups = (
        decisions.group_by("surface", "verdict")
        .agg("confidence", n=pl.len().cast(pl.Int64))
        .sort("surface", "verdict")
    )
    stated = groups["confidence"].list.drop_nulls().to_list()
    return groups.select(
        "surface",
        "verdict",
        "n",
        share=pl.col("n") / pl.col("n").sum().over("surface"),
        mean_confidence=pl.Series([exact_mean(one) for one in stated], dtype=pl.Float64),
    )


def cache_stats(
    observations: pl.DataFrame, entries: pl.DataFrame, *, as_of: datetime
) -> pl.DataFrame:
    """State of the cache at its latest observation; no row without one.

    Args:
        observations: Rows of cache_observations that are not later than as_of.
        entries: Rows of cache_entries.
        as_of: When entries count as expired.
    """
    relations = {"observations": observations, "entries": entries}
    return query("cache_stats", relations, {"as_of": as_of})


def stats_files(
    lake: Snapshot, scan_id: str, *, as_of: datetime, window_days: int
) -> list[MartFile]:
    """The marts of a scan that have rows: policy_stats and cache_stats."""
    start = shifted(as_of, -timedelta(days=window_days))
    decisions = lake.read("policy_decisions").filter(
        pl.col("created_at") > start, pl.col("created_at") <= as_of
    )
    observations = lake.read("cache_observations").filter(pl.col("observed_at") <= as_of).collect()
    latest = observations["observed_at"].max()
    entries = lake.read("cache_entries").filter(pl.col("observed_at") == pl.lit(latest))
    found = {
        POLICY_STATS: policy_stats(decisions.select("surface", "verdict", "confidence").collect()),
        CACHE_STATS: cache_stats(observations, entries.collect(), as_of=as_of),
    }
    keys = {"workspace_id": lake.workspace, "scan_id": scan_id}
    constants = [pl.lit(value).alias(name) for name, value in keys.items()]
    return [
        MartFile(
            table=table.name,
            name=file_name(scan_id),
            rows=rows.with_columns(constants).select(
                pl.col(column).cast(kind) for column, kind in table.schema.items()
            ),
        )
        for table, rows in found.items()
        if rows.height
    ]


def dead_webhooks(lake: Snapshot, as_of: datetime) -> list[Measured]:
    """Notifications that were given up, for each endpoint that anything was owed to."""
    relations = {
        "deliveries": lake.read("deliveries").select("event_id", "endpoint").collect(),
        "attempts": lake.read("delivery_attempts")
        .select("event_id", "endpoint", "n", "outcome", "started_at")
        .collect(),
    }
    rows = query("dead_deliveries", relations, {"as_of": as_of})
    return [
        Measured(value=float(n_dead), labels={"endpoint": endpoint}, n_current=n, support=n)
        for endpoint, n, n_dead in rows.iter_rows()
    ]


def judge_measurements(workspace: Workspace, as_of: datetime) -> dict[str, list[Measured]]:
    """What the anchors say of every judge on its latest night by then: judge_flip and judge_e.

    judge_flip is the chance of so many flips, judge_e the evidence of the e-process. Nothing is
    there where no anchor was ever judged.
    """
    rows = workspace.table("judge_drift").filter(pl.col("as_of") <= as_of)
    latest = rows.sort("judge", "as_of").group_by("judge", maintain_order=True).last().collect()
    if latest.is_empty():
        return {}
    return {
        metric: [
            Measured(
                value=row[column],
                labels={"judge": row["judge"]},
                n_current=row["n_anchors"],
                support=row["n_anchors"] - row["n_failed"],
                reason=None if row[column] is not None else "unattributed",
            )
            for row in latest.iter_rows(named=True)
        ]
        for metric, column in (("judge_flip", "p_flip"), ("judge_e", "e_value"))
    }


def changed_models(lake: Snapshot, as_of: datetime) -> list[Measured]:
    """Whether a judge says it is another model than on the night before: 1, else 0."""
    nights = (
        lake.read("anchor_verdicts")
        .filter(pl.col("as_of") <= as_of, pl.col("judge_model").is_not_null())
        .group_by("judge", "as_of")
        .agg(models=pl.col("judge_model").unique().sort(), n=pl.len())
        .sort("judge", "as_of")
        .collect()
    )
    found = []
    for (judge,), rows in nights.group_by("judge", maintain_order=True):
        models, n = rows["models"].to_list(), rows["n"].to_list()
        before = models[-2] if len(models) > 1 else None
        found.append(
            Measured(
                value=None if before is None else float(models[-1] != before),
                labels={"judge": str(judge)},
                n_reference=n[-2] if before is not None else None,
                n_current=n[-1],
                support=n[-1],
                reason="first_night" if before is None else None,
            )
        )
    return found
