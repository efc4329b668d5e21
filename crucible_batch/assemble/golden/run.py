"""The readiness of a golden set of a store."""

from __future__ import annotations

import numpy as np
import polars as pl

from crucible_batch.assemble.baselines import finished_runs
from crucible_batch.assemble.compare.values import item_values
from crucible_batch.assemble.evaluate.record import standing_mart
from crucible_batch.assemble.evaluate.ruler import Grading, judgments, load_golden_set
from crucible_batch.assemble.golden.material import Material, Spread
from crucible_batch.assemble.golden.readiness import Readiness, readiness
from crucible_batch.assemble.golden.sets import the_set
from crucible_batch.exact import exact_mean, exact_sum
from crucible_batch.metrics import catalog
from crucible_batch.metrics.grades import resolve_grades
from crucible_batch.store import Snapshot, Store, Workspace

POOLED_RUNS = 2
"""How many of the latest runs make the pool: as a rule a baseline and a candidate."""

POOL_DEPTH = 10
"""Ranks of each run that make the pool: what the headline retrieval metrics look at."""


def check_set(
    store: Store, workspace: str, golden_set: str | None = None, *, pin: int | None = None
) -> Readiness:
    """Say whether a golden set is ready to be measured by.

    Args:
        store: The store.
        workspace: Workspace of the set.
        golden_set: Its name; may be left out when there is only one.
        pin: The store as of this commit; the newest when None.

    Raises:
        UnknownNameError: No such workspace or set.
        UsageError: There are several sets and none was named, or the set has no active item.
    """
    opened = store.workspace(workspace)
    return readiness(gather(opened, opened.snapshot(pin), golden_set))


def gather(workspace: Workspace, snapshot: Snapshot, golden_set: str | None) -> Material:
    """Everything `readiness` looks at."""
    version = the_set(snapshot, golden_set)
    golden = load_golden_set(snapshot, version.golden_set_hash)
    ids = golden.items.select("item_id")
    runs = finished_runs(snapshot, version.golden_set)["run_id"].to_list()
    rows = snapshot.read("qrels").filter(pl.col("source") == "provenance")
    seeded = rows.select("query_id").unique().collect()["query_id"]
    pool, pooled = _pool(snapshot, runs, ids)
    spreads, scored = _spreads(workspace, snapshot, runs, ids["item_id"])
    return Material(
        golden_set=version.golden_set,
        golden_set_hash=version.golden_set_hash,
        golden=golden,
        provenance=frozenset(seeded),
        pool=pool,
        pooled_runs=pooled,
        spreads=spreads,
        spread_run=scored,
    )


def _pool(
    snapshot: Snapshot, runs: list[str], ids: pl.DataFrame
) -> tuple[pl.DataFrame | None, tuple[str, ...]]:
    """Retrieved and judged documents per item, over the latest runs that retrieved anything."""
    found, pooled = [], []
    for run_id in runs:
        top = (
            snapshot.read("retrievals", subject=run_id)
            .filter(pl.col("rank") <= POOL_DEPTH)
            .select("item_id", "doc_id")
            .join(ids.lazy(), on="item_id", how="semi")
            .unique()
            .collect()
        )
        if top.height:
            found.append(top)
            pooled.append(run_id)
        if len(pooled) == POOLED_RUNS:
            break
    if not found:
        return None, ()
    overrides = snapshot.read("judgment_overrides").drop("_commit").collect()
    grades = resolve_grades(judgments(snapshot, overrides, Grading(), ids))
    judged = grades.select(item_id="query_id", doc_id="doc_id", judged=pl.lit(value=True))
    pool = pl.concat(found).unique().join(judged, on=["item_id", "doc_id"], how="left")
    counts = pool.group_by("item_id").agg(
        n_retrieved=pl.len().cast(pl.Int64),
        n_judged=pl.col("judged").is_not_null().sum().cast(pl.Int64),
    )
    return counts.sort("item_id"), tuple(pooled)


def _spreads(
    workspace: Workspace, snapshot: Snapshot, runs: list[str], items: pl.Series
) -> tuple[dict[str, Spread], str | None]:
    """How the headline metrics vary over the items of the latest run that was scored."""
    for run_id in runs:
        every = standing_mart(workspace, snapshot, run_id, "scores")
        if every is None:
            continue
        headline = {m.name: m for m in catalog.result_metrics() if m.headline}
        scores = every.filter(pl.col("metric").is_in(sorted(headline)))
        spreads = {}
        for name, values in item_values(scores, items):
            metric = headline[name]
            carried = values.mean[np.isfinite(values.mean)].tolist()
            sd = _sd(carried)
            if sd is not None and metric.low is not None and metric.high is not None:
                spreads[name] = Spread(n=len(carried), sd=sd, width=metric.high - metric.low)
        return {name: spreads[name] for name in headline if name in spreads}, run_id
    return {}, runs[0] if runs else None


def _sd(values: list[float]) -> float | None:
    """Standard deviation with n - 1; None with fewer than two values."""
    mean = exact_mean(values)
    if mean is None or len(values) < 2:
        return None
    return float((exact_sum([(value - mean) ** 2 for value in values]) / (len(values) - 1)) ** 0.5)
