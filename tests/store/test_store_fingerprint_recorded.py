"""A run in one file keeps the fingerprint its commit recorded; parts are merged to the same one."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.store import About, BulkFile, Plan, Snapshot, Store, Workspace

RESULTS = TABLES["results"]


def rows(*items: str) -> pl.DataFrame:
    frame = pl.DataFrame({"item_id": list(items)}).with_columns(
        workspace_id=pl.lit("w"), run_id=pl.lit("r"), sample_index=pl.lit(0, pl.Int64),
        retrieval_ran=pl.lit(value=True), answer=pl.col("item_id"),
    )  # fmt: skip
    absent = [pl.lit(None, t).alias(n) for n, t in RESULTS.schema.items() if n not in frame.columns]
    return frame.with_columns(absent).select(RESULTS.names)


def load(workspace: Workspace, frame: pl.DataFrame, part: str | None) -> None:
    staged: BulkFile = workspace.stage_frame("results", frame, "r", part)

    def decide(_: Snapshot) -> Plan:
        return Plan(bulk=[staged])

    about = About(subject="r", part=part)
    workspace.commit(decide, kind="load run", idempotency_key=f"k{part}", about=about)


def test_one_file_and_two_parts_of_the_same_rows_have_one_fingerprint(tmp_path: Path) -> None:
    whole = Store.create(tmp_path / "a").workspace("w", create=True)
    load(whole, rows("b", "a", "c"), None)
    parts = Store.create(tmp_path / "b").workspace("w", create=True)
    load(parts, rows("c", "a"), "1")
    load(parts, rows("b"), "2")
    found = {w.snapshot().fingerprint("results", subject="r") for w in (whole, parts)}
    assert len(found) == 1
    assert len(whole.snapshot().paths("results", subject="r")) == 1
