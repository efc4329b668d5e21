"""Whether later runs keep a promoted failure caught."""

from __future__ import annotations

from typing import Any

import polars as pl

from crucible_batch.assemble.baselines import finished_runs
from crucible_batch.assemble.evaluate.record import standing_mart
from crucible_batch.assemble.feedback.promote import promoted_items
from crucible_batch.store import Snapshot, Workspace

RIGHT = "accuracy"
KEPT, BROKEN, OPEN, UNSCORED = "kept", "broken", "open", "unscored"

STATUS = {
    "feedback_id": pl.String(),
    "item_id": pl.String(),
    "revision": pl.Int64(),
    "run_id": pl.String(),
    "finished_at": pl.Datetime("us", "UTC"),
    "state": pl.String(),
    "n_right": pl.Int64(),
    "n_samples": pl.Int64(),
}


def promoted_status(workspace: Workspace, snapshot: Snapshot) -> pl.DataFrame:
    """Every promoted failure against every run that was measured by its item.

    Args:
        workspace: Where the scores are.
        snapshot: What is visible.

    Returns:
        feedback_id, item_id, revision (the one that was made), run_id, finished_at, state, n_right,
        n_samples; by failure, then by run, latest first. State: `kept` (every sample right),
        `broken` (one is wrong), `open` (none is wrong, one has no value), `unscored`. A failure
        that no run has met yet has one row with a null run.
    """
    promoted = promoted_items(snapshot)
    runs = finished_runs(snapshot)
    pins = dict(snapshot.read("runs").select("run_id", "golden_set_hash").collect().iter_rows())
    versions = snapshot.read("golden_set_versions").collect()
    of_items = versions.join(promoted.select("item_id").unique(), on="item_id", how="semi")
    measured = {
        (hashed, item): revision
        for hashed, item, revision in of_items.select(
            "golden_set_hash", "item_id", "revision"
        ).iter_rows()
    }
    right = {run_id: _right(workspace, snapshot, run_id, promoted) for run_id in runs["run_id"]}
    rows: list[tuple[Any, ...]] = []
    for one in promoted.iter_rows(named=True):
        head = (one["feedback_id"], one["item_id"], one["revision"])
        met: list[tuple[Any, ...]] = [
            (*head, run_id, finished_at, *_state(right[run_id], one["item_id"]))
            for run_id, finished_at in runs.select("run_id", "finished_at").iter_rows()
            if measured.get((pins[run_id], one["item_id"]), 0) >= one["revision"]
        ]
        rows += met or [(*head, None, None, None, None, None)]
    return pl.DataFrame(rows, schema=STATUS, orient="row")


Samples = dict[str, list[float | None]]


def _right(
    workspace: Workspace, snapshot: Snapshot, run_id: str, promoted: pl.DataFrame
) -> Samples | None:
    """What each sample of the promoted items is worth; None when the run is not scored."""
    scores = standing_mart(workspace, snapshot, run_id, "scores")
    if scores is None:
        return None
    wanted = scores.filter(pl.col("metric") == RIGHT).join(
        promoted.lazy().select("item_id").unique(), on="item_id", how="semi"
    )
    by_item = wanted.sort("item_id", "sample_index").group_by("item_id", maintain_order=True)
    return dict(by_item.agg("value").collect().iter_rows())


def _state(samples: Samples | None, item_id: str) -> tuple[str, int | None, int | None]:
    if samples is None:
        return UNSCORED, None, None
    values = samples.get(item_id, [])
    n_right = len([value for value in values if value == 1])
    n_wrong = len([value for value in values if value is not None and value != 1])
    state = BROKEN if n_wrong else KEPT if values and n_right == len(values) else OPEN
    return state, n_right, len(values)
