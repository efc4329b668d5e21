"""What a scoring says of failures: one `classified` event per result that is not correct."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.store import combined_hash

FEEDBACK = TABLES["eval_feedback"]
AUTHOR = "crucible score"
CLOSED = ("promoted", "dismissed")


def feedback_id(run_id: str, item_id: str, sample_index: int) -> str:
    """The id of a result's feedback: `f` + 26 hex of a hash of its key."""
    return "f" + combined_hash({"result": [run_id, item_id, sample_index]})[:26]


def classified_events(
    results: pl.DataFrame, stored: pl.DataFrame, *, workspace: str, run_id: str, now: datetime
) -> pl.DataFrame:
    """The events a default scoring appends.

    Args:
        results: item_id, sample_index, error_class, error_rule of every expected result.
        stored: Events of the run that are there already.
        workspace: Workspace of the run.
        run_id: The run.
        now: Time of the events.

    Returns:
        Rows of `eval_feedback`: none for a correct or unlabelled result, none where the last class
        is the same, none after the failure was promoted or dismissed.
    """
    last = {
        row["feedback_id"]: row for row in stored.sort("feedback_id", "seq").iter_rows(named=True)
    }
    kinds = stored.filter(pl.col("kind") == "classified").sort("feedback_id", "seq")
    classes = {row["feedback_id"]: row["error_class"] for row in kinds.iter_rows(named=True)}
    events = []
    failed = results.filter(
        pl.col("error_class").is_not_null() & (pl.col("error_class") != "correct")
    )
    for row in failed.iter_rows(named=True):
        own = feedback_id(run_id, row["item_id"], row["sample_index"])
        before = last.get(own)
        if before and (before["kind"] in CLOSED or classes.get(own) == row["error_class"]):
            continue
        events.append(
            {
                "workspace_id": workspace,
                "feedback_id": own,
                "seq": before["seq"] + 1 if before else 1,
                "kind": "classified",
                "run_id": run_id,
                **row,
                "author": AUTHOR,
                "created_at": now,
            }
        )
    return pl.DataFrame(events, schema=FEEDBACK.schema)
