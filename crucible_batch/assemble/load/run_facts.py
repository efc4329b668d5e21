"""What holds for all rows of a run: its frozen row, its ruler, its judge, its status events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.existing import refuse_changed
from crucible_batch.assemble.load.run_ruler import Ruler, find_ruler
from crucible_batch.assemble.load.run_statement import (
    COMMAND,
    EVENTS,
    IN_TABLE,
    RUNS,
    STATUS_KEYS,
    Statement,
    n_in_table,
    refuse_bad,
)
from crucible_batch.assemble.load.snapshots import snapshot_row
from crucible_batch.contracts.payloads import payload_of
from crucible_batch.errors import ConflictError, ContractError
from crucible_batch.store.snapshot import Snapshot

FLAGS = {
    "concepts_detected": "detected_concepts",
    "citations_reported": "answer_citations",
    "retrieval_reported": "retrievals",
}
"""Flag of a run to the table whose being reported sets it."""

UNKNOWN_JUDGE = "unknown"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What holds for all rows of the load.

    Attributes:
        run: The row of `runs`, complete.
        ruler: The golden items the run is measured by.
        judge: Judge of verdicts and claims that name none.
        statement: What was said, with the configurations the run names.
    """

    run: dict[str, Any]
    ruler: Ruler
    judge: str
    statement: Statement


def establish(
    snapshot: Snapshot, statement: Statement, reported: set[str], samples_seen: int
) -> Facts:
    """Complete what is said of a run by what is stored and by defaults.

    Args:
        snapshot: What is stored.
        statement: What is said.
        reported: Tables that the input reports, with rows or without.
        samples_seen: Samples per item in the input.

    Raises:
        ConflictError: The run is stored, and something else is said of it.
        ContractError: A value breaks the contract of `runs`, the golden-set hash is unknown, or a
            configuration is missing.
        UsageError: It is not clear which golden set the run answers.
    """
    stored = stored_rows(snapshot, "runs", statement.run_id)
    run: dict[str, Any] = dict.fromkeys(RUNS.names) | merged(statement.run, stored)
    ruler = find_ruler(snapshot, run)
    run |= {"golden_set": ruler.golden_set, "golden_set_hash": ruler.golden_set_hash}
    for flag, table in FLAGS.items():
        run[flag] = table in reported if run[flag] is None else run[flag]
    run["samples_n"] = samples_seen if run["samples_n"] is None else run["samples_n"]
    if run["target_snapshot_id"] is None:
        label = {"label": run["label"] or statement.run_id}
        row = snapshot_row("target", label, str(run["workspace_id"]))
        run["target_snapshot_id"] = row["snapshot_id"][0]
        statement = _with_snapshot(statement, row)
    refuse_bad(RUNS, steps.with_meta(RUNS, run, COMMAND))
    known = snapshot.read("config_snapshots").drop("_commit").collect()
    known = pl.concat([known, statement.snapshots.drop(IN_TABLE)])
    _require_snapshots(run, known)
    judge = payload_of(known, run["judge_snapshot_id"]).get("judge") or UNKNOWN_JUDGE
    return Facts(run=run, ruler=ruler, judge=str(judge), statement=statement)


def stored_rows(snapshot: Snapshot, table: str, run_id: str) -> pl.DataFrame:
    """The stored rows of an event table that are of one run."""
    return snapshot.read(table).filter(pl.col("run_id") == run_id).drop("_commit").collect()


def merged(stated: Mapping[str, Any], stored: pl.DataFrame) -> dict[str, Any]:
    """What is stated over what is stored; a run is frozen when first written.

    Raises:
        ConflictError: The run is stored with another value of a stated column.
    """
    if stored.is_empty():
        return dict(stated)
    row = stored.row(0, named=True)
    problems = [
        f"{name} is {row[name]!r}, the input says {value!r}"
        for name, value in stated.items()
        if name in RUNS.content and row[name] != value
    ]
    if problems:
        raise ConflictError(
            f"Run {row['run_id']!r} is already stored and frozen",
            problems=problems,
            fix="load the new output under another run id.",
        )
    return row


def new_events(
    statement: Statement, stored: pl.DataFrame, *, default: str
) -> tuple[pl.DataFrame, int]:
    """Number the status events that are new.

    An event that the input records is new unless the same event is stored. A status that the
    command gives holds from now on: it is new unless it is the status already.

    Args:
        statement: What is said of the run.
        stored: Stored events of the run.
        default: Status of a run of which nobody says one.

    Returns:
        Events to append, and how many rows of the input's table are stored already.

    Raises:
        ConflictError: An event of a stated seq is stored with other content.
    """
    content = list(STATUS_KEYS)
    recorded = statement.events.with_columns(
        workspace_id=pl.lit(statement.run["workspace_id"]), run_id=pl.lit(statement.run_id)
    )
    numbered = recorded.filter(pl.col("seq").is_not_null())
    refuse_changed(EVENTS, numbered, stored)
    numbered = numbered.join(stored, on=["seq"], how="anti", maintain_order="left")
    loose = recorded.filter(pl.col("seq").is_null())
    loose = loose.join(stored, on=content, how="anti", nulls_equal=True, maintain_order="left")
    fresh = pl.concat([numbered, loose])
    last = max([0, *stored["seq"], *numbered["seq"]])
    fresh = fresh.with_columns(seq=pl.coalesce("seq", last + pl.col("seq").is_null().cum_sum()))
    n_there = n_in_table(recorded) - n_in_table(fresh)
    every = pl.concat([stored, fresh.select(EVENTS.names)]).sort("seq")
    status = statement.status or (None if every.height else default)
    if status is not None and (every.is_empty() or every["status"][-1] != status):
        row = {
            "workspace_id": statement.run["workspace_id"],
            "run_id": statement.run_id,
            "seq": max([0, *every["seq"]]) + 1,
            "status": status,
        }
        fresh = pl.concat([fresh.select(EVENTS.names), pl.DataFrame([row], schema=EVENTS.schema)])
    return fresh.select(EVENTS.names), n_there


def _with_snapshot(statement: Statement, row: pl.DataFrame) -> Statement:
    """The statement with one more configuration."""
    more = row.with_columns(pl.lit(value=False).alias(IN_TABLE))
    every = pl.concat([statement.snapshots, more])
    return replace(statement, snapshots=every.unique("snapshot_id", keep="first"))


def _require_snapshots(run: Mapping[str, Any], known: pl.DataFrame) -> None:
    """Refuse a run whose configurations are neither stored nor in the input.

    Raises:
        ContractError: Names the column and the id.
    """
    kinds = dict(known.select("snapshot_id", "kind").iter_rows())
    problems = []
    for kind in ("target", "judge"):
        name = f"{kind}_snapshot_id"
        if run[name] is None:
            continue
        if run[name] not in kinds:
            problems.append(f"{name}: unknown configuration: {run[name]}")
        elif kinds[run[name]] != kind:
            problems.append(f"{name}: the configuration of a {kinds[run[name]]}: {run[name]}")
    if problems:
        raise ContractError(
            "The run names configurations that are not there",
            problems=problems,
            fix="load config_snapshots together with the run.",
        )
