"""Which run an input speaks of: its row, its status, its configurations, its ruler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import polars as pl

from crucible_batch.assemble.load.snapshots import payload_of, snapshot_row
from crucible_batch.contracts import TABLES, Table
from crucible_batch.contracts.validate import count_reasons, split
from crucible_batch.errors import ConflictError, ContractError, UnknownNameError, UsageError
from crucible_batch.formats.cells import column_of
from crucible_batch.store.golden_hash import golden_set_hash
from crucible_batch.store.snapshot import Snapshot

RUNS, EVENTS, SNAPSHOTS = TABLES["runs"], TABLES["run_events"], TABLES["config_snapshots"]
STATUS_KEYS = ("status", "reason", "occurred_at")
PAYLOAD_KEYS = ("target", "judge")
FLAGS = {
    "concepts_detected": "detected_concepts",
    "citations_reported": "answer_citations",
    "retrieval_reported": "retrievals",
}
"""Flag of a run to the table whose being reported sets it."""

_STAND_IN: dict[pl.DataType, Any] = {pl.String(): "-", pl.Int64(): 1, pl.Boolean(): True}
"""What stands for a value that the loader fills later."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What an input says of its run.

    Attributes:
        run: Stated columns of `runs`; what is not stated is absent.
        events: Status events stated, `seq` null where it is not stated.
        snapshots: Configurations stated, canonical.
    """

    run: dict[str, Any]
    events: pl.DataFrame
    snapshots: pl.DataFrame


@dataclass(frozen=True, kw_only=True)
class Ruler:
    """The golden items a run is measured by.

    Attributes:
        items: item_id, revision, has_contexts of the pinned set.
        assertions: item_id, assertion_id of the pinned revisions.
    """

    golden_set: str
    golden_set_hash: str
    items: pl.DataFrame
    assertions: pl.DataFrame


def from_header(header: Mapping[str, Any], source: str, workspace: str) -> Statement:
    """Read the object of a first line `{"run": {…}}`.

    Raises:
        ContractError: A key is unknown or a value has another type than the contract says.
    """
    known = (*RUNS.names, *STATUS_KEYS, *PAYLOAD_KEYS)
    problems = []
    for key in header:
        if key not in known:
            near = get_close_matches(key, known, n=1, cutoff=0.6)
            problems.append(f"unknown key {key!r}" + (f"; did you mean {near[0]}?" if near else ""))
    values: dict[str, Any] = {}
    for column in (*RUNS.columns, *EVENTS.columns):
        if header.get(column.name) is not None and column.name not in values:
            series, wrong = column_of(column, [header[column.name]])
            problems += wrong.values()
            values[column.name] = series[0] if series is not None else None
    payloads = {key: header[key] for key in PAYLOAD_KEYS if header.get(key) is not None}
    problems += [
        f"{key}: not an object: {v!r}" for key, v in payloads.items() if not isinstance(v, dict)
    ]
    if problems:
        raise ContractError(
            f'The first line of {source}, {{"run": …}}, cannot be used',
            problems=problems,
            fix="its keys are the columns of `crucible schema runs`, status, reason, occurred_at, "
            "target and judge (objects).",
        )
    snapshots = [snapshot_row(kind, payload, workspace) for kind, payload in payloads.items()]
    run = {name: values[name] for name in RUNS.names if name in values}
    for row in snapshots:
        run[f"{row['kind'][0]}_snapshot_id"] = row["snapshot_id"][0]
    event = {name: values.get(name) for name in STATUS_KEYS}
    stated = [event] if event["status"] is not None else []
    return Statement(
        run=run,
        events=pl.DataFrame(stated, schema=EVENTS.schema),
        snapshots=pl.concat([SNAPSHOTS.empty(), *snapshots]),
    )


def from_row(rows: pl.DataFrame) -> dict[str, Any]:
    """The stated columns of a `runs` table that holds one run."""
    row = rows.row(0, named=True)
    return {name: row[name] for name in RUNS.names if row[name] is not None}


def ruler(snapshot: Snapshot, stated: Mapping[str, Any]) -> Ruler:
    """The golden items of the stated hash, else of the current version of the stated set.

    Raises:
        ContractError: The hash is unknown.
        UsageError: No golden set is stated and there is not exactly one.
        UnknownNameError: No golden set has the stated name.
    """
    versions = snapshot.read("golden_set_versions").collect()
    pinned = stated.get("golden_set_hash")
    if pinned is None:
        name = _set_name(versions, stated.get("golden_set"))
        pinned = current_hash(snapshot, name)
    members = versions.filter(pl.col("golden_set_hash") == pinned)
    if members.is_empty():
        raise ContractError(
            f"No golden set of this workspace has the hash {pinned}",
            problems=[f"golden_set_hash: unknown: {pinned}"],
            fix="load the golden items the run was made for, or leave golden_set_hash out to take "
            "the current ones.",
        )
    on = ["item_id", "revision"]
    items = snapshot.read("golden_items").select(
        *on, pl.col("contexts").is_not_null().alias("has_contexts")
    )
    assertions = snapshot.read("golden_assertions").select(*on, "assertion_id")
    return Ruler(
        golden_set=str(stated.get("golden_set") or members["golden_set"][0]),
        golden_set_hash=pinned,
        items=members.select(on).join(items.collect(), on=on, how="inner"),
        assertions=members.select(on)
        .join(assertions.collect(), on=on, how="inner")
        .drop("revision"),
    )


def current_hash(snapshot: Snapshot, golden_set: str) -> str:
    """Hash of the active items of a golden set."""
    frames = [
        snapshot.read(name).drop("_commit").collect()
        for name in ("golden_items", "golden_assertions", "golden_concepts", "golden_citations")
    ]
    items = frames[0]
    newest = items.filter(pl.col("revision") == pl.col("revision").max().over("item_id"))
    return golden_set_hash(newest.filter(pl.col("golden_set") == golden_set), *frames[1:])


def _set_name(versions: pl.DataFrame, stated: str | None) -> str:
    known = sorted(versions["golden_set"].unique())
    if stated is not None:
        if stated not in known:
            raise UnknownNameError("golden set", stated, known, fix="" if known else _NO_SET)
        return stated
    if len(known) != 1:
        raise UsageError(
            "The input does not say which golden set the run answers",
            problems=known,
            fix="say --golden-set NAME." if known else _NO_SET,
        )
    return str(known[0])


_NO_SET = "load one first: crucible load golden FILE."


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
    return {name: row[name] for name in RUNS.names}


def new_events(
    stated: pl.DataFrame, stored: pl.DataFrame, *, default: str, key: Mapping[str, str]
) -> tuple[pl.DataFrame, int]:
    """Number the stated status events after the stored ones.

    Args:
        stated: Events stated, `seq` null where it is not stated.
        stored: Stored events of the run.
        default: Status appended when nothing is stated and nothing is stored.
        key: workspace_id and run_id.

    Returns:
        Events to append, and how many are stored already.
    """
    if stated.is_empty() and stored.is_empty():
        stated = pl.DataFrame([{"status": default}], schema=EVENTS.schema)
    content = list(STATUS_KEYS)
    numbered = stated.filter(pl.col("seq").is_not_null())
    loose = stated.filter(pl.col("seq").is_null())
    fresh = pl.concat(
        [
            numbered.join(stored, on=["seq", *content], how="anti", nulls_equal=True),
            loose.join(stored, on=content, how="anti", nulls_equal=True),
        ]
    )
    last = max([0, *stored["seq"], *numbered["seq"]])
    position = pl.col("seq").is_null().cum_sum()
    return fresh.with_columns(
        seq=pl.coalesce("seq", last + position),
        **{name: pl.lit(value) for name, value in key.items()},
    ).select(EVENTS.names), stated.height - fresh.height


def pinned_judge(run: Mapping[str, Any], snapshots: pl.DataFrame) -> str | None:
    """The judge text of the run's pinned judge."""
    judge = payload_of(snapshots, run.get("judge_snapshot_id")).get("judge")
    return str(judge) if judge is not None else None


def with_snapshot(statement: Statement, row: pl.DataFrame) -> Statement:
    """The statement with one more configuration."""
    return Statement(
        run=statement.run,
        events=statement.events,
        snapshots=pl.concat([statement.snapshots, row]).unique("snapshot_id"),
    )


def require_snapshots(run: Mapping[str, Any], known: pl.DataFrame) -> None:
    """Refuse a run whose configurations are neither stored nor in the input.

    Raises:
        ContractError: Names the column and the id.
    """
    ids = set(known["snapshot_id"])
    problems = [
        f"{name}: unknown configuration: {run[name]}"
        for name in ("target_snapshot_id", "judge_snapshot_id")
        if run.get(name) is not None and run[name] not in ids
    ]
    if problems:
        raise ContractError(
            "The run names configurations that are not there",
            problems=problems,
            fix="load config_snapshots together with the run.",
        )


def refuse_bad(table: Table, frame: pl.DataFrame) -> None:
    """Refuse rows about the run itself that break their contract; they cannot be put aside.

    Raises:
        ContractError: Names row, column and value.
    """
    # What the loader fills is not checked here: it is null until then.
    filled = [column.name for column in table.columns if column.filled]
    stand_in = frame.with_columns(
        [pl.col(name).fill_null(_STAND_IN[table.schema[name]]) for name in filled]
    )
    bad = split(table, stand_in).quarantined
    if bad.height:
        raise ContractError(
            f"{bad.height:,} rows of {table.name} break their contract",
            problems=count_reasons(bad),
            fix=f"`crucible schema {table.name}` prints the contract.",
        )
