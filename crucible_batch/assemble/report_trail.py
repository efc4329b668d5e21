"""What a report tells beside its runs: nights, the scan, alerts, notices, and where rows are from.

Everything is as of the report: what is later does not exist yet.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import Any

import polars as pl

from crucible_batch.assemble.alerts import fold_alerts
from crucible_batch.assemble.deliver import dead_deliveries
from crucible_batch.report.figures import InputFile
from crucible_batch.report.inputs import DEAD_DELIVERIES
from crucible_batch.store import Snapshot, Workspace

LOADS = {"load golden": "golden set", "load qrels": "judgments", "load run": "run"}
"""Kinds of commits that hold rows of a report, in its order, and what people call them."""


def watch_tables(
    workspace: Workspace,
    snapshot: Snapshot,
    run_id: str,
    baseline: str | None,
    *,
    as_of: datetime | None,
) -> dict[str, pl.DataFrame]:
    """Tables of `ReportInputs` about nights, corpus, alerts, notices and the answer path.

    Args:
        workspace: The workspace, for the marts.
        snapshot: What is visible of its lake.
        run_id: The run reported.
        baseline: What it is compared with; None: the nights of the newest baseline are told.
        as_of: Nothing later is read; None: no limit.
    """
    scan = _rows(snapshot.read("drift_evaluations"), "as_of", as_of).sort(
        "as_of", "_commit", "scan_id"
    )
    last = scan.tail(1).collect()
    is_last = pl.col("scan_id") == (last["scan_id"].item() if last.height else "")
    events = _rows(snapshot.read("alert_events"), "occurred_at", as_of).drop("_commit").collect()
    return {
        "nightly_metrics": _nights(workspace, snapshot, run_id, baseline, as_of),
        "drift_snapshots": _plain(_rows(snapshot.read("drift_snapshots"), "as_of", as_of)),
        "drift_evaluations": _plain(scan.filter(is_last)),
        "alerts": fold_alerts(events),
        "dead_deliveries": dead_deliveries(snapshot, as_of=as_of).select(DEAD_DELIVERIES.names()),
        "judge_drift": _rows(workspace.table("judge_drift"), "as_of", as_of).collect(),
        **{
            name: workspace.table(name).filter(is_last).collect()
            for name in ("policy_stats", "cache_stats")
        },
    }


def input_files(
    snapshot: Snapshot, run_ids: Sequence[str], golden_sets: Collection[str]
) -> tuple[InputFile, ...]:
    """The files that the golden set, its judgments and the runs were loaded from.

    Only their names: where they lay is no matter of a page that is handed around.

    Args:
        snapshot: The lake.
        run_ids: The runs.
        golden_sets: Names of their golden sets.
    """
    items = snapshot.read("golden_items").filter(pl.col("golden_set").is_in(list(golden_sets)))
    judged = snapshot.read("qrels").join(items, left_on="query_id", right_on="item_id", how="semi")
    seqs = pl.concat([one.select(pl.col("_commit").unique()) for one in (items, judged)]).collect()
    commits = snapshot.commits().filter(
        pl.col("kind").is_in(list(LOADS)),
        pl.col("subject").is_in(list(run_ids)) | pl.col("seq").is_in(seqs["_commit"].implode()),
    )
    rows = sorted(
        commits.iter_rows(named=True), key=lambda row: (list(LOADS).index(row["kind"]), row["seq"])
    )
    return tuple(
        InputFile(PurePath(path).name, _called(row), digest)
        for row in rows
        for path, digest in zip(row["input_paths"], row["input_sha256"], strict=True)
    )


def _called(row: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (LOADS[row["kind"]], row["subject"])))


def _nights(
    workspace: Workspace,
    snapshot: Snapshot,
    run_id: str,
    baseline: str | None,
    as_of: datetime | None,
) -> pl.DataFrame:
    """The charts of the nights against one baseline, without a night against another in between.

    Tonight has its charts before it has its row of `nightly`.
    """
    runs = snapshot.read("runs")
    golden_set = runs.filter(pl.col("run_id") == run_id).select("golden_set")
    own = runs.join(golden_set, on="golden_set", how="semi").select(candidate_run_id="run_id")
    done = _rows(snapshot.read("nightly"), "as_of", as_of)
    nights = done.join(own, on="candidate_run_id", how="semi").sort("as_of").collect()
    if baseline is None and nights.height:
        baseline = nights["baseline_run_id"][-1]
    other = nights.filter(pl.col("baseline_run_id").ne_missing(baseline))["as_of"]
    if len(other):
        nights = nights.filter(pl.col("as_of") > other[-1])
    key = ["as_of", "candidate_run_id"]
    tonight = pl.DataFrame(
        {"as_of": [as_of], "candidate_run_id": [run_id]},
        schema_overrides={"as_of": nights.schema["as_of"]},
    )
    wanted = pl.concat([nights.select(key), tonight]).unique()
    return workspace.table("nightly_metrics").join(wanted.lazy(), on=key, how="semi").collect()


def _rows(frame: pl.LazyFrame, column: str, as_of: datetime | None) -> pl.LazyFrame:
    return frame if as_of is None else frame.filter(pl.col(column) <= as_of)


def _plain(frame: pl.LazyFrame) -> pl.DataFrame:
    return frame.drop("_commit").collect()
