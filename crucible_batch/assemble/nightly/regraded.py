"""A run that was graded again by a judge that did not move: is it still worse?"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import polars as pl

from crucible_batch.assemble.compare import compare_runs
from crucible_batch.assemble.compare.options import CompareOptions
from crucible_batch.assemble.nightly.night import Night
from crucible_batch.assemble.nightly.series import Compared
from crucible_batch.store import Snapshot
from crucible_batch.watch.charts import Point
from crucible_batch.watch.night import Cell, Watched


def still_worse(
    night: Night,
    tonight: Compared,
    alarms: Mapping[Cell, Point],
    watched: Watched,
    doubted: Collection[str],
) -> bool | None:
    """Whether a judged metric is beyond its limit by the word of another judge too.

    That judge has judged both runs (`crucible judge bridge`), and is not one that moved.

    Args:
        night: The night.
        tonight: The two runs.
        alarms: Judged metrics that got worse, with their limits.
        watched: What is charted.
        doubted: Lanes of the judges that moved.

    Returns:
        None: the two runs were not graded again.
    """
    snapshot = night.opened().snapshot()
    lanes = set.intersection(
        *(_lanes(snapshot, run) for run in (tonight.baseline, tonight.candidate))
    )
    others = sorted(lanes - {_judge_of(snapshot, tonight.candidate)} - set(doubted))
    if not others:
        return None
    again = compare_runs(
        night.store,
        night.workspace,
        tonight.baseline,
        tonight.candidate,
        options=CompareOptions(judge=others[0]),
    )
    whole = again.rows.filter(pl.col("slice_by") == "all", pl.col("blocked_reason").is_null())
    deltas = dict(whole.select("metric", "delta").iter_rows())
    return any(
        _is_beyond(deltas.get(cell.metric), point, higher=watched.directions[cell.metric])
        for cell, point in alarms.items()
    )


def _lanes(snapshot: Snapshot, run: str) -> set[str]:
    rows = snapshot.read("assertion_verdicts", subject=run)
    return set(rows.select("judge").unique().collect()["judge"])


def _judge_of(snapshot: Snapshot, run: str) -> str | None:
    """The judge whose verdicts count in the newest scoring of a run."""
    rows = snapshot.read("evaluations").filter(pl.col("run_id") == run).sort("_commit", "seq")
    judges = rows.select("judge").collect()["judge"]
    return judges[-1] if len(judges) else None


def _is_beyond(delta: float | None, point: Point, *, higher: bool) -> bool:
    """Whether a delta is beyond the limit that made the alarm."""
    limit = point.drop_limit if point.verdict == "drop" else point.slide_limit
    if delta is None or limit is None:
        return False
    return delta < limit if higher else delta > limit
