"""Which run a baseline names: a run id, a pinned name, or the latest run that succeeded."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.store import Snapshot

PINNED = "pinned:"
LATEST = "latest-succeeded"


def finished_runs(snapshot: Snapshot, golden_set: str | None = None) -> pl.DataFrame:
    """Runs with their status and finish time, latest first.

    Args:
        snapshot: What is visible.
        golden_set: Only runs of this set.

    Returns:
        run_id, golden_set, status, finished_at (the last event's occurred_at, else the time its
        commit was written), by finished_at and run_id descending.
    """
    runs = snapshot.read("runs").select("run_id", "golden_set")
    if golden_set is not None:
        runs = runs.filter(pl.col("golden_set") == golden_set)
    written = pl.DataFrame(snapshot.commits()).select(_commit="seq", written_at="created_at")
    last = (
        snapshot.read("run_events")
        .sort("run_id", "seq")
        .group_by("run_id", maintain_order=True)
        .last()
        .join(written.lazy(), on="_commit", how="left")
    )
    finished = pl.coalesce("occurred_at", "written_at")
    return (
        runs.join(last, on="run_id", how="inner")
        .select("run_id", "golden_set", "status", finished_at=finished)
        .sort("finished_at", "run_id", descending=True)
        .collect()
    )


def resolve_baseline(
    snapshot: Snapshot, name: str, *, golden_set: str, candidate: str, as_of: datetime | None = None
) -> str:
    """The run a baseline stands for.

    Args:
        snapshot: What is visible.
        name: A run id, `pinned:NAME`, or `latest-succeeded`.
        golden_set: Golden set of the candidate.
        candidate: The run that will be compared; never its own baseline.
        as_of: Only runs that finished by then; for `latest-succeeded`.

    Raises:
        UnknownNameError: No run or baseline has this name.
        UsageError: No run has succeeded yet; one that its scoring calls degraded has not.
    """
    if name.startswith(PINNED):
        return _pinned(snapshot, name.removeprefix(PINNED))
    runs = finished_runs(snapshot)
    if name != LATEST:
        if name not in set(runs["run_id"]):
            raise UnknownNameError("run", name, sorted(runs["run_id"]))
        return name
    fitting = runs.filter(
        pl.col("golden_set") == golden_set,
        pl.col("status") == "succeeded",
        pl.col("run_id") != candidate,
        ~pl.col("run_id").is_in(_degraded(snapshot)),
    )
    if as_of is not None:
        fitting = fitting.filter(pl.col("finished_at") <= as_of)
    if fitting.is_empty():
        raise UsageError(
            f"No other run of golden set {golden_set!r} has succeeded",
            fix="load one, or name a baseline.",
        )
    return str(fitting["run_id"][0])


def _degraded(snapshot: Snapshot) -> list[str]:
    """Runs that ended well but lost too many results, as their newest scoring found."""
    rows = snapshot.read("evaluations").sort("_commit", "seq")
    newest = rows.group_by("run_id", maintain_order=True).last().collect()
    return sorted(newest.filter(pl.col("status") == "degraded")["run_id"])


def _pinned(snapshot: Snapshot, name: str) -> str:
    pins = snapshot.read("baselines").sort("seq").collect()
    own = pins.filter(pl.col("name") == name)
    if own.is_empty():
        raise UnknownNameError("baseline", name, sorted(set(pins["name"])))
    return str(own["run_id"][-1])
